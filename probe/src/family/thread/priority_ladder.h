/* A thread at each priority, from the lowest up to just below the run's; the director is
 * the one at the run's. For THR-B-PRI. */
#ifndef HS_THREAD_LEVELS_H
#define HS_THREAD_LEVELS_H

#include "run/run.h"

enum { LEVELS_LEAST = 32 /* that POSIX asks for */, LEVELS_MOST = 1024 };

struct level {
    struct levels *levels;
    int priority;
    sem_t gate;
    struct actor actor;
    uint64_t first_ticks, last_ticks; /* when it first ran, and when it went on */
};

/* level_count of them, lowest priority first. */
struct levels {
    struct run *run;
    bool is_chain; /* each makes the next one ready */
    sem_t done;
    int level_count, started_count;
    struct level level[];
};

/* Priorities below the run's. */
int levels_count(const struct run *run);

/* Verdicts ready_order, preempts and levels. 0, or -1 with the outcome when the threads
 * could not be started. */
int levels_try(struct levels *levels);

#endif
