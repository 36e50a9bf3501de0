/* Timers that are read through a descriptor: timerfd. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

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
