/* A real-time thread with a policy, a priority, a CPU, a small stack that is touched in
 * advance, and all signals blocked. It waits at a gate when it is set up, so that several
 * threads can be released together. */
#ifndef HS_BASE_RT_THREAD_H
#define HS_BASE_RT_THREAD_H

#include "base/posix_source.h"

#include "base/options.h"
#include "base/status.h"
#include "port/port.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

/* policy: SCHED_FIFO, SCHED_RR or SCHED_OTHER; priority: in the range of that policy
 * (rt_thread_ordinary_priority for SCHED_OTHER); cpu < 0: not bound. */
struct rt_thread_setup {
    int policy;
    int priority;
    int cpu;
};

struct rt_thread {
    pthread_t thread;
    struct rt_thread_setup setup;
    void (*body)(void *argument); /* NULL when the gate opens: the thread ends */
    void *argument;
    sem_t ready, go;
    size_t touched_bytes; /* of stack, touched by the thread itself */
    int error;            /* errno value of its set-up */
};

/* Stack sizes, set by the build. The small one is for threads without deep calls or large frames,
 * of which a test may have many. */
enum { RT_THREAD_STACK_BYTES = HS_STACK_BYTES, RT_THREAD_SMALL_STACK_BYTES = HS_SMALL_STACK_BYTES };

/* Creates the thread and returns when it waits at its gate. 0, or an errno value: EPERM
 * (policy or priority not permitted), EAGAIN (limit on threads or locked memory reached),
 * EINVAL (priority or CPU out of range), ENOTSUP (this system cannot bind threads to a CPU).
 * After an error there is nothing to join. */
int rt_thread_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                    void (*body)(void *), void *argument);

/* The same with a stack of `stack_bytes`, or more if the system requires more. */
int rt_thread_start_with_stack(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                               size_t stack_bytes, void (*body)(void *), void *argument);

/* The same on a stack of the caller, of rt_thread_stack_bytes bytes or more (struct stacks). */
int rt_thread_start_on_stack(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                             void *stack, size_t stack_bytes, void (*body)(void *), void *argument);

/* `wanted`, or more where the system asks for more. */
size_t rt_thread_stack_bytes(size_t wanted);

/* Attributes for pthread_create with this policy, priority and stack, for tests of thread
 * creation. setup->cpu is not used: a new thread inherits its creator's affinity. 0, or an
 * errno value; then there is nothing to destroy. */
int rt_thread_attributes(pthread_attr_t *attributes, const struct rt_thread_setup *setup,
                         size_t stack_bytes);

/* Opens the gate. */
void rt_thread_go(struct rt_thread *rt_thread);

/* Waits for the end of a thread that was started and released. */
void rt_thread_join(struct rt_thread *rt_thread);

/* Tests whether the caller may use `setup`, with an empty thread: 0, or an errno value as of
 * rt_thread_start. */
int rt_thread_try(const struct rt_thread_setup *setup);

/* Sets policy and priority of the calling thread: 0 or an errno value. */
int rt_thread_set_self(int policy, int priority);

/* The priority to use with SCHED_OTHER: the minimum of that policy, which is not 0 on every
 * system. */
int rt_thread_ordinary_priority(void);

/* Sets the calling thread to SCHED_OTHER: 0 or an errno value. */
int rt_thread_set_self_ordinary(void);

/* What refused a thread: `error` came of starting it with `setup`. Tells what refuses every thread,
 * its CPU and its policy from each other, by trying threads that ask for less. */
void rt_thread_refusal(int error, const struct rt_thread_setup *setup,
                       struct port_refusal *refusal);

/* Its remedy; the texts are those of `refusal`. */
struct remedy rt_thread_remedy(const struct port_refusal *refusal);

/* ---- stacks ---- */

/* Stacks for many threads, not locked: 1000 locked stacks take 36 MB. A thread touches its stack
 * when it starts, so page faults come only while memory is short. The stacks have no guard pages:
 * only for threads without deep calls. */
struct stacks {
    void *block;        /* of the heap, that holds them */
    char *memory;       /* its first page: the first stack */
    size_t stack_bytes; /* of each: RT_THREAD_SMALL_STACK_BYTES or what the system asks for */
};

/* Maps `count` stacks. is_locked: the process has locked its memory, present and future (mlockall);
 * the stacks are left out. 0 or an errno value; count 0 maps nothing. */
int stacks_make(struct stacks *stacks, int count, bool is_locked);

/* Lowest address of stack `place`. */
void *stacks_at(const struct stacks *stacks, int place);

/* Call it when their threads have been joined. */
void stacks_free(struct stacks *stacks);

#endif
