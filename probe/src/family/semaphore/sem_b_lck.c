/* SEM-B-LCK: locking with a semaphore (Dedicated Systems 2012).
 *
 * What: blocks_at_zero: P at value 0 blocks, the creator goes on before the waiter has passed;
 *   increments: after two Vs two Ps pass without blocking and the third blocks; reschedules: V at
 *   zero runs the waiter before the creator goes on. A claim holds if the order is exactly the
 *   promised one in each of 20 rounds.
 * Begin, end: none; both log what they do with readings of the counter.
 * Threads: the creator, the measuring thread, and a waiter one priority above it, a thread or a
 *   process that shares memory, on one CPU. Between threads the semaphore is private to the
 *   process, between processes it is shared: library and kernel use different code for the two.
 * Wrong if: on two CPUs both would run at once, so the test needs one.
 */
#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "record/order_log.h"
#include "run/run.h"
#include "run/scheduling.h"

#include <stdio.h>

enum { ROUNDS = 20, COUNT = 2, LATE_TRIES = 100, FLUSH_TRIES = 1000 };

static const struct param_spec params[] = {
    SEMAPHORE_KIND_PARAM,
    SEMAPHORE_SCOPE_PARAM("between two threads, between two processes"),
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"blocks_at_zero", "P at value 0 blocks"},
    {"increments", "each V lets exactly one P pass without blocking"},
    {"reschedules", "V at zero runs a waiter of higher priority before the caller continues"},
    {0},
};

/* In memory that both parties share. */
struct table {
    struct semaphore semaphore;
    sem_t gate;
    atomic_int is_over, passes_left;
    atomic_uint noted_count; /* publishes the waiter's log entries */
    struct order_log log;
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct peer peer;
    struct table *table;
};

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, 2) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own || semaphore_guard(run, &own->ipc_cleanup, true) != 0)
        return -1;
    own->table = peer_table(run, sizeof *own->table, &own->ipc_cleanup, "memory for both parties");
    return own->table ? 0 : -1;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    peer_memory_free(own->table, sizeof *own->table);
    ipc_cleanup_close(&own->ipc_cleanup);
}

static void note(struct table *table, const char *what)
{
    order_log_add(&table->log, "waiter", what);
    atomic_fetch_add(&table->noted_count, 1);
}

static void wait_when_told(void *argument)
{
    struct table *table = argument;
    for (;;) {
        while (sem_wait(&table->gate) != 0 && errno == EINTR)
            ;
        if (atomic_load(&table->is_over))
            return;
        while (atomic_load(&table->passes_left) > 0) {
            note(table, "asked");
            semaphore_wait(&table->semaphore);
            note(table, "passed");
            atomic_fetch_sub(&table->passes_left, 1);
        }
    }
}

static void begin_scenario(struct run *run, struct table *table, int passes)
{
    order_log_clear(&table->log, &run->clock);
    atomic_store(&table->passes_left, passes);
}

static void signal_once(struct table *table)
{
    order_log_add(&table->log, "creator", "signalled");
    semaphore_signal(&table->semaphore);
}

static void open_gate(struct table *table)
{
    sem_post(&table->gate);
}

/* Waits until the waiter is back at its gate. After LATE_TRIES ms it sends more Vs, since a broken
 * semaphore may have lost one. */
static void settle(struct table *table)
{
    struct timespec while_it_runs = {.tv_nsec = 1000000};
    for (int i = 0; i < FLUSH_TRIES && atomic_load(&table->passes_left) > 0; i++) {
        nanosleep(&while_it_runs, NULL);
        if (i >= LATE_TRIES && atomic_load(&table->passes_left) > 0)
            semaphore_signal(&table->semaphore);
    }
}

struct claim {
    const char *name, *promised;
    int passes;
    void (*act)(struct table *table); /* as many entries as the verdict compares */
};

static void act_blocks(struct table *table)
{
    open_gate(table);
    order_log_add(&table->log, "creator", "went on");
}

