/* POSIX has no timer that is read through a descriptor. */
#include "port/port.h"

#include <errno.h>
#include <sys/wait.h>

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
