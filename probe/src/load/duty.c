#include "base/posix_source.h"

#include "load/duty.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>
#include <time.h>

struct usage {
    int64_t wall_ns, cpu_ns, delay_ns;
};

int64_t duty_now_ns(void)
{
    return clock_monotonic_ns();
}

void duty_sleep_until(int64_t until_ns)
{
    struct timespec until = clock_ns_timespec(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* The clock between two equal readings of the delay: else a wait for a CPU between the two would
 * be in the one and not in the other. */
static struct usage usage_now(const struct loader *loader)
{
    struct usage now = {.cpu_ns = loader_cpu_ns()};
    bool is_wall = loader->element->judged_by_wall;
    int64_t delay_ns = is_wall ? port_run_delay_ns() : 0, before_ns;
    do {
        before_ns = delay_ns;
        now.wall_ns = duty_now_ns();
        delay_ns = is_wall ? port_run_delay_ns() : 0;
    } while (delay_ns != before_ns);
    now.delay_ns = delay_ns > 0 ? delay_ns : 0;
    return now;
}

/* Of one piece: time within the work, less that in which it only waited for a CPU. What is
 * longer than a period was mostly no work: the process was stopped. */
static int64_t busy_ns(const struct loader *loader, struct usage from, struct usage to)
{
    int64_t busy = to.wall_ns - from.wall_ns - (to.delay_ns - from.delay_ns);
    busy = busy < loader->degree->period_ns ? busy : loader->degree->period_ns;
    return busy > 0 ? busy : 0;
}

/* One period's work; returns what it used. */
static int64_t work_for(struct loader *loader, int64_t budget_ns, int64_t end_ns)
{
    struct usage now = usage_now(loader), before;
    int64_t used_ns = 0;
    while (used_ns < budget_ns && now.wall_ns < end_ns && !loader_should_stop(loader)) {
        before = now;
        loader->element->work(loader);
        loader_works(loader); /* as far as it can */
        if (loader->is_idle)
            break;
        now = usage_now(loader);
        int64_t busy = busy_ns(loader, before, now);
        used_ns += loader->element->judged_by_wall ? busy : now.cpu_ns - before.cpu_ns;
        loader_count(loader, COUNTER_BUSY_NS, (uint64_t)busy);
        loader_set(loader, COUNTER_CPU_NS, (uint64_t)now.cpu_ns);
        loader_count(loader, COUNTER_ROUNDS, 1);
    }
    loader->is_idle = false;
    return used_ns;
}

void duty_keep(struct loader *loader)
{
    int64_t period_ns = loader->degree->period_ns, busy_ns = loader->degree->busy_ns;
    /* spread over the period, so that the elements do not all start at one moment */
    int64_t start_ns = duty_now_ns() + period_ns * loader->place / loader->places;
    int64_t overdrawn_ns = 0;
    for (int64_t period = 0; !loader_should_stop(loader); period++) {
        int64_t begin_ns = start_ns + period * period_ns;
        duty_sleep_until(begin_ns);
        int64_t late = (duty_now_ns() - begin_ns) / period_ns;
        period += late;
        begin_ns += late * period_ns;
        int64_t budget_ns = busy_ns * (1 + late) - overdrawn_ns;
        overdrawn_ns = budget_ns < 0 ? -budget_ns : 0;
        if (budget_ns <= 0)
            continue;
        if (budget_ns > busy_ns)
            budget_ns = busy_ns;
        int64_t over_ns = work_for(loader, budget_ns, begin_ns + period_ns) - budget_ns;
        overdrawn_ns = over_ns > 0 ? over_ns : 0;
    }
}
