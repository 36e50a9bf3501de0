/* Kestrel says how long its tick is, and whether the counter is a clock. It has no timer that is
 * read through a descriptor. */
#include "port/port.h"

#include <errno.h>
#include <kestrel.h>
#include <stdio.h>

int port_clock_system_call(clockid_t id, struct timespec *time)
{
    (void)id, (void)time;
    errno = ENOTSUP;
    return -1;
}

int port_clocks(const struct port_clock **clocks)
{
    static const struct port_clock table[] = {
        {"CLOCK_MONOTONIC", CLOCK_MONOTONIC, true, false},
        {"CLOCK_REALTIME", CLOCK_REALTIME, true, true},
        {"CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, false, false},
        {"CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, false, false},
    };
    *clocks = table;
    return sizeof table / sizeof table[0];
}

int64_t port_tick_ns(void)
{
    return kes_tick_us() * INT64_C(1000);
}

int64_t port_uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- whether the counter is a clock ---- */

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
    bool is_even = kes_cycles_are_even() > 0;
    if (!is_even)
        snprintf(reason, reason_bytes, "Kestrel says that the counter has no even rate");
    return is_even;
}

/* ---- timers that are read through a descriptor ---- */

int port_event_timer_open(int64_t start_ns, int64_t period_ns)
{
    (void)start_ns, (void)period_ns;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns)
{
    return port_event_timer_open(start_ns, period_ns);
}

int64_t port_event_timer_take(int descriptor)
{
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_arm(int descriptor, int64_t start_ns)
{
    (void)descriptor, (void)start_ns;
    errno = ENOTSUP;
    return -1;
}

int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns)
{
    (void)descriptor, (void)timeout_ns;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_disarm(int descriptor)
{
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}
