/* timers: as many timers as descriptors allow, up to FLOOD_DESCRIPTORS, all with the same expiries:
 * the kernel serves them in one interrupt, or puts them off. The kernel counts the expiries. */
#include "base/posix_source.h"

#include "work/flood_way.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>

#define PERIOD_NS INT64_C(1000000)

static void arm(struct flood *flood)
{
    int64_t start_ns = clock_monotonic_ns() + PERIOD_NS;
    while (flood->descriptor_count < FLOOD_DESCRIPTORS) {
        int timer = port_event_timer_open(start_ns, PERIOD_NS);
        if (timer < 0)
            return;
        flood_keep(flood, timer);
    }
}

static int prepare(struct flood *flood)
{
    errno = 0;
    arm(flood);
    if (flood->descriptor_count == 0)
        return flood_refuse(flood, errno ? errno : ENOTSUP, "no timer that is a descriptor");
    int64_t expiries = port_event_timer_wait(flood->descriptors[0], 1000 * PERIOD_NS);
    if (expiries <= 0)
        return flood_refuse(flood, expiries == 0 ? ETIMEDOUT : errno,
                            "waiting for a timer of 1 ms");
    flood_close_descriptors(flood);
    return 0;
}

static void step(struct flood *flood)
{
    for (int i = 0; i < flood->descriptor_count; i++) {
        int64_t expiries = port_event_timer_wait(flood->descriptors[i], 0);
        if (expiries > 0)
            flood_count(&flood->done_count, (uint64_t)expiries);
        else if (expiries < 0)
            flood_count(&flood->failed_count, 1);
    }
}

const struct flood_way flood_timers = {
    .prepare = prepare, .start = arm, .stop = flood_close_descriptors, .step = step};
