/* A real-time thread: policy, priority, CPU, small locked stack that was touched
 * before, all signals blocked. It stops at a gate when it is ready, so that several
 * can start together. */
#ifndef HS_ACTOR_H
#define HS_ACTOR_H

#include "posix_source.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

/* policy: SCHED_FIFO, SCHED_RR or SCHED_OTHER; priority: of that policy (0 for
 * SCHED_OTHER); cpu < 0: any. */
struct actor_setup {
    int policy;
    int priority;
    int cpu;
};

struct actor {
    pthread_t thread;
    struct actor_setup setup;
    void (*body)(void *argument); /* NULL at the gate: the thread ends there */
    void *argument;
    sem_t ready, go;
    int error; /* of setting itself up */
};

enum { ACTOR_STACK_BYTES = 192 * 1024 };

/* Creates the thread and returns when it waits at its gate. 0, or an errno value:
 * EPERM (no right to the policy or priority), EAGAIN (no more threads or memory to
 * lock), EINVAL (priority or CPU out of range), ENOTSUP (CPUs cannot be chosen). After
 * an error there is nothing to join. */
int actor_start(struct actor *actor, const struct actor_setup *setup, void (*body)(void *),
                void *argument);

/* Opens the gate. */
void actor_go(struct actor *actor);

void actor_join(struct actor *actor);

/* Whether the caller may use `setup`: starts and ends an empty thread. 0 or errno. */
int actor_try(const struct actor_setup *setup);

/* Gives the calling thread a policy and priority: 0 or errno. */
int actor_set_self(int policy, int priority);

#endif
