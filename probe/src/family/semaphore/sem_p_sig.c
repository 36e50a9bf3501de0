/* SEM-P-SIG: signal and wait in one thread, "sync test 1" (Obenland 2000).
 *
 * One thread signals a semaphore and takes it again at once: it never blocks and no
 * switch happens. A value is the time from before the signal to after the wait, with
 * fenced reads of the counter. The kind `mutex` unlocks and locks a pthread mutex that the
 * thread holds. This is what SEM-P-RTP takes off to find the switch.
 *
 * Scope: an unnamed semaphore or mutex of one process, or one that processes share, in shared
 * memory; the other kinds take the same way for both and are measured once (semaphore_solo.h).
 *
 * How it could be wrong: for kinds that stay in user space the value is near the cost of
 * the stamps themselves; that cost is in the instrument's figures and is never subtracted.
 */
#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

enum { SAMPLES = 100000, BURST = 64 };

#define SAMPLE_NS 1500 /* generous, for the expected time */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT ",mutex", 0, 0, semaphore_and_mutex_names,
     "kinds of semaphore, and the mutex"},
    SOLO_SCOPES,
    {0},
};

static const struct series_spec series[] = {
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    return solo_expected_ns(run, solo_cells(run), SAMPLE_NS);
}

static int size(struct run *run)
{
    for (int i = 0; i < solo_cells(run); i++) {
        struct solo_cell cell = solo_cell(run, i);
        int index = run_add_series(run, "signal_wait", "ns", "kind", cell.kind_name);
        arena_plan_label_text(&run->plan, index, "scope", cell.scope_name);
        if (index < 0)
            return -1;
    }
    return 0;
}

static void measure_one(struct run *run, struct record *record, int64_t at_ns)
{
    struct semaphore *semaphore = ((struct solo *)run->own)->semaphore;
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(semaphore);
    semaphore_wait(semaphore);
    uint64_t end = clock_end(&run->clock);
    record_value(record, clock_ns(&run->clock, end - begin), at_ns);
}

static void measure_cell(struct run *run, int place)
{
    struct solo *solo = run->own;
    struct record *record = arena_record(run->arena, place);
    struct run_budget budget = run_budget(run, solo_cells(run));
    int64_t now_ns = pace_next(&solo->pace);
    for (int i = 0; i < SOLO_WARM_UP; i++)
        measure_one(run, run->scratch, run_at_ns(run, now_ns));
    while (run_budget_left(&budget, record->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || record->count < budget.samples); i++)
            measure_one(run, record, run_at_ns(run, now_ns));
        now_ns = pace_next(&solo->pace);
    }
}

static int measure(struct run *run)
{
    return solo_measure_open(run, measure_cell);
}

const struct test sem_p_sig = {
    .id = "SEM-P-SIG",
    .title = "Signal and wait in one thread (sync test 1)",
    .source = "[O] Obenland 2000, synchronization test 1",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = solo_prepare,
    .measure = measure,
    .judge = semaphore_require_any,
    .finish = solo_finish,
};
