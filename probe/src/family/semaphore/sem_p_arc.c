/* SEM-P-ARC: acquire and release with contention (Dedicated Systems 2012).
 *
 * On one CPU, n threads of different priorities, each above the creator, of its process or all
 * of a second one, block on one semaphore of value 0, the highest first; then the creator releases
 * them one by one. acquire: begin = a waiter before P; end = the creator running again, its first
 * stamp after the call that had made that waiter ready (the waiter blocked in between) release:
 * begin = the creator before V; end = the woken waiter after its P The two stamps are taken by the
 * two threads on the same CPU. The waiters take the n levels that end at the measuring thread's,
 * the creator the one below; a system with fewer levels gets as many waiters as fit, the label
 * `waiters` says how many, and an event.
 *
 * Blocking the highest first has each waiter go behind all that wait already, the longest
 * way through a queue that is sorted by priority; and kinds that wake in the order of
 * blocking wake the highest first too. Rounds are whole: the values of a series are spread
 * evenly over 0 to n - 1 other waiters, so they can be a few more than were asked for.
 *
 * A release that takes longer the more threads wait tells of a kind that wakes them all and
 * lets them fight it out.
 *
 * Between processes all waiters are threads of one: each acquire and release has one switch
 * of the address space in it. Semaphore and gates are then shared ones.
 *
 * How it could be wrong: acquire holds the creator's return from the call that had opened
 * the waiter's gate. With many waiters the creator is low: what the system itself runs at
 * the levels in between is in the figures, as it would be in an application's.
 */
#include "base/posix_source.h"

#include "family/semaphore/cell.h"
#include "family/semaphore/waiters.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"

#include <string.h>

enum { SAMPLES = 10000, SERIES_PER_CELL = 2, MOST_WAITERS = 512, FLUSH_TRIES = 1000 };

#define SAMPLE_NS 25000 /* generous, for the expected time; both calls */

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,
     "kinds of semaphore"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, partner_scope_names,
     "waiters of the creator's process, waiters of a second one"},
    {"waiters", PARAM_COUNT, true, "1,8,32,128", 1, MOST_WAITERS, NULL,
     "numbers of threads that wait"},
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "kind,scope,waiters", "a waiter before P, which blocks",
     "the creator of lower priority running again"},
    {"release", "ns", "kind,scope,waiters", "the creator before V",
     "the woken waiter running, after P"},
    {0},
};

struct own {
    struct leftover leftover;
    struct pace pace;
    struct waiters row;
    int count_count, counts[TEST_VALUES]; /* of waiters, each number once */
    uint64_t misordered, not_run;
    int priorities[MOST_WAITERS];
};

/* The numbers asked for, as far as there are levels. */
static int list_counts(const struct run *run, int counts[TEST_VALUES])
{
    const struct param_value *wanted = run_param(run, "waiters");
    int most = one_cpu_levels(run) - 1, used = 0;
    for (int i = 0; i < wanted->count; i++) {
        int count = wanted->number[i] > most ? most : (int)wanted->number[i];
        int place = 0;
        while (place < used && counts[place] != count)
            place++;
        counts[place] = count;
        used += place == used ? 1 : 0;
    }
    return used;
}

static int64_t expected_ns(const struct run *run)
{
    int counts[TEST_VALUES];
    int64_t cells = list_counts(run, counts) * cell_count(run);
    int64_t by_samples_ns =
        ((int64_t)(run->samples % INT64_C(1000000000)) + MOST_WAITERS) * SAMPLE_NS * cells;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static int add_cell(struct run *run, const char *name, int row, int waiters)
{
    int index = run_add_series(run, name, "ns", "kind", semaphore_kind_names[cell_kind(run, row)]);
    arena_plan_label_text(&run->plan, index, "scope", partner_scope_names[cell_scope(run, row)]);
    arena_plan_label_number(&run->plan, index, "waiters", waiters);
    return index < 0 ? -1 : 0;
}

static int size(struct run *run)
{
    int counts[TEST_VALUES];
    int used = list_counts(run, counts);
    for (int i = 0; i < cell_count(run) * used; i++)
        if (add_cell(run, "acquire", i / used, counts[i % used]) != 0 ||
            add_cell(run, "release", i / used, counts[i % used]) != 0)
            return -1;
    return 0;
}

static void tell_levels(struct run *run)
{
    const struct param_value *wanted = run_param(run, "waiters");
    int levels = one_cpu_levels(run);
    for (int i = 0; i < wanted->count; i++)
        if (wanted->number[i] > levels - 1)
            arena_event(run->arena, "fewer_levels", -1,
                        "%lld waiters of different priorities were asked for; up to the measuring "
                        "thread's there are %d levels, the creator takes one: %d waiters",
                        (long long)wanted->number[i], levels, levels - 1);
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, 2) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->count_count = list_counts(run, own->counts);
    for (int i = 0; i < MOST_WAITERS; i++)
        own->priorities[i] = run->setup.priority - i;
    tell_levels(run);
    if (semaphore_guard(run, &own->leftover, true) != 0)
        return -1;
    return waiters_make(&own->row, run, &own->leftover, MOST_WAITERS);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    waiters_free(&own->row);
    leftover_close(&own->leftover);
}

