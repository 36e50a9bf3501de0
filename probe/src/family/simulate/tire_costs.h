/* What the parts of a step cost on one thread, timed directly: a spring, a mass, a semaphore. */
#ifndef HS_FAMILY_SIMULATE_TIRE_COSTS_H
#define HS_FAMILY_SIMULATE_TIRE_COSTS_H

#include "run/run.h"

/* Times them on the calling thread, the measuring one, and adds the event `tire_costs`. Takes some
 * milliseconds. */
void tire_costs_tell(struct run *run, int64_t step_ns, int64_t stiffness_per_s2);

#endif
