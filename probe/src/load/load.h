/* The life cycle of a load: start, settle, begin and end of the measurement, stop. */
#ifndef HS_LOAD_LOAD_H
#define HS_LOAD_LOAD_H

#include "base/status.h"
#include "load/places.h"
#include "load/room.h"
#include "load/snapshot.h"
#include "load/spec.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct load_setup {
    const struct load_spec *spec;
    struct cpus cpus;      /* the load runs on these */
    int cpu_count;         /* number of `cpus`; -1: the port cannot bind to CPUs */
    int64_t limit_ns;      /* CLOCK_MONOTONIC: time limit of the load */
    int64_t stall_ns;      /* load_settle gives up after this long without progress; 0: 15 s */
    const char *called_as; /* argv[0] */
    uint64_t seed;
    const char *folder; /* for its files; NULL: a scratch folder */
};

struct load_family;

struct load {
    struct load_setup setup;
    struct load_places places;
    struct load_room room; /* the limit on the number of processes */
    struct load_map *map;
    size_t map_bytes;
    struct load_family *family; /* table of processes; NULL: no external program */
    char program[LOAD_PATH_BYTES];
    pid_t guard; /* 0: not running */
    bool is_guard_gone;
    int order, gate;
    int64_t started_ns;
    bool is_measured; /* `begin` and `end` are set */
    struct load_snapshot begin, end;
};

/* Checks for what the spec needs: 0; -1 with outcome unsupported (stress-ng is not installed; the
 * host of network is not found, takes no connection, or has no echo service). */
int load_check(const struct load_spec *spec, struct outcome *outcome);

/* Starts the processes of setup->spec; they prepare and wait. Call it before memory is locked and
 * before the caller gets a real-time priority. 0; -1 with the outcome: unsupported (as load_check,
 * or no fork), denied (limits on processes, descriptors or memory), failed (any
 * other error). With an empty spec nothing is started, and all functions below do nothing. */
int load_start(struct load *load, const struct load_setup *setup, struct outcome *outcome);

/* Number of processes asked for, with jobs, and the longest time that load_settle waits for them,
 * ns. */
int load_processes(const struct load_setup *setup);
int64_t load_patience_ns(int processes);

/* Waits until all processes have prepared and wait at the gate, so that they use no CPU. Also
 * returns at the time limits of load_settle, which then reports it. */
void load_wait_ready(struct load *load);

/* Lets the load begin, and waits until every process has done its first piece of work and 0.1 s
 * more. False if the deadline (load_patience_ns) passes, no process makes progress for stall_ns,
 * the load ends, or `should_stop` (may be NULL) returns true; load_unsettled_events says which. */
bool load_settle(struct load *load, bool (*should_stop)(void));

/* After a load_settle that failed: -1 with the outcome if not one process could be started, so that
 * there is no load at all; else 0. */
int load_deny(const struct load *load, struct outcome *outcome);

/* The processes of a term, and how many of them work; for the events of load_settle. */
void load_working(const struct load *load, int term, int *working, int *processes);

/* Read the counters of all processes right before and after the measurement. They neither allocate
 * nor wait; load_stop adds the counts that arrive late. */
void load_begin(struct load *load);
void load_end(struct load *load);

/* Waits at most 0.3 s for elements that count late, then ends all processes, removes the scratch
 * folder and returns when all are gone. The counters stay readable. A second call does nothing. */
void load_stop(struct load *load);

/* load_stop, then releases all memory. */
void load_free(struct load *load);

#endif
