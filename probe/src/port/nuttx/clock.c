/* The clocks of NuttX, its tick, and timers that are read through a descriptor (timerfd). */
#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef CONFIG_TIMER_FD
#include <sys/timerfd.h>
#endif

enum { TICK_NS = CONFIG_USEC_PER_TICK * 1000 };

/* The kernel is part of the program: clock_gettime is no system call. */
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
        {"CLOCK_BOOTTIME", CLOCK_BOOTTIME, true, false},
        {"CLOCK_REALTIME", CLOCK_REALTIME, true, true},
        {"CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, false, false},
        {"CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, false, false},
    };
    *clocks = table;
    return sizeof table / sizeof table[0];
}

/* Without a periodic tick timers still expire at its multiples, but nothing interrupts. */
int64_t port_tick_ns(void)
{
#ifdef CONFIG_SCHED_TICKLESS
    return -1;
#else
    return TICK_NS;
#endif
}

int64_t port_uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__aarch64__) || defined(__riscv)
    (void)reason, (void)reason_bytes;
    return true; /* the architecture guarantees one rate; clock_open checks it against the clock */
#else
    snprintf(reason, reason_bytes,
             "NuttX does not say whether the counter runs at one rate, and how many bits it has");
    return false;
#endif
}

/* ---- timers that are read through a descriptor ---- */

#ifdef CONFIG_TIMER_FD

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

static int open_timer(int64_t start_ns, int64_t period_ns, int flags)
{
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | flags);
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

int port_event_timer_open(int64_t start_ns, int64_t period_ns)
{
    return open_timer(start_ns, period_ns, 0);
}

int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns)
{
    return open_timer(start_ns, period_ns, TFD_NONBLOCK);
}

/* The count has 32 bits unless the configuration has long types of 64 bits. */
int64_t port_event_timer_take(int descriptor)
{
    timerfd_t count;
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
    timerfd_t count;
    ssize_t got = read(descriptor, &count, sizeof count);
    return got == sizeof count ? (int64_t)count : -1;
}

int port_event_timer_disarm(int descriptor)
{
    struct itimerspec never;
    memset(&never, 0, sizeof never);
    return timerfd_settime(descriptor, 0, &never, NULL);
}

#else

static int refuse(void)
{
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_open(int64_t start_ns, int64_t period_ns)
{
    (void)start_ns, (void)period_ns;
    return refuse();
}

int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns)
{
    return port_event_timer_open(start_ns, period_ns);
}

int64_t port_event_timer_take(int descriptor)
{
    (void)descriptor;
    return refuse();
}

int port_event_timer_arm(int descriptor, int64_t start_ns)
{
    (void)descriptor, (void)start_ns;
    return refuse();
}

int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns)
{
    (void)descriptor, (void)timeout_ns;
    return refuse();
}

int port_event_timer_disarm(int descriptor)
{
    (void)descriptor;
    return refuse();
}

#endif
