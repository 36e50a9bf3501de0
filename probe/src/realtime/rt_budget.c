#include "base/posix_source.h"

#include "realtime/rt_budget.h"

#include "base/clock.h"
#include "port/port.h"

void breath_init(struct breath *breath)
{
    int64_t runtime_ns, period_ns;
    if (port_realtime_budget(&runtime_ns, &period_ns)) {
        breath->burst_ns = runtime_ns / 5 * 4;
        breath->rest_ns = period_ns - breath->burst_ns;
    } else {
        breath->burst_ns = CLOCK_NS_PER_S / 10 * 9;
        breath->rest_ns = CLOCK_NS_PER_S / 10;
    }
    breath->started_ns = clock_monotonic_ns();
    breath->rested_ns = 0;
}

int64_t breathe(struct breath *breath)
{
    return breathe_ahead(breath, 0);
}

int64_t breathe_ahead(struct breath *breath, int64_t ahead_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns - breath->started_ns + ahead_ns < breath->burst_ns)
        return now_ns;
    struct timespec rest = clock_ns_timespec(breath->rest_ns);
    nanosleep(&rest, NULL);
    breath->started_ns = clock_monotonic_ns();
    breath->rested_ns += breath->started_ns - now_ns;
    return breath->started_ns;
}
