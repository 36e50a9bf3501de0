/* The instrument measures itself, on the measuring thread, before each test: what a
 * pair of time stamps costs, what recording costs, and how fine the clock is. */
#ifndef HS_INSTRUMENT_H
#define HS_INSTRUMENT_H

#include "base/clock.h"
#include "record/record.h"

enum { INSTRUMENT_PAIRS = 8192, INSTRUMENT_CPUS = 64 };

/* Offset of the counter of cpu_b against cpu_a, found by handing a cache line to and
 * fro: the true value lies within +-bound_ns of offset_ns. is_consistent: an offset of
 * 0 is inside that interval. */
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
    double perturbation_ns; /* the same for a pair of stamps and recording */
    uint32_t skew_count;
    struct instrument_skew skew[INSTRUMENT_CPUS];
};

/* `scratch` is an empty record, filled with what does not matter afterwards. */
void instrument_measure(struct instrument *instrument, const struct clock *clock,
                        struct record *scratch);

/* Skew of the counters of `cpu` and every other allowed CPU. Needs the right to choose
 * CPUs; leaves skew_count 0 without it. */
void instrument_measure_skew(struct instrument *instrument, const struct clock *clock, int cpu);

/* ns a gap loop takes for one turn: the finest gap that it can see (oslat's loop). */
double instrument_gap_loop_ns(const struct clock *clock);

#endif
