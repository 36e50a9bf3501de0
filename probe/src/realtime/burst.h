/* Rests between samples (breath.h), with a look at each burst for time that nobody of the
 * test was given (occupancy.h): such a burst ends the test, and fails it. Where all slept
 * meanwhile (readiness.h) the pause was the system's own, a slow wake-up: it stays in the
 * figures, and is told as the event `idle_gap`.
 *
 * Only for tests one of whose threads is always ready, or about to be woken: then CPU time
 * and time agree. */
#ifndef HS_PACE_H
#define HS_PACE_H

#include "realtime/cpu_loss.h"
#include "realtime/run_delay.h"

struct pace {
    struct run *run;
    struct occupancy occupancy;
    struct readiness readiness;
    int gap_count;
    bool is_watched; /* whether a burst can be judged at all */
};

/* `partner`: a process that takes part, or 0. Begins the first burst. Threads that start
 * later are not looked at. */
void pace_begin(struct pace *pace, struct run *run, pid_t partner);

/* Whether in the burst up to now so much time was taken from the test's threads that what it
 * timed by delays may have come out in another order. */
bool pace_was_disturbed(const struct pace *pace);

/* Between two samples: ends a burst, rests when it is time to, begins the next one.
 * Returns the time now, CLOCK_MONOTONIC. A cut burst sets the outcome and asks the test to end. */
int64_t pace_next(struct pace *pace);

#endif