static void acquire_one(struct run *run, int waiter, struct record *acquire, int64_t at_ns)
{
    struct own *own = run->own;
    struct waiters_table *row = own->row.table;
    atomic_store_explicit(&row->waiter[waiter].asked_ticks, 0, memory_order_relaxed);
    waiters_ask(row, waiter);
    uint64_t end = clock_end(&run->clock);
    uint64_t asked = atomic_load_explicit(&row->waiter[waiter].asked_ticks, memory_order_relaxed);
    if (asked == 0)
        own->not_run++;
    else
        record_value(acquire, clock_ns(&run->clock, end - asked), at_ns);
}

static void release_one(struct run *run, int expected, struct record *release, int64_t at_ns)
{
    struct own *own = run->own;
    struct waiters_table *row = own->row.table;
    int woken_count = atomic_load(&row->woken_count);
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(&row->semaphore);
    if (atomic_load(&row->woken_count) != woken_count + 1) {
        own->not_run++;
        return;
    }
    int woken = atomic_load(&row->last_woken);
    uint64_t end = atomic_load_explicit(&row->waiter[woken].woken_ticks, memory_order_relaxed);
    own->misordered += woken == expected ? 0 : 1;
    record_value(release, clock_ns(&run->clock, end - begin), at_ns);
}

/* Where a V did not run its waiter at once, more of them, until none waits. */
static void flush(struct run *run, int count)
{
    struct own *own = run->own;
    struct timespec while_they_run = {.tv_nsec = 1000000};
    struct waiters_table *row = own->row.table;
    for (int i = 0; i < FLUSH_TRIES && atomic_load(&row->woken_count) < count; i++) {
        if (waiters_are_gone(&own->row))
            return;
        nanosleep(&while_they_run, NULL);
        if (atomic_load(&row->woken_count) < count)
            semaphore_signal(&row->semaphore);
    }
}

static void measure_round(struct run *run, int place, int count, int64_t at_ns)
{
    struct own *own = run->own;
    atomic_store(&own->row.table->woken_count, 0);
    for (int i = 0; i < count; i++)
        acquire_one(run, i, arena_record(run->arena, place), at_ns);
    for (int i = 0; i < count; i++)
        release_one(run, i, arena_record(run->arena, place + 1), at_ns);
    if (own->not_run > 0)
        flush(run, count);
}

static int measure_cell(struct run *run, enum partner_scope scope, int place, int count)
{
    struct own *own = run->own;
    const struct record *record = arena_record(run->arena, place);
    int error = waiters_start(&own->row, run, &own->leftover, scope, own->priorities, count);
    if (error)
        return partner_not_started(
            run, error, "waiters",
            "raise the limits on threads and memory (ulimit -u, ulimit -l, ulimit -v), or "
            "ask for fewer: -p waiters=8");
    actor_set_self(run->setup.policy, run->setup.priority - count);
    struct run_budget budget = run_budget(run, cell_count(run) * own->count_count);
    pace_begin(&own->pace, run, waiters_process(&own->row));
    int64_t now_ns = pace_next(&own->pace);
    while (run_budget_left(&budget, record->count, now_ns) && own->not_run == 0) {
        measure_round(run, place, count, run_at_ns(run, now_ns));
        if (own->not_run > 0 && waiters_are_gone(&own->row))
            break; /* which says more than the pause that follows from it */
        now_ns = pace_next(&own->pace);
    }
    actor_set_self(run->setup.policy, run->setup.priority);
    return waiters_end(&own->row, run);
}

static int measure_row(struct run *run, int row)
{
    struct own *own = run->own;
    enum semaphore_kind kind = cell_kind(run, row);
    enum partner_scope scope = cell_scope(run, row);
    bool is_shared = scope == PARTNER_PROCESS;
    struct semaphore *semaphore = &own->row.table->semaphore;
    const struct leftover_place *place = &own->leftover.places[0];
    if (!semaphore_is_here(run, kind, is_shared, place))
        return 0;
    int result = 0, error = semaphore_open(semaphore, kind, is_shared, place);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    for (int i = 0; i < own->count_count && result == 0 && !run_should_stop(); i++)
        result = measure_cell(run, scope, (row * own->count_count + i) * SERIES_PER_CELL,
                              own->counts[i]);
    if (result == 0)
        result = semaphore_check(run, semaphore);
    semaphore_close(semaphore);
    if (own->misordered > 0)
        arena_event(run->arena, "not_highest_first", -1,
                    "%s, %s: %llu times V woke another than the highest, which had waited longest",
                    semaphore_kind_names[kind], partner_scope_names[scope],
                    (unsigned long long)own->misordered);
    own->misordered = 0;
    return result;
}

static int measure(struct run *run)
{
    const struct own *own = run->own;
    for (int i = 0; i < cell_count(run) && !run_should_stop(); i++)
        if (measure_row(run, i) != 0)
            return -1;
    if (own->not_run > 0)
        return outcome_set(&run->outcome, STATUS_FAILED, "see what SEM-B-LCK says",
                           "a thread of higher priority that was made ready did not run at once: "
                           "the two moments of this test are not what they mean");
    return 0;
}

const struct test sem_p_arc = {
    .id = "SEM-P-ARC",
    .title = "Acquire and release a semaphore with contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = semaphore_require_any,
    .finish = finish,
};
