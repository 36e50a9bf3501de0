#include "base/posix_source.h"

#include "family/file/figures.h"

#include "base/clock.h"

#include <time.h>

/* ---- throughput ---- */

/* Not bytes * 1e9: 16 GiB times that are more than 64 bits. */
int64_t throughput_of(int64_t bytes, int64_t ns)
{
    if (ns <= 0)
        return -1;
    double per_s = (double)bytes * (double)CLOCK_NS_PER_S / (double)ns;
    return (int64_t)(per_s + 0.5);
}

int64_t throughput_take(struct throughput *throughput, int64_t bytes, int64_t now_ns)
{
    throughput->bytes += bytes;
    int64_t ns = now_ns - throughput->begin_ns;
    return ns < THROUGHPUT_WINDOW_NS ? -1 : throughput_of(throughput->bytes, ns);
}

/* ---- share of the CPU ---- */

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

/* ---- whether writes reach the device ---- */

void synchronised_begin(struct synchronised *synchronised, int64_t bytes)
{
    *synchronised = (struct synchronised){.bytes = bytes, .first_bytes = bytes};
}

/* A reading that cannot be had makes all of them worth nothing. */
void synchronised_take(struct synchronised *synchronised, int64_t bytes)
{
    if (synchronised->bytes < 0 || bytes < 0) {
        synchronised->bytes = -1;
        return;
    }
    bool has_risen = bytes > synchronised->bytes;
    synchronised->seen_count += has_risen ? 1 : 0;
    synchronised->unseen_count += has_risen ? 0 : 1;
    synchronised->bytes = bytes;
}

bool synchronised_is_known(const struct synchronised *synchronised)
{
    return synchronised->bytes >= 0 && synchronised->seen_count + synchronised->unseen_count > 0;
}

bool synchronised_holds(const struct synchronised *synchronised)
{
    return synchronised_is_known(synchronised) && synchronised->unseen_count == 0;
}

int64_t synchronised_device_bytes(const struct synchronised *synchronised)
{
    return synchronised->bytes < 0 ? -1 : synchronised->bytes - synchronised->first_bytes;
}
