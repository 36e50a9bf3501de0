#include "base/posix_source.h"

#include "family/semaphore/waiters.h"

#include "run/supervise.h"

int waiters_make(struct waiters *row, struct run *run, const struct leftover *leftover, int most)
{
    row->bytes = sizeof *row->table + (size_t)most * sizeof row->table->waiter[0];
    row->table = partner_memory(row->bytes, &leftover->places[0]);
    if (!row->table)
        return outcome_set_errno(&run->outcome, errno, "memory for all waiters",
                                 "make room in shared memory (/dev/shm on Linux)");
    row->table->run = run;
    return 0;
}

void waiters_free(struct waiters *row)
{
    partner_memory_free(row->table, row->bytes);
}

static void pass_gate(sem_t *gate)
{
    while (sem_wait(gate) != 0 && errno == EINTR)
        ;
}

static void wait_when_told(void *argument)
{
    struct waiter *waiter = argument;
    struct waiters_table *table = waiter->table;
    const struct clock *clock = &table->run->clock;
    for (;;) {
        pass_gate(&waiter->gate);
        if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
            return;
        atomic_store_explicit(&waiter->asked_ticks, clock_begin(clock), memory_order_relaxed);
        semaphore_wait(&table->semaphore);
        atomic_store_explicit(&waiter->woken_ticks, clock_end(clock), memory_order_relaxed);
        atomic_store(&table->last_woken, (int)(waiter - table->waiter));
        atomic_fetch_add(&table->woken_count, 1);
    }
}

static void open_all_gates(struct waiters_table *table)
{
    atomic_store(&table->is_over, 1);
    for (int i = 0; i < table->count; i++)
        sem_post(&table->waiter[i].gate);
}

/* In the process of the threads. */
static void join_threads(void *argument)
{
    struct waiters_table *table = argument;
    for (int i = 0; i < table->count; i++)
        actor_join(&table->waiter[i].actor);
}

static void destroy_gates(struct waiters_table *table)
{
    for (int i = 0; i < table->count; i++)
        sem_destroy(&table->waiter[i].gate);
    table->count = 0;
}

static int end_early(struct waiters_table *table, int error)
{
    open_all_gates(table);
    join_threads(table);
    destroy_gates(table);
    return error;
}

static int start_threads(void *argument)
{
    struct waiters_table *table = argument;
    for (table->count = 0; table->count < table->wanted; table->count++) {
        struct waiter *waiter = &table->waiter[table->count];
        struct actor_setup setup = table->run->setup;
        setup.priority = table->priorities[table->count];
        waiter->table = table;
        int error = sem_init(&waiter->gate, table->scope == PARTNER_PROCESS, 0) == 0 ? 0 : errno;
        if (!error && (error = actor_start(&waiter->actor, &setup, wait_when_told, waiter)) != 0)
            sem_destroy(&waiter->gate);
        if (error)
            return end_early(table, error);
        actor_go(&waiter->actor);
    }
    return 0;
}

int waiters_start(struct waiters *row, struct run *run, const struct leftover *leftover,
                  enum partner_scope scope, const int *priorities, int count)
{
    struct waiters_table *table = row->table;
    table->scope = row->partner.scope = scope;
    table->priorities = priorities;
    table->wanted = count;
    table->count = 0;
    atomic_store(&table->is_over, 0);
    atomic_store(&table->woken_count, 0);
    atomic_store(&table->last_woken, -1);
    if (scope == PARTNER_THREAD)
        return start_threads(table);
    return partner_start_process(&row->partner, run, leftover, &run->setup, start_threads,
                                 join_threads, table);
}

pid_t waiters_process(const struct waiters *row)
{
    return row->partner.scope == PARTNER_PROCESS ? row->partner.process : 0;
}

bool waiters_are_gone(const struct waiters *row)
{
    return partner_is_gone(&row->partner);
}

int waiters_end(struct waiters *row, struct run *run)
{
    struct waiters_table *table = row->table;
    int error = 0;
    open_all_gates(table);
    if (table->scope == PARTNER_THREAD)
        join_threads(table);
    else
        error = partner_join(&row->partner);
    destroy_gates(table);
    return error ? supervise_ended_early(run, "waiters") : 0;
}
