#include "base/posix_source.h"

#include "realtime/burst.h"

#define DISTURBED_NS INT64_C(1000000)

enum { TOLD = 3, SMALL_PART = 4 /* a wait below 1/4 of the loss is small */ };

/* Reading run delays is slow: not before every burst. */
static void begin_burst(struct burst *burst)
{
    int64_t age_ns = clock_monotonic_ns() - burst->run_delay.begin_ns;
    if (burst->is_watched && age_ns > burst->cpu_loss.pause_ns / 4)
        run_delay_begin(&burst->run_delay);
    cpu_loss_begin(&burst->cpu_loss);
}

void burst_begin(struct burst *burst, struct run *run, pid_t peer)
{
    burst->run = run;
    burst->ahead_ns = 0;
    burst->gap_count = 0;
    cpu_loss_open(&burst->cpu_loss, run);
    bool is_counted = peer <= 0 || cpu_loss_add_process(&burst->cpu_loss, peer) == 0;
    burst->is_watched = run->is_realtime && is_counted;
    run_delay_open(&burst->run_delay, peer);
    burst->run_delay.begin_ns = 0;
    rt_budget_rest(&run->rt_budget);
    begin_burst(burst);
}

void burst_ignore_sleep(struct burst *burst)
{
    burst->run_delay.is_known = false;
}

void burst_plan(struct burst *burst, int64_t ahead_ns)
{
    burst->ahead_ns = ahead_ns;
}

bool burst_was_disturbed(const struct burst *burst)
{
    return cpu_loss_lost_ns(&burst->cpu_loss, clock_monotonic_ns()) > DISTURBED_NS;
}

/* Whether the threads were runnable for only a small part of `lost_ns`, and slept for the rest. */
static bool was_asleep(const struct burst *burst, int64_t lost_ns)
{
    int64_t kept_ns = run_delay_kept_ns(&burst->run_delay);
    return kept_ns >= 0 && kept_ns < lost_ns / SMALL_PART;
}

static void tell_gap(struct burst *burst, int64_t lost_ns)
{
    if (burst->gap_count++ < TOLD)
        arena_event(burst->run->arena, "idle_gap",
                    run_event_at_ns(burst->run, clock_monotonic_ns()),
                    DATA(data_integer("gap_ns", lost_ns)),
                    "for %lld us no thread of the test ran and none was ready: slow wake-ups of "
                    "the system, which the figures include",
                    (long long)(lost_ns / 1000));
}

static void judge_burst(struct burst *burst)
{
    struct cpu_loss *loss = &burst->cpu_loss;
    int64_t lost_ns = cpu_loss_lost_ns(loss, clock_monotonic_ns());
    if (cpu_loss_is_cut(loss, lost_ns) && !stops_since(burst->run->arena, loss->begin_wall_ns) &&
        was_asleep(burst, lost_ns)) {
        tell_gap(burst, lost_ns);
        return;
    }
    cpu_loss_end(loss, burst->run);
    if (cpu_loss_judge(loss, burst->run) != 0)
        run_request_stop();
}

int64_t burst_next(struct burst *burst)
{
    const struct cpu_loss *loss = &burst->cpu_loss;
    if (burst->is_watched && clock_monotonic_ns() - loss->begin_wall_ns > loss->pause_ns / 2)
        judge_burst(burst);
    rt_budget_rest_ahead(&burst->run->rt_budget, burst->ahead_ns);
    begin_burst(burst);
    return run_anchor(burst->run);
}
