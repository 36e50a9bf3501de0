/* SEM-P-RTP: round trip between two, "sync test 2" (Obenland 2000).
 *
 * Two parties of equal priority on one CPU: threads, or processes that share memory. The
 * first signals `there` and waits on `back`; the second waits on `there` and signals
 * `back`. One round trip is two signals, two waits that block and two switches: begin =
 * the first party before its signal, end = the first party after its wait.
 *
 * context_switch = round trip / 2 - mean of signal and wait without a switch, which is
 * measured right before in the same run, as SEM-P-SIG does it, on the same semaphore.
 *
 * The second party counts its answers: a round in which it did not give just one is no round
 * trip, and ends and fails the test (event not_handed_over).
 *
 * How it could be wrong: on a machine where the two ran on two CPUs, no switch would be in
 * the figure, so where the port cannot bind, the test says unsupported. The uncontended
 * pair stays in user space for some kinds while both calls of a round trip enter the
 * kernel: the context switch then contains the two system calls, and for kinds that always
 * enter the kernel it does not. Compare it within a kind.
 */
#include "base/posix_source.h"

#include "family/semaphore/cell.h"
#include "family/semaphore/ping_pong.h"

enum { SAMPLES = 50000, SIGNAL_SAMPLES = 20000, BURST = 64, SERIES_PER_CELL = 3 };

#define SAMPLE_NS 10000 /* generous, for the expected time */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,
     "kinds of semaphore"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, partner_scope_names,
     "between two threads, between two processes"},
    {0},
};

static const struct series_spec series[] = {
    {"round_trip", "ns", "kind,scope", "first party before it signals the second",
     "first party after its wait for the answer"},
    {"context_switch", "ns", "kind,scope", "round trip / 2 - mean(signal_wait)", NULL},
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    int64_t cells = cell_count(run);
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(1000000000)) * SAMPLE_NS * cells;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return (is_by_time ? run->duration_ns : by_samples_ns) + cells * SIGNAL_SAMPLES * SAMPLE_NS / 5;
}

static int size(struct run *run)
{
    for (int cell = 0; cell < cell_count(run); cell++)
        if (exchange_add_series(run, cell, "round_trip", NULL) != 0 ||
            exchange_add_series(run, cell, "context_switch",
                                "round_trip / 2 - mean(signal_wait)") != 0 ||
            exchange_add_series(run, cell, "signal_wait", NULL) != 0)
            return -1;
    return 0;
}

static void answer(void *argument)
{
    struct exchange_table *table = argument;
    for (;;) {
        semaphore_wait(&table->there);
        if (exchange_is_over(table))
            return;
        atomic_fetch_add_explicit(&table->answer_count, 1, memory_order_relaxed);
        semaphore_signal(&table->back);
    }
}

static void measure_signal_wait(struct run *run, int cell)
{
    struct exchange *exchange = run->own;
    struct semaphore *semaphore = &exchange->table->there;
    struct record *record = arena_record(run->arena, cell * SERIES_PER_CELL + 2);
    pace_begin(&exchange->pace, run, 0);
    int64_t now_ns = clock_monotonic_ns();
    for (int i = 0; i < SIGNAL_SAMPLES && !run_should_stop(); i++) {
        uint64_t begin = clock_begin(&run->clock);
        semaphore_signal(semaphore);
        semaphore_wait(semaphore);
        uint64_t end = clock_end(&run->clock);
        record_value(record, clock_ns(&run->clock, end - begin), run_at_ns(run, now_ns));
        if (i % BURST == 0)
            now_ns = pace_next(&exchange->pace);
    }
}

/* False when the second party did not run just once in it. */
static bool take_round_trip(struct run *run, int place, int64_t signal_wait_ns, int64_t at_ns)
{
    struct exchange_table *table = ((struct exchange *)run->own)->table;
    uint64_t answers = atomic_load_explicit(&table->answer_count, memory_order_relaxed);
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(&table->there);
    semaphore_wait(&table->back);
    uint64_t end = clock_end(&run->clock);
    if (atomic_load_explicit(&table->answer_count, memory_order_relaxed) != answers + 1)
        return false;
    int64_t ns = clock_ns(&run->clock, end - begin);
    record_value(arena_record(run->arena, place), ns, at_ns);
    record_value(arena_record(run->arena, place + 1), ns / 2 - signal_wait_ns, at_ns);
    return true;
}

static int measure_round_trips(struct run *run, int cell)
{
    struct exchange *exchange = run->own;
    int place = cell * SERIES_PER_CELL;
    const struct record *round_trip = arena_record(run->arena, place);
    int64_t signal_wait_ns =
        (int64_t)(record_mean(arena_record_view(run->arena, (uint32_t)place + 2)) + 0.5);
    struct run_budget budget = run_budget(run, cell_count(run));
    int64_t now_ns = pace_next(&exchange->pace);
    while (run_budget_left(&budget, round_trip->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || round_trip->count < budget.samples);
             i++)
            if (!take_round_trip(run, place, signal_wait_ns, run_at_ns(run, now_ns)))
                return exchange_refuse(run, cell,
                                       "the wait for the answer passed without just one answer");
        now_ns = pace_next(&exchange->pace);
    }
    return 0;
}

static int measure(struct run *run)
{
    static const struct exchange_body body = {measure_signal_wait, measure_round_trips, answer};
    return exchange_measure(run, &body);
}

const struct test sem_p_rtp = {
    .id = "SEM-P-RTP",
    .title = "Round trip between two (sync test 2)",
    .source = "[O] Obenland 2000, synchronization test 2",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = exchange_prepare,
    .measure = measure,
    .judge = semaphore_require_any,
    .finish = exchange_finish,
};
