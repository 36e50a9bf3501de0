#include "base/posix_source.h"

#include "realtime/scheduling.h"

#include "realtime/one_cpu.h"
#include "run/shield_run.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Isolated CPUs are missing from the default affinity, but a shield prefers them. */
static void allow_isolated(struct cpus *allowed)
{
    struct cpus isolated, tickless;
    port_isolated_cpus(&isolated, &tickless);
    *allowed = cpus_union(allowed, &isolated);
}

bool scheduling_has_isolated(int cpu)
{
    struct cpus isolated, tickless, before;
    port_isolated_cpus(&isolated, &tickless);
    if (!cpus_has(&isolated, cpu) || port_pin_for_now(cpu, &before) != 0)
        return false;
    port_pin_back(&before);
    return true;
}

/* For a test that needs two CPUs, under a configuration that leaves it one. */
static int refuse_two_cpus(struct run *run)
{
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use --cpu-config shared",
                       "the test needs two CPUs, and under --cpu-config %s it has one",
                       cpu_config_name(run->request->cpu_config));
}

/* Sets the outcome if the CPUs do not allow what the request and the test want. */
static int check_cpus(struct run *run, const struct cpus *allowed, int count)
{
    int wanted = run->request->cpu;
    if (run->request->cpu_config != CPU_CONFIG_SHARED && run->test->needs & TEST_NEEDS_TWO_CPUS)
        return refuse_two_cpus(run);
    if (count < 0 && wanted >= 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "leave --cpu out",
                           "this port cannot choose a CPU");
    if (wanted >= 0 && !cpus_has(allowed, wanted))
        return shield_run_deny(run, wanted);
    if (count >= 0 && count < 2 && run->test->needs & TEST_NEEDS_TWO_CPUS)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "allow this process a second CPU",
                           "the test needs two CPUs");
    return 0;
}

/* Whether the run is on one CPU: by the request, or because the test is about one. */
static bool is_bound(const struct run *run)
{
    const struct request *request = run->request;
    return request->cpu >= 0 || request->cpu_config != CPU_CONFIG_SHARED || request->has_settings ||
           run->test->needs & (TEST_NEEDS_ONE_CPU | TEST_NEEDS_A_CPU);
}

static int choose_one(const struct request *request, const struct cpus *allowed)
{
    int cpu = request->cpu;
    if (cpu < 0 && request->cpu_config == CPU_CONFIG_SHIELDED)
        cpu = shield_default_cpu();
    if (cpu < 0 && request->cpu_config == CPU_CONFIG_SINGLE)
        cpu = shield_staying_cpu();
    if (cpu >= 0 && !cpus_has(allowed, cpu))
        cpu = -1;
    return cpu < 0 ? cpus_last(allowed) : cpu;
}

int scheduling_choose_cpu(struct run *run)
{
    struct cpus allowed;
    int count = port_allowed_cpus(&allowed);
    run->setup.cpu = -1;
    if (run->request->cpu_config == CPU_CONFIG_SHIELDED && count > 0)
        allow_isolated(&allowed);
    else if (count > 0 && scheduling_has_isolated(run->request->cpu)) {
        cpus_add(&allowed, run->request->cpu);
        count = cpus_count(&allowed);
    }
    if (check_cpus(run, &allowed, count) != 0)
        return -1;
    if (is_bound(run) || count < 2)
        run->setup.cpu = choose_one(run->request, &allowed);
    else
        run->uses_cpu = allowed;
    run->placement.was_allowed = cpus_has(&allowed, run->setup.cpu);
    return run->test->needs & TEST_NEEDS_ONE_CPU ? one_cpu_require(run) : 0;
}

int scheduling_deny(struct run *run, const char *what, const struct port_refusal *refusal)
{
    return outcome_set_remedy(&run->outcome, STATUS_DENIED, rt_thread_remedy(refusal), "%s: %s",
                              what, refusal->reason);
}

static int deny_realtime(struct run *run, const struct port_refusal *refusal)
{
    char what[STATUS_TEXT_BYTES / 4];
    snprintf(what, sizeof what, "priority %d under %s was refused", run->setup.priority,
             run->setup.policy == SCHED_RR ? "SCHED_RR" : "SCHED_FIFO");
    return scheduling_deny(run, what, refusal);
}

