/* Watches the external stressor of a load (LOAD_EXTERNAL_STRESSOR). The program does not know the
 * limits of the load, so its parent ends it when memory or disk space runs short. SIGTERM
 * comes before SIGKILL, so that it can clean up. */
#ifndef HS_LOAD_EXTERNAL_STRESSOR_H
#define HS_LOAD_EXTERNAL_STRESSOR_H

#include "load/spec.h"

#include <stdbool.h>

/* Interval of the checks. A program that allocates 2 GiB/s takes 0.1 GiB in between. */
#define EXTERNAL_STRESSOR_LOOK_NS INT64_C(50000000)

/* From SIGTERM to SIGKILL. */
#define EXTERNAL_STRESSOR_END_NS INT64_C(3000000000)

struct external_stressor {
    struct load_slot *slot; /* NULL: the load has no external stressor */
    const struct load_map *map;
    int folder;      /* on the watched file system; -1: no file system is watched */
    int64_t kill_ns; /* time of SIGKILL after SIGTERM, CLOCK_MONOTONIC; 0: no SIGTERM yet */
    bool is_cleared; /* the program ended and its files are removed */
};

/* Finds the program's slot. A file system that is short of space already is not watched: its
 * file size limit is 0 there (element/stress_ng.c). */
void external_stressor_find(struct external_stressor *external_stressor, struct load_map *map,
                            const struct load_spec *spec);

/* True while checks are needed: the program has not ended, or its files are still there. */
bool external_stressor_is_watched(const struct external_stressor *external_stressor);

/* One check; only the program's parent may call it. Sends SIGTERM, with the reason as the slot's
 * note, when the scratch file system is short of space (scratch.h) or available memory is below
 * 1/16 of the total or below 64 MiB. Sends SIGKILL when the program has not ended within
 * EXTERNAL_STRESSOR_END_NS, or when less than half of the reserve is left. Removes the files of
 * a program that has ended, to free their space. */
void external_stressor_look(struct external_stressor *external_stressor);

/* Sends SIGTERM and waits for the program's end, at most EXTERNAL_STRESSOR_END_NS. Does nothing
 * if the program is not a child of the caller or has ended. */
void external_stressor_end(const struct external_stressor *external_stressor);

#endif
