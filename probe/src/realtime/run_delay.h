/* Run delay: whether threads of the test were runnable while none of them ran. If all slept, the
 * gap was the system's own and belongs in the figures; if one was runnable, the CPU was withheld.
 * An idle CPU proves neither: it also idles during throttling.
 *
 * From each thread's delay the run time of the test's other threads is subtracted, because it may
 * have waited for them; the rest is a lower bound of the time withheld.
 *
 * Called outside timed sections; reading takes a few us per thread. */
#ifndef HS_REALTIME_RUN_DELAY_H
#define HS_REALTIME_RUN_DELAY_H

#include "base/posix_source.h"

#include "base/options.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUN_DELAY_THREADS = HS_THREADS + 1 }; /* one only notes stops (run/stopped_watch.h) */

struct run_delay {
    bool is_known; /* the port counts run delay, and all threads are listed */
    int count;
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    struct {
        pid_t process, thread;
        struct port_thread_times begin;
    } threads[RUN_DELAY_THREADS];
};

/* Lists the current threads of this process, and of `peer` if it is not 0. */
void run_delay_open(struct run_delay *run_delay, pid_t peer);

/* Takes the values from which run_delay_kept_ns counts. */
void run_delay_begin(struct run_delay *run_delay);

/* Lower bound of the time since run_delay_begin in which threads were runnable and no thread of
 * the test ran, ns; two threads at once count twice. -1 if unknown. */
int64_t run_delay_kept_ns(const struct run_delay *run_delay);

#endif
