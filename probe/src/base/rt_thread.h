/* A real-time thread: policy, priority, CPU, small locked stack that was touched
 * before, all signals blocked. It stops at a gate when it is ready, so that several
 * can start together. */
#ifndef HS_ACTOR_H
#define HS_ACTOR_H

#include "base/posix_source.h"

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
    size_t touched_bytes; /* of the stack, by the thread itself */
    int error;            /* of setting itself up */
};

/* The small one is for tests with many threads: no deep calls, no large frames. */
enum { ACTOR_STACK_BYTES = 192 * 1024, ACTOR_SMALL_STACK_BYTES = 32 * 1024 };

/* Creates the thread and returns when it waits at its gate. 0, or an errno value:
 * EPERM (no right to the policy or priority), EAGAIN (no more threads or memory to
 * lock), EINVAL (priority or CPU out of range), ENOTSUP (CPUs cannot be chosen). After
 * an error there is nothing to join. */
int actor_start(struct actor *actor, const struct actor_setup *setup, void (*body)(void *),
                void *argument);

/* The same with a stack of `stack_bytes` (more where the system asks for more). */
int actor_start_with_stack(struct actor *actor, const struct actor_setup *setup, size_t stack_bytes,
                           void (*body)(void *), void *argument);

/* Attributes for pthread_create with this policy, priority and stack; for tests of
 * creation itself. The CPU is not in them: a new thread is bound as its creator is.
 * 0, or an errno value and then nothing to destroy. */
int actor_attributes(pthread_attr_t *attributes, const struct actor_setup *setup,
                     size_t stack_bytes);

/* Opens the gate. */
void actor_go(struct actor *actor);

void actor_join(struct actor *actor);

/* Whether the caller may use `setup`: starts and ends an empty thread. 0 or errno. */
int actor_try(const struct actor_setup *setup);

/* Gives the calling thread a policy and priority: 0 or errno. */
int actor_set_self(int policy, int priority);

#endif
