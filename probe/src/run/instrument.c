#include "base/posix_source.h"

#include "run/instrument.h"

#include "base/rt_thread.h"
#include "port/port.h"

#include <sched.h>
#include <stdatomic.h>

enum { LOOP_STEPS = 20000, LOOP_ROUNDS = 9, SKEW_ROUNDS = 2000 };

/* Through a record and not an array that is sorted: qsort may allocate. Below 1024 ns
 * every bucket is one ns wide, so the quantiles are exact. */
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

/* Values that differ from step to step, as real ones do, so that neither the branch
 * predictor nor one cache line flatters the figure. */
static int64_t next_value(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 50);
}

/* One loop of LOOP_STEPS; what: 0 nothing, 1 record, 2 stamps and record. In ticks. */
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

/* The least of several rounds: what disturbs a loop only ever adds to it. */
static double least_loop_ns(const struct clock *clock, struct record *scratch, int what)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < LOOP_ROUNDS; round++) {
        int64_t ns = clock_ns(clock, run_loop(clock, scratch, what));
        if (ns < least)
            least = ns;
    }
    return (double)least / LOOP_STEPS;
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
    return (double)least / LOOP_STEPS;
}

/* Ball that two threads hand to and fro; each writes its counter when it has it. */
struct skew_table {
    const struct clock *clock;
    _Atomic int turn; /* even: the first thread's */
    _Atomic uint64_t answer_ticks;
};

static void skew_partner(void *argument)
{
    struct skew_table *table = argument;
    for (int round = 0; round < SKEW_ROUNDS; round++) {
        while (atomic_load_explicit(&table->turn, memory_order_acquire) != 2 * round + 1)
            ;
        atomic_store_explicit(&table->answer_ticks, clock_begin(table->clock),
                              memory_order_relaxed);
        atomic_store_explicit(&table->turn, 2 * round + 2, memory_order_release);
    }
}

/* The answer was read between `sent` and `back`: each round trip bounds the offset from
 * both sides, and the tightest bounds of all rounds hold. */
static void play_skew(struct skew_table *table, double quantum_ns, struct instrument_skew *skew)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int round = 0; round < SKEW_ROUNDS; round++) {
        uint64_t sent = clock_begin(table->clock);
        atomic_store_explicit(&table->turn, 2 * round + 1, memory_order_release);
        while (atomic_load_explicit(&table->turn, memory_order_acquire) != 2 * round + 2)
            ;
        uint64_t back = clock_begin(table->clock);
        uint64_t answer = atomic_load_explicit(&table->answer_ticks, memory_order_relaxed);
        if ((int64_t)(answer - back) > low)
            low = (int64_t)(answer - back);
        if ((int64_t)(answer - sent) < high)
            high = (int64_t)(answer - sent);
    }
    double ns_per_tick = table->clock->use_counter ? 1e9 / (double)table->clock->counter_hz : 1;
    /* each reading was cut off at the counter's quantum */
    skew->offset_ns = ((double)low + (double)high) / 2 * ns_per_tick;
    skew->bound_ns = ((double)high - (double)low) / 2 * ns_per_tick + quantum_ns;
    skew->is_consistent =
        skew->offset_ns - skew->bound_ns <= 0 && skew->offset_ns + skew->bound_ns >= 0;
}

struct skew_game {
    struct skew_table table;
    double quantum_ns;
    struct instrument_skew *skew;
};

static void skew_first(void *argument)
{
    struct skew_game *game = argument;
    play_skew(&game->table, game->quantum_ns, game->skew);
}

static bool skew_of_pair(const struct clock *clock, double quantum_ns, struct instrument_skew *skew)
{
    struct skew_game game = {.table = {.clock = clock}, .quantum_ns = quantum_ns, .skew = skew};
    struct actor first, partner;
    struct actor_setup on_a = {SCHED_OTHER, 0, skew->cpu_a}, on_b = {SCHED_OTHER, 0, skew->cpu_b};
    if (actor_start(&first, &on_a, skew_first, &game) != 0)
        return false;
    int error = actor_start(&partner, &on_b, skew_partner, &game.table);
    if (error) /* the first plays alone otherwise, for ever */
        first.body = NULL;
    actor_go(&first);
    if (!error) {
        actor_go(&partner);
        actor_join(&partner);
    }
    actor_join(&first);
    return error == 0;
}

void instrument_measure_skew(struct instrument *instrument, const struct clock *clock, int cpu)
{
    bool allowed[PORT_CPUS] = {false};
    instrument->skew_count = 0;
    if (port_allowed_cpus(allowed) < 2 || cpu < 0)
        return;
    for (int other = 0; other < PORT_CPUS; other++) {
        if (!allowed[other] || other == cpu || instrument->skew_count == INSTRUMENT_CPUS)
            continue;
        struct instrument_skew *skew = &instrument->skew[instrument->skew_count];
        *skew = (struct instrument_skew){.cpu_a = cpu, .cpu_b = other};
        if (skew_of_pair(clock, instrument->quantum_ns, skew))
            instrument->skew_count++;
    }
}
