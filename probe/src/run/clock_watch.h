/* Whether the machine slept (suspend), and whether the wall clock was set, while a test measured.
 * Figures are by CLOCK_MONOTONIC, which does neither; a reader of times of day must know. */
#ifndef HS_RUN_CLOCK_WATCH_H
#define HS_RUN_CLOCK_WATCH_H

#include "record/arena.h"

#include <stdint.h>

enum { CLOCK_WATCH_KINDS = 2 };

struct clock_watch {
    int64_t now_ns;    /* CLOCK_MONOTONIC at the last look */
    int64_t asleep_ns; /* time since boot that CLOCK_MONOTONIC does not count */
    int64_t wall_ns;   /* wall clock at boot, asleep time left out */
    struct {
        int64_t count, sum_ns;
    } more[CLOCK_WATCH_KINDS]; /* after the first few, told at the end */
};

/* Takes the clocks to compare with. */
void clock_watch_begin(struct clock_watch *watch);

/* Compares with the last look, and tells what has happened as events. */
void clock_watch_look(struct clock_watch *watch, struct arena *arena);

/* A last look; tells how often it happened that was not told each time. */
void clock_watch_end(struct clock_watch *watch, struct arena *arena);

#endif
