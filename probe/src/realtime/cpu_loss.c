#include "base/posix_source.h"

#include "realtime/cpu_loss.h"

#include <string.h>

#define UNKNOWN_PAUSE_NS INT64_C(50000000) /* of a second: what Linux has by default */

enum { TOLD = 3 };

static int64_t cpu_of_ns(clockid_t id)
{
    struct timespec used;
    return clock_gettime(id, &used) == 0 ? clock_timespec_ns(&used) : -1;
}

/* Of all that takes part; -1 where it is not known. */
static int64_t used_cpu_ns(const struct occupancy *occupancy)
{
    int64_t own_ns = cpu_of_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t partner_ns = occupancy->has_partner ? cpu_of_ns(occupancy->partner) : 0;
    return own_ns < 0 || partner_ns < 0 ? -1 : own_ns + partner_ns;
}

void occupancy_open(struct occupancy *occupancy)
{
    int64_t runtime_ns, period_ns;
    memset(occupancy, 0, sizeof *occupancy);
    occupancy->pause_ns = UNKNOWN_PAUSE_NS;
    occupancy->is_limited = port_realtime_budget(&runtime_ns, &period_ns) && runtime_ns < period_ns;
    if (occupancy->is_limited)
        occupancy->pause_ns = period_ns - runtime_ns;
}

int occupancy_add_process(struct occupancy *occupancy, pid_t process)
{
    int error = clock_getcpuclockid(process, &occupancy->partner);
    occupancy->has_partner = error == 0;
    return error;
}

void occupancy_begin(struct occupancy *occupancy)
{
    occupancy->begin_wall_ns = clock_monotonic_ns();
    occupancy->begin_cpu_ns = used_cpu_ns(occupancy);
}

/* Whether so much was lost that it is told; counts it. */
static bool note_loss(struct occupancy *occupancy, int64_t lost_ns)
{
    if (lost_ns > occupancy->most_lost_ns)
        occupancy->most_lost_ns = lost_ns;
    return occupancy_is_cut(occupancy, lost_ns) && occupancy->cut_count++ < TOLD;
}

int64_t occupancy_lost_ns(const struct occupancy *occupancy, int64_t now_ns)
{
    int64_t cpu_ns = used_cpu_ns(occupancy);
    if (occupancy->begin_cpu_ns < 0 || cpu_ns < 0)
        return 0;
    return now_ns - occupancy->begin_wall_ns - (cpu_ns - occupancy->begin_cpu_ns);
}

static const char *possible_causes(const struct occupancy *occupancy)
{
    return occupancy->is_limited
               ? "something of higher priority had the CPU, or what leaves a share "
                 "to ordinary programs (real-time throttling, the fair server) "
                 "cut in"
               : "something of higher priority had the CPU, or the fair server of "
                 "Linux 6.12 and later gave ordinary programs their share";
}

void occupancy_end(struct occupancy *occupancy, struct run *run)
{
    int64_t now_ns = clock_monotonic_ns(), wall_ns = now_ns - occupancy->begin_wall_ns;
    int64_t lost_ns = occupancy_lost_ns(occupancy, now_ns);
    if (note_loss(occupancy, lost_ns))
        arena_event(run->arena, "throttled", run_at_ns(run, now_ns),
                    "of a burst of %lld us the test's threads were given %lld us: %s",
                    (long long)(wall_ns / 1000), (long long)((wall_ns - lost_ns) / 1000),
                    possible_causes(occupancy));
}

void occupancy_note_pause(struct occupancy *occupancy, struct run *run, int64_t pause_ns,
                          const char *what)
{
    if (note_loss(occupancy, pause_ns))
        arena_event(run->arena, "throttled", run_at_ns(run, clock_monotonic_ns()),
                    "%s was ready and did not run for %lld us: %s", what,
                    (long long)(pause_ns / 1000), possible_causes(occupancy));
}

/* By the hypervisor, from the test's CPU, since the test began. */
static int64_t stolen_ns(const struct run *run)
{
    struct port_environment now;
    port_environment(run->setup.cpu, &now);
    return run->before.steal_ns < 0 || now.steal_ns < 0 ? 0 : now.steal_ns - run->before.steal_ns;
}

int occupancy_judge(const struct occupancy *occupancy, struct run *run)
{
    if (occupancy->cut_count == 0 || stolen_ns(run) >= occupancy->most_lost_ns)
        return 0;
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "end what runs at a higher priority, or lift the limit on real-time threads "
                       "(Linux: sysctl kernel.sched_rt_runtime_us=-1)",
                       "the CPU was not given to the test in %d bursts, for up to %lld us: the "
                       "figures hold pauses that are not the system's own",
                       occupancy->cut_count, (long long)(occupancy->most_lost_ns / 1000));
}
