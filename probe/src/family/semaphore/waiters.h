/* Threads that wait on one semaphore on request: the common part of SEM-P-ARC and SEM-B-REL. Each
 * thread blocks at a gate of its own. When the gate opens it stamps, calls P, stamps again when it
 * has passed, and goes back to the gate.
 *
 * They are threads of the caller's process, or all of one second process. In both cases semaphore,
 * gates and stamps are in memory that is shared with the caller. */
#ifndef HS_FAMILY_SEMAPHORE_WAITERS_H
#define HS_FAMILY_SEMAPHORE_WAITERS_H

#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"

#include <semaphore.h>

/* Number of waiters with a locked stack; the stacks of the others are only touched
 * (base/rt_thread.h).
 */
enum { WAITERS_LOCKED = 4 };

struct waiters_table;

struct waiter {
    struct waiters_table *table;
    struct rt_thread rt_thread; /* valid in the process that runs it */
    sem_t gate;
    _Atomic uint64_t asked_ticks, woken_ticks;
};

/* In shared memory. */
struct waiters_table {
    struct semaphore semaphore; /* opened and closed by the caller while no waiter is running */
    const struct run *run;
    enum peer_scope scope;
    const int *priorities;
    atomic_int is_over;
    _Atomic int woken_count; /* waiters that have passed P; the last of them, -1: none */
    _Atomic int last_woken;
    struct stacks stacks; /* of the waiters from WAITERS_LOCKED on, in their process */
    int wanted, count;    /* waiters; count: started so far */
    struct waiter waiter[];
};

struct waiters {
    struct waiters_table *table;
    size_t bytes;
    struct peer peer; /* used if the scope is a process */
};

/* Allocates memory for `most` waiters; `ipc_cleanup` must be open. 0, or -1 with the outcome. */
int waiters_make(struct waiters *row, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                 int most);
void waiters_free(struct waiters *row);

/* Starts `count` threads (at most `most`); thread i has priority priorities[i]. 0, or an errno
 * value with no thread left. */
int waiters_start(struct waiters *row, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                  enum peer_scope scope, const int *priorities, int count);

/* Opens the gate of waiter `i`, which then calls P. */
static inline void waiters_ask(struct waiters_table *table, int i)
{
    sem_post(&table->waiter[i].gate);
}

/* The waiters' process, 0 if they are threads of the caller; whether it has ended early. */
pid_t waiters_process(const struct waiters *row);
bool waiters_are_gone(const struct waiters *row);

/* Ends all threads, which must be at their gates. 0, or -1 with the outcome if their process had
 * ended early. */
int waiters_end(struct waiters *row, struct run *run);

#endif
