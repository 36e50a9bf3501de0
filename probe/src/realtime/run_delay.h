/* Whether the threads of a test were ready to run while none of them ran. Where they slept
 * the wait was the system's own, and belongs into the figures; where one was ready the CPU
 * was kept from it. An idle CPU tells nothing of that: with throttling it idles too.
 *
 * What a thread waited behind the others of the test is taken off: each of them may have had
 * it wait as long as it ran. So what is left is the least that was kept from the test.
 *
 * Called outside all that is timed; reading takes some us a thread. */
#ifndef HS_READINESS_H
#define HS_READINESS_H

#include "base/posix_source.h"

#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { READINESS_THREADS = 600 };

struct readiness {
    bool is_known; /* the port counts it, and all threads are listed */
    int count;
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    struct {
        pid_t process, thread;
        struct port_thread_times begin;
    } threads[READINESS_THREADS];
};

/* Lists the threads that there are now, and those of `partner` where it is not 0. */
void readiness_open(struct readiness *readiness, pid_t partner);

/* Counts from now on. */
void readiness_begin(struct readiness *readiness);

/* Time since then in which threads were ready, and neither they nor others of the test ran;
 * two that were so at once count twice. -1 where that is not known. */
int64_t readiness_kept_ns(const struct readiness *readiness);

#endif
