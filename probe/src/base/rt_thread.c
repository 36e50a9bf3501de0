#include "base/posix_source.h"

#include "base/rt_thread.h"

#include "base/clock.h"
#include "base/options.h"
#include "port/port.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TOUCHED_BYTES = RT_THREAD_STACK_BYTES / 3,
    LEAST_TOUCHED_BYTES = RT_THREAD_SMALL_STACK_BYTES * 3 / 8,
    FRAME_BYTES = 1024,
    LEAVE_NS = 50000000
};

/* Touches `bytes` of stack, one frame at a time. */
static __attribute__((noinline)) void touch_stack(size_t bytes)
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 0;
    frame[FRAME_BYTES - 1] = 0;
    if (bytes > FRAME_BYTES)
        touch_stack(bytes - FRAME_BYTES);
    frame[0] = frame[FRAME_BYTES - 1]; /* keeps the call above from being a tail call */
}

static void *rt_thread_main(void *argument)
{
    struct rt_thread *rt_thread = argument;
    rt_thread->error = rt_thread->setup.cpu >= 0 ? port_pin_self(rt_thread->setup.cpu) : 0;
    touch_stack(rt_thread->touched_bytes); /* once bound: first touch decides the NUMA node */
    bool is_set_up = rt_thread->error == 0;
    sem_post(&rt_thread->ready);
    while (is_set_up && sem_wait(&rt_thread->go) != 0)
        ;
    if (is_set_up && rt_thread->body)
        rt_thread->body(rt_thread->argument);
    sem_post(&rt_thread->ready); /* for rt_thread_join */
    return NULL;
}

static size_t least_stack_bytes(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 0 ? (size_t)least : 0;
}

/* How much of a stack to touch: only what exceeds the system's minimum. */
static size_t touched_bytes(size_t stack_bytes)
{
    size_t least = least_stack_bytes();
    size_t free = stack_bytes > least ? stack_bytes - least : 0;
    return free > TOUCHED_BYTES         ? TOUCHED_BYTES
           : free > LEAST_TOUCHED_BYTES ? LEAST_TOUCHED_BYTES
                                        : FRAME_BYTES;
}

size_t rt_thread_stack_bytes(size_t wanted)
{
    size_t least = least_stack_bytes() + LEAST_TOUCHED_BYTES + 4 * FRAME_BYTES;
    if (wanted >= RT_THREAD_STACK_BYTES)
        least += TOUCHED_BYTES;
    return wanted > least ? wanted : least;
}

static int create(struct rt_thread *rt_thread, const pthread_attr_t *attributes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&rt_thread->thread, attributes, rt_thread_main, rt_thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int rt_thread_attributes(pthread_attr_t *attributes, const struct rt_thread_setup *setup,
                         size_t stack_bytes)
{
    struct sched_param priority;
    memset(&priority, 0, sizeof priority);
    priority.sched_priority = setup->priority;
    int error = pthread_attr_init(attributes);
    if (error)
        return error;
    error = pthread_attr_setstacksize(attributes, rt_thread_stack_bytes(stack_bytes));
    if (!error)
        error = pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
    if (!error)
        error = pthread_attr_setschedpolicy(attributes, setup->policy);
    if (!error)
        error = pthread_attr_setschedparam(attributes, &priority);
    if (error)
        pthread_attr_destroy(attributes);
    return error;
}

/* stack NULL: the C library maps one. */
static int create_with_setup(struct rt_thread *rt_thread, void *stack, size_t stack_bytes)
{
    pthread_attr_t attributes;
    int error = rt_thread_attributes(&attributes, &rt_thread->setup, stack_bytes);
    if (error)
        return error;
    if (stack)
        error = pthread_attr_setstack(&attributes, stack, stack_bytes);
    if (!error)
        error = create(rt_thread, &attributes);
    pthread_attr_destroy(&attributes);
    return error;
}

static void destroy_gates(struct rt_thread *rt_thread)
{
    sem_destroy(&rt_thread->ready);
    sem_destroy(&rt_thread->go);
}

int rt_thread_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                    void (*body)(void *), void *argument)
{
    return rt_thread_start_with_stack(rt_thread, setup, RT_THREAD_STACK_BYTES, body, argument);
}

int rt_thread_start_with_stack(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                               size_t stack_bytes, void (*body)(void *), void *argument)
{
    return rt_thread_start_on_stack(rt_thread, setup, NULL, stack_bytes, body, argument);
}

