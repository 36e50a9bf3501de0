#include "base/posix_source.h"

#include "realtime/scheduling.h"

#include "run/shield_run.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* CPUs that the boot line isolates are nobody's by default, and just what a shield wants. */
static void allow_isolated(bool allowed[PORT_CPUS])
{
    struct cpus isolated, tickless;
    port_isolated_cpus(&isolated, &tickless);
    for (int cpu = 0; cpu < PORT_CPUS; cpu++)
        allowed[cpu] = allowed[cpu] || cpus_has(&isolated, cpu);
}

/* What tests that need two CPUs get under the configurations that leave them one. */
static int refuse_two_cpus(struct run *run)
{
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use --cpu-config shared",
                       "the test needs two CPUs, and under --cpu-config %s it has one",
                       args_cpu_config_name(run->request->cpu_config));
}

int scheduling_choose_cpu(struct run *run)
{
    bool allowed[PORT_CPUS] = {false};
    int count = port_allowed_cpus(allowed);
    int wanted = run->request->cpu;
    bool is_shielded = run->request->cpu_config == ARGS_SHIELDED;
    run->setup.cpu = -1;
    if (is_shielded && count > 0)
        allow_isolated(allowed);
    if (run->request->cpu_config != ARGS_SHARED && run->test->needs & TEST_NEEDS_TWO_CPUS)
        return refuse_two_cpus(run);
    if (count < 0 && wanted >= 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "leave --cpu out",
                           "this port cannot choose a CPU");
    if (wanted >= PORT_CPUS || (wanted >= 0 && !allowed[wanted]))
        return shield_run_deny(run, wanted);
    if (count >= 0 && count < 2 && run->test->needs & TEST_NEEDS_TWO_CPUS)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "allow this process a second CPU",
                           "the test needs two CPUs");
    run->setup.cpu = wanted < 0 && is_shielded ? shield_default_cpu() : wanted;
    for (int cpu = PORT_CPUS - 1; count > 0 && run->setup.cpu < 0; cpu--)
        if (allowed[cpu])
            run->setup.cpu = cpu;
    return 0;
}

static int deny_realtime(struct run *run, int error)
{
    char remedy[STATUS_TEXT_BYTES];
    port_realtime_remedy(remedy, sizeof remedy);
    return outcome_set(&run->outcome, STATUS_DENIED, remedy, "priority %d under %s was refused: %s",
                       run->setup.priority,
                       run->setup.policy == SCHED_RR ? "SCHED_RR" : "SCHED_FIFO", strerror(error));
}

/* The highest priority below the wanted one that is granted (RLIMIT_RTPRIO). */
static bool lower_priority(struct run *run)
{
    int least = sched_get_priority_min(run->setup.policy);
    for (int priority = run->setup.priority - 1; priority >= least; priority--) {
        struct actor_setup setup = {run->setup.policy, priority, -1};
        if (actor_try(&setup) != 0)
            continue;
        arena_event(run->arena, "priority_lowered", -1,
                    "priority %d was refused; %d is the highest that is granted",
                    run->setup.priority, priority);
        run->setup.priority = priority;
        return true;
    }
    return false;
}

static int fall_back(struct run *run, int error)
{
    bool was_asked = run->request->priority >= 0;
    /* a test of order is not tried with fewer levels than were meant: who wants that, asks */
    if (error != EPERM || was_asked || run->test->needs & TEST_NEEDS_REALTIME)
        return deny_realtime(run, error);
    if (lower_priority(run)) {
        run->is_realtime = true;
        return 0;
    }
    char remedy[STATUS_TEXT_BYTES];
    port_realtime_remedy(remedy, sizeof remedy);
    arena_event(run->arena, "not_realtime", -1,
                "not scheduled as real-time: real-time scheduling was refused (%s); %s",
                strerror(error), remedy);
    run->setup.policy = SCHED_OTHER;
    run->setup.priority = 0;
    return 0;
}

int scheduling_choose(struct run *run)
{
    static const int policies[] = {
        [ARGS_FIFO] = SCHED_FIFO, [ARGS_RR] = SCHED_RR, [ARGS_OTHER] = SCHED_OTHER};
    run->setup.policy = policies[run->request->policy];
    if (run->setup.policy == SCHED_OTHER) {
        if (run->test->needs & TEST_NEEDS_REALTIME)
            return outcome_set(&run->outcome, STATUS_DENIED, "use --policy fifo or rr",
                               "the test is one of real-time scheduling");
        return 0;
    }
    int least = sched_get_priority_min(run->setup.policy);
    int most = sched_get_priority_max(run->setup.policy);
    run->setup.priority = run->request->priority >= 0 ? run->request->priority : most - 1;
    if (run->setup.priority < least || run->setup.priority > most)
        return outcome_set(&run->outcome, STATUS_DENIED, "choose a priority in these limits",
                           "priority %d is outside %d to %d", run->setup.priority, least, most);
    struct actor_setup setup = {run->setup.policy, run->setup.priority, -1};
    int error = actor_try(&setup);
    run->is_realtime = error == 0;
    return error ? fall_back(run, error) : 0;
}
