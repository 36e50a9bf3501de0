#include "base/posix_source.h"

#include "realtime/one_cpu.h"

#include <sched.h>
#include <unistd.h>

/* Online CPUs; -1 if unknown. */
static long cpu_count(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    return sysconf(_SC_NPROCESSORS_ONLN);
#else
    return -1;
#endif
}

bool one_cpu_is_certain(const struct run *run)
{
    return run->setup.cpu >= 0 || cpu_count() == 1;
}

int one_cpu_require(struct run *run)
{
    long count = cpu_count();
    if (one_cpu_is_certain(run))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "use a port that can bind threads, or a machine with one CPU",
                       "this port cannot bind threads to a CPU and the machine has %s: threads "
                       "that run at the same time would falsify the test",
                       count > 1 ? "several" : "an unknown number of them");
}

int one_cpu_levels(const struct run *run)
{
    int policy = run->request->policy == ARGS_RR ? SCHED_RR : SCHED_FIFO;
    int top = run->is_realtime ? run->setup.priority : run->request->priority;
    if (top < 0)
        top = sched_get_priority_max(policy) - 1;
    return top - sched_get_priority_min(policy) + 1;
}

int one_cpu_require_levels(struct run *run, int wanted)
{
    int levels = one_cpu_levels(run);
    if (levels >= wanted)
        return 0;
    return outcome_set(
        &run->outcome, STATUS_DENIED, "ask for a higher --priority",
        "the test needs %d priorities; from the lowest to the requested one there are %d", wanted,
        levels);
}
