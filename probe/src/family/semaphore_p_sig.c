/* SEM-P-SIG: signal and wait in one thread, "sync test 1" (Obenland 2000).
 *
 * One thread posts a semaphore and takes it again at once: it never blocks and no
 * switch happens. A value is the time from before the post to after the wait, with
 * fenced reads of the counter. This is what SEM-P-RTP takes off to find the switch.
 *
 * How it could be wrong: the value is near the cost of the stamps themselves; that cost
 * is in the instrument's figures and is never subtracted.
 */
#include "../posix_source.h"

#include "semaphore_kind.h"

#include "../run.h"

enum { SAMPLES = 100000, BURST = 64 };

#define SAMPLE_NS 500 /* generous, for the expected time */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "unnamed", 0, 0, semaphore_kind_names, "kinds of semaphore"},
    {0},
};

static const struct series_spec series[] = {
    {"signal_wait", "ns", "kind", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    int64_t kinds = run_param(run, "kinds")->count;
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(1000000000000)) * SAMPLE_NS * kinds;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static int size(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count; i++)
        if (run_add_series(run, "signal_wait", "ns", "kind",
                           semaphore_kind_names[kinds->number[i]]) < 0)
            return -1;
    return 0;
}

static int measure_kind(struct run *run, int place, enum semaphore_kind kind)
{
    struct semaphore semaphore;
    struct record *record = arena_record(run->arena, place);
    int error = semaphore_open(&semaphore, kind);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    struct run_budget budget = run_budget(run, run_param(run, "kinds")->count);
    int64_t now_ns = breathe(&run->breath);
    while (run_budget_left(&budget, record->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || record->count < budget.samples); i++) {
            uint64_t begin = clock_begin(&run->clock);
            semaphore_signal(&semaphore);
            semaphore_wait(&semaphore);
            uint64_t end = clock_end(&run->clock);
            record_value(record, clock_ns(&run->clock, end - begin), run_at_ns(run, now_ns));
        }
        now_ns = breathe(&run->breath);
    }
    semaphore_close(&semaphore);
    return 0;
}

static int measure(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++)
        if (measure_kind(run, i, (enum semaphore_kind)kinds->number[i]) != 0)
            return -1;
    return 0;
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
    .measure = measure,
};
