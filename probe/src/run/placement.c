#include "base/posix_source.h"

#include "run/placement.h"

#include "base/clock.h"
#include "port/port.h"
#include "port/shield.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

struct told {
    char what[WHAT_BYTES]; /* what happened, and when */
    char group[RUN_GROUP_BYTES];
    char command[STATUS_COMMAND_BYTES];
    struct remedy remedy;
};

static void compose_cpuset(const struct run *run, int cpu, const char *when, struct told *told)
{
    bool is_known =
        port_cpuset(told->group, sizeof told->group, told->command, STATUS_COMMAND_BYTES);
    bool was_moved =
        is_known && run->placement.group[0] && strcmp(told->group, run->placement.group) != 0;
    if (was_moved)
        snprintf(told->what, WHAT_BYTES,
                 "CPU %d was taken from this process%s: it was moved to the control group %.80s, "
                 "whose cpuset does not have that CPU",
                 cpu, when, told->group);
    else
        snprintf(
            told->what, WHAT_BYTES,
            "CPU %d was taken from this process%s: the cpuset of its control group%s%.80s does "
            "not have that CPU any more",
            cpu, when, is_known ? " " : "", told->group);
    told->remedy =
        (struct remedy){"give the CPU back to the control group, or choose one that "
                        "stays in it (--cpu), and run the test again; to see what it has",
                        told->command[0] ? told->command : NULL};
}

static void compose(const struct run *run, enum cause cause, const struct cpu_taken *taken,
                    struct told *told)
{
    char when[WHEN_BYTES];
    memset(told, 0, sizeof *told);
    compose_when(run, taken, when);
    switch (cause) {
    case OFFLINE:
        snprintf(told->what, WHAT_BYTES, "CPU %d went offline%s", taken->cpu, when);
        told->remedy.words = "keep the CPU online while it is measured, and run the test again";
        return;
    case CPUSET:
        compose_cpuset(run, taken->cpu, when, told);
        return;
    case AFFINITY:
        snprintf(told->what, WHAT_BYTES,
                 "a thread of the test was moved off CPU %d%s: a program changed its affinity, or "
                 "the CPU was offline or out of the cpuset for a while",
                 taken->cpu, when);
        told->remedy.words = "find out what changes affinities, cpusets or CPUs while the test "
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
                 : is_labelled(run) ? "no figures are given, since some may be of another CPU"
                                    : "the figures are of the time with fewer CPUs, too");
}

static void tell(struct run *run, enum cause cause, struct cpu_taken *taken,
                 placement_go_back go_back)
{
    static const struct outcome none;
    struct run_placement *placement = &run->placement;
    struct told told;
    char figures[WHEN_BYTES * 2];
    bool is_kept = keep_sure_part(run, taken, go_back);
    compose(run, cause, taken, &told);
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
                         told.group[0] ? data_text("group", told.group) : data_none()),
                    "%s", told.what);
    run->outcome = none; /* what the test says is a consequence */
    outcome_set_remedy(&run->outcome, STATUS_FAILED, told.remedy, "%s; %s", told.what, figures);
}

void placement_tell(struct run *run, placement_go_back go_back)
{
    struct run_placement *placement = &run->placement;
    int left = atomic_load(placement_left(run));
    if (!placement->taken.is_found && left > 0)
        placement->taken =
            (struct cpu_taken){.is_found = true, .cpu = left - 1, .found_ns = clock_monotonic_ns()};
    if (placement->taken.is_found)
        tell(run, find_cause(&placement->taken), &placement->taken, go_back);
}

void placement_explain(struct run *run)
{
    const struct run_placement *placement = &run->placement;
    struct cpu_taken taken = {.is_found = true, .cpu = run->setup.cpu};
    if (run->outcome.error != EINVAL || placement->taken.is_found || !placement->was_allowed)
        return;
    enum cause cause = find_cause(&taken);
    if (cause != AFFINITY)
        tell(run, cause, &taken, NULL);
}
