/* Occupies a CPU periodically at a real-time priority, COUNT times. Tests run it and look for its
 * bursts in the latencies.
 *
 * hardstone-hog CPU PRIORITY BURST_NS PERIOD_NS COUNT
 * At the end it prints one line per burst: begin and end, CLOCK_MONOTONIC ns. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BURSTS = 1000 };
#define MOST_BURST_NS INT64_C(900000000) /* less than the real-time budget of a second */

struct hog {
    int64_t burst_ns, period_ns;
    int count;
    int64_t begin_ns[MOST_BURSTS], end_ns[MOST_BURSTS];
};

static void burst(void *argument)
{
    struct hog *hog = argument;
    int64_t start_ns = clock_monotonic_ns();
    for (int i = 0; i < hog->count; i++) {
        struct timespec next = clock_ns_timespec(start_ns + (i + 1) * hog->period_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        hog->begin_ns[i] = clock_monotonic_ns();
        int64_t until_ns = hog->begin_ns[i] + hog->burst_ns;
        while ((hog->end_ns[i] = clock_monotonic_ns()) < until_ns)
            ;
    }
}

/* What is no number becomes 0, which is out of every limit. */
static long long number(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *end == '\0' ? value : 0;
}

int main(int argc, char *argv[])
{
    static struct hog hog;
    if (argc != 6) {
        fprintf(stderr, "usage: hardstone-hog CPU PRIORITY BURST_NS PERIOD_NS COUNT\n");
        return 2;
    }
    struct rt_thread_setup setup = {SCHED_FIFO, (int)number(argv[2]), (int)number(argv[1])};
    hog.burst_ns = number(argv[3]);
    hog.period_ns = number(argv[4]);
    hog.count = (int)number(argv[5]);
    if (hog.burst_ns <= 0 || hog.burst_ns > MOST_BURST_NS || hog.period_ns < hog.burst_ns ||
        hog.count < 1 || hog.count > MOST_BURSTS) {
        fprintf(stderr, "hardstone-hog: bursts of at most 0.9 s, at most %d of them\n",
                MOST_BURSTS);
        return 2;
    }
    struct rt_thread rt_thread;
    int error = rt_thread_start(&rt_thread, &setup, burst, &hog);
    if (error) {
        fprintf(stderr, "hardstone-hog: %s\n", strerror(error));
        return 5;
    }
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    for (int i = 0; i < hog.count; i++)
        printf("%lld %lld\n", (long long)hog.begin_ns[i], (long long)hog.end_ns[i]);
    return 0;
}
