/* SEM-P-SHF: semaphore shuffle (Rhealstone; Garre et al. 2014).
 *
 * Two parties of equal priority on one CPU, threads or processes that share memory, hand
 * two semaphores to and fro. A value is one hand-over: begin = the giver before its V,
 * end = the taker after its P, which blocked until then. The giver, which V does not
 * preempt, blocks on the other semaphore in between: a hand-over is V, P up to the
 * blocking, the switch, and the return of the taker's P. Both directions are recorded; the
 * two stamps are taken by the two parties on the same CPU, so no skew is between them.
 *
 * The stamps of a round must stand in the order given, received, answered, taken; where they
 * do not nothing was handed over, and the test ends and fails (event not_handed_over).
 *
 * How it could be wrong: with two CPUs a hand-over would hold a wake-up instead of a
 * switch, so where the port cannot bind, the test says unsupported.
 */
#include "base/posix_source.h"

#include "family/semaphore/cell.h"
#include "family/semaphore/ping_pong.h"

enum { SAMPLES = 50000, BURST = 32 };

#define SAMPLE_NS 6000 /* generous, for the expected time */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,
     "kinds of semaphore"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, partner_scope_names,
     "between two threads, between two processes"},
    {0},
};

static const struct series_spec series[] = {
    {"shuffle", "ns", "kind,scope", "one party before its V", "the other party after its P"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    int64_t by_samples_ns =
        (int64_t)(run->samples % INT64_C(1000000000)) * SAMPLE_NS * cell_count(run);
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static int size(struct run *run)
{
    for (int cell = 0; cell < cell_count(run); cell++)
        if (exchange_add_series(run, cell, "shuffle", NULL) != 0)
            return -1;
    return 0;
}

static void answer(void *argument)
{
    struct exchange_table *table = argument;
    for (;;) {
        semaphore_wait(&table->there);
        uint64_t received = clock_end(table->clock);
        if (exchange_is_over(table))
            return;
        atomic_store_explicit(&table->received_ticks, received, memory_order_relaxed);
        atomic_store_explicit(&table->answered_ticks, clock_begin(table->clock),
                              memory_order_relaxed);
        semaphore_signal(&table->back);
    }
}

static bool is_not_after(uint64_t one, uint64_t other)
{
    return (int64_t)(other - one) >= 0;
}

/* One hand-over in each direction; the second is not kept where one value was left to take.
 * False when the second party did not take and give in between. */
static bool shuffle(struct run *run, struct exchange_table *table, struct record *record,
                    int64_t now_ns)
{
    atomic_store_explicit(&table->received_ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&table->answered_ticks, 0, memory_order_relaxed);
    uint64_t given = clock_begin(&run->clock);
    semaphore_signal(&table->there);
    semaphore_wait(&table->back);
    uint64_t taken = clock_end(&run->clock);
    uint64_t received = atomic_load_explicit(&table->received_ticks, memory_order_relaxed);
    uint64_t answered = atomic_load_explicit(&table->answered_ticks, memory_order_relaxed);
    if (received == 0 || answered == 0 || !is_not_after(given, received) ||
        !is_not_after(received, answered) || !is_not_after(answered, taken))
        return false;
    record_value(record, clock_ns(&run->clock, received - given), run_at_ns(run, now_ns));
    if (run->samples == 0 || record->count < run->samples)
        record_value(record, clock_ns(&run->clock, taken - answered), run_at_ns(run, now_ns));
    return true;
}

static int measure_shuffles(struct run *run, int cell)
{
    struct exchange *exchange = run->own;
    struct record *record = arena_record(run->arena, cell);
    struct run_budget budget = run_budget(run, cell_count(run));
    int64_t now_ns = pace_next(&exchange->pace);
    while (run_budget_left(&budget, record->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || record->count < budget.samples); i++)
            if (!shuffle(run, exchange->table, record, now_ns))
                return exchange_refuse(run, cell,
                                       "a hand-over ended before the other party had taken part");
        now_ns = pace_next(&exchange->pace);
    }
    return 0;
}

static int measure(struct run *run)
{
    static const struct exchange_body body = {NULL, measure_shuffles, answer};
    return exchange_measure(run, &body);
}

const struct test sem_p_shf = {
    .id = "SEM-P-SHF",
    .title = "Semaphore shuffle",
    .source = "[G] Garre et al. 2014, Rhealstone",
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
