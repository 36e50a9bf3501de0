/* Interrupts of the measured CPUs between two looks (counter_watch.h), and which came most often.
 *
 * "Most often" is beyond what is usual: of each line, the mean of the seconds before is taken off,
 * for else the timer of a test that waits for it ten thousand times a second would always be named.
 * Of the first second nothing is usual yet. Over the whole measurement it is the line with the most
 * interrupts.
 *
 * Lines come and go: one that has moved in the list is not compared at that look. */
#ifndef HS_RUN_INTERRUPT_WATCH_H
#define HS_RUN_INTERRUPT_WATCH_H

#include "base/cpus.h"
#include "record/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct busiest {
    int64_t count;
    double beyond; /* what is usual */
    char name[ARENA_NAME_BYTES];
};

/* Of one CPU. */
struct interrupts {
    int64_t all, timer;           /* at the last look; -1: not known */
    int64_t all_now, timer_now;   /* of the look that is made */
    int64_t all_more, timer_more; /* since the look before */
    struct busiest busiest, busiest_of_all;
};

struct interrupt_watch {
    struct cpus measured;
    int cpu_count, line_count, line_cpus; /* line_cpus: CPUs whose lines are remembered */
    int line;                             /* in a look */
    bool has_looked;
    int64_t begun_ns, looked_ns;
    double spans; /* length of this interval in lengths of the time before; 0: there is none */
    struct interrupts *cpus;
    uint32_t *keys, *last; /* of each line; of each line and CPU */
    uint64_t *sum;         /* since the begin */
};

/* Memory for all lines that are there. 0 or ENOMEM; closed in both cases. */
int interrupt_watch_open(struct interrupt_watch *watch, const struct cpus *measured, int cpu_count);
void interrupt_watch_close(struct interrupt_watch *watch);

/* Reads all lines; the first time, what to compare with. */
void interrupt_watch_look(struct interrupt_watch *watch);

/* Stores what was counted at the last look for the CPU with this place in the order of the measured
 * ones; and which line came most often since the first look. */
void interrupt_watch_take(const struct interrupt_watch *watch, int place,
                          struct arena_interval *interval);
void interrupt_watch_take_whole(const struct interrupt_watch *watch, int place,
                                struct arena_interval *whole);

#endif
