/* Figures that tests of files work out from their values. */
#ifndef HS_FAMILY_FILE_FIGURES_H
#define HS_FAMILY_FILE_FIGURES_H

#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- throughput ---- */

/* Throughput in windows: bytes over time, each window at least WINDOW_NS long and ended by the
 * write that passes that. */

#define THROUGHPUT_WINDOW_NS INT64_C(100000000)

struct throughput {
    int64_t begin_ns, bytes;
};

/* A window begins. */
static inline void throughput_begin(struct throughput *throughput, int64_t now_ns)
{
    *throughput = (struct throughput){.begin_ns = now_ns};
}

/* `bytes` more, written at `now_ns`. Bytes per second if the window is over, else -1; the next
 * window begins with throughput_begin. */
int64_t throughput_take(struct throughput *throughput, int64_t bytes, int64_t now_ns);

/* Bytes per second; -1 in no time. */
int64_t throughput_of(int64_t bytes, int64_t ns);

/* ---- share of the CPU ---- */

/* Whether a real-time thread that blocks now and then has to rest, so as not to be throttled. A
 * rest each second, as run/run.h has it, would give a device time to catch up. A bucket that
 * leaks: CPU time flows in, and the share of the budget that bursts may use flows out. */

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

/* ---- whether writes reach the device ---- */

/* Whether writes that return when they are on the device have reached it: by the device's own count
 * of what was written to it, read before and after each write. The count is of everybody, so one
 * write of another may hide that ours did not go out; of many writes not all. */

struct synchronised {
    int64_t bytes;       /* the last reading; -1: not known */
    int64_t first_bytes; /* of this variant */
    uint64_t seen_count, unseen_count;
};

/* The reading before the first write; -1: not known. */
void synchronised_begin(struct synchronised *synchronised, int64_t bytes);

/* The reading after a write, and before the next one. */
void synchronised_take(struct synchronised *synchronised, int64_t bytes);

/* Whether each write was followed by a reading, and there was one. */
bool synchronised_is_known(const struct synchronised *synchronised);

/* Whether the count rose in each write. */
bool synchronised_holds(const struct synchronised *synchronised);

/* Bytes that the device counted in all of them. */
int64_t synchronised_device_bytes(const struct synchronised *synchronised);

#endif
