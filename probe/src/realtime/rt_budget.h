/* Rests for threads that never block. A real-time thread that spins longer than the system's
 * real-time budget is throttled, and the pause would look like a latency of the kernel. Such a
 * thread calls rt_budget_rest between samples: it sleeps often enough that no window of the
 * budget's period is used up and other tasks can run. */
#ifndef HS_REALTIME_RT_BUDGET_H
#define HS_REALTIME_RT_BUDGET_H

#include <stdint.h>

struct rt_budget {
    int64_t burst_ns;   /* longest time without a rest */
    int64_t rest_ns;    /* length of a rest */
    int64_t started_ns; /* of this burst, CLOCK_MONOTONIC */
    int64_t rested_ns;  /* sum of all rests */
};

/* Reads the system's budget. Bursts use four fifths of it; without a budget, 0.9 s of each
 * second. */
void rt_budget_init(struct rt_budget *rt_budget);

/* Sleeps if the burst is used up. Returns the current CLOCK_MONOTONIC time. */
int64_t rt_budget_rest(struct rt_budget *rt_budget);

/* The same before `ahead_ns` without a rest, of this thread or of others that it releases: sleeps
 * if less than that is left of the burst. */
int64_t rt_budget_rest_ahead(struct rt_budget *rt_budget, int64_t ahead_ns);

/* Sleeps for a rest in any case. */
int64_t rt_budget_rest_now(struct rt_budget *rt_budget);

/* The command that lifts the system's budget; NULL: there is no budget now. */
const char *rt_budget_lift_command(void);

#endif
