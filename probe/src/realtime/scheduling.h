/* Which CPU, policy and priority the measuring thread gets, and what becomes of a
 * request that is refused. */
#ifndef HS_SCHEDULING_H
#define HS_SCHEDULING_H

#include "run/run.h"

/* Sets run->setup.cpu: the one asked for, or the last of those allowed (the first one
 * serves most interrupts), under `shielded` one that the boot line isolates where there is
 * one; -1 where CPUs cannot be chosen. 0, or -1 with the outcome. */
int scheduling_choose_cpu(struct run *run);

/* Sets policy and priority, tried out. A default that is refused becomes the highest
 * priority that is granted, else SCHED_OTHER, both told as events; what was asked for
 * and is refused is denied. 0, or -1 with the outcome. */
int scheduling_choose(struct run *run);

#endif
