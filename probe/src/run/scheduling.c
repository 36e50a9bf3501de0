#include "base/posix_source.h"

#include "run/scheduling.h"

#include "base/clock.h"
#include "port/port.h"
#include "port/shield.h"
#include "run/request.h"
#include "run/run.h"
#include "run/shield_run.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
                       "the test needs two CPUs, but has one with --cpu-config %s",
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
    if (count == 0) /* no thread runs on none: the port does not know */
        count = -1;
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
    bool was_asked = run->asked_priority >= 0;
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
    run->setup.policy = run->asked_policy;
    if (run->setup.policy == SCHED_OTHER) {
        if (run->test->needs & TEST_NEEDS_REALTIME)
            return outcome_set(&run->outcome, STATUS_DENIED, "use --policy fifo or rr",
                               "the test needs real-time scheduling");
        run->setup.priority = rt_thread_ordinary_priority();
        return 0;
    }
    int least = sched_get_priority_min(run->setup.policy);
    int most = sched_get_priority_max(run->setup.policy);
    run->setup.priority = run->asked_priority >= 0 ? run->asked_priority : most - 1;
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

static void report_elsewhere(struct run *run, int error)
{
    if (error == ENOTSUP || run->is_touched_elsewhere || !run->arena)
        return;
    run->is_touched_elsewhere = true;
    arena_event(run->arena, "memory_touched_elsewhere", -1,
                DATA(data_integer("cpu", run->setup.cpu), data_text("error", strerror(error))),
                "memory of the test could not be touched on CPU %d (%s): on a machine with "
                "several memory nodes it may be far from that CPU",
                run->setup.cpu, strerror(error));
}

int scheduling_leave_cpu(struct run *run, const struct scheduling_visit *visit)
{
    if (visit->error) {
        report_elsewhere(run, visit->error);
        return 0;
    }
    int error = port_pin_back(&visit->before);
    if (error == 0)
        return 0;
    return outcome_set(
        &run->outcome, STATUS_FAILED, "find out what changes the CPU affinity of this process",
        "the CPU affinity of the main thread could not be restored: %s", strerror(error));
}

/* ---- tests on one CPU ---- */

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
                       "that run simultaneously would falsify the test",
                       count > 1 ? "several" : "an unknown number of them");
}

int one_cpu_levels(const struct run *run)
{
    int policy = run->asked_policy == SCHED_RR ? SCHED_RR : SCHED_FIFO;
    int top = run->is_realtime ? run->setup.priority : run->asked_priority;
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
        "the test needs %d priorities, but there are only %d from the lowest to the requested one",
        wanted, levels);
}

/* ---- placement ---- */

enum { WHEN_BYTES = 64, WHAT_BYTES = STATUS_TEXT_BYTES - 100 };

enum cause { OFFLINE, CPUSET, AFFINITY };

enum watch_held placement_held(const struct run *run)
{
    return run->test->needs & TEST_CHANGES_CPU ? WATCH_HOLDS_NONE
           : run->is_measured_elsewhere        ? WATCH_HOLDS_LATER
                                               : WATCH_HOLDS_ALL;
}

/* In memory that who looks has as well. */
atomic_int *placement_left(struct run *run)
{
    return run->placement.left_outside ? run->placement.left_outside : &run->placement.left;
}

void placement_begin(struct run *run)
{
    struct run_placement *placement = &run->placement;
    placement->taken.is_found = false;
    atomic_store(placement_left(run), 0);
    if (!port_cpuset(placement->group, sizeof placement->group, NULL, 0))
        placement->group[0] = '\0';
    if (port_allowed_cpus(&placement->allowed) < 0)
        cpus_clear(&placement->allowed);
}

