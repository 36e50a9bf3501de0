/* Guard and supervisor stand between the probe and the workers. Whichever process is killed, one
 * of the others ends the rest:
 *
 *   probe -- guard -- supervisor -- workers -- their jobs
 *
 * The supervisor starts the workers and records which of them end. It kills them all and removes
 * the scratch folder when the probe orders it, when the probe or the guard is gone, or at the
 * time limit. The guard waits for the supervisor. If the supervisor ends or hangs before it
 * reports that everything is gone, the guard cleans up. Both run in a session of their own, so
 * signals of a terminal do not reach them. Both adopt and kill orphaned descendants if the port
 * supports it (port_adopt_orphans). */
#ifndef HS_LOAD_GUARD_H
#define HS_LOAD_GUARD_H

#include "load/supervisor.h"

/* Time for the supervisor to end everything after the order, EXTERNAL_STRESSOR_END_NS included: it
 * shares the CPUs with all that it ends. */
int64_t guard_grace_ns(const struct load_map *map);

/* Forks the guard. Returns its process id, or -1 with the errno of fork. The caller then closes
 * its copies of plan->order and plan->gate. */
int guard_start(const struct supervisor_plan *plan);

#endif
