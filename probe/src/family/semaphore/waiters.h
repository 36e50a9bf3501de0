/* A row of threads that wait on one semaphore when they are told to: what SEM-P-ARC and
 * SEM-B-REL have in common. Each has a gate of its own, on which it rests; opened, it
 * stamps, calls P, stamps again when it got past, and goes back to rest.
 *
 * They are threads of the caller's process, or all of one second process. Semaphore, gates
 * and stamps lie in memory that both share, in either case. */
#ifndef HS_WAITERS_H
#define HS_WAITERS_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"

#include <semaphore.h>

struct waiters_table;

struct waiter {
    struct waiters_table *table;
    struct actor actor; /* of the process in which it runs */
    sem_t gate;
    _Atomic uint64_t asked_ticks, woken_ticks;
};

/* In shared memory. */
struct waiters_table {
    struct semaphore semaphore; /* the caller opens and closes it, when no waiter is there */
    const struct run *run;
    enum partner_scope scope;
    const int *priorities;
    atomic_int is_over;
    _Atomic int woken_count; /* how many got past, and which was the last; -1: none */
    _Atomic int last_woken;
    int wanted, count; /* of waiters; count: that are there */
    struct waiter waiter[];
};

struct waiters {
    struct waiters_table *table;
    size_t bytes;
    struct partner partner; /* where the scope is a process */
};

/* Room for `most` waiters; `leftover` with a guard. 0, or -1 with the outcome. */
int waiters_make(struct waiters *row, struct run *run, const struct leftover *leftover, int most);
void waiters_free(struct waiters *row);

/* Starts `count` threads; thread i has priority priorities[i]. 0 or an errno value, with
 * nothing left started. */
int waiters_start(struct waiters *row, struct run *run, const struct leftover *leftover,
                  enum partner_scope scope, const int *priorities, int count);

/* Has waiter `i` call P on the semaphore. */
static inline void waiters_ask(struct waiters_table *table, int i)
{
    sem_post(&table->waiter[i].gate);
}

/* Their process, or 0; and whether it ended before its time. */
pid_t waiters_process(const struct waiters *row);
bool waiters_are_gone(const struct waiters *row);

/* Ends all threads, which must rest. 0, or -1 with the outcome when their process had ended
 * before. */
int waiters_end(struct waiters *row, struct run *run);

#endif
