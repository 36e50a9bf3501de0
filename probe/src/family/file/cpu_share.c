#include "base/posix_source.h"

#include "family/file/cpu_share.h"

#include "base/clock.h"

#include <time.h>

/* Bursts use 4/5 of the budget: its last fifth is 1/4 of a burst. Of that, 1/5 may be in the
 * bucket; the rest is for what flows in until the next call. */
enum { DEPTH_PARTS = 5 };

int64_t cpu_share_clock_ns(int64_t now_ns)
{
    struct timespec time;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 ? clock_timespec_ns(&time) : now_ns;
}

void cpu_share_begin(struct cpu_share *share, int64_t cpu_ns, int64_t now_ns)
{
    *share = (struct cpu_share){0, cpu_ns, now_ns};
}

bool cpu_share_is_used(struct cpu_share *share, const struct rt_budget *budget, int64_t cpu_ns,
                       int64_t now_ns)
{
    double part = (double)budget->burst_ns / (double)(budget->burst_ns + budget->rest_ns);
    int64_t out_ns = (int64_t)(part * (double)(now_ns - share->at_ns));
    share->level_ns += cpu_ns - share->cpu_ns - out_ns;
    if (share->level_ns < 0)
        share->level_ns = 0;
    share->cpu_ns = cpu_ns;
    share->at_ns = now_ns;
    return share->level_ns > budget->burst_ns / DEPTH_PARTS;
}