struct cpu_taken placement_lost(const struct run *run)
{
    struct cpu_taken taken = {.is_found = false};
    struct cpus now, measured = run_measured_cpus(run);
    if (port_allowed_cpus(&now) < 0)
        return taken;
    for (int cpu = cpus_first(&measured); cpu >= 0 && !taken.is_found;
         cpu = cpus_next(&measured, cpu))
        if (cpus_has(&run->placement.allowed, cpu) && !cpus_has(&now, cpu))
            taken =
                (struct cpu_taken){.is_found = true, .cpu = cpu, .found_ns = clock_monotonic_ns()};
    return taken;
}

void run_check_place(struct run *run, int cpu)
{
    struct cpus cpus;
    if (cpu < 0 || !port_thread_cpus(0, &cpus) || (cpus_count(&cpus) == 1 && cpus_has(&cpus, cpu)))
        return;
    atomic_store(placement_left(run), cpu + 1);
    run_request_stop();
}

/* The kernel refuses a CPU that is not in the thread's cpuset, and one that is offline. */
static bool is_refused(int cpu)
{
    struct cpus before;
    int error = port_pin_for_now(cpu, &before);
    if (error == 0)
        port_pin_back(&before);
    return error == EINVAL;
}

static enum cause find_cause(const struct cpu_taken *taken)
{
    if (taken->is_offline || !port_is_online(taken->cpu))
        return OFFLINE;
    return is_refused(taken->cpu) ? CPUSET : AFFINITY;
}

static const char *cause_name(enum cause cause)
{
    return cause == OFFLINE ? "offline" : cause == CPUSET ? "cpuset" : "affinity";
}

/* " between 1.0 s and 2.0 s"; empty where it is not known. */
static void compose_when(const struct run *run, const struct cpu_taken *taken,
                         char when[WHEN_BYTES])
{
    int64_t sure_ns = taken->sure_ns > run->start_ns ? run_at_ns(run, taken->sure_ns) : 0;
    when[0] = '\0';
    if (run->start_ns > 0 && taken->found_ns > 0)
        snprintf(when, WHEN_BYTES, " between %.1f s and %.1f s", (double)sure_ns / 1e9,
                 (double)run_at_ns(run, taken->found_ns) / 1e9);
}

struct loss_text {
    char what[WHAT_BYTES]; /* what happened, and when */
    char group[RUN_GROUP_BYTES];
    char command[STATUS_COMMAND_BYTES];
    struct remedy remedy;
};

static void compose_cpuset(const struct run *run, int cpu, const char *when, struct loss_text *text)
{
    bool is_known =
        port_cpuset(text->group, sizeof text->group, text->command, STATUS_COMMAND_BYTES);
    bool was_moved =
        is_known && run->placement.group[0] && strcmp(text->group, run->placement.group) != 0;
    if (was_moved)
        snprintf(text->what, WHAT_BYTES,
                 "CPU %d was taken from this process%s: it was moved to the control group %.80s, "
                 "whose cpuset does not have that CPU",
                 cpu, when, text->group);
    else
        snprintf(text->what, WHAT_BYTES,
                 "CPU %d was taken from this process%s: the cpuset of its control group%s%.80s no "
                 "longer has that CPU",
                 cpu, when, is_known ? " " : "", text->group);
    text->remedy =
        (struct remedy){"give the CPU back to the control group, or choose one that stays in it "
                        "(--cpu), and run the test again; to see its CPUs",
                        text->command[0] ? text->command : NULL};
}

static void compose(const struct run *run, enum cause cause, const struct cpu_taken *taken,
                    struct loss_text *text)
{
    char when[WHEN_BYTES];
    memset(text, 0, sizeof *text);
    compose_when(run, taken, when);
    switch (cause) {
    case OFFLINE:
        snprintf(text->what, WHAT_BYTES, "CPU %d went offline%s", taken->cpu, when);
        text->remedy.words = "keep the CPU online while it is measured, and run the test again";
        return;
    case CPUSET:
        compose_cpuset(run, taken->cpu, when, text);
        return;
    case AFFINITY:
        snprintf(text->what, WHAT_BYTES,
                 "a thread of the test was moved off CPU %d%s: a program changed its affinity, or "
                 "the CPU was offline or out of the cpuset for a while",
                 taken->cpu, when);
        text->remedy.words = "find out what changes affinities, cpusets or CPUs while the test "
                             "runs, and run the test again";
        return;
    }
}

