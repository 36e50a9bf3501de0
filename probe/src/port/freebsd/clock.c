/* Clocks of FreeBSD. The processor's counter is no clock here: nobody has seen the calibration on
 * FreeBSD yet. It has timers that are read through a descriptor since 14, which this port does not
 * use. */
#include "port/port.h"

#include <sys/syscall.h>
#include <sys/sysctl.h>
#include <sys/time.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int port_clock_system_call(clockid_t id, struct timespec *time)
{
    return syscall(SYS_clock_gettime, id, time);
}

int port_clocks(const struct port_clock **clocks)
{
    static const struct port_clock table[] = {
        {"CLOCK_MONOTONIC", CLOCK_MONOTONIC, true, false},
        {"CLOCK_MONOTONIC_PRECISE", CLOCK_MONOTONIC_PRECISE, true, false},
        {"CLOCK_MONOTONIC_FAST", CLOCK_MONOTONIC_FAST, true, false},
        {"CLOCK_UPTIME", CLOCK_UPTIME, true, false},
        {"CLOCK_REALTIME", CLOCK_REALTIME, true, true},
        {"CLOCK_REALTIME_FAST", CLOCK_REALTIME_FAST, true, true},
        {"CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, false, false},
        {"CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, false, false},
    };
    *clocks = table;
    return sizeof table / sizeof table[0];
}

int64_t port_tick_ns(void)
{
    struct clockinfo rate;
    size_t bytes = sizeof rate;
    if (sysctlbyname("kern.clockrate", &rate, &bytes, NULL, 0) != 0 || bytes != sizeof rate ||
        rate.hz <= 0)
        return -1;
    return INT64_C(1000000000) / rate.hz;
}

int64_t port_uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, "the port for FreeBSD does not use the processor's counter");
    return false;
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
