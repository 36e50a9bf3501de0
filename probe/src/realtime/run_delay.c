#include "base/posix_source.h"

#include "realtime/run_delay.h"

#include "base/clock.h"

static void list(struct run_delay *run_delay, pid_t process)
{
    pid_t threads[RUN_DELAY_THREADS];
    int most = RUN_DELAY_THREADS - run_delay->count;
    int count = port_threads(process, threads, most);
    if (count < 0 || count >= most) {
        run_delay->is_known = false;
        return;
    }
    for (int i = 0; i < count; i++) {
        run_delay->threads[run_delay->count].process = process;
        run_delay->threads[run_delay->count++].thread = threads[i];
    }
}

void run_delay_open(struct run_delay *run_delay, pid_t peer)
{
    run_delay->is_known = true;
    run_delay->count = 0;
    list(run_delay, 0);
    if (peer > 0 && run_delay->is_known)
        list(run_delay, peer);
}

void run_delay_begin(struct run_delay *run_delay)
{
    run_delay->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < run_delay->count && run_delay->is_known; i++)
        run_delay->is_known =
            port_thread_times(run_delay->threads[i].process, run_delay->threads[i].thread,
                              &run_delay->threads[i].begin);
}

/* Times of thread `i` since run_delay_begin. */
static bool times_of(const struct run_delay *run_delay, int i, struct port_thread_times *times)
{
    const struct port_thread_times *begin = &run_delay->threads[i].begin;
    if (!port_thread_times(run_delay->threads[i].process, run_delay->threads[i].thread, times))
        return false;
    times->ran_ns -= begin->ran_ns;
    times->waited_ns -= begin->waited_ns;
    return true;
}

int64_t run_delay_kept_ns(const struct run_delay *run_delay)
{
    struct port_thread_times times[RUN_DELAY_THREADS];
    int64_t ran_ns = 0, kept_ns = 0;
    if (!run_delay->is_known)
        return -1;
    for (int i = 0; i < run_delay->count; i++) {
        if (!times_of(run_delay, i, &times[i]))
            return -1;
        ran_ns += times[i].ran_ns;
    }
    for (int i = 0; i < run_delay->count; i++) {
        int64_t behind_ns = ran_ns - times[i].ran_ns;
        if (times[i].waited_ns > behind_ns)
            kept_ns += times[i].waited_ns - behind_ns;
    }
    return kept_ns;
}
