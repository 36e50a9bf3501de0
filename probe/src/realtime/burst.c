#include "base/posix_source.h"

#include "realtime/burst.h"

#define DISTURBED_NS INT64_C(1000000)

enum { TOLD = 3, SMALL_PART = 4 /* of a loss: what it divides by */ };

/* Not at each burst: there are many, and reading takes a while. */
static void begin_burst(struct pace *pace)
{
    int64_t age_ns = clock_monotonic_ns() - pace->readiness.begin_ns;
    if (pace->is_watched && age_ns > pace->occupancy.pause_ns / 4)
        readiness_begin(&pace->readiness);
    occupancy_begin(&pace->occupancy);
}

void pace_begin(struct pace *pace, struct run *run, pid_t partner)
{
    pace->run = run;
    pace->gap_count = 0;
    occupancy_open(&pace->occupancy);
    bool is_counted = partner <= 0 || occupancy_add_process(&pace->occupancy, partner) == 0;
    pace->is_watched = run->is_realtime && is_counted;
    readiness_open(&pace->readiness, partner);
    pace->readiness.begin_ns = 0;
    breathe(&run->breath);
    begin_burst(pace);
}

bool pace_was_disturbed(const struct pace *pace)
{
    return occupancy_lost_ns(&pace->occupancy, clock_monotonic_ns()) > DISTURBED_NS;
}

/* Whether of `lost_ns` the CPU was kept from threads that wanted it for a small part at most. */
static bool was_asleep(const struct pace *pace, int64_t lost_ns)
{
    int64_t kept_ns = readiness_kept_ns(&pace->readiness);
    return kept_ns >= 0 && kept_ns < lost_ns / SMALL_PART;
}

static void tell_gap(struct pace *pace, int64_t lost_ns)
{
    if (pace->gap_count++ < TOLD)
        arena_event(pace->run->arena, "idle_gap", run_at_ns(pace->run, clock_monotonic_ns()),
                    "for %lld us between two looks no thread of the test ran and none was ready: "
                    "wake-ups that took long, which the figures hold",
                    (long long)(lost_ns / 1000));
}

static void judge_burst(struct pace *pace)
{
    struct occupancy *burst = &pace->occupancy;
    int64_t lost_ns = occupancy_lost_ns(burst, clock_monotonic_ns());
    if (occupancy_is_cut(burst, lost_ns) && was_asleep(pace, lost_ns)) {
        tell_gap(pace, lost_ns);
        return;
    }
    occupancy_end(burst, pace->run);
    if (occupancy_judge(burst, pace->run) != 0)
        run_request_stop();
}

int64_t pace_next(struct pace *pace)
{
    const struct occupancy *burst = &pace->occupancy;
    if (pace->is_watched && clock_monotonic_ns() - burst->begin_wall_ns > burst->pause_ns / 2)
        judge_burst(pace);
    int64_t now_ns = breathe(&pace->run->breath);
    begin_burst(pace);
    return now_ns;
}
