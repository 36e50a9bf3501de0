#include "base/posix_source.h"

#include "run/stopped_watch.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static void note_stops(void *argument)
{
    struct stopped_watch *watch = argument;
    atomic_store(&watch->id, port_own_id());
    while (port_wait_for_stop(watch->stops))
        stops_add(watch->arena, clock_monotonic_ns());
}

static int start_thread(struct stopped_watch *watch)
{
    const struct rt_thread_setup first = {SCHED_FIFO, sched_get_priority_max(SCHED_FIFO), -1};
    const struct rt_thread_setup ordinary = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    int error = rt_thread_start_with_stack(&watch->rt_thread, &first, RT_THREAD_SMALL_STACK_BYTES,
                                           note_stops, watch);
    if (error == EPERM)
        error = rt_thread_start_with_stack(&watch->rt_thread, &ordinary,
                                           RT_THREAD_SMALL_STACK_BYTES, note_stops, watch);
    return error;
}

static void close_all(struct stopped_watch *watch)
{
    if (watch->stops >= 0)
        close(watch->stops);
    if (watch->ends[1] >= 0)
        close(watch->ends[1]);
    if (watch->ends[0] >= 0)
        close(watch->ends[0]);
}

/* 0 or an errno value. */
static int start(struct stopped_watch *watch)
{
    if (pipe(watch->ends) != 0 || (watch->stops = port_stops_open(watch->ends[0])) < 0)
        return errno;
    return start_thread(watch);
}

void stopped_watch_start(struct stopped_watch *watch, struct arena *arena)
{
    watch->arena = arena;
    watch->ends[0] = watch->ends[1] = watch->stops = -1;
    int error = start(watch);
    const char *why =
        error == ENOTSUP ? "this port cannot tell when it is stopped" : strerror(error);
    watch->is_there = !error;
    if (!error) {
        rt_thread_go(&watch->rt_thread);
        return;
    }
    close_all(watch);
    arena_event_once(arena, "stops_not_watched", DATA(data_text("reason", why)),
                     "stops of the program (SIGSTOP, a debugger, a frozen control group) are not "
                     "noticed (%s): one looks like a large value",
                     why);
}

void stopped_watch_end(struct stopped_watch *watch)
{
    if (!watch->is_there)
        return;
    close(watch->ends[1]);
    watch->ends[1] = -1;
    rt_thread_join(&watch->rt_thread);
    close_all(watch);
    watch->is_there = false;
    atomic_store(&watch->id, 0);
}
