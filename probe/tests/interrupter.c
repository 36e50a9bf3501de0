/* Interrupts a CPU periodically from another one, COUNT times, and takes nothing of it otherwise:
 * it switches an event of that CPU on and off, which the kernel does by a function call there.
 *
 * hardstone-interrupter CPU FROM_CPU PRIORITY PERIOD_NS COUNT
 * At the end it prints one line per interrupt: before and after the call, CLOCK_MONOTONIC ns. Exit
 * code 77: the kernel does not let it. */
#define _GNU_SOURCE

#include "base/clock.h"
#include "base/rt_thread.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 10000, REFUSED = 77 };

struct interrupter {
    int event;
    int64_t period_ns;
    int count;
    int64_t begin_ns[MOST], end_ns[MOST];
};

static int open_event(int cpu)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.disabled = 1;
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

static void interrupt(void *argument)
{
    struct interrupter *all = argument;
    int64_t start_ns = clock_monotonic_ns();
    for (int i = 0; i < all->count; i++) {
        struct timespec next = clock_ns_timespec(start_ns + (i + 1) * all->period_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        all->begin_ns[i] = clock_monotonic_ns();
        ioctl(all->event, i % 2 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
        all->end_ns[i] = clock_monotonic_ns();
    }
}

int main(int argc, char *argv[])
{
    static struct interrupter all;
    if (argc != 6) {
        fprintf(stderr, "usage: hardstone-interrupter CPU FROM_CPU PRIORITY PERIOD_NS COUNT\n");
        return 2;
    }
    struct rt_thread_setup setup = {SCHED_FIFO, atoi(argv[3]), atoi(argv[2])};
    all.period_ns = atoll(argv[4]);
    all.count = atoi(argv[5]);
    if (all.period_ns < 1 || all.count < 1 || all.count > MOST) {
        fprintf(stderr, "hardstone-interrupter: at most %d interrupts\n", MOST);
        return 2;
    }
    all.event = open_event(atoi(argv[1]));
    if (all.event < 0) {
        perror("hardstone-interrupter: perf_event_open");
        return REFUSED;
    }
    struct rt_thread rt_thread;
    int error = rt_thread_start(&rt_thread, &setup, interrupt, &all);
    if (error) {
        fprintf(stderr, "hardstone-interrupter: %s\n", strerror(error));
        return 5;
    }
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    for (int i = 0; i < all.count; i++)
        printf("%lld %lld\n", (long long)all.begin_ns[i], (long long)all.end_ns[i]);
    return 0;
}
