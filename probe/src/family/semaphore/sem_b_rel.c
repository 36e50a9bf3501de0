/* SEM-B-REL: order of release (Dedicated Systems 2012).
 *
 * What: six waiters block on a semaphore of value 0, in ascending, descending or random order of
 *   their priorities, or three at each of two priorities in random order (`equals`); the creator
 *   calls V six times. They must be released by priority, FIFO among equals. 20 rounds each.
 * Begin, end: none; each waiter reads the counter when it has passed, and the order of these
 *   readings is the order of release.
 * Threads: the waiters, of the creator's process or all of a second one, are above the creator, the
 *   measuring thread, on one CPU.
 * Wrong if: waiters on two CPUs could run at once and would have no order, so the test needs one. A
 *   waiter that is woken late still has its reading in the right place. Verdicts are claims about
 *   what POSIX promises of sem_post. It promises no order for semop, Linux none for eventfd and
 *   futex: the order seen of these is an event, and neither pass nor fail.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/semaphore/waiters.h"
#include "run/run.h"
#include "run/scheduling.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAITERS = 6, EQUALS = 3, ROUNDS = 20, ORDERS = 4, LATE_TRIES = 500, TEXT_BYTES = 80 };

enum order { ORDER_ASCENDING, ORDER_DESCENDING, ORDER_MIXED, ORDER_EQUALS };
static const char *const order_names[ORDERS] = {"ascending", "descending", "mixed", "equals"};

static const struct param_spec params[] = {
    SEMAPHORE_KIND_PARAM,
    SEMAPHORE_SCOPE_PARAM("where the waiters are: in the creator's process, in a second one"),
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"ascending", "waiters that blocked lowest first are released highest first"},
    {"descending", "waiters that blocked highest first are released highest first"},
    {"mixed", "waiters that blocked in any order are released highest first"},
    {"equals", "among waiters of equal priority the one that waited longest is released first"},
    {0},
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct waiters row;
    struct random random;
    int tried_count;
    char other_order[2 * TEXT_BYTES + 80]; /* first such order of a kind without a promise */
    int priorities[WAITERS];
};

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, WAITERS + 1) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    random_start(&own->random, run->seed);
    if (semaphore_guard(run, &own->ipc_cleanup, true) != 0)
        return -1;
    return waiters_make(&own->row, run, &own->ipc_cleanup, WAITERS);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    waiters_free(&own->row);
    ipc_cleanup_close(&own->ipc_cleanup);
}

static void swap(int *one, int *other)
{
    int kept = *one;
    *one = *other;
    *other = kept;
}

/* The order of blocking; waiter i has the i-th lowest priority, or shares it. */
static void choose_order(struct own *own, enum order order, int blocking[WAITERS])
{
    for (int i = 0; i < WAITERS; i++)
        blocking[i] = order == ORDER_DESCENDING ? WAITERS - 1 - i : i;
    if (order != ORDER_MIXED && order != ORDER_EQUALS)
        return;
    for (int i = WAITERS - 1; i > 0; i--)
        swap(&blocking[i], &blocking[(int)random_below(&own->random, i + 1)]);
}

/* The promised order: by priority, FIFO among equals. */
static void sort_promised(const struct own *own, const int blocking[WAITERS], int promised[WAITERS])
{
    for (int i = 0; i < WAITERS; i++) {
        int place = i;
        for (; place > 0 && own->priorities[promised[place - 1]] < own->priorities[blocking[i]];
             place--)
            promised[place] = promised[place - 1];
        promised[place] = blocking[i];
    }
}

static void sort_woken(const struct own *own, int woken[WAITERS])
{
    for (int i = 0; i < WAITERS; i++) {
        uint64_t ticks = atomic_load(&own->row.table->waiter[i].woken_ticks);
        int place = i;
        for (; place > 0 &&
               (int64_t)(atomic_load(&own->row.table->waiter[woken[place - 1]].woken_ticks) -
                         ticks) > 0;
             place--)
            woken[place] = woken[place - 1];
        woken[place] = i;
    }
}

/* "95 96 97", with a letter where several share a priority. */
static void write_order(const struct own *own, enum order order, const int row[WAITERS],
                        char text[TEXT_BYTES])
{
    size_t used = 0;
    for (int i = 0; i < WAITERS && used < TEXT_BYTES; i++) {
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%d", i ? " " : "",
                                 own->priorities[row[i]]);
        if (order == ORDER_EQUALS && used < TEXT_BYTES)
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%c", 'a' + row[i] % EQUALS);
    }
}

/* Waits until all waiters have passed P. False if that takes longer than LATE_TRIES ms; it then
 * flushes them with more Vs. */
static bool all_woke(struct own *own)
{
    struct timespec while_they_run = {.tv_nsec = 1000000};
    bool is_complete = true;
    for (int i = 0; atomic_load(&own->row.table->woken_count) < WAITERS; i++) {
        nanosleep(&while_they_run, NULL);
        if (i < LATE_TRIES)
            continue;
        is_complete = false;
        if (waiters_are_gone(&own->row))
            break;
        semaphore_signal(&own->row.table->semaphore);
    }
    return is_complete;
}

