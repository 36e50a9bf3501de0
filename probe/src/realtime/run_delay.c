#include "base/posix_source.h"

#include "realtime/run_delay.h"

#include "base/clock.h"

static void list(struct readiness *readiness, pid_t process)
{
    pid_t threads[READINESS_THREADS];
    int most = READINESS_THREADS - readiness->count;
    int count = port_threads(process, threads, most);
    if (count < 0 || count >= most) {
        readiness->is_known = false;
        return;
    }
    for (int i = 0; i < count; i++) {
        readiness->threads[readiness->count].process = process;
        readiness->threads[readiness->count++].thread = threads[i];
    }
}

void readiness_open(struct readiness *readiness, pid_t partner)
{
    readiness->is_known = true;
    readiness->count = 0;
    list(readiness, 0);
    if (partner > 0 && readiness->is_known)
        list(readiness, partner);
}

void readiness_begin(struct readiness *readiness)
{
    readiness->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < readiness->count && readiness->is_known; i++)
        readiness->is_known =
            port_thread_times(readiness->threads[i].process, readiness->threads[i].thread,
                              &readiness->threads[i].begin);
}

/* Since the beginning. */
static bool times_of(const struct readiness *readiness, int i, struct port_thread_times *times)
{
    const struct port_thread_times *begin = &readiness->threads[i].begin;
    if (!port_thread_times(readiness->threads[i].process, readiness->threads[i].thread, times))
        return false;
    times->ran_ns -= begin->ran_ns;
    times->waited_ns -= begin->waited_ns;
    return true;
}

int64_t readiness_kept_ns(const struct readiness *readiness)
{
    struct port_thread_times times[READINESS_THREADS];
    int64_t ran_ns = 0, kept_ns = 0;
    if (!readiness->is_known)
        return -1;
    for (int i = 0; i < readiness->count; i++) {
        if (!times_of(readiness, i, &times[i]))
            return -1;
        ran_ns += times[i].ran_ns;
    }
    for (int i = 0; i < readiness->count; i++) {
        int64_t behind_ns = ran_ns - times[i].ran_ns;
        if (times[i].waited_ns > behind_ns)
            kept_ns += times[i].waited_ns - behind_ns;
    }
    return kept_ns;
}
