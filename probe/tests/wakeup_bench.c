/* The wake-up of TMR-P-LAT without the instrument: one SCHED_FIFO thread on one CPU, the same
 * absolute sleep, the same clock, one array, nothing else. What TMR-P-LAT is above it is the cost
 * of its records and of its supervisor.
 *
 * hardstone-wakeup-bench CPU PRIORITY INTERVAL_NS COUNT POLL_NS
 * One line: the median latency in ns. POLL_NS > 0: a second thread, ordinary and on any CPU, wakes
 * up so often, as the main thread of cyclictest does each 10 ms; 0: there is no second thread. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "port/port.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_COUNT = 10000000, ARGUMENTS = 5 };

#define START_AHEAD_NS INT64_C(10000000)

static int64_t poll_ns;

static void *poll(void *argument)
{
    struct timespec rest = clock_ns_timespec(poll_ns);
    (void)argument;
    for (;;)
        nanosleep(&rest, NULL);
    return NULL;
}

static void measure(int64_t *latency_ns, long count, int64_t interval_ns)
{
    int64_t release_ns = clock_monotonic_ns() + START_AHEAD_NS;
    for (long i = 0; i < count; i++, release_ns += interval_ns) {
        struct timespec release = clock_ns_timespec(release_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL) == EINTR)
            ;
        latency_ns[i] = clock_monotonic_ns() - release_ns;
    }
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

static int refuse(const char *what, int error)
{
    fprintf(stderr, "hardstone-wakeup-bench: %s: %s\n", what, strerror(error));
    return 5;
}

static int start_poller(void)
{
    pthread_t thread;
    return poll_ns > 0 ? pthread_create(&thread, NULL, poll, NULL) : 0;
}

int main(int argc, char *argv[])
{
    if (argc != ARGUMENTS + 1)
        return 2;
    long count = strtol(argv[4], NULL, 10);
    int64_t interval_ns = strtoll(argv[3], NULL, 10);
    poll_ns = strtoll(argv[5], NULL, 10);
    if (count < 1 || count > MOST_COUNT || interval_ns < 10000)
        return 2;
    int64_t *latency_ns = malloc((size_t)count * sizeof *latency_ns);
    if (!latency_ns)
        return refuse("memory", ENOMEM);
    memset(latency_ns, 0, (size_t)count * sizeof *latency_ns);
    int error = start_poller();
    if (!error)
        error = port_pin_self((int)strtol(argv[1], NULL, 10));
    if (!error)
        error = rt_thread_set_self(SCHED_FIFO, (int)strtol(argv[2], NULL, 10));
    if (!error && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        error = errno;
    if (error) {
        free(latency_ns);
        return refuse("CPU, priority or locked memory", error);
    }
    measure(latency_ns, count, interval_ns);
    qsort(latency_ns, (size_t)count, sizeof *latency_ns, compare);
    printf("%lld\n", (long long)latency_ns[(count - 1) / 2]);
    free(latency_ns);
    return 0;
}
