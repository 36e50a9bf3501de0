/* The smallest step of expiries of each timer mechanism, for CLK-B-RES. */
#ifndef HS_FAMILY_CLOCK_EXPIRY_STEP_H
#define HS_FAMILY_CLOCK_EXPIRY_STEP_H

#include "run/run.h"

/* For the test's `setup_ns`: the time that all mechanisms take together at most. */
#define EXPIRY_STEP_NS INT64_C(6000000000)

/* Series `expiry_step` of each mechanism, in their order. They share the slot of the earlier series
 * `share`. 0 or -1: no memory. */
int expiry_step_declare(struct arena_plan *plan, int share);

/* Measures them, on the measuring thread; `series`: index of the first. An event reports what
 * cannot be measured. */
void expiry_step_measure(struct run *run, int series);

#endif
