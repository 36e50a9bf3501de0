/* Tests of order, switching and inversion mean something on one CPU only: where two
 * threads may run at once, no switch would be in a switch and no order in an order. */
#ifndef HS_ONE_CPU_H
#define HS_ONE_CPU_H

#include "run/run.h"

/* For a test's `prepare`: 0 when its threads can be kept on one CPU (bound, or there is
 * only one), else -1 with the outcome STATUS_UNSUPPORTED. */
int one_cpu_require(struct run *run);

/* Levels of the policy asked for from its lowest up to the priority asked for (once that is
 * chosen, to the one in use), the measuring thread's own included. */
int one_cpu_levels(const struct run *run);

/* For a test's `prepare`: 0 when there are `wanted` such levels, else -1 with the outcome
 * STATUS_DENIED and what to ask for. */
int one_cpu_require_levels(struct run *run, int wanted);

#endif
