#include "base/posix_source.h"

#include "realtime/cpu_loss.h"

#include <string.h>

/* The default of Linux. What else takes the CPU does not take longer where a control group's budget
 * is small. */
#define MOST_PAUSE_NS INT64_C(50000000)

enum { TOLD = 3 };

static int64_t cpu_of_ns(clockid_t id)
{
    struct timespec used;
    return clock_gettime(id, &used) == 0 ? clock_timespec_ns(&used) : -1;
}

/* CPU time of all processes of the test; -1 if unknown. */
static int64_t used_cpu_ns(const struct cpu_loss *cpu_loss)
{
    int64_t own_ns = cpu_of_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t peer_ns = cpu_loss->has_peer ? cpu_of_ns(cpu_loss->peer) : 0;
    return own_ns < 0 || peer_ns < 0 ? -1 : own_ns + peer_ns;
}

void cpu_loss_open(struct cpu_loss *cpu_loss, const struct run *run)
{
    int64_t pause_ns = rt_budget_pause_ns(&run->rt_budget);
    memset(cpu_loss, 0, sizeof *cpu_loss);
    cpu_loss->run = run;
    cpu_loss->rested_ns = cpu_loss->steal_ns = -1;
    cpu_loss->is_limited = pause_ns > 0;
    cpu_loss->pause_ns = pause_ns > 0 && pause_ns < MOST_PAUSE_NS ? pause_ns : MOST_PAUSE_NS;
}

int cpu_loss_add_process(struct cpu_loss *cpu_loss, pid_t process)
{
    int error = clock_getcpuclockid(process, &cpu_loss->peer);
    cpu_loss->has_peer = error == 0;
    return error;
}

/* The test's CPU; that of the caller where the test is not bound. -1: unknown. */
static int test_cpu(const struct run *run)
{
    return run->setup.cpu >= 0 ? run->setup.cpu : port_current_cpu();
}

/* Steal time of `cpu` since boot; -1: unknown. */
static int64_t steal_ns(int cpu)
{
    struct port_environment now;
    port_environment(cpu, &now);
    return now.steal_ns;
}

void cpu_loss_begin(struct cpu_loss *cpu_loss)
{
    int cpu = test_cpu(cpu_loss->run);
    if (cpu_loss->rested_ns != cpu_loss->run->rt_budget.rested_ns || cpu_loss->cpu != cpu)
        cpu_loss->steal_ns = steal_ns(cpu);
    cpu_loss->cpu = cpu;
    cpu_loss->rested_ns = cpu_loss->run->rt_budget.rested_ns;
    cpu_loss->begin_wall_ns = clock_monotonic_ns();
    cpu_loss->begin_cpu_ns = used_cpu_ns(cpu_loss);
}

/* Whether steal time explains the loss, apart from a rest too small to count as a cut. Steal time
 * has steps of 10 ms, and each part of it explains one loss only. For a thread that changed its CPU
 * the steal time is not known. */
static bool was_stolen(struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    bool is_known = cpu_loss->steal_ns >= 0 && test_cpu(cpu_loss->run) == cpu_loss->cpu;
    int64_t now_ns = is_known ? steal_ns(cpu_loss->cpu) : -1;
    int64_t stolen_ns = now_ns < 0 ? 0 : now_ns - cpu_loss->steal_ns;
    stolen_ns = stolen_ns < lost_ns ? stolen_ns : lost_ns;
    if (cpu_loss_is_cut(cpu_loss, lost_ns - stolen_ns))
        return false;
    cpu_loss->steal_ns += stolen_ns;
    return true;
}

/* Whether somebody stopped the program meanwhile. The thread that notes it may come second. */
static bool was_stopped(const struct cpu_loss *cpu_loss)
{
    static const struct timespec pause = {0, 20000000};
    const struct run *run = cpu_loss->run;
    if (stops_since(run->arena, cpu_loss->begin_wall_ns))
        return true;
    if (!run->stopped_watch.is_there)
        return false;
    nanosleep(&pause, NULL);
    return stops_since(run->arena, cpu_loss->begin_wall_ns);
}