/* Where figures bear the name of a CPU. */
static bool is_labelled(const struct run *run)
{
    return run->setup.cpu >= 0 || run->is_measured_elsewhere;
}

/* Leaves of the figures those of the time in which each thread was at its place: true. */
static bool keep_sure_part(struct run *run, struct cpu_taken *taken, placement_go_back go_back)
{
    if (!go_back || !is_labelled(run) || run->start_ns == 0 || !go_back(run))
        return false;
    if (taken->sure_ns < run->arena->ended_ns)
        taken->sure_ns = run->arena->ended_ns;
    return true;
}

static void compose_figures(const struct run *run, bool is_kept, char text[WHEN_BYTES * 2])
{
    if (is_kept)
        snprintf(text, WHEN_BYTES * 2, "the figures are those of the first %.1f s",
                 (double)run_at_ns(run, run->arena->ended_ns) / 1e9);
    else
        snprintf(text, WHEN_BYTES * 2, "%s",
                 run->start_ns == 0 ? "nothing was measured"
                 : is_labelled(run) ? "no figures are given, because some may be of another CPU"
                                    : "the figures include the time with fewer CPUs");
}

static void report(struct run *run, enum cause cause, struct cpu_taken *taken,
                   placement_go_back go_back)
{
    static const struct outcome none;
    struct run_placement *placement = &run->placement;
    struct loss_text text;
    char figures[WHEN_BYTES * 2];
    bool is_kept = keep_sure_part(run, taken, go_back);
    compose(run, cause, taken, &text);
    compose_figures(run, is_kept, figures);
    bool is_timed = run->start_ns > 0 && taken->found_ns > 0;
    int64_t sure_ns = taken->sure_ns > run->start_ns ? run_at_ns(run, taken->sure_ns) : 0;
    placement->has_no_figures = is_labelled(run) && !is_kept;
    if (run->arena)
        arena_event(run->arena, cause == OFFLINE ? "cpu_went_offline" : "cpu_was_left",
                    is_timed ? run_at_ns(run, taken->found_ns) : -1,
                    DATA(data_integer("cpu", taken->cpu), data_text("cause", cause_name(cause)),
                         is_timed ? data_integer("sure_until_ns", sure_ns) : data_none(),
                         is_kept ? data_integer("kept_ns", run->arena->ended_ns - run->start_ns)
                                 : data_none(),
                         text.group[0] ? data_text("group", text.group) : data_none()),
                    "%s", text.what);
    run->outcome = none; /* what the test says is a consequence */
    outcome_set_remedy(&run->outcome, STATUS_FAILED, text.remedy, "%s; %s", text.what, figures);
}

void placement_report(struct run *run, placement_go_back go_back)
{
    struct run_placement *placement = &run->placement;
    int left = atomic_load(placement_left(run));
    if (!placement->taken.is_found && left > 0)
        placement->taken =
            (struct cpu_taken){.is_found = true, .cpu = left - 1, .found_ns = clock_monotonic_ns()};
    if (placement->taken.is_found)
        report(run, find_cause(&placement->taken), &placement->taken, go_back);
}

void placement_explain(struct run *run)
{
    const struct run_placement *placement = &run->placement;
    struct cpu_taken taken = {.is_found = true, .cpu = run->setup.cpu};
    if (run->outcome.error != EINVAL || placement->taken.is_found || !placement->was_allowed)
        return;
    enum cause cause = find_cause(&taken);
    if (cause != AFFINITY)
        report(run, cause, &taken, NULL);
}
