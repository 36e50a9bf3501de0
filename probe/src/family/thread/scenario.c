#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "run/scheduling.h"

#include <errno.h>

struct rt_thread_setup thread_setup(const struct run *run, int policy, int below)
{
    return (struct rt_thread_setup){policy, run->setup.priority - below, run->setup.cpu};
}

int thread_create_bare(pthread_t *thread, const struct rt_thread_setup *setup,
                       void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    int error = rt_thread_attributes(&attributes, setup, RT_THREAD_STACK_BYTES);
    if (error)
        return error;
    error = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

int thread_settle(struct run *run, int below)
{
    int down = scheduling_step_down(run, below + 1);
    return scheduling_step_up(run) != 0 || down != 0 ? EPERM : 0;
}

void thread_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

void thread_spin(int64_t ns)
{
    int64_t until_ns = clock_monotonic_ns() + ns;
    while (clock_monotonic_ns() < until_ns)
        ;
}
