/* The clocks of POSIX. It does not say how fast the counter of a processor runs, and has no timer
 * that is read through a descriptor. */
#include "port/port.h"

#include <errno.h>
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
    return -1;
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
#if defined(__aarch64__) || defined(__riscv)
    (void)reason, (void)reason_bytes;
    return true; /* the architecture guarantees one rate; clock_open checks it against the clock */
#else
    snprintf(reason, reason_bytes,
             "POSIX does not say whether the counter runs at one rate on all CPUs");
    return false;
#endif
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
