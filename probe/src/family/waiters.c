#include "../posix_source.h"

#include "waiters.h"

size_t waiters_bytes(int count)
{
    return (size_t)count * sizeof(struct waiter);
}

static void pass_gate(sem_t *gate)
{
    while (sem_wait(gate) != 0 && errno == EINTR)
        ;
}

static void wait_when_told(void *argument)
{
    struct waiter *waiter = argument;
    struct waiters *row = waiter->row;
    for (;;) {
        pass_gate(&waiter->gate);
        if (atomic_load_explicit(&row->is_over, memory_order_relaxed))
            return;
        atomic_store_explicit(&waiter->asked_ticks, clock_begin(row->clock), memory_order_relaxed);
        semaphore_wait(row->semaphore);
        atomic_store_explicit(&waiter->woken_ticks, clock_end(row->clock), memory_order_relaxed);
        atomic_store(&row->last_woken, (int)(waiter - row->waiter));
        atomic_fetch_add(&row->woken_count, 1);
    }
}

int waiters_start(struct waiters *row, const struct run *run, const int *priorities, int count)
{
    row->clock = &run->clock;
    atomic_store(&row->is_over, 0);
    atomic_store(&row->woken_count, 0);
    atomic_store(&row->last_woken, -1);
    for (row->count = 0; row->count < count; row->count++) {
        struct waiter *waiter = &row->waiter[row->count];
        struct actor_setup setup = run->setup;
        setup.priority = priorities[row->count];
        waiter->row = row;
        sem_init(&waiter->gate, 0, 0);
        int error = actor_start(&waiter->actor, &setup, wait_when_told, waiter);
        if (error) {
            sem_destroy(&waiter->gate);
            waiters_end(row);
            return error;
        }
        actor_go(&waiter->actor);
    }
    return 0;
}

void waiters_ask(struct waiters *row, int i)
{
    sem_post(&row->waiter[i].gate);
}

void waiters_end(struct waiters *row)
{
    atomic_store(&row->is_over, 1);
    for (int i = 0; i < row->count; i++)
        sem_post(&row->waiter[i].gate);
    for (int i = 0; i < row->count; i++) {
        actor_join(&row->waiter[i].actor);
        sem_destroy(&row->waiter[i].gate);
    }
    row->count = 0;
}
