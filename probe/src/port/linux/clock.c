/* The clocks of Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int port_clock_system_call(clockid_t id, struct timespec *time)
{
#if defined(SYS_clock_gettime) && (defined(__LP64__) || defined(_LP64))
    return (int)syscall(SYS_clock_gettime, id, time);
#else
    (void)id, (void)time;
    errno = ENOTSUP;
    return -1;
#endif
}

int port_clocks(const struct port_clock **clocks)
{
    static const struct port_clock table[] = {
        {"CLOCK_MONOTONIC", CLOCK_MONOTONIC, true, false},
        {"CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW, true, false},
        {"CLOCK_MONOTONIC_COARSE", CLOCK_MONOTONIC_COARSE, true, false},
        {"CLOCK_BOOTTIME", CLOCK_BOOTTIME, true, false},
        {"CLOCK_REALTIME", CLOCK_REALTIME, true, true},
        {"CLOCK_REALTIME_COARSE", CLOCK_REALTIME_COARSE, true, true},
        {"CLOCK_TAI", CLOCK_TAI, true, true},
        {"CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, false, false},
        {"CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, false, false},
    };
    *clocks = table;
    return sizeof table / sizeof table[0];
}

/* This clock moves on with the tick. */
int64_t port_tick_ns(void)
{
    struct timespec step;
    bool is_known = clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0;
    return is_known ? (int64_t)step.tv_sec * 1000000000 + step.tv_nsec : -1;
}

int64_t port_uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
