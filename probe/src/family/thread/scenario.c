#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "realtime/one_cpu.h"

#include <sched.h>

int thread_scenario_check(struct run *run, int levels)
{
    return one_cpu_require(run) != 0 ? -1 : one_cpu_require_levels(run, levels);
}

struct actor_setup thread_setup(const struct run *run, int policy, int below)
{
    return (struct actor_setup){policy, run->setup.priority - below, run->setup.cpu};
}

int64_t thread_expected_ns(const struct run *run, int cells, int64_t sample_ns)
{
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(100000000000)) * sample_ns * cells;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

int thread_create(pthread_t *thread, const struct actor_setup *setup, void *(*body)(void *),
                  void *argument)
{
    pthread_attr_t attributes;
    int error = actor_attributes(&attributes, setup, ACTOR_STACK_BYTES);
    if (error)
        return error;
    error = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

int thread_settle(const struct run *run, int below)
{
    int priority = run->setup.priority - below - 1;
    int policy = run->setup.policy;
    bool is_realtime = priority >= sched_get_priority_min(policy);
    int error = actor_set_self(is_realtime ? policy : SCHED_OTHER, is_realtime ? priority : 0);
    int back = actor_set_self(run->setup.policy, run->setup.priority);
    return error ? error : back;
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
