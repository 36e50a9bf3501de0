/* The clocks of Linux, the processor's counter as one, and timers that are read through a
 * descriptor (timerfd). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

_Static_assert(sizeof(time_t) == 8 && sizeof(off_t) == 8,
               "this C library has no times or no sizes of files of 64 bits (glibc: 2.34)");

/* The call that fills a time of 64 bits; processors of 32 bits have an older one too. */
#if defined(SYS_clock_gettime64)
#define CALL_GETTIME SYS_clock_gettime64
#else
#define CALL_GETTIME SYS_clock_gettime
#endif

int port_clock_system_call(clockid_t id, struct timespec *time)
{
    return (int)syscall(CALL_GETTIME, id, time);
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

/* ---- whether the counter is a clock: what the processor and the kernel say ---- */

static bool has_flag(const char *flags, const char *flag)
{
    size_t length = strlen(flag);
    for (const char *at = strstr(flags, flag); at; at = strstr(at + 1, flag))
        if ((at[length] == ' ' || at[length] == '\0') && at != flags && at[-1] == ' ')
            return true;
    return false;
}

/* An unreadable file says nothing about the counter: report the error instead. */
static bool tell_unread(const char *path, char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, "%s could not be read: %s", path, strerror(errno));
    return false;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__x86_64__) || defined(__i386__)
    static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char text[8192];
    bool is_found = linux_cpuinfo("flags", text, sizeof text);
    if (!is_found && errno != 0)
        return tell_unread(linux_cpuinfo_path, reason, reason_bytes);
    if (!is_found || !has_flag(text, "constant_tsc") || !has_flag(text, "nonstop_tsc")) {
        snprintf(reason, reason_bytes,
                 "the processor does not report a TSC with a constant rate that never stops "
                 "(constant_tsc, nonstop_tsc)");
        return false;
    }
    if (!has_flag(text, "sse2")) { /* lfence */
        snprintf(reason, reason_bytes,
                 "the processor has no instruction that orders reads of the TSC (sse2)");
        return false;
    }
    is_found = linux_read(source, text, sizeof text);
    if (!is_found && errno != 0)
        return tell_unread(source, reason, reason_bytes);
    if (!is_found || strcmp(text, "tsc") != 0) {
        snprintf(reason, reason_bytes, "the kernel does not use the TSC as its clock source");
        return false;
    }
#else
    (void)has_flag, (void)tell_unread, (void)reason, (void)reason_bytes;
#endif
    return true;
}

/* ---- timers that are read through a descriptor ---- */

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

int port_event_timer_open(int64_t start_ns, int64_t period_ns)
{
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (descriptor < 0)
        return -1;
    struct itimerspec when = {.it_value = to_timespec(start_ns),
                              .it_interval = to_timespec(period_ns)};
    if (timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, NULL) == 0)
        return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns)
{
    int descriptor = port_event_timer_open(start_ns, period_ns);
    int flags = descriptor >= 0 ? fcntl(descriptor, F_GETFL) : -1;
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0)
        return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int64_t port_event_timer_take(int descriptor)
{
    uint64_t count;
    ssize_t got = read(descriptor, &count, sizeof count);
    if (got == sizeof count)
        return (int64_t)count;
    return errno == EAGAIN ? 0 : -1;
}

int port_event_timer_arm(int descriptor, int64_t start_ns)
{
    struct itimerspec when = {.it_value = to_timespec(start_ns)};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, NULL);
}

int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns)
{
    if (timeout_ns >= 0) {
        struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
        struct timespec timeout = to_timespec(timeout_ns);
        int ready = ppoll(&wanted, 1, &timeout, NULL);
        if (ready <= 0)
            return ready;
    }
    uint64_t count;
    ssize_t got = read(descriptor, &count, sizeof count);
    return got == sizeof count ? (int64_t)count : -1;
}

int port_event_timer_disarm(int descriptor)
{
    struct itimerspec never;
    memset(&never, 0, sizeof never);
    return timerfd_settime(descriptor, 0, &never, NULL);
}
