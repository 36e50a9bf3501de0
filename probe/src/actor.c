#include "posix_source.h"

#include "actor.h"

#include "port/port.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TOUCHED_BYTES = 64 * 1024, PAGE_STEP_BYTES = 1024 };

static __attribute__((noinline)) void touch_stack(void)
{
    volatile char stack[TOUCHED_BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE_STEP_BYTES)
        stack[i] = 0;
}

static void *actor_main(void *argument)
{
    struct actor *actor = argument;
    touch_stack();
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

static size_t stack_bytes(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t wanted = ACTOR_STACK_BYTES;
    return least > 0 && (size_t)least + TOUCHED_BYTES > wanted ? (size_t)least + TOUCHED_BYTES
                                                               : wanted;
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

static int create_with_setup(struct actor *actor)
{
    struct sched_param priority;
    memset(&priority, 0, sizeof priority);
    priority.sched_priority = actor->setup.priority;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    error = pthread_attr_setstacksize(&attributes, stack_bytes());
    if (!error)
        error = pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    if (!error)
        error = pthread_attr_setschedpolicy(&attributes, actor->setup.policy);
    if (!error)
        error = pthread_attr_setschedparam(&attributes, &priority);
    if (!error)
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
    actor->setup = *setup;
    actor->body = body;
    actor->argument = argument;
    actor->error = 0;
    sem_init(&actor->ready, 0, 0);
    sem_init(&actor->go, 0, 0);
    int error = create_with_setup(actor);
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
