/* Measuring under supervision: the test runs on its real-time thread (the director), the
 * main thread sees to its end. */
#ifndef HS_SUPERVISE_H
#define HS_SUPERVISE_H

#include "run/run.h"

/* Runs the test's measure step. 0 when it ended, by itself or when it was asked to
 * (run->outcome and run->is_interrupted tell); -1 when its thread could not be started,
 * or when it ignored its end: then run->is_stuck, and the process must not go on. */
int supervise_measure(struct run *run);

/* From now on the measuring thread waits for ever should `process` end (0: not any more): the test
 * is given up then. Called by that thread; `party` names the process, for supervise_ended_early. */
void supervise_process(struct run *run, pid_t process, const char *party);

/* Sets the outcome: a process of `party` ("second party", "waiters") was ended by others. -1. */
int supervise_ended_early(struct run *run, const char *party);

/* After so long a measurement has ended, whatever happens: by its deadline, by giving up on
 * it, or by the kernel timer that ends the process. */
int64_t supervise_limit_ns(const struct run *run);

#endif
