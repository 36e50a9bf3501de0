/* Readings of one clock by threads of several CPUs in turn, for CLK-B-RES. */
#ifndef HS_FAMILY_CLOCK_CLOCK_RING_H
#define HS_FAMILY_CLOCK_CLOCK_RING_H

#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "family/clock/clock_subject.h"
#include "run/run.h"

enum { CLOCK_RING_CPUS = 64 };

struct clock_ring_member {
    struct clock_ring *ring;
    int place;
    struct rt_thread rt_thread;
};

struct clock_ring {
    const struct run *run;
    const struct clock_subject *subject;
    int count; /* threads */
    _Atomic int turn, is_over;
    int64_t until_ns; /* time limit for CLOCK_SUBJECT_STEPS steps */
    int64_t last;
    uint64_t step_count, back_count;
    int64_t back_worst;
    struct clock_ring_member members[CLOCK_RING_CPUS];
};

/* Lets `count` CPUs read the clock in turn, the measuring thread's first, and adds the verdict
 * monotonic_across_cpus, or an event that says why there is none. `ring` is its memory. */
void clock_ring_run(struct run *run, struct clock_ring *ring, const struct clock_subject *subject,
                    const int *cpus, int count);

#endif
