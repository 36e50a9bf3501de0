/* Whether a real-time thread that blocks now and then has to rest, so as not to be throttled. A
 * rest each second, as run/burst.h has it, would give a device time to catch up. A bucket that
 * leaks: CPU time flows in, and the share of the budget that bursts may use flows out. */
#ifndef HS_FAMILY_FILE_CPU_SHARE_H
#define HS_FAMILY_FILE_CPU_SHARE_H

#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

struct cpu_share {
    int64_t level_ns, cpu_ns, at_ns;
};

/* CPU time of the calling thread; `now_ns`, CLOCK_MONOTONIC, where it is not told: then it may have
 * had the CPU all the time. */
int64_t cpu_share_clock_ns(int64_t now_ns);

void cpu_share_begin(struct cpu_share *share, int64_t cpu_ns, int64_t now_ns);

/* Whether to rest now: with what has flowed in since the bucket was empty the thread might else use
 * more than the budget of some period. Call it a few times in a period. */
bool cpu_share_is_used(struct cpu_share *share, const struct rt_budget *budget, int64_t cpu_ns,
                       int64_t now_ns);

#endif
