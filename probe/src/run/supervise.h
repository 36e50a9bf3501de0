/* Supervision: the test runs on a real-time thread, the measuring thread, and the main thread
 * makes sure that it ends. */
#ifndef HS_RUN_SUPERVISE_H
#define HS_RUN_SUPERVISE_H

#include "run/run.h"

/* Runs the test's measure step. 0 if it ended, by itself or on request (see run->outcome and
 * run->is_interrupted). -1 if its thread could not be started or ignored the request to stop; in
 * the latter case run->is_stuck is set and the process must exit. */
int supervise_measure(struct run *run);

/* The same for the test's calibrate step, which takes its time from the deadline. Restores what it
 * changed, unless it returns -1. */
int supervise_calibrate(struct run *run);

/* Restores what these two changed: signal mask and handlers, the last-resort timer, the
 * pipe. Drops signals that became pending while blocked. Called after the results have been sent;
 * does nothing if nothing was started. */
void supervise_end(struct run *run);

/* Only drops the last resort and restores signals: sending may take longer than they allow. */
void supervise_stand_down(struct run *run);

/* Has the supervisor read the counters of all threads (run/watch.h), and waits until it
 * has. For threads of a test beside the measuring thread: before they measure, and when each has
 * measured. */
void supervise_look_at_threads(struct run *run);

/* Called by the measuring thread when it starts to depend on `process` (0: it no longer does). If
 * that process dies, the thread would wait forever, so the supervisor stops the test. `party` names
 * the process for supervise_ended_early; with 0 it is ignored. */
void supervise_process(struct run *run, pid_t process, const char *party);

/* Sets the outcome (failed) because a process of `party` ("second party", "waiters") died before
 * its time. Returns -1. */
int supervise_ended_early(struct run *run, const char *party);

/* Upper bound of the duration of a measurement, ns: the deadline, the grace time, and the time
 * until the last-resort timer ends the process. */
int64_t supervise_limit_ns(const struct run *run);

#endif
