/* Rests between bursts of a test (breath.h), and a look at each burst for time that no
 * thread of the test spent although one was ready: real-time throttling that cut in, or
 * something above the test's priority that held the CPU as long as throttling would. It
 * would stand in the figures as if it were the system's latency, so the result is failed.
 *
 * Only for tests one of whose threads is always ready: then CPU time and time agree. */
#ifndef HS_PACE_H
#define HS_PACE_H

#include "run.h"

#include <sys/types.h>

struct pace {
    struct run *run;
    bool has_partner;
    clockid_t partner; /* CPU time of a second process */
    int64_t limit_ns;  /* a gap of so much is a cut; 0: no throttling here */
    int64_t from_ns, from_cpu_ns;
};

/* `partner`: a process that takes part, or 0. Begins the first burst. */
void pace_begin(struct pace *pace, struct run *run, pid_t partner);

/* Whether in the burst up to now so much time was taken from the test's threads that what it
 * timed by delays may have come out in another order. */
bool pace_was_disturbed(const struct pace *pace);

/* Between two samples: ends a burst, rests when it is time to, begins the next one.
 * Returns the time now, CLOCK_MONOTONIC. A cut sets the outcome and asks the test to end. */
int64_t pace_next(struct pace *pace);

#endif
