/* Two processes stand between the probe and the loaders, so that whichever of all is killed,
 * somebody is left who ends the rest:
 *
 *   probe -- guard -- keeper -- loaders -- their jobs
 *
 * The keeper starts the loaders, notes which of them end, and when the probe says so (or is
 * gone, or the guard is, or the limit has come) ends them all and removes the scratch folder.
 * The guard waits for the keeper's end; if that was not told, it does the keeper's work.
 * Both are in a session of their own, which no signal of a terminal reaches. Processes whose
 * parent was killed become theirs where the port can arrange it, and are ended too. */
#ifndef HS_LOAD_GUARD_H
#define HS_LOAD_GUARD_H

#include "load/spec.h"

/* For the keeper, after the probe's order: it gives another program 3 s to end by itself. */
#define GUARD_GRACE_NS INT64_C(6000000000)

struct guard_plan {
    struct load_map *map;
    const struct load_spec *spec;
    const char *program; /* of the jobs */
    uint64_t seed;
    int64_t limit_ns; /* CLOCK_MONOTONIC: what still runs then is ended */
    int order;        /* the probe's end of this: anything, or its break, is the order to end */
    int gate;         /* its break lets the loaders begin */
};

/* Forks the guard. Its process id, or -1 with errno. The caller closes its copies of
 * plan->order and plan->gate. */
int guard_start(const struct guard_plan *plan);

#endif
