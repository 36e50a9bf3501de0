#include "base/posix_source.h"

#include "run/stopped.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the program ---- */

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
    const char *why = error == ENOTSUP ? "this port cannot detect stops" : strerror(error);
    watch->is_there = !error;
    if (!error) {
        rt_thread_go(&watch->rt_thread);
        return;
    }
    close_all(watch);
    arena_event_once(arena, "stops_not_watched", DATA(data_text("reason", why)),
                     "stops of the program (SIGSTOP, a debugger, a frozen control group) cannot "
                     "be detected (%s): a stop looks like a large value",
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

/* ---- the machine ---- */

#define LEAST_SLEEP_NS INT64_C(5000000)
#define LEAST_STEP_NS INT64_C(2000000)

/* A kernel slews all its clocks alike; a system that slews the wall clock alone does it by 500 ppm
 * at most (adjtime). */
#define SLEW_SHARE 2000

enum { FEW = 3, TRIES = 5 };
enum kind { SUSPENDED, WALL_CLOCK_SET };

static int64_t wall_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_timespec_ns(&now);
}

/* The clocks at one moment: of some readings the one that took least. Returns how long it took. */
static int64_t read_clocks(struct clock_watch *to)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before_ns = clock_monotonic_ns();
        int64_t uptime_ns = port_uptime_ns(), wall_ns = wall_clock_ns();
        int64_t after_ns = clock_monotonic_ns();
        if (after_ns - before_ns >= least_ns)
            continue;
        least_ns = after_ns - before_ns;
        to->now_ns = before_ns;
        to->asleep_ns = uptime_ns - before_ns;
        to->wall_ns = wall_ns - uptime_ns;
    }
    return least_ns;
}

void clock_watch_begin(struct clock_watch *watch)
{
    *watch = (struct clock_watch){0};
    read_clocks(watch);
}

static int64_t at_ns(const struct clock_watch *watch, const struct arena *arena)
{
    return arena->started_ns > 0 && watch->now_ns >= arena->started_ns
               ? watch->now_ns - arena->started_ns
               : -1;
}

/* Whether this one is told; else it is counted. */
static bool is_reported(struct clock_watch *watch, enum kind kind, int64_t ns)
{
    watch->more[kind].count++;
    if (watch->more[kind].count <= FEW)
        return true;
    watch->more[kind].sum_ns += ns;
    return false;
}

static void report_sleep(struct clock_watch *watch, struct arena *arena, int64_t ns)
{
    if (is_reported(watch, SUSPENDED, ns))
        arena_event(arena, "suspended", at_ns(watch, arena), DATA(data_integer("asleep_ns", ns)),
                    "the machine was suspended for %.3f s: CLOCK_MONOTONIC, which the figures "
                    "use, stood still; waits for a timer or a device may be late because of it",
                    (double)ns / 1e9);
}

static void report_step(struct clock_watch *watch, struct arena *arena, int64_t ns)
{
    if (is_reported(watch, WALL_CLOCK_SET, ns))
        arena_event(arena, "wall_clock_set", at_ns(watch, arena), DATA(data_integer("step_ns", ns)),
                    "the wall clock was set by %+.3f s: the figures (CLOCK_MONOTONIC) do not "
                    "depend on it, but times of day do",
                    (double)ns / 1e9);
}

void clock_watch_look(struct clock_watch *watch, struct arena *arena)
{
    struct clock_watch now = {0};
    int64_t error_ns = read_clocks(&now);
    int64_t asleep_ns = now.asleep_ns - watch->asleep_ns, step_ns = now.wall_ns - watch->wall_ns;
    int64_t slewed_ns = (now.now_ns - watch->now_ns) / SLEW_SHARE;
    int64_t least_ns = LEAST_STEP_NS + slewed_ns + error_ns;
    watch->now_ns = now.now_ns;
    if (asleep_ns > LEAST_SLEEP_NS + error_ns)
        report_sleep(watch, arena, asleep_ns);
    if (step_ns > least_ns || step_ns < -least_ns)
        report_step(watch, arena, step_ns);
    watch->asleep_ns = now.asleep_ns;
    watch->wall_ns = now.wall_ns;
}

void clock_watch_end(struct clock_watch *watch, struct arena *arena)
{
    clock_watch_look(watch, arena);
    int64_t sleeps = watch->more[SUSPENDED].count - FEW;
    int64_t steps = watch->more[WALL_CLOCK_SET].count - FEW;
    if (sleeps > 0)
        arena_event(arena, "suspended", -1,
                    DATA(data_integer("asleep_ns", watch->more[SUSPENDED].sum_ns),
                         data_integer("more_count", sleeps)),
                    "the machine was suspended %lld more times, for %.3f s in total",
                    (long long)sleeps, (double)watch->more[SUSPENDED].sum_ns / 1e9);
    if (steps > 0)
        arena_event(arena, "wall_clock_set", -1,
                    DATA(data_integer("step_ns", watch->more[WALL_CLOCK_SET].sum_ns),
                         data_integer("more_count", steps)),
                    "the wall clock was set %lld more times, by %+.3f s in total", (long long)steps,
                    (double)watch->more[WALL_CLOCK_SET].sum_ns / 1e9);
}
