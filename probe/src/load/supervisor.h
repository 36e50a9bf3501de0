/* The parent of the workers (guard.h). */
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

/* Main function of the supervisor process: starts the workers of `plan` and ends them at the order.
 * `lifeline` reaches end of file when the guard ends. Writes one byte to `told` when everything is
 * gone. Never returns. */
void supervisor_be(const struct supervisor_plan *plan, int lifeline, int told)
    __attribute__((noreturn));

/* Kills all children of the calling process, and orphans as it adopts them, until none is left or
 * 20 s have passed. `group`: a process group to kill first, for systems whose process table cannot
 * be read; 0: none. */
void supervisor_end_children(pid_t group);

#endif
