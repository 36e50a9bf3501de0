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
#ifndef HS_LOAD_SUPERVISOR_H
#define HS_LOAD_SUPERVISOR_H

#include "load/spec.h"

#include <sys/types.h>

struct supervisor_plan {
    struct load_map *map;
    const struct load_spec *spec;
    const char *program; /* path of the probe, for the jobs */
    uint64_t seed;
    int64_t limit_ns; /* CLOCK_MONOTONIC: time limit of the load */
    int order;        /* socket to the probe: a byte, or end of file, is the order to end */
    int gate; /* pipe from the probe: a worker begins with a byte of it, or at end of file */
};

/* Time for the supervisor to end everything after the order, EXTERNAL_STRESSOR_END_NS included: it
 * shares the CPUs with all that it ends. */
int64_t load_grace_ns(const struct load_map *map);

/* Forks the guard. Returns its process id, or -1 with the errno of fork. The caller then closes
 * its copies of plan->order and plan->gate. */
int load_guard_start(const struct supervisor_plan *plan);

/* Main function of a worker process, for tests. Sets SCHED_OTHER at nice 0, CPU affinity and
 * default signal handling (SIGPIPE and SIGXFSZ ignored), prepares the element, waits for a byte or
 * end of file on `gate` and works until the load ends. Keeps only `gate` and the three standard
 * descriptors. Never returns. */
void worker_be(struct worker *worker, int gate) __attribute__((noreturn));

#endif
