/* SEM-P-ARC: acquire and release a semaphore with contention (Dedicated Systems 2012).
 *
 * What: n waiters, threads of the creator's process or of a second one, block on one semaphore of
 *   value 0, the highest first, so each queues behind all the others; the creator then releases
 *   them one by one. Rounds are never cut, so a series has its values spread evenly over 0 to n - 1
 *   other waiters, and there may be a few more than requested.
 * Begin, end: acquire: a waiter before its P, the creator's first stamp when it runs again after
 *   the call that opened the waiter's gate. release: the creator before its V, the woken waiter
 *   after its P. Fenced reads of the counter by two threads on the same CPU.
 * Threads: the waiters have the n priorities up to the run's, the creator, the measuring thread, is
 *   below them. 128 waiters were published; with fewer priorities as many as fit are used (event
 *   fewer_levels). The first round of a variant and after each rest is not recorded.
 * Wrong if: acquire includes the creator's return from the call that opened the gate. With many
 *   waiters the creator's priority is low, and whatever the system runs above it is in the figures.
 *   Of more than WAITERS_LOCKED waiters only the first have locked stacks (event
 *   stacks_not_locked): while memory is short, page faults of the others would be in them.
 */
#include "base/posix_source.h"

#include "family/semaphore/waiters.h"
#include "port/port.h"
#include "run/run.h"
#include "run/scheduling.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { ACQUIRE, RELEASE };
enum { SAMPLES = 10000, MOST_WAITERS = 512, FLUSH_TRIES = 1000 };

static const struct param_spec params[] = {
    SEMAPHORE_KIND_PARAM,
    SEMAPHORE_SCOPE_PARAM("where the waiters are: in the creator's process, in a second one"),
    {"waiters", PARAM_COUNT, true, "1,8,32,128", 1, MOST_WAITERS, NULL,
     "numbers of waiting threads", "waiters"},
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
    struct ipc_cleanup ipc_cleanup;
    struct waiters row;
    uint64_t (*signal)(const struct run *run); /* of the variant's kind: signal_one */
    uint64_t misordered, not_run;
    int priorities[]; /* of the largest number of waiters */
};

/* Limits the number of waiters to the priorities there are. A number that becomes equal to an
 * earlier one is no variant. */
static bool has_variant(const struct run *run, struct variant *variant)
{
    const struct param_value *wanted = run_param(run, "waiters");
    if (!peer_has_variant(run, variant))
        return false;
    int place = variant_place(run, "waiters"), most = one_cpu_levels(run) - 1;
    int64_t asked = variant->number[place];
    variant->number[place] = asked < most ? asked : most;
    for (int i = 0; i < wanted->count && wanted->number[i] != asked; i++)
        if (wanted->number[i] >= most && asked >= most)
            return false;
    return true;
}

static int most_waiters(const struct run *run)
{
    const struct param_value *wanted = run_param(run, "waiters");
    int64_t most = 0;
    for (int i = 0; i < wanted->count; i++)
        most = wanted->number[i] > most ? wanted->number[i] : most;
    int levels = one_cpu_levels(run) - 1;
    return most < levels ? (int)most : levels;
}

static void report_levels(struct run *run)
{
    const struct param_value *wanted = run_param(run, "waiters");
    int most = one_cpu_levels(run) - 1, highest = sched_get_priority_max(run->setup.policy);
    int above = highest - run->setup.priority;
    char more[48] = "";
    if (above > 0)
        snprintf(more, sizeof more, " (%d with --priority %d)", most + above, highest);
    for (int i = 0; i < wanted->count; i++)
        if (wanted->number[i] > most)
            arena_event(
                run->arena, "fewer_levels", -1,
                DATA(data_integer("asked_count", wanted->number[i]),
                     data_integer("levels_count", most + 1), data_integer("most_count", most),
                     data_integer("most_count_at_highest", most + (above > 0 ? above : 0)),
                     data_integer("highest_priority", highest)),
                "%lld waiters of different priorities were requested; there are %d priorities up "
                "to the measuring thread's, and the creator takes one: %d waiters%s",
                (long long)wanted->number[i], most + 1, most, more);
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, 2) != 0)
        return -1;
    int most = most_waiters(run);
    struct own *own = run_own(run, sizeof *own + (size_t)most * sizeof own->priorities[0]);
    if (!own)
        return -1;
    for (int i = 0; i < most; i++)
        own->priorities[i] = run->setup.priority - i;
    report_levels(run);
    if (most > WAITERS_LOCKED && run->is_locked)
        arena_event(run->arena, "stacks_not_locked", -1,
                    DATA(data_integer("locked_count", WAITERS_LOCKED)),
                    "the stacks of waiters beyond %d are touched but not locked: with more "
                    "waiters the figures may include page faults while memory is short",
                    WAITERS_LOCKED);
    if (semaphore_guard(run, &own->ipc_cleanup, true) != 0)
        return -1;
    return waiters_make(&own->row, run, &own->ipc_cleanup, most);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    waiters_free(&own->row);
    ipc_cleanup_close(&own->ipc_cleanup);
}

