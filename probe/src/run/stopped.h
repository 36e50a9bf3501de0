/* Whether the program was stopped (SIGSTOP) or the machine was (suspend) while a test measured, and
 * whether the wall clock was set. */
#ifndef HS_RUN_STOPPED_H
#define HS_RUN_STOPPED_H

#include "base/rt_thread.h"
#include "record/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the program ---- */

/* A thread that notes when the process was stopped and goes on (record/arena.h). It sleeps until
 * then, so it takes nothing from what is measured, also where all CPUs measure. */

/* Zeroed: there is none. */
struct stopped_watch {
    struct arena *arena;
    struct rt_thread rt_thread;
    bool is_there;
    int ends[2];      /* pipe: its end ends the thread */
    int stops;        /* of port_stops_open; -1: not open */
    _Atomic pid_t id; /* the kernel's; 0: there is none, or it is not told */
};

/* Starts it at the highest priority that is granted. If it cannot be started, or the port does not
 * tell of stops, there is no thread, and the event `stops_not_watched` tells why. */
void stopped_watch_start(struct stopped_watch *watch, struct arena *arena);

/* Ends it. Does nothing if there is none. */
void stopped_watch_end(struct stopped_watch *watch);

/* ---- the machine ---- */

/* Whether the machine slept (suspend), and whether the wall clock was set, while a test measured.
 * Figures are by CLOCK_MONOTONIC, which does neither; a reader of times of day must know. */

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