/* Takes the highest priority that is granted (RLIMIT_RTPRIO); false if there is none. */
static bool lower_priority(struct run *run)
{
    int least = sched_get_priority_min(run->setup.policy);
    for (int priority = run->setup.priority - 1; priority >= least; priority--) {
        struct rt_thread_setup setup = {run->setup.policy, priority, -1};
        if (rt_thread_try(&setup) != 0)
            continue;
        arena_event(run->arena, "priority_lowered", -1,
                    DATA(data_integer("asked_priority", run->setup.priority),
                         data_integer("priority", priority)),
                    "priority %d was refused; %d is the highest that is granted",
                    run->setup.priority, priority);
        run->setup.priority = priority;
        return true;
    }
    return false;
}

static int fall_back(struct run *run, int error)
{
    struct port_refusal refusal;
    struct rt_thread_setup setup = {run->setup.policy, run->setup.priority, -1};
    bool was_asked = run->request->priority >= 0;
    rt_thread_refusal(error, &setup, &refusal);
    /* no silent fallback for tests of order: they need the number of levels that was meant */
    if (error != EPERM || was_asked || refusal.is_any_thread ||
        run->test->needs & TEST_NEEDS_REALTIME)
        return deny_realtime(run, &refusal);
    if (lower_priority(run)) {
        run->is_realtime = true;
        return 0;
    }
    arena_event(run->arena, "not_realtime", -1,
                DATA(data_text("error", strerror(error)), data_text("cause", refusal.cause),
                     data_text("remedy", refusal.remedy),
                     refusal.command ? data_text("command", refusal.command) : data_none()),
                "not scheduled as real-time: %s; %s", refusal.reason, refusal.remedy);
    run->setup.policy = SCHED_OTHER;
    run->setup.priority = rt_thread_ordinary_priority();
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
                               "the test is about real-time scheduling");
        run->setup.priority = rt_thread_ordinary_priority();
        return 0;
    }
    int least = sched_get_priority_min(run->setup.policy);
    int most = sched_get_priority_max(run->setup.policy);
    run->setup.priority = run->request->priority >= 0 ? run->request->priority : most - 1;
    if (run->setup.priority < least || run->setup.priority > most)
        return outcome_set(&run->outcome, STATUS_DENIED, "choose a priority within these limits",
                           "priority %d is outside %d to %d", run->setup.priority, least, most);
    struct rt_thread_setup setup = {run->setup.policy, run->setup.priority, -1};
    int error = rt_thread_try(&setup);
    run->is_realtime = error == 0;
    return error ? fall_back(run, error) : 0;
}

int scheduling_step_down(struct run *run, int below)
{
    int priority = run->setup.priority - below;
    bool is_of_policy = priority >= sched_get_priority_min(run->setup.policy);
    int error = is_of_policy ? rt_thread_set_self(run->setup.policy, priority)
                             : rt_thread_set_self_ordinary();
    if (error == 0)
        return 0;
    char what[STATUS_TEXT_BYTES / 2];
    snprintf(what, sizeof what, "lowering the measuring thread by %d", below);
    return outcome_set_errno(&run->outcome, error, what, NULL);
}

int scheduling_step_up(struct run *run)
{
    int error = rt_thread_set_self(run->setup.policy, run->setup.priority);
    return error ? scheduling_not_restored(run, "measuring thread", run->setup.priority, error) : 0;
}

int scheduling_not_restored(struct run *run, const char *who, int priority, int error)
{
    outcome_set(
        &run->outcome, STATUS_FAILED,
        "find out what limits priorities while the test runs (RLIMIT_RTPRIO, control groups)",
        "the %s could not be restored to priority %d (%s): later values would be measured at "
        "another one",
        who, priority, strerror(error));
    run_request_stop();
    return -1;
}

void scheduling_visit_cpu(const struct run *run, struct scheduling_visit *visit)
{
    visit->error = run->setup.cpu >= 0 ? port_pin_for_now(run->setup.cpu, &visit->before) : ENOTSUP;
}

static void tell_elsewhere(struct run *run, int error)
{
    if (error == ENOTSUP || run->is_touched_elsewhere || !run->arena)
        return;
    run->is_touched_elsewhere = true;
    arena_event(run->arena, "memory_touched_elsewhere", -1,
                DATA(data_integer("cpu", run->setup.cpu), data_text("error", strerror(error))),
                "memory of the test could not be touched on CPU %d (%s): where the machine has "
                "several memory nodes it may lie far from that CPU",
                run->setup.cpu, strerror(error));
}

int scheduling_leave_cpu(struct run *run, const struct scheduling_visit *visit)
{
    if (visit->error) {
        tell_elsewhere(run, visit->error);
        return 0;
    }
    int error = port_pin_back(&visit->before);
    if (error == 0)
        return 0;
    return outcome_set(
        &run->outcome, STATUS_FAILED, "find out what changes the CPU affinity of this process",
        "the CPU affinity of the main thread could not be restored: %s", strerror(error));
}