static void acquire_one(struct run *run, int waiter)
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
        run_take(run, ACQUIRE, asked, end);
}

/* The begin of a release, and V. */
SEMAPHORE_INLINE uint64_t signal_one(const struct run *run, enum semaphore_kind kind)
{
    struct own *own = run->own;
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal_of(&own->row.table->semaphore, kind);
    return begin;
}

#define SIGNAL_ONE(word, kind)                                                                     \
    static uint64_t signal_one_##word(const struct run *run)                                       \
    {                                                                                              \
        return signal_one(run, kind);                                                              \
    }
SEMAPHORE_EACH(SIGNAL_ONE)
static uint64_t (*const signals[])(const struct run *run) = {SEMAPHORE_TABLE(signal_one)};

static void release_one(struct run *run, int expected)
{
    struct own *own = run->own;
    struct waiters_table *row = own->row.table;
    int woken_count = atomic_load(&row->woken_count);
    uint64_t begin = own->signal(run);
    if (atomic_load(&row->woken_count) != woken_count + 1) {
        own->not_run++;
        return;
    }
    int woken = atomic_load(&row->last_woken);
    uint64_t end = atomic_load_explicit(&row->waiter[woken].woken_ticks, memory_order_relaxed);
    own->misordered += woken == expected || run->is_warm_up ? 0 : 1;
    run_take(run, RELEASE, begin, end);
}

/* If a V did not run its waiter at once: sends more Vs until no waiter is blocked. */
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

/* A round always runs to its end: it gives each series one value per waiter. */
static int take_round(struct run *run)
{
    struct own *own = run->own;
    int count = (int)variant_number(run, "waiters");
    atomic_store(&own->row.table->woken_count, 0);
    for (int i = 0; i < count; i++)
        acquire_one(run, i);
    for (int i = 0; i < count; i++)
        release_one(run, i);
    if (own->not_run == 0)
        return 0;
    flush(run, count);
    if (waiters_are_gone(&own->row))
        return -1; /* waiters_end gives the reason */
    return outcome_set(&run->outcome, STATUS_FAILED, "run SEM-B-LCK and see its verdicts",
                       "a thread of higher priority became ready and did not run at once: the "
                       "measured interval is not the wake-up");
}

static int measure_waiters(struct run *run)
{
    struct own *own = run->own;
    int count = (int)variant_number(run, "waiters");
    int error = waiters_start(&own->row, run, &own->ipc_cleanup, peer_scope_of(run),
                              own->priorities, count);
    if (error) {
        char remedy[STATUS_TEXT_BYTES];
        snprintf(remedy, sizeof remedy, "%s, or ask for fewer: -p waiters=8",
                 port_hint(PORT_HINT_THREADS));
        return peer_not_started(run, error, "waiters", remedy);
    }
    own->signal = signals[semaphore_kind_of(run)];
    bool is_lower = scheduling_step_down(run, count) == 0;
    burst_begin(run, waiters_process(&own->row));
    int result = is_lower ? variant_sample(run, ACQUIRE, 1, take_round) : -1;
    bool is_back = scheduling_step_up(run) == 0;
    return waiters_end(&own->row, run) == 0 && is_back ? result : -1;
}

static void report_misordered(struct run *run)
{
    struct own *own = run->own;
    char variant[ARENA_NAME_BYTES];
    variant_name(run, variant, sizeof variant);
    if (own->misordered > 0)
        arena_event(
            run->arena, "not_highest_first", -1,
            DATA(data_text("variant", variant), data_integer("count", (int64_t)own->misordered)),
            "%s: %llu times V did not wake the waiter with the highest priority, which had also "
            "waited longest",
            variant, (unsigned long long)own->misordered);
    own->misordered = 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum semaphore_kind kind = semaphore_kind_of(run);
    bool is_shared = peer_scope_of(run) == PEER_PROCESS;
    struct semaphore *semaphore = &own->row.table->semaphore;
    const struct ipc_cleanup_place *place = &own->ipc_cleanup.places[0];
    if (!peer_has_scope(&own->ipc_cleanup, own->row.table, peer_scope_of(run)) ||
        !semaphore_is_here(run, kind, is_shared, place))
        return 0;
    int error = semaphore_open(semaphore, kind, is_shared, place);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    int result = measure_waiters(run);
    if (result == 0)
        result = semaphore_check(run, semaphore);
    semaphore_close(semaphore);
    report_misordered(run);
    return result;
}

const struct test sem_p_arc = {
    .id = "SEM-P-ARC",
    .title = "Acquire and release a semaphore with contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU | TEST_NEEDS_UNNAMED_SEMAPHORES,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(750000000),
    .sample_ns = 16000,
    .warm_up_samples = 1,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = finish,
};
