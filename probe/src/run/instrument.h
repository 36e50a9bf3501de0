/* Self-measurement on the measuring thread before each test: the cost of a pair of time stamps,
 * the cost of recording, and the resolution of the clock. */
#ifndef HS_RUN_INSTRUMENT_H
#define HS_RUN_INSTRUMENT_H

#include "base/clock.h"
#include "base/cpus.h"
#include "base/rt_thread.h"
#include "port/port.h"
#include "record/record.h"

/* What a scratch record for the instrument alone has buckets for. */
#define INSTRUMENT_MOST_NS ((INT64_C(1) << 17) - 1)

enum { INSTRUMENT_PAIRS = 8192, INSTRUMENT_CPUS = PORT_CPUS < 64 ? PORT_CPUS : 64 };

/* Time limit for all rounds of one pair of CPUs; its result is from the rounds done by then. */
#define SKEW_PATIENCE_NS INT64_C(2000000000)

/* Offset of the counter of cpu_b against cpu_a, measured by passing a cache line back and forth:
 * the true value lies within offset_ns +- bound_ns. is_consistent: that interval contains 0. */
struct instrument_skew {
    int cpu_a, cpu_b;
    double offset_ns, bound_ns;
    bool is_consistent;
};

struct instrument {
    double quantum_ns;
    uint32_t pair_count;
    int64_t pair_min_ns, pair_median_ns, pair_p99_ns, pair_max_ns;
    double pair_mean_ns;
    double record_step_ns;  /* loop with recording minus loop without, per step */
    double perturbation_ns; /* the same for a pair of stamps plus recording */
    uint32_t skew_count;
    struct instrument_skew skew[INSTRUMENT_CPUS];
};

/* Measures everything but the skew. `scratch` is an empty record; its contents afterwards are
 * meaningless. */
void instrument_measure(struct instrument *instrument, const struct clock *clock,
                        struct record *scratch);

/* Measures the skew between the counters of `setup->cpu` and each other CPU in `cpus`, with two
 * threads of this policy and priority. instrument->quantum_ns must be set. 0, or an errno value if
 * a pair could not be measured: EINVAL, EPERM, ENOTSUP (one of its CPUs cannot be chosen),
 * ETIMEDOUT (other threads kept one of them busy for SKEW_PATIENCE_NS), ENOSPC (more than
 * INSTRUMENT_CPUS pairs), or another of rt_thread_start. Pairs measured before the error stay in
 * instrument->skew. */
int instrument_measure_skew_of(struct instrument *instrument, const struct clock *clock,
                               const struct rt_thread_setup *setup, const struct cpus *cpus);

/* The same for `cpu` and every other allowed CPU, with SCHED_OTHER threads. Pairs that cannot be
 * measured are left out; if CPUs cannot be chosen, skew_count is 0. */
void instrument_measure_skew(struct instrument *instrument, const struct clock *clock, int cpu);

/* ns per turn of a gap loop (that of oslat): the shortest gap that it can detect. */
double instrument_gap_loop_ns(const struct clock *clock);

#endif