static void act_increments(struct table *table)
{
    for (int i = 0; i < COUNT; i++)
        signal_once(table);
    open_gate(table);
    order_log_add(&table->log, "creator", "went on");
}

static void act_reschedules(struct table *table)
{
    open_gate(table);
    signal_once(table);
    order_log_add(&table->log, "creator", "went on");
    settle(table);
}

static const struct claim claims[] = {
    {"blocks_at_zero", "waiter asked, creator went on", 1, act_blocks},
    {"increments",
     "creator signalled, creator signalled, waiter asked, waiter passed, waiter asked, "
     "waiter passed, waiter asked, creator went on",
     COUNT + 1, act_increments},
    {"reschedules", "waiter asked, creator signalled, waiter passed, creator went on", 1,
     act_reschedules},
};
enum { CLAIMS = sizeof claims / sizeof claims[0] };

/* The log is read while the waiter is blocked, so it is not appended to. */
static void try_claim(struct run *run, const struct claim *claim, enum semaphore_kind kind,
                      enum peer_scope scope)
{
    struct own *own = run->own;
    struct table *table = own->table;
    char name[ARENA_NAME_BYTES];
    bool is_right = true, is_last = false;
    snprintf(name, sizeof name, "%s/%s/%s", claim->name, semaphore_kind_names[kind],
             peer_scope_names[scope]);
    for (int round = 0; !is_last && !run_should_stop(); round++) {
        burst_next(run);
        begin_scenario(run, table, claim->passes);
        claim->act(table);
        atomic_load(&table->noted_count);
        is_right = order_log_is(&table->log, claim->promised);
        is_last = !is_right || round == ROUNDS - 1;
        if (semaphore_check(run, &table->semaphore) != 0)
            break;
        if (is_last)
            order_log_verdict(&table->log, run->arena, name, claim->promised);
        if (atomic_load(&table->passes_left) > 0)
            semaphore_signal(&table->semaphore);
        settle(table);
    }
}

/* Each claim gets a new semaphore and a new waiter, so that a fault in one does not affect the
 * next. */
static int measure_claim(struct run *run, const struct claim *claim, enum semaphore_kind kind,
                         enum peer_scope scope)
{
    struct own *own = run->own;
    struct table *table = own->table;
    int error =
        semaphore_open(&table->semaphore, kind, scope == PEER_PROCESS, &own->ipc_cleanup.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    atomic_store(&table->is_over, 0);
    if (sem_init(&table->gate, scope == PEER_PROCESS, 0) != 0) {
        error = errno;
        semaphore_close(&table->semaphore);
        return peer_not_started(run, error, "waiter", NULL);
    }
    bool is_lower = scheduling_step_down(run, 1) == 0;
    if (is_lower)
        error = peer_start(&own->peer, run, &own->ipc_cleanup, scope, &run->setup, wait_when_told,
                           table);
    if (error) {
        peer_not_started(run, error, "waiter", NULL);
    } else if (is_lower) {
        burst_begin(run, own->peer.process);
        try_claim(run, claim, kind, scope);
        atomic_store(&table->is_over, 1);
        open_gate(table);
        peer_join(&own->peer);
    }
    bool is_back = scheduling_step_up(run) == 0;
    sem_destroy(&table->gate);
    semaphore_close(&table->semaphore);
    bool is_good = error == 0 && is_lower && is_back;
    return is_good && run->outcome.status != STATUS_FAILED ? 0 : -1;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum semaphore_kind kind = semaphore_kind_of(run);
    enum peer_scope scope = peer_scope_of(run);
    if (!peer_has_scope(&own->ipc_cleanup, own->table, scope) ||
        !semaphore_is_here(run, kind, scope == PEER_PROCESS, &own->ipc_cleanup.places[0]))
        return 0;
    for (int i = 0; i < CLAIMS && !run_should_stop(); i++)
        if (measure_claim(run, &claims[i], kind, scope) != 0)
            return -1;
    return 0;
}

const struct test sem_b_lck = {
    .id = "SEM-B-LCK",
    .title = "Semaphore: P blocks at zero, V counts and preempts",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 1,
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = finish,
};