int rt_thread_start_on_stack(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                             void *stack, size_t stack_bytes, void (*body)(void *), void *argument)
{
    rt_thread->setup = *setup;
    rt_thread->touched_bytes = touched_bytes(rt_thread_stack_bytes(stack_bytes));
    rt_thread->body = body;
    rt_thread->argument = argument;
    rt_thread->error = 0;
    sem_init(&rt_thread->ready, 0, 0);
    sem_init(&rt_thread->go, 0, 0);
    int error = create_with_setup(rt_thread, stack, stack_bytes);
    if (error) {
        destroy_gates(rt_thread);
        return error;
    }
    while (sem_wait(&rt_thread->ready) != 0)
        ;
    error = rt_thread->error;
    if (error)
        rt_thread_join(rt_thread);
    return error;
}

void rt_thread_go(struct rt_thread *rt_thread)
{
    sem_post(&rt_thread->go);
}

/* RTEMS lends the priority of a thread in pthread_join to the thread that it waits for. */
void rt_thread_join(struct rt_thread *rt_thread)
{
    while (sem_wait(&rt_thread->ready) != 0)
        ;
    pthread_join(rt_thread->thread, NULL);
    destroy_gates(rt_thread);
}

static void do_nothing(void *argument)
{
    (void)argument;
}

int rt_thread_try(const struct rt_thread_setup *setup)
{
    struct rt_thread rt_thread;
    int error = rt_thread_start(&rt_thread, setup, do_nothing, NULL);
    if (error)
        return error;
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    return 0;
}

int rt_thread_set_self(int policy, int priority)
{
    struct sched_param parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.sched_priority = priority;
    return pthread_setschedparam(pthread_self(), policy, &parameters);
}

int rt_thread_ordinary_priority(void)
{
    int least = sched_get_priority_min(SCHED_OTHER);
    return least >= 0 ? least : 0;
}

int rt_thread_set_self_ordinary(void)
{
    return rt_thread_set_self(SCHED_OTHER, rt_thread_ordinary_priority());
}

static void *end_at_once(void *argument)
{
    return argument;
}

/* A thread with the creator's own policy, for which nothing is asked but a small stack: the C
 * library keeps that of a thread that has ended, and 8 MiB of it are what a user may lock. */
static int try_any_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    error =
        pthread_attr_setstacksize(&attributes, rt_thread_stack_bytes(RT_THREAD_SMALL_STACK_BYTES));
    if (!error)
        error = pthread_create(&thread, &attributes, end_at_once, NULL);
    pthread_attr_destroy(&attributes);
    if (!error)
        pthread_join(thread, NULL);
    return error;
}

static enum port_asked what_was_asked(const struct rt_thread_setup *setup)
{
    struct rt_thread_setup anywhere = *setup;
    anywhere.cpu = -1;
    if (setup->cpu >= 0 && rt_thread_try(&anywhere) == 0)
        return PORT_ASKED_CPU;
    return setup->policy == SCHED_OTHER ? PORT_ASKED_ORDINARY : PORT_ASKED_REALTIME;
}

void rt_thread_refusal(int error, const struct rt_thread_setup *setup, struct port_refusal *refusal)
{
    int of_any = try_any_thread();
    port_refusal(of_any ? of_any : error, of_any ? PORT_ASKED_ANY_THREAD : what_was_asked(setup),
                 refusal);
}

struct remedy rt_thread_remedy(const struct port_refusal *refusal)
{
    return (struct remedy){refusal->remedy[0] ? refusal->remedy : NULL, refusal->command};
}

/* ---- stacks ---- */

/* The first page of `block`. Not posix_memalign: what it frees is smaller than what it takes, so
 * the heap would grow with each call. */
static char *at_page(void *block, size_t page_bytes)
{
    size_t behind = (uintptr_t)block % page_bytes;
    return (char *)block + (behind ? page_bytes - behind : 0);
}

int stacks_make(struct stacks *stacks, int count, bool is_locked)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = rt_thread_stack_bytes(RT_THREAD_SMALL_STACK_BYTES);
    int error = 0;
    stacks->block = NULL;
    stacks->stack_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (count == 0)
        return 0;
    if (is_locked && mlockall(MCL_CURRENT) != 0) /* what is mapped from now on stays unlocked */
        return errno;
    stacks->block = malloc((size_t)count * stacks->stack_bytes + page_bytes);
    error = stacks->block ? 0 : ENOMEM;
    stacks->memory = at_page(stacks->block, page_bytes);
    if (is_locked && mlockall(MCL_FUTURE) != 0) /* again, and without what is mapped now */
        return errno;
    return error;
}

void *stacks_at(const struct stacks *stacks, int place)
{
    return stacks->memory + (size_t)place * stacks->stack_bytes;
}

void stacks_free(struct stacks *stacks)
{
#if !HS_HAS_ENDED_WHEN_JOINED
    (void)clock_sleep(LEAVE_NS); /* lower threads run on them to their end */
#endif
    free(stacks->block);
    stacks->block = NULL;
}
