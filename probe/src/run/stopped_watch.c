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
    while (port_wait_for_stop(watch->ends[0]))
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

void stopped_watch_start(struct stopped_watch *watch, struct arena *arena)
{
    watch->arena = arena;
    int error = pipe(watch->ends) == 0 ? 0 : errno;
    if (!error && (error = start_thread(watch)) != 0) {
        close(watch->ends[0]);
        close(watch->ends[1]);
    }
    watch->is_there = !error;
    if (error)
        arena_event(arena, "stops_not_watched", -1, DATA(data_text("error", strerror(error))),
                    "the thread that notes when the program is stopped could not be started (%s): "
                    "a stop would look like a large value",
                    strerror(error));
    else
        rt_thread_go(&watch->rt_thread);
}

void stopped_watch_end(struct stopped_watch *watch)
{
    if (!watch->is_there)
        return;
    close(watch->ends[1]);
    rt_thread_join(&watch->rt_thread);
    close(watch->ends[0]);
    watch->is_there = false;
    atomic_store(&watch->id, 0);
}
