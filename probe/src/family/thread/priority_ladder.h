/* One thread at each priority from the lowest to just below the run's; the measuring thread has the
 * run's. For THR-B-PRI. */
#ifndef HS_FAMILY_THREAD_PRIORITY_LADDER_H
#define HS_FAMILY_THREAD_PRIORITY_LADDER_H

#include "base/rt_thread.h"
#include "run/run.h"

enum { PRIORITY_LADDER_LEAST = 32 /* required by POSIX */, PRIORITY_LADDER_MOST = 1024 };

struct level {
    struct levels *levels;
    int priority;
    sem_t gate;
    struct rt_thread rt_thread;
    uint64_t first_ticks, last_ticks; /* first stamp; after it made the next ready */
    int called; /* index of the level to make ready at this place in the order */
};

/* The ladder: level_count levels, lowest priority first. */
struct levels {
    struct run *run;
    bool is_chain; /* each level makes the next one ready */
    sem_t done;
    int level_count, started_count;
    struct stacks stacks; /* one of each level: locked, they take 4 MB */
    struct level level[];
};

/* Number of priorities below the run's, PRIORITY_LADDER_MOST at most. */
int priority_ladder_count(const struct run *run);

/* Gives the verdicts ready_order, preempts and levels. `levels` is zeroed but for `run` and has
 * room for priority_ladder_count levels. 0, or -1 with the outcome if the threads could not be
 * started. */
int priority_ladder_try(struct levels *levels);

#endif
