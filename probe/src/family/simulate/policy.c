#include "base/posix_source.h"

#include "family/simulate/policy.h"

#include "run/scheduling.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

const char *const policy_names[] = {"run", "fifo", "rr", "other", "deadline", NULL};

/* Whether the run falls back to time sharing: no priority at all is granted, and none was asked
 * for. */
static bool will_fall_back(const struct run *run, int policy)
{
    struct rt_thread_setup least = {policy, sched_get_priority_min(policy), -1};
    return run->asked_priority < 0 && rt_thread_try(&least) != 0;
}

enum policy policy_of_run(const struct run *run)
{
    if (run->arena)
        return run->setup.policy == SCHED_FIFO ? POLICY_FIFO
               : run->setup.policy == SCHED_RR ? POLICY_RR
                                               : POLICY_OTHER;
    if (run->asked_policy == SCHED_OTHER)
        return POLICY_OTHER;
    bool is_rr = run->asked_policy == SCHED_RR;
    if (will_fall_back(run, is_rr ? SCHED_RR : SCHED_FIFO))
        return POLICY_OTHER;
    return is_rr ? POLICY_RR : POLICY_FIFO;
}

static int refuse_realtime(struct run *run, enum policy policy)
{
    struct port_refusal refusal;
    struct rt_thread_setup setup = {policy == POLICY_RR ? SCHED_RR : SCHED_FIFO,
                                    run->setup.priority, -1};
    if (run->asked_policy == SCHED_OTHER)
        return outcome_set(&run->outcome, STATUS_DENIED, "use --policy fifo",
                           "threads under SCHED_%s need a supervisor above them, which a run with "
                           "--policy other has not",
                           policy == POLICY_RR ? "RR" : "FIFO");
    rt_thread_refusal(EPERM, &setup, &refusal);
    return scheduling_deny(run,
                           policy == POLICY_RR
                               ? "SCHED_RR was refused for the threads of the simulation"
                               : "SCHED_FIFO was refused for the threads of the simulation",
                           &refusal);
}

int policy_take(struct run *run, enum policy policy, struct rt_thread_setup *setup)
{
    *setup = run->setup;
    if (policy == POLICY_RUN || policy == POLICY_DEADLINE)
        return 0;
    if (policy == POLICY_OTHER) {
        setup->policy = SCHED_OTHER;
        setup->priority = rt_thread_ordinary_priority();
    } else {
        setup->policy = policy == POLICY_RR ? SCHED_RR : SCHED_FIFO;
        if (!run->is_realtime)
            return refuse_realtime(run, policy);
    }
    int error = rt_thread_set_self(setup->policy, setup->priority);
    return error ? outcome_set_errno(&run->outcome, error, "the policy of the threads", NULL) : 0;
}

int policy_leave(struct run *run)
{
    return scheduling_step_up(run);
}

int64_t policy_runtime_ns(int64_t period_ns, int threads, int cpus)
{
    int64_t most_ns = period_ns / 10 * 9;
    return threads <= cpus ? most_ns : most_ns / threads * (cpus > 0 ? cpus : 1);
}

static const char *deadline_remedy(int error)
{
    if (error == EBUSY)
        return "end other threads under SCHED_DEADLINE, or allow real-time threads more of the CPU "
               "(sysctl kernel.sched_rt_runtime_us)";
    if (error == EPERM)
        return "run as root or with CAP_SYS_NICE, and let the threads use all CPUs "
               "(--cpu-config shared, without --cpu)";
    if (error == EINVAL)
        return "choose a longer period (sysctl kernel.sched_deadline_period_min_us)";
    return "choose another policy";
}

int policy_refuse_deadline(struct run *run, int error, int64_t runtime_ns, int64_t period_ns,
                           int threads)
{
    bool is_denied = error == EBUSY || error == EPERM;
    return outcome_set(
        &run->outcome, is_denied ? STATUS_DENIED : STATUS_UNSUPPORTED, deadline_remedy(error),
        "SCHED_DEADLINE with %lld us of each %lld us for %d threads was refused: %s",
        (long long)(runtime_ns / 1000), (long long)(period_ns / 1000), threads,
        error == EBUSY ? "admission control: the CPUs have not that much left" : strerror(error));
}
