/* The other program of a load (LOAD_FOREIGN): it knows none of the load's limits, so its parent
 * ends it when the machine runs short, and lets it put things back whenever it is ended. */
#ifndef HS_LOAD_FOREIGN_H
#define HS_LOAD_FOREIGN_H

#include "load/spec.h"

#include <stdbool.h>

/* Between looks. What grows by 2 GiB/s takes a tenth of a GiB meanwhile. */
#define FOREIGN_LOOK_NS INT64_C(50000000)

/* For the program to end by itself. */
#define FOREIGN_END_NS INT64_C(3000000000)

struct foreign {
    struct load_slot *slot; /* NULL: the load has no such program */
    const struct load_map *map;
    int folder;      /* whose file system must not run short; -1: it is not watched */
    int64_t kill_ns; /* CLOCK_MONOTONIC: it was asked to end, and is killed then; 0: not yet */
    bool is_cleared; /* it has ended, and its files are gone */
};

/* Finds the program's slot. A file system that is short already is not watched: there the
 * program cannot write a byte (stress_ng.c). */
void foreign_find(struct foreign *foreign, struct load_map *map, const struct load_spec *spec);

/* Whether looks are needed: the program runs, or its files are still there. */
bool foreign_is_watched(const struct foreign *foreign);

/* A look, of the program's parent: where the scratch file system (scratch.h) or the memory is
 * short (less than a sixteenth of it, or than 64 MiB, can be had) the program is asked to end
 * and its slot's note says why; it is killed when it has not ended in time, or half of what must
 * stay free is gone. When it has ended its files are removed, lest they take the room on. */
void foreign_look(struct foreign *foreign);

/* Asks the program to end and waits until it has, FOREIGN_END_NS at most. Does nothing where it
 * is no child of the caller, or has ended. */
void foreign_end(const struct foreign *foreign);

#endif
