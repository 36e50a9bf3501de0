/* Bursts of samples between rests (rt_budget.h). A burst in which the test lost CPU time
 * (cpu_loss.h) ends the test as failed. If all its threads slept meanwhile (run_delay.h), the
 * gap was a slow wake-up of the system itself: it stays in the figures and is reported as the
 * event `idle_gap`.
 *
 * Only for tests in which some thread is always runnable or about to be woken, so that CPU time
 * equals elapsed time. */
#ifndef HS_REALTIME_BURST_H
#define HS_REALTIME_BURST_H

#include "realtime/cpu_loss.h"
#include "realtime/run_delay.h"

struct burst {
    struct run *run;
    int64_t ahead_ns; /* longest run until the next check of the budget */
    struct cpu_loss cpu_loss;
    struct run_delay run_delay;
    int gap_count;
    bool is_watched; /* whether lost CPU time can be detected */
};

/* Begins the first burst. `peer`: a second process of the test, or 0. The run delay of threads
 * that start later is not watched. */
void burst_begin(struct burst *burst, struct run *run, pid_t peer);

/* For tests whose threads come and go: their run delay is unknown, so every gap that long counts
 * as lost CPU time. */
void burst_ignore_sleep(struct burst *burst);

/* From now on a burst may run for `ahead_ns` without a rest: it rests first if less budget is
 * left. */
void burst_plan(struct burst *burst, int64_t ahead_ns);

/* Whether the current burst has lost more than 1 ms of CPU time: events that the test orders by
 * delays may then have happened in another order. */
bool burst_was_disturbed(const struct burst *burst);

/* Called between two samples. Ends the burst, rests if the budget requires it, begins the next
 * burst, and calls run_anchor. Returns the current CLOCK_MONOTONIC time. If the burst lost CPU
 * time, sets the outcome to failed and requests a stop. */
int64_t burst_next(struct burst *burst);

#endif