/* Counts a loss that is no stop. Returns whether to report it: the first TOLD cuts are
 * reported. */
static bool note_loss(struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    if (!cpu_loss_is_cut(cpu_loss, lost_ns) || was_stopped(cpu_loss))
        return false;
    if (!was_stolen(cpu_loss, lost_ns)) {
        cpu_loss->unexplained_count++;
        if (lost_ns > cpu_loss->most_unexplained_ns)
            cpu_loss->most_unexplained_ns = lost_ns;
    }
    return cpu_loss->cut_count++ < TOLD;
}

int64_t cpu_loss_lost_ns(const struct cpu_loss *cpu_loss, int64_t now_ns)
{
    int64_t cpu_ns = used_cpu_ns(cpu_loss);
    if (cpu_loss->begin_cpu_ns < 0 || cpu_ns < 0)
        return 0;
    return now_ns - cpu_loss->begin_wall_ns - (cpu_ns - cpu_loss->begin_cpu_ns);
}

static const char *possible_causes(const struct cpu_loss *cpu_loss)
{
    return cpu_loss->is_limited ? "a task of higher priority had the CPU, or real-time throttling "
                                  "or the fair server gave ordinary programs their share"
                                : "a task of higher priority had the CPU, or the fair server of "
                                  "Linux 6.12 and later gave ordinary programs their share";
}

void cpu_loss_end(struct cpu_loss *cpu_loss, struct run *run)
{
    int64_t now_ns = clock_monotonic_ns(), wall_ns = now_ns - cpu_loss->begin_wall_ns;
    int64_t lost_ns = cpu_loss_lost_ns(cpu_loss, now_ns);
    if (note_loss(cpu_loss, lost_ns))
        arena_event(run->arena, "throttled", run_event_at_ns(run, now_ns),
                    DATA(data_integer("burst_ns", wall_ns), data_integer("lost_ns", lost_ns),
                         data_bool("is_limited", cpu_loss->is_limited)),
                    "in a burst of %lld us the test's threads had the CPU for %lld us: %s",
                    (long long)(wall_ns / 1000), (long long)((wall_ns - lost_ns) / 1000),
                    possible_causes(cpu_loss));
}

void cpu_loss_note_pause(struct cpu_loss *cpu_loss, struct run *run, int64_t pause_ns,
                         const char *what)
{
    if (note_loss(cpu_loss, pause_ns))
        arena_event(run->arena, "throttled", run_event_at_ns(run, clock_monotonic_ns()),
                    DATA(data_text("waiting", what), data_integer("lost_ns", pause_ns),
                         data_bool("is_limited", cpu_loss->is_limited)),
                    "%s was ready and did not run for %lld us: %s", what,
                    (long long)(pause_ns / 1000), possible_causes(cpu_loss));
}

int cpu_loss_judge(const struct cpu_loss *cpu_loss, struct run *run)
{
    if (cpu_loss->unexplained_count == 0)
        return 0;
    struct remedy remedy = {
        "end what runs at a higher priority, or lift the limit on real-time threads",
        rt_budget_lift_command(&run->rt_budget)};
    if (cpu_loss->most_unexplained_ns > 2 * rt_budget_pause_ns(&run->rt_budget))
        remedy = (struct remedy){"it is longer than real-time throttling pauses here: end what "
                                 "runs at a higher priority; on a virtual machine ask for a CPU "
                                 "that its host gives to nobody else",
                                 NULL};
    return outcome_set_remedy(
        &run->outcome, STATUS_FAILED, remedy,
        "the CPU was not given to the test in %d bursts, for up to %lld us: the "
        "figures include pauses that the tested system did not cause",
        cpu_loss->unexplained_count, (long long)(cpu_loss->most_unexplained_ns / 1000));
}
