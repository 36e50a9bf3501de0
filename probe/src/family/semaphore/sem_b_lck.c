/* SEM-B-LCK: locking with a semaphore (Dedicated Systems 2012).
 *
 * On one CPU a creator and a waiter one priority above it, a thread or a process that
 * shares memory. Both note what they do in a log of counter readings; a claim holds when
 * the order is exactly the promised one, in each of some rounds.
 *   blocks_at_zero  P at value 0 blocks: the creator goes on before the waiter passed
 *   increments      after two Vs two Ps pass without blocking, and the third blocks: P
 *                   blocks at zero only, and each V counts once
 *   reschedules     V at zero with a waiter runs it before the creator goes on
 *
 * Between threads the semaphore is private to the process, between processes it is shared:
 * the library and the kernel go other ways for the two.
 *
 * How it could be wrong: on two CPUs both would run at once, so the test needs one.
 */
#include "base/posix_source.h"

#include "family/semaphore/cell.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"
#include "record/order_log.h"

#include <stdio.h>

enum { ROUNDS = 20, COUNT = 2, LATE_TRIES = 100, FLUSH_TRIES = 1000 };

#define EXPECTED_NS INT64_C(3000000000)

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,
     "kinds of semaphore"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, partner_scope_names,
     "between two threads, between two processes"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"blocks_at_zero", "P at value 0 blocks"},
    {"increments", "each V lets one P pass without blocking, and no more"},
    {"reschedules", "V at zero runs a waiter of higher priority before the caller goes on"},
    {0},
};

/* In memory that both parties see. */
struct table {
    struct semaphore semaphore;
    sem_t gate;
    atomic_int is_over, passes_left;
    atomic_uint noted_count; /* makes the waiter's entries known to the creator */
    struct order_log log;
};

struct own {
    struct leftover leftover;
    struct pace pace;
    struct partner partner;
    struct table *table;
};

static int64_t expected_ns(const struct run *run)
{
    (void)run;
    return EXPECTED_NS;
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, 2) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own || semaphore_guard(run, &own->leftover, true) != 0)
        return -1;
    own->table = partner_memory(sizeof *own->table, &own->leftover.places[0]);
    if (!own->table)
        return outcome_set_errno(&run->outcome, errno, "memory for both parties",
                                 "make room in shared memory (/dev/shm on Linux)");
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    partner_memory_free(own->table, sizeof *own->table);
    leftover_close(&own->leftover);
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

/* Waits until the waiter rests; after a while with more Vs, since a broken one may be lost.
 */
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
    void (*act)(struct table *table); /* up to where the order is judged */
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

/* The log is read while the waiter is blocked, so nobody appends. */
static void try_claim(struct run *run, const struct claim *claim, enum semaphore_kind kind,
                      enum partner_scope scope)
{
    struct own *own = run->own;
    struct table *table = own->table;
    char name[ARENA_NAME_BYTES];
    bool is_right = true, is_last = false;
    snprintf(name, sizeof name, "%s/%s/%s", claim->name, semaphore_kind_names[kind],
             partner_scope_names[scope]);
    for (int round = 0; !is_last && !run_should_stop(); round++) {
        pace_next(&own->pace);
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

/* Each claim on a fresh semaphore and waiter: what one breaks stays in it. */
static int measure_claim(struct run *run, const struct claim *claim, enum semaphore_kind kind,
                         enum partner_scope scope)
{
    struct own *own = run->own;
    struct table *table = own->table;
    int error =
        semaphore_open(&table->semaphore, kind, scope == PARTNER_PROCESS, &own->leftover.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    atomic_store(&table->is_over, 0);
    sem_init(&table->gate, 1, 0);
    actor_set_self(run->setup.policy, run->setup.priority - 1);
    error = partner_start(&own->partner, run, &own->leftover, scope, &run->setup, wait_when_told,
                          table);
    if (error) {
        partner_not_started(run, error, "waiter", NULL);
    } else {
        pace_begin(&own->pace, run, own->partner.process);
        try_claim(run, claim, kind, scope);
        atomic_store(&table->is_over, 1);
        open_gate(table);
        partner_join(&own->partner);
    }
    actor_set_self(run->setup.policy, run->setup.priority);
    sem_destroy(&table->gate);
    semaphore_close(&table->semaphore);
    return error || run->outcome.status == STATUS_FAILED ? -1 : 0;
}

static int measure_kind(struct run *run, enum semaphore_kind kind, enum partner_scope scope)
{
    for (int i = 0; i < CLAIMS && !run_should_stop(); i++)
        if (measure_claim(run, &claims[i], kind, scope) != 0)
            return -1;
    return 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    for (int i = 0; i < cell_count(run) && !run_should_stop(); i++) {
        enum semaphore_kind kind = cell_kind(run, i);
        enum partner_scope scope = cell_scope(run, i);
        if (semaphore_is_here(run, kind, scope == PARTNER_PROCESS, &own->leftover.places[0]) &&
            measure_kind(run, kind, scope) != 0)
            return -1;
    }
    return 0;
}

const struct test sem_b_lck = {
    .id = "SEM-B-LCK",
    .title = "Locking with a semaphore",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME,
    .expected_ns = expected_ns,
    .prepare = prepare,
    .measure = measure,
    .judge = semaphore_require_any,
    .finish = finish,
};
