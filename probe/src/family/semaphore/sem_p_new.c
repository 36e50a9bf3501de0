/* SEM-P-NEW: create and delete a semaphore (Dedicated Systems 2012).
 *
 * One thread. Create: begin = before the calls that make a semaphore of value 0, end =
 * after them; delete: the same for the calls that undo it. What they are:
 *   unnamed   sem_init; sem_destroy
 *   named     sem_open; sem_close and sem_unlink (the name lives in between)
 *   sysv      semget and setting the value, which POSIX leaves open; removing the set
 *   eventfd   making the descriptor; closing it
 * A futex is an integer and no object that is made, so it is not here. Scope: an unnamed
 * semaphore is made for one process, or to be shared, then in shared memory, whose making is
 * not timed; the other kinds have one form for both and are measured once. Case `used`: one V
 * and one P in between, which are not timed; case `unused`: nothing.
 *
 * How it could be wrong: an unnamed semaphore may be no object either: its figure is then
 * that of storing an integer, close to the cost of the stamps. The first name or set of a
 * run may cost more than the later ones: it is in the maximum.
 */
#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

enum { SAMPLES = 20000, BURST = 16, SERIES_PER_CELL = 2, CASES = 2 };

#define SAMPLE_NS 30000 /* generous, for the expected time */

static const char *const case_names[CASES] = {"unused", "used"};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "unnamed,named,sysv,eventfd", 0, 0, semaphore_object_names,
     "kinds of semaphore"},
    SOLO_SCOPES,
    {0},
};

static const struct series_spec series[] = {
    {"create", "ns", "case,kind,scope", "before the calls that make a semaphore of value 0",
     "after them"},
    {"delete", "ns", "case,kind,scope", "before the calls that undo it", "after them"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    return solo_expected_ns(run, CASES * solo_cells(run), SAMPLE_NS);
}

static int add_series(struct run *run, const char *name, int place)
{
    struct solo_cell cell = solo_cell(run, place / CASES);
    int index = run_add_series(run, name, "ns", "case", case_names[place % CASES]);
    arena_plan_label_text(&run->plan, index, "kind", cell.kind_name);
    arena_plan_label_text(&run->plan, index, "scope", cell.scope_name);
    return index < 0 ? -1 : 0;
}

static int size(struct run *run)
{
    for (int i = 0; i < solo_cells(run) * CASES; i++)
        if (add_series(run, "create", i) != 0 || add_series(run, "delete", i) != 0)
            return -1;
    return 0;
}

static int measure_one(struct run *run, int place, const struct solo_cell *cell, bool is_used,
                       int64_t at_ns)
{
    struct solo *solo = run->own;
    struct semaphore *semaphore = solo->semaphore;
    const struct leftover_place *place_of_name = &solo->leftover.places[0];
    uint64_t begin = clock_begin(&run->clock);
    int error = semaphore_create(semaphore, cell->kind, cell->is_shared, place_of_name);
    uint64_t created = clock_end(&run->clock);
    if (error)
        return outcome_set_errno(&run->outcome, error, cell->kind_name, NULL);
    if (is_used) {
        semaphore_signal(semaphore);
        semaphore_wait(semaphore);
    }
    uint64_t asked = clock_begin(&run->clock);
    semaphore_delete(semaphore);
    uint64_t end = clock_end(&run->clock);
    record_value(arena_record(run->arena, place), clock_ns(&run->clock, created - begin), at_ns);
    record_value(arena_record(run->arena, place + 1), clock_ns(&run->clock, end - asked), at_ns);
    return 0;
}

static int measure_case(struct run *run, int place)
{
    struct solo *solo = run->own;
    struct solo_cell cell = solo_cell(run, place / CASES);
    int series_place = place * SERIES_PER_CELL;
    const struct record *record = arena_record(run->arena, series_place);
    struct run_budget budget = run_budget(run, solo_cells(run) * CASES);
    int64_t now_ns = pace_next(&solo->pace);
    while (run_budget_left(&budget, record->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || record->count < budget.samples); i++)
            if (measure_one(run, series_place, &cell, place % CASES == 1, run_at_ns(run, now_ns)) !=
                0)
                return -1;
        now_ns = pace_next(&solo->pace);
    }
    return 0;
}

static int measure_cell(struct run *run, int cell)
{
    for (int i = 0; i < CASES && !run_should_stop(); i++)
        if (measure_case(run, cell * CASES + i) != 0)
            return -1;
    return 0;
}

static int measure(struct run *run)
{
    return solo_measure(run, measure_cell);
}

const struct test sem_p_new = {
    .id = "SEM-P-NEW",
    .title = "Create and delete a semaphore",
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
