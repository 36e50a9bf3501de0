#include "base/posix_source.h"

#include "run/instrument.h"

#include "base/rt_thread.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

enum { LOOP_STEPS = 20000, LOOP_ROUNDS = 9, SKEW_ROUNDS = 2000, SKEW_SPINS = 1024 };

/* Uses a record rather than a sorted array, because qsort may allocate. With the default of 10
 * sub-bucket bits, buckets below 1024 ns are 1 ns wide and the quantiles exact. */
static void measure_pairs(struct instrument *instrument, const struct clock *clock,
                          struct record *pairs)
{
    for (int i = 0; i < INSTRUMENT_PAIRS; i++) {
        uint64_t begin = clock_begin(clock);
        uint64_t end = clock_end(clock);
        record_value(pairs, clock_ns(clock, end - begin), 0);
    }
    instrument->pair_count = INSTRUMENT_PAIRS;
    instrument->pair_mean_ns = record_mean(pairs);
    instrument->pair_min_ns = pairs->min;
    instrument->pair_median_ns = record_quantile(pairs, 0.5);
    instrument->pair_p99_ns = record_quantile(pairs, 0.99);
    instrument->pair_max_ns = pairs->max;
}

/* Pseudo-random values: constant ones would favour the branch predictor and hit one cache line. */
static int64_t next_value(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 50);
}

/* Ticks of one loop of LOOP_STEPS; what: 0 nothing, 1 record, 2 stamps and record. */
static uint64_t run_loop(const struct clock *clock, struct record *scratch, int what)
{
    uint64_t state = 1;
    volatile int64_t sink = 0;
    uint64_t begin = clock_begin(clock);
    for (int i = 0; i < LOOP_STEPS; i++) {
        int64_t value = next_value(&state);
        if (what == 2) {
            uint64_t from = clock_begin(clock);
            value += clock_ns(clock, clock_end(clock) - from);
        }
        if (what > 0)
            record_value(scratch, value, i);
        else
            sink = value;
    }
    (void)sink;
    return clock_end(clock) - begin;
}

/* ns per step, minimum over several rounds: disturbances only add time. */
static double least_loop_ns(const struct clock *clock, struct record *scratch, int what)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < LOOP_ROUNDS; round++) {
        int64_t ns = clock_ns(clock, run_loop(clock, scratch, what));
        if (ns < least)
            least = ns;
    }
    return (double)least / (double)LOOP_STEPS;
}

void instrument_measure(struct instrument *instrument, const struct clock *clock,
                        struct record *scratch)
{
    instrument->quantum_ns = clock_quantum_ns(clock);
    measure_pairs(instrument, clock, scratch);
    double empty = least_loop_ns(clock, scratch, 0);
    instrument->record_step_ns = least_loop_ns(clock, scratch, 1) - empty;
    instrument->perturbation_ns = least_loop_ns(clock, scratch, 2) - empty;
}

double instrument_gap_loop_ns(const struct clock *clock)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < LOOP_ROUNDS; round++) {
        uint64_t gap_count = 0, threshold = clock_ticks_of_ns(clock, 1000000000);
        uint64_t begin = clock_ticks(clock), previous = begin;
        for (int i = 0; i < LOOP_STEPS; i++) {
            uint64_t now = clock_ticks(clock);
            if (now - previous > threshold)
                gap_count++;
            previous = now;
        }
        int64_t ns = clock_ns(clock, previous - begin) + (int64_t)gap_count;
        if (ns < least)
            least = ns;
    }
    return (double)least / (double)LOOP_STEPS;
}

/* Ping-pong between two threads: the peer stores its counter reading on each turn. */
struct skew_table {
    const struct clock *clock;
    _Atomic int turn; /* even: the first thread's */
    _Atomic bool is_over;
    _Atomic uint64_t answer_ticks;
};

static void skew_peer(void *argument)
{
    struct skew_table *table = argument;
    for (int round = 0; round < SKEW_ROUNDS; round++) {
        while (atomic_load_explicit(&table->turn, memory_order_acquire) != 2 * round + 1)
            if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
                return;
        atomic_store_explicit(&table->answer_ticks, clock_begin(table->clock),
                              memory_order_relaxed);
        atomic_store_explicit(&table->turn, 2 * round + 2, memory_order_release);
    }
}

/* False: the peer did not answer in time. */
static bool wait_for_answer(struct skew_table *table, int answered, int64_t until_ns)
{
    unsigned spins = 0;
    while (atomic_load_explicit(&table->turn, memory_order_acquire) != answered)
        if (++spins % SKEW_SPINS == 0 && clock_monotonic_ns() > until_ns)
            return false;
    return true;
}

