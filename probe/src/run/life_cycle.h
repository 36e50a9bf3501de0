/* The life cycle of one test.
 *
 * restore what an earlier shield has left -> choose CPU -> check -> declare series -> allocate ->
 * send header -> open clock -> choose scheduling -> check the skew between CPUs -> reserve the CPU
 * -> start the load's processes, which wait -> enter the reserved CPU -> lock memory -> prepare ->
 * calibrate -> let the load work -> MEASURE -> stop load -> judge -> check the clock -> release the
 * CPU -> send -> undo in reverse.
 *
 * The main thread supervises. It runs above the test's priority if permitted, sleeps until the
 * test is done, asks it to stop at the deadline, on a signal or at the end of standard input, and
 * gives up on it after a grace time. If even that fails, a kernel timer ends the process.
 */
#ifndef HS_RUN_LIFE_CYCLE_H
#define HS_RUN_LIFE_CYCLE_H

#include "command/args.h"

/* Runs the test of `request` and sends its result to standard output. Returns the probe's exit
 * code: that of the status (status_exit_code), or 70 if output failed. */
int run_test(const struct request *request);

#endif
