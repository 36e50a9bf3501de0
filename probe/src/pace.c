#include "posix_source.h"

#include "pace.h"

#define SHARE_OF_CUT 5 /* four fifths of a cut are one: its ends are not seen exactly */
#define LEAST_CUT_NS INT64_C(10000000)
#define DISTURBED_NS INT64_C(1000000)

static int64_t clock_now_ns(clockid_t id)
{
    struct timespec now;
    return clock_gettime(id, &now) == 0 ? clock_timespec_ns(&now) : 0;
}

static int64_t cpu_ns(const struct pace *pace)
{
    int64_t own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    return own_ns + (pace->has_partner ? clock_now_ns(pace->partner) : 0);
}

static void begin_burst(struct pace *pace, int64_t now_ns)
{
    pace->from_ns = now_ns;
    pace->from_cpu_ns = cpu_ns(pace);
}

void pace_begin(struct pace *pace, struct run *run, pid_t partner)
{
    int64_t runtime_ns, period_ns;
    *pace = (struct pace){.run = run};
    pace->has_partner = partner > 0 && clock_getcpuclockid(partner, &pace->partner) == 0;
    if (run->is_realtime && (partner <= 0 || pace->has_partner) &&
        port_realtime_budget(&runtime_ns, &period_ns) && runtime_ns < period_ns)
        pace->limit_ns = (period_ns - runtime_ns) / SHARE_OF_CUT * (SHARE_OF_CUT - 1);
    if (pace->limit_ns > 0 && pace->limit_ns < LEAST_CUT_NS)
        pace->limit_ns = LEAST_CUT_NS;
    begin_burst(pace, breathe(&run->breath));
}

static void tell_cut(struct pace *pace, int64_t now_ns, int64_t lost_ns)
{
    struct run *run = pace->run;
    arena_event(run->arena, "throttled", run_at_ns(run, now_ns),
                "for %lld ms no thread of the test ran although one was ready",
                (long long)(lost_ns / 1000000));
    outcome_set(&run->outcome, STATUS_FAILED,
                "end what runs above the test's priority or spins beside it; on a test machine: "
                "sysctl kernel.sched_rt_runtime_us=-1",
                "real-time throttling, or something of higher priority, took the CPU away for "
                "%lld ms: the figures are not the system's",
                (long long)(lost_ns / 1000000));
    run_request_stop();
}

static int64_t gap_ns(const struct pace *pace, int64_t now_ns)
{
    return now_ns - pace->from_ns - (cpu_ns(pace) - pace->from_cpu_ns);
}

bool pace_was_disturbed(const struct pace *pace)
{
    return gap_ns(pace, clock_monotonic_ns()) > DISTURBED_NS;
}

int64_t pace_next(struct pace *pace)
{
    int64_t now_ns = clock_monotonic_ns();
    if (pace->limit_ns > 0 && now_ns - pace->from_ns > pace->limit_ns) {
        int64_t lost_ns = gap_ns(pace, now_ns);
        if (lost_ns > pace->limit_ns)
            tell_cut(pace, now_ns, lost_ns);
    }
    now_ns = breathe(&pace->run->breath);
    begin_burst(pace, now_ns);
    return now_ns;
}