/* Bounds of the offset, in ticks. */
struct skew_bounds {
    int64_t low, high;
    int rounds;
};

static void conclude(const struct clock *clock, double quantum_ns, const struct skew_bounds *bounds,
                     struct instrument_skew *skew)
{
    double low = (double)bounds->low, high = (double)bounds->high;
    double ns_per_tick = clock->use_counter ? 1e9 / (double)clock->counter_hz : 1;
    /* readings are truncated to the counter's quantum */
    skew->offset_ns = (low + high) / 2 * ns_per_tick;
    skew->bound_ns = (high - low) / 2 * ns_per_tick + quantum_ns;
    skew->is_consistent =
        skew->offset_ns - skew->bound_ns <= 0 && skew->offset_ns + skew->bound_ns >= 0;
}

/* The peer reads its counter between `sent` and `back`, so each round trip bounds the offset from
 * both sides. Keeps the tightest bounds of all rounds. */
static void play_skew(struct skew_table *table, struct skew_bounds *bounds)
{
    int64_t until_ns = clock_monotonic_ns() + SKEW_PATIENCE_NS;
    *bounds = (struct skew_bounds){INT64_MIN, INT64_MAX, 0};
    for (; bounds->rounds < SKEW_ROUNDS; bounds->rounds++) {
        uint64_t sent = clock_begin(table->clock);
        atomic_store_explicit(&table->turn, 2 * bounds->rounds + 1, memory_order_release);
        if (!wait_for_answer(table, 2 * bounds->rounds + 2, until_ns))
            break;
        uint64_t back = clock_begin(table->clock);
        uint64_t answer = atomic_load_explicit(&table->answer_ticks, memory_order_relaxed);
        if ((int64_t)(answer - back) > bounds->low)
            bounds->low = (int64_t)(answer - back);
        if ((int64_t)(answer - sent) < bounds->high)
            bounds->high = (int64_t)(answer - sent);
    }
    atomic_store(&table->is_over, true);
}

struct skew_game {
    struct skew_table table;
    struct skew_bounds bounds;
};

static void skew_first(void *argument)
{
    struct skew_game *game = argument;
    play_skew(&game->table, &game->bounds);
}

/* 0 or an errno value. */
static int skew_of_pair(const struct clock *clock, double quantum_ns,
                        const struct rt_thread_setup *setup, struct instrument_skew *skew)
{
    struct skew_game game = {.table = {.clock = clock}};
    struct rt_thread first, peer;
    struct rt_thread_setup on_a = *setup, on_b = *setup;
    on_b.cpu = skew->cpu_b;
    int error = rt_thread_start(&first, &on_a, skew_first, &game);
    if (error)
        return error;
    error = rt_thread_start(&peer, &on_b, skew_peer, &game.table);
    if (error) /* without a peer nothing would answer the first */
        first.body = NULL;
    rt_thread_go(&first);
    if (!error) {
        rt_thread_go(&peer);
        rt_thread_join(&peer);
    }
    rt_thread_join(&first);
    if (error)
        return error;
    conclude(clock, quantum_ns, &game.bounds, skew);
    return game.bounds.rounds > 0 ? 0 : ETIMEDOUT;
}

/* Measures and appends a pair: 0 or an errno value. */
static int add_skew(struct instrument *instrument, const struct clock *clock,
                    const struct rt_thread_setup *setup, int other)
{
    if (instrument->skew_count == INSTRUMENT_CPUS)
        return ENOSPC;
    struct instrument_skew *skew = &instrument->skew[instrument->skew_count];
    *skew = (struct instrument_skew){.cpu_a = setup->cpu, .cpu_b = other};
    int error = skew_of_pair(clock, instrument->quantum_ns, setup, skew);
    if (!error)
        instrument->skew_count++;
    return error;
}

int instrument_measure_skew_of(struct instrument *instrument, const struct clock *clock,
                               const struct rt_thread_setup *setup, const struct cpus *cpus)
{
    instrument->skew_count = 0;
    for (int other = cpus_first(cpus); other >= 0; other = cpus_next(cpus, other)) {
        if (other == setup->cpu)
            continue;
        int error = setup->cpu < 0 ? ENOTSUP : add_skew(instrument, clock, setup, other);
        if (error)
            return error;
    }
    return 0;
}

void instrument_measure_skew(struct instrument *instrument, const struct clock *clock, int cpu)
{
    struct cpus allowed;
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), cpu};
    instrument->skew_count = 0;
    if (port_allowed_cpus(&allowed) < 2 || cpu < 0)
        return;
    for (int other = cpus_first(&allowed); other >= 0; other = cpus_next(&allowed, other))
        if (other != cpu)
            add_skew(instrument, clock, &setup, other);
}
