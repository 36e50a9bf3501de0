#include "base/posix_source.h"

#include "base/rt_thread.h"

#include "port/port.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TOUCHED_BYTES = 64 * 1024, LEAST_TOUCHED_BYTES = 12 * 1024, FRAME_BYTES = 1024 };

/* A frame at a time: small stacks are touched less deep than large ones. */
static __attribute__((noinline)) void touch_stack(size_t bytes)
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 0;
    frame[FRAME_BYTES - 1] = 0;
    if (bytes > FRAME_BYTES)
        touch_stack(bytes - FRAME_BYTES);
    frame[0] = frame[FRAME_BYTES - 1]; /* so that the call above is none in tail position */
}

static void *actor_main(void *argument)
{
    struct actor *actor = argument;
    touch_stack(actor->touched_bytes);
    actor->error = actor->setup.cpu >= 0 ? port_pin_self(actor->setup.cpu) : 0;
    bool is_set_up = actor->error == 0;
    sem_post(&actor->ready);
    if (!is_set_up)
        return NULL;
    while (sem_wait(&actor->go) != 0)
        ;
    if (actor->body)
        actor->body(actor->argument);
    return NULL;
}

static size_t least_stack_bytes(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 0 ? (size_t)least : 0;
}

/* What is left above the least that the system asks for may be touched. */
static size_t touched_bytes(size_t stack_bytes)
{
    size_t least = least_stack_bytes();
    size_t free = stack_bytes > least ? stack_bytes - least : 0;
    return free > TOUCHED_BYTES         ? TOUCHED_BYTES
           : free > LEAST_TOUCHED_BYTES ? LEAST_TOUCHED_BYTES
                                        : FRAME_BYTES;
}

static size_t enough_stack_bytes(size_t wanted)
{
    size_t least = least_stack_bytes() + LEAST_TOUCHED_BYTES + 4 * FRAME_BYTES;
    if (wanted >= ACTOR_STACK_BYTES)
        least += TOUCHED_BYTES;
    return wanted > least ? wanted : least;
}

static int create(struct actor *actor, const pthread_attr_t *attributes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&actor->thread, attributes, actor_main, actor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int actor_attributes(pthread_attr_t *attributes, const struct actor_setup *setup,
                     size_t stack_bytes)
{
    struct sched_param priority;
    memset(&priority, 0, sizeof priority);
    priority.sched_priority = setup->priority;
    int error = pthread_attr_init(attributes);
    if (error)
        return error;
    error = pthread_attr_setstacksize(attributes, enough_stack_bytes(stack_bytes));
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

static int create_with_setup(struct actor *actor, size_t stack_bytes)
{
    pthread_attr_t attributes;
    int error = actor_attributes(&attributes, &actor->setup, stack_bytes);
    if (error)
        return error;
    error = create(actor, &attributes);
    pthread_attr_destroy(&attributes);
    return error;
}

static void destroy_gates(struct actor *actor)
{
    sem_destroy(&actor->ready);
    sem_destroy(&actor->go);
}

int actor_start(struct actor *actor, const struct actor_setup *setup, void (*body)(void *),
                void *argument)
{
    return actor_start_with_stack(actor, setup, ACTOR_STACK_BYTES, body, argument);
}

int actor_start_with_stack(struct actor *actor, const struct actor_setup *setup, size_t stack_bytes,
                           void (*body)(void *), void *argument)
{
    actor->setup = *setup;
    actor->touched_bytes = touched_bytes(enough_stack_bytes(stack_bytes));
    actor->body = body;
    actor->argument = argument;
    actor->error = 0;
    sem_init(&actor->ready, 0, 0);
    sem_init(&actor->go, 0, 0);
    int error = create_with_setup(actor, stack_bytes);
    if (error) {
        destroy_gates(actor);
        return error;
    }
    while (sem_wait(&actor->ready) != 0)
        ;
    error = actor->error;
    if (error)
        actor_join(actor);
    return error;
}

void actor_go(struct actor *actor)
{
    sem_post(&actor->go);
}

void actor_join(struct actor *actor)
{
    pthread_join(actor->thread, NULL);
    destroy_gates(actor);
}

static void do_nothing(void *argument)
{
    (void)argument;
}

int actor_try(const struct actor_setup *setup)
{
    struct actor actor;
    int error = actor_start(&actor, setup, do_nothing, NULL);
    if (error)
        return error;
    actor_go(&actor);
    actor_join(&actor);
    return 0;
}

int actor_set_self(int policy, int priority)
{
    struct sched_param parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.sched_priority = priority;
    return pthread_setschedparam(pthread_self(), policy, &parameters);
}
