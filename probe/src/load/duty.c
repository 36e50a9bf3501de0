#include "../posix_source.h"

#include "duty.h"

#include "../clock.h"

#include <errno.h>
#include <time.h>

struct usage {
    int64_t wall_ns, cpu_ns;
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

static struct usage usage_now(void)
{
    return (struct usage){duty_now_ns(), loader_cpu_ns()};
}

static int64_t used_ns(const struct loader *loader, struct usage from, struct usage to)
{
    return loader->element->judged_by_wall ? to.wall_ns - from.wall_ns : to.cpu_ns - from.cpu_ns;
}

/* One period's work; returns what it used. */
static int64_t work_for(struct loader *loader, int64_t budget_ns, int64_t end_ns)
{
    struct usage start = usage_now(), now = start, before;
    while (used_ns(loader, start, now) < budget_ns && now.wall_ns < end_ns &&
           !loader_should_stop(loader)) {
        before = now;
        loader->element->work(loader);
        loader_works(loader); /* as far as it can */
        if (loader->is_idle)
            break;
        now = usage_now();
        loader_count(loader, COUNTER_BUSY_NS, (uint64_t)(now.wall_ns - before.wall_ns));
        loader_set(loader, COUNTER_CPU_NS, (uint64_t)now.cpu_ns);
        loader_count(loader, COUNTER_ROUNDS, 1);
    }
    loader->is_idle = false;
    return used_ns(loader, start, now);
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
