/* Tests of order, context switches and priority inversion are valid on one CPU only: two threads
 * that run at the same time need no switch and have no order. */
#ifndef HS_REALTIME_ONE_CPU_H
#define HS_REALTIME_ONE_CPU_H

#include "run/run.h"

/* Whether the threads that a test does not bind itself share one CPU: that of the run, or the
 * machine's only one. */
bool one_cpu_is_certain(const struct run *run);

/* For a test with TEST_NEEDS_ONE_CPU: 0 if one_cpu_is_certain, else -1 with the outcome
 * STATUS_UNSUPPORTED. */
int one_cpu_require(struct run *run);

/* Number of priorities from the lowest of the requested policy to the requested one (to the one
 * in use once it is chosen), both included. */
int one_cpu_levels(const struct run *run);

/* For a test's `prepare`: 0 if one_cpu_levels is at least `wanted`, else -1 with the outcome
 * STATUS_DENIED. */
int one_cpu_require_levels(struct run *run, int wanted);

#endif
