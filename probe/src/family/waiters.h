/* A row of threads that wait on one semaphore when they are told to: what SEM-P-ARC and
 * SEM-B-REL have in common. Each has a gate of its own, on which it rests; opened, it
 * stamps, calls P, stamps again when it got past, and goes back to rest. */
#ifndef HS_WAITERS_H
#define HS_WAITERS_H

#include "../posix_source.h"

#include "../run.h"
#include "semaphore_kind.h"

#include <semaphore.h>

struct waiters;

struct waiter {
    struct waiters *row;
    struct actor actor;
    sem_t gate;
    _Atomic uint64_t asked_ticks, woken_ticks;
};

struct waiters {
    const struct clock *clock;
    struct semaphore *semaphore;
    atomic_int is_over;
    _Atomic int woken_count; /* how many got past, and which was the last; -1: none */
    _Atomic int last_woken;
    int count;
    struct waiter *waiter;
};

/* Bytes that a row of `count` takes in `waiter`. */
size_t waiters_bytes(int count);

/* Starts `count` threads; thread i has priority priorities[i]. 0 or an errno value, with
 * nothing left started. */
int waiters_start(struct waiters *row, const struct run *run, const int *priorities, int count);

/* Has waiter `i` call P on row->semaphore. */
void waiters_ask(struct waiters *row, int i);

/* Ends all threads, which must rest. */
void waiters_end(struct waiters *row);

#endif
