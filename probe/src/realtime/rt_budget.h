/* Rests for threads that never block. A real-time thread that spins longer than the real-time
 * budget is throttled, and the pause would look like a latency of the kernel. Such a thread calls
 * rt_budget_rest between samples: it sleeps often enough that no window of the budget's period is
 * used up and other tasks can run.
 *
 * The budget is the tightest of the system's and that of each control group above the process. All
 * that rests, judges lost CPU time or advises takes it from here. */
#ifndef HS_REALTIME_RT_BUDGET_H
#define HS_REALTIME_RT_BUDGET_H

#include "base/status.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>

struct rt_budget {
    int64_t burst_ns;   /* longest time without a rest */
    int64_t rest_ns;    /* length of a rest */
    int64_t started_ns; /* of this burst, CLOCK_MONOTONIC */
    int64_t rested_ns;  /* sum of all rests */
    bool has_limit;
    struct port_realtime_budget limit; /* if has_limit */
    char lift_command[STATUS_COMMAND_BYTES];
};

/* Reads the budget. Bursts use four fifths of it; without a budget, 0.9 s of each second. */
void rt_budget_init(struct rt_budget *rt_budget);

/* What throttling takes of each period; 0: nothing. */
int64_t rt_budget_pause_ns(const struct rt_budget *rt_budget);

/* Sleeps if the burst is used up. Returns the current CLOCK_MONOTONIC time. */
int64_t rt_budget_rest(struct rt_budget *rt_budget);

/* The same before `ahead_ns` without a rest, of this thread or of others that it releases: sleeps
 * if less than that is left of the burst. */
int64_t rt_budget_rest_ahead(struct rt_budget *rt_budget, int64_t ahead_ns);

/* Sleeps for a rest in any case. */
int64_t rt_budget_rest_now(struct rt_budget *rt_budget);

/* The command that lifts the budget, or raises that of the group; NULL: there is no budget now. */
const char *rt_budget_lift_command(const struct rt_budget *rt_budget);

#endif
