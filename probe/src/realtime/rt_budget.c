#include "base/posix_source.h"

#include "realtime/rt_budget.h"

#include "base/clock.h"
#include "port/port.h"

#include <stdbool.h>

const char *rt_budget_lift_command(void)
{
    int64_t runtime_ns, period_ns;
    return port_realtime_budget(&runtime_ns, &period_ns)
               ? "sudo sysctl kernel.sched_rt_runtime_us=-1" /* only Linux has a budget */
               : NULL;
}

void rt_budget_init(struct rt_budget *rt_budget)
{
    int64_t runtime_ns, period_ns;
    if (port_realtime_budget(&runtime_ns, &period_ns)) {
        rt_budget->burst_ns = runtime_ns / 5 * 4;
        rt_budget->rest_ns = period_ns - rt_budget->burst_ns;
    } else {
        rt_budget->burst_ns = CLOCK_NS_PER_S / 10 * 9;
        rt_budget->rest_ns = CLOCK_NS_PER_S / 10;
    }
    rt_budget->started_ns = clock_monotonic_ns();
    rt_budget->rested_ns = 0;
}

int64_t rt_budget_rest(struct rt_budget *rt_budget)
{
    return rt_budget_rest_ahead(rt_budget, 0);
}

int64_t rt_budget_rest_ahead(struct rt_budget *rt_budget, int64_t ahead_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    bool is_left = now_ns - rt_budget->started_ns + ahead_ns < rt_budget->burst_ns;
    return is_left ? now_ns : rt_budget_rest_now(rt_budget);
}

int64_t rt_budget_rest_now(struct rt_budget *rt_budget)
{
    int64_t now_ns = clock_monotonic_ns();
    struct timespec rest = clock_ns_timespec(rt_budget->rest_ns);
    nanosleep(&rest, NULL);
    rt_budget->started_ns = clock_monotonic_ns();
    rt_budget->rested_ns += rt_budget->started_ns - now_ns;
    return rt_budget->started_ns;
}
