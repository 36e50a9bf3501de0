#include "base/posix_source.h"

#include "family/semaphore/waiters.h"

#include "run/supervise.h"

int waiters_make(struct waiters *row, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                 int most)
{
    row->bytes = sizeof *row->table + (size_t)most * sizeof row->table->waiter[0];
    row->table = peer_table(run, row->bytes, ipc_cleanup, "memory for all waiters");
    if (!row->table)
        return -1;
    row->table->run = run;
    return 0;
}

void waiters_free(struct waiters *row)
{
    peer_memory_free(row->table, row->bytes);
}

static void pass_gate(sem_t *gate)
{
    while (sem_wait(gate) != 0 && errno == EINTR)
        ;
}

SEMAPHORE_INLINE void wait_when_told(void *argument, enum semaphore_kind kind)
{
    struct waiter *waiter = argument;
    struct waiters_table *table = waiter->table;
    const struct clock *clock = &table->run->clock;
    for (;;) {
        pass_gate(&waiter->gate);
        if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
            return;
        atomic_store_explicit(&waiter->asked_ticks, clock_begin(clock), memory_order_relaxed);
        semaphore_wait_of(&table->semaphore, kind);
        atomic_store_explicit(&waiter->woken_ticks, clock_end(clock), memory_order_relaxed);
        atomic_store(&table->last_woken, (int)(waiter - table->waiter));
        atomic_fetch_add(&table->woken_count, 1);
    }
}

#define WAIT_WHEN_TOLD(word, kind)                                                                 \
    static void wait_when_told_##word(void *waiter)                                                \
    {                                                                                              \
        wait_when_told(waiter, kind);                                                              \
    }
SEMAPHORE_EACH(WAIT_WHEN_TOLD)
static void (*const waits[])(void *waiter) = {SEMAPHORE_TABLE(wait_when_told)};

static void open_all_gates(struct waiters_table *table)
{
    atomic_store(&table->is_over, 1);
    for (int i = 0; i < table->count; i++)
        sem_post(&table->waiter[i].gate);
}

/* Runs in the process of the threads. */
static void join_threads(void *argument)
{
    struct waiters_table *table = argument;
    for (int i = 0; i < table->count; i++)
        rt_thread_join(&table->waiter[i].rt_thread);
    stacks_free(&table->stacks);
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

static int start_thread(struct waiters_table *table, int i)
{
    struct waiter *waiter = &table->waiter[i];
    struct rt_thread_setup setup = table->run->setup;
    int unlocked = i - WAITERS_LOCKED;
    setup.priority = table->priorities[i];
    waiter->table = table;
    if (sem_init(&waiter->gate, table->scope == PEER_PROCESS, 0) != 0)
        return errno;
    int error = rt_thread_start_on_stack(
        &waiter->rt_thread, &setup, unlocked < 0 ? NULL : stacks_at(&table->stacks, unlocked),
        unlocked < 0 ? RT_THREAD_SMALL_STACK_BYTES : table->stacks.stack_bytes,
        waits[table->semaphore.kind], waiter);
    if (error)
        sem_destroy(&waiter->gate);
    else
        rt_thread_go(&waiter->rt_thread);
    return error;
}

static int start_threads(void *argument)
{
    struct waiters_table *table = argument;
    int unlocked = table->wanted > WAITERS_LOCKED ? table->wanted - WAITERS_LOCKED : 0;
    int error = stacks_make(&table->stacks, unlocked, table->run->is_locked);
    for (table->count = 0; !error && table->count < table->wanted;) {
        error = start_thread(table, table->count);
        table->count += error ? 0 : 1;
    }
    return error ? end_early(table, error) : 0;
}

int waiters_start(struct waiters *row, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                  enum peer_scope scope, const int *priorities, int count)
{
    struct waiters_table *table = row->table;
    table->scope = row->peer.scope = scope;
    table->priorities = priorities;
    table->wanted = count;
    table->count = 0;
    atomic_store(&table->is_over, 0);
    atomic_store(&table->woken_count, 0);
    atomic_store(&table->last_woken, -1);
    if (scope == PEER_THREAD)
        return start_threads(table);
    return peer_start_process(&row->peer, run, ipc_cleanup, &run->setup, start_threads,
                              join_threads, table);
}

pid_t waiters_process(const struct waiters *row)
{
    return row->peer.scope == PEER_PROCESS ? row->peer.process : 0;
}

bool waiters_are_gone(const struct waiters *row)
{
    return peer_is_gone(&row->peer);
}

int waiters_end(struct waiters *row, struct run *run)
{
    struct waiters_table *table = row->table;
    int error = 0;
    open_all_gates(table);
    if (table->scope == PEER_THREAD)
        join_threads(table);
    else
        error = peer_join(&row->peer);
    destroy_gates(table);
    return error ? supervise_ended_early(run, "waiters") : 0;
}