/* One round: whether the waiters were released in the promised order. Fills in both orders. */
static bool try_order(struct own *own, enum order order, int blocking[WAITERS], int woken[WAITERS])
{
    int promised[WAITERS];
    choose_order(own, order, blocking);
    sort_promised(own, blocking, promised);
    atomic_store(&own->row.table->woken_count, 0);
    for (int i = 0; i < WAITERS; i++)
        waiters_ask(own->row.table, blocking[i]);
    bool is_right = atomic_load(&own->row.table->woken_count) == 0;
    for (int i = 0; i < WAITERS; i++)
        semaphore_signal(&own->row.table->semaphore);
    is_right = all_woke(own) && is_right;
    sort_woken(own, woken);
    for (int i = 0; i < WAITERS; i++)
        is_right = is_right && woken[i] == promised[i];
    return is_right;
}

static bool is_promised(enum semaphore_kind kind)
{
    return kind == SEMAPHORE_UNNAMED || kind == SEMAPHORE_NAMED;
}

static void report(struct run *run, enum order order, bool is_right, const char *evidence)
{
    struct own *own = run->own;
    char name[ARENA_NAME_BYTES];
    if (is_promised(semaphore_kind_of(run))) {
        snprintf(name, sizeof name, "%s/%s/%s", order_names[order], variant_text(run, "kinds"),
                 variant_text(run, "scopes"));
        arena_verdict(run->arena, is_right, 1, name, "%s", evidence);
    } else if (!is_right && own->other_order[0] == '\0') {
        snprintf(own->other_order, sizeof own->other_order, "%s: %.200s", order_names[order],
                 evidence);
    }
}

/* Reports the order of a kind for which no standard promises one. */
static void report_kind(struct run *run)
{
    struct own *own = run->own;
    if (own->other_order[0])
        arena_event(run->arena, "release_order", -1,
                    DATA(data_text("kind", variant_text(run, "kinds")),
                         data_text("scope", variant_text(run, "scopes")),
                         data_bool("is_by_priority", false), data_text("order", own->other_order)),
                    "%s, %s: not released by priority and waiting time, which no standard requires "
                    "here; %s",
                    variant_text(run, "kinds"), variant_text(run, "scopes"), own->other_order);
    else if (!is_promised(semaphore_kind_of(run)))
        arena_event(run->arena, "release_order", -1,
                    DATA(data_text("kind", variant_text(run, "kinds")),
                         data_text("scope", variant_text(run, "scopes")),
                         data_bool("is_by_priority", true)),
                    "%s, %s: always released by priority and waiting time, though no standard "
                    "requires it here",
                    variant_text(run, "kinds"), variant_text(run, "scopes"));
    own->other_order[0] = '\0';
}

static int measure_order(struct run *run, enum order order)
{
    struct own *own = run->own;
    int blocking[WAITERS], woken[WAITERS], round = 0;
    char asked[TEXT_BYTES], got[TEXT_BYTES], evidence[ARENA_TEXT_BYTES];
    for (int i = 0; i < WAITERS; i++)
        own->priorities[i] = run->setup.priority -
                             (order == ORDER_EQUALS ? (WAITERS - 1 - i) / EQUALS : WAITERS - 1 - i);
    int error = waiters_start(&own->row, run, &own->ipc_cleanup, peer_scope_of(run),
                              own->priorities, WAITERS);
    if (error)
        return peer_not_started(run, error, "waiters", NULL);
    bool is_lower = scheduling_step_down(run, WAITERS) == 0;
    burst_begin(run, waiters_process(&own->row));
    bool is_right = true;
    for (; is_lower && round < ROUNDS && is_right && !run_should_stop(); round++) {
        burst_next(run);
        is_right = try_order(own, order, blocking, woken);
    }
    bool is_back = scheduling_step_up(run) == 0;
    if (waiters_end(&own->row, run) != 0 || semaphore_check(run, &own->row.table->semaphore) != 0)
        return -1;
    if (!is_lower || !is_back)
        return -1;
    if (round == 0 || run_should_stop())
        return 0;
    write_order(own, order, blocking, asked);
    write_order(own, order, woken, got);
    snprintf(evidence, sizeof evidence, "%s %d: blocked by priority %s, released %s",
             is_right ? "rounds:" : "round", round, asked, got);
    report(run, order, is_right, evidence);
    return 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum semaphore_kind kind = semaphore_kind_of(run);
    const struct ipc_cleanup_place *place = &own->ipc_cleanup.places[0];
    bool is_shared = peer_scope_of(run) == PEER_PROCESS;
    struct semaphore *semaphore = &own->row.table->semaphore;
    if (!peer_has_scope(&own->ipc_cleanup, own->row.table, peer_scope_of(run)) ||
        !semaphore_is_here(run, kind, is_shared, place))
        return 0;
    int result = 0, error = semaphore_open(semaphore, kind, is_shared, place);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    own->tried_count++;
    for (int i = 0; i < ORDERS && result == 0 && !run_should_stop(); i++)
        result = measure_order(run, (enum order)i);
    semaphore_close(semaphore);
    if (result == 0 && !run_should_stop())
        report_kind(run);
    return result;
}

/* Kinds without a promise leave an event and no verdict; that is a result too. */
static int judge(struct run *run)
{
    const struct own *own = run->own;
    return own->tried_count > 0 ? 0 : semaphore_require_any(run);
}

const struct test sem_b_rel = {
    .id = "SEM-B-REL",
    .title = "Order in which a semaphore releases its waiters",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 1,
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};
