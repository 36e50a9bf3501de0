/* SEM-P-ARN: acquire and release without contention (Dedicated Systems 2012).
 *
 * One thread, nobody waits. Release: begin = before V at value 0, end = after it; acquire:
 * begin = before P at value 1, end = after it. Each call is timed alone, with fenced reads
 * of the counter; the published test did so too, and the mean over a batch would hide each
 * slow call.
 *
 * Scope: an unnamed semaphore of one process, or one that processes share, in shared memory;
 * the other kinds take the same way for both and are measured once (semaphore_solo.h).
 *
 * How it could be wrong: for kinds that stay in user space the value is near the cost of a
 * pair of stamps, which is in the instrument's figures and is never subtracted.
 */
#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

enum { SAMPLES = 100000, BURST = 64, SERIES_PER_CELL = 2 };

#define SAMPLE_NS 1500 /* generous, for the expected time; a P and a V */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,
     "kinds of semaphore"},
    SOLO_SCOPES,
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "kind,scope", "before P at value 1", "after the same call"},
    {"release", "ns", "kind,scope", "before V at value 0 with nobody waiting",
     "after the same call"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    return solo_expected_ns(run, solo_cells(run), SAMPLE_NS);
}

static int add_series(struct run *run, const char *name, int place)
{
    struct solo_cell cell = solo_cell(run, place);
    int index = run_add_series(run, name, "ns", "kind", cell.kind_name);
    arena_plan_label_text(&run->plan, index, "scope", cell.scope_name);
    return index < 0 ? -1 : 0;
}

static int size(struct run *run)
{
    for (int i = 0; i < solo_cells(run); i++)
        if (add_series(run, "acquire", i) != 0 || add_series(run, "release", i) != 0)
            return -1;
    return 0;
}

static void measure_one(struct run *run, struct record *acquire, struct record *release,
                        int64_t at_ns)
{
    struct solo *solo = run->own;
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(solo->semaphore);
    uint64_t signalled = clock_end(&run->clock);
    uint64_t asked = clock_begin(&run->clock);
    semaphore_wait(solo->semaphore);
    uint64_t end = clock_end(&run->clock);
    record_value(acquire, clock_ns(&run->clock, end - asked), at_ns);
    record_value(release, clock_ns(&run->clock, signalled - begin), at_ns);
}

static void measure_cell(struct run *run, int cell)
{
    struct solo *solo = run->own;
    int place = cell * SERIES_PER_CELL;
    struct record *acquire = arena_record(run->arena, place);
    struct record *release = arena_record(run->arena, place + 1);
    struct run_budget budget = run_budget(run, solo_cells(run));
    int64_t now_ns = pace_next(&solo->pace);
    for (int i = 0; i < SOLO_WARM_UP; i++)
        measure_one(run, run->scratch, run->scratch, run_at_ns(run, now_ns));
    while (run_budget_left(&budget, acquire->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || acquire->count < budget.samples); i++)
            measure_one(run, acquire, release, run_at_ns(run, now_ns));
        now_ns = pace_next(&solo->pace);
    }
}

static int measure(struct run *run)
{
    return solo_measure_open(run, measure_cell);
}

const struct test sem_p_arn = {
    .id = "SEM-P-ARN",
    .title = "Acquire and release a semaphore without contention",
    .source = "[D] Dedicated Systems 2012",
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
