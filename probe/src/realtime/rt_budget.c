#include "base/posix_source.h"

#include "realtime/rt_budget.h"

#include "base/clock.h"
#include "port/port.h"

#include <stdio.h>
#include <string.h>

/* Whether a shell takes `path` as one word, as it is. */
static bool is_plain_word(const char *path)
{
    return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "/._,:@%+=-")] == '\0';
}

/* In a group: as much as those above it allow, if no other group uses it. */
static void choose_command(struct rt_budget *rt_budget)
{
    const struct port_realtime_budget *limit = &rt_budget->limit;
    char *command = rt_budget->lift_command;
    size_t bytes = sizeof rt_budget->lift_command;
    if (!limit->group[0]) {
        snprintf(command, bytes, "%s", port_hint(PORT_HINT_LIFT_BUDGET));
        return;
    }
    int length =
        snprintf(command, bytes, "echo %lld | sudo tee %s/%s", (long long)(limit->most_ns / 1000),
                 limit->group, port_hint(PORT_HINT_BUDGET_FILE));
    if (length < 0 || (size_t)length >= bytes || !is_plain_word(limit->group))
        snprintf(command, bytes, "hardstone doctor");
}

const char *rt_budget_lift_command(const struct rt_budget *rt_budget)
{
    return rt_budget->has_limit ? rt_budget->lift_command : NULL;
}

void rt_budget_init(struct rt_budget *rt_budget)
{
    const struct port_realtime_budget *limit = &rt_budget->limit;
    rt_budget->has_limit = port_realtime_budget(&rt_budget->limit);
    if (rt_budget->has_limit) {
        rt_budget->burst_ns = limit->runtime_ns / 5 * 4;
        rt_budget->rest_ns = limit->period_ns - rt_budget->burst_ns;
        choose_command(rt_budget);
    } else {
        rt_budget->burst_ns = CLOCK_NS_PER_S / 10 * 9;
        rt_budget->rest_ns = CLOCK_NS_PER_S / 10;
    }
    rt_budget->started_ns = clock_monotonic_ns();
    rt_budget->rested_ns = 0;
}

int64_t rt_budget_pause_ns(const struct rt_budget *rt_budget)
{
    return rt_budget->has_limit ? rt_budget->limit.period_ns - rt_budget->limit.runtime_ns : 0;
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
