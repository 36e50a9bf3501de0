/* The life cycle of a load: start, settle, begin and end of the measurement, stop; how many
 * processes it has, and where they run. */
#ifndef HS_LOAD_LOAD_H
#define HS_LOAD_LOAD_H

#include "base/status.h"
#include "load/spec.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- places ----
 *
 * How many processes and jobs each term of a load has, and on which CPUs they run. A degree is that
 * of the whole load, by processes that may run on all its CPUs; or, with "@cpu", that of each CPU,
 * by processes bound to it. */

/* CPUs of a load: `count` -1: the port cannot bind to CPUs. */
struct load_cpus {
    struct cpus set;
    int count;
};

struct load_places {
    int processes[LOAD_TERMS]; /* processes of the load itself: each has a slot */
    int numbers[LOAD_TERMS];   /* LOAD_COUNT, LOAD_JOBS, LOAD_GROUPS: number that is started; else 0
                                */
    int asked[LOAD_TERMS];     /* number that was requested */
};

/* The places of everything that was requested. */
void load_places_plan(struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus);

/* Number of slots of a load, and of all its processes, with jobs and members of groups, without
 * guard and supervisor. */
int load_places_slots(const struct load_places *places, int terms);
int load_places_processes(const struct load_places *places, const struct load_spec *spec);

/* Reduces all numbers in the same proportion, to at least 1, until `room` processes suffice.
 * Groups, which are many processes each, are reduced first, and to none if one needs more than
 * half. */
void load_places_fit(struct load_places *places, const struct load_spec *spec,
                     const struct load_cpus *cpus, int64_t room);

/* Writes term, CPU and jobs into the slots of `map`. */
void load_places_fill(const struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus, struct load_map *map);

/* ---- room: how many processes a load may start and still leave some for other programs ---- */

struct load_room {
    int64_t processes;
    const char *limit; /* name of that limit */
};

/* The least of LOAD_MOST_PROCESSES_IN_ALL, of seven eighths of what the limits of the system leave,
 * and of half of the available memory. */
struct load_room load_room_now(void);

/* ---- counters of all processes of a load at one time ---- */

/* State and counters of one worker at one time. */
struct load_sample {
    int state;
    int64_t stopped_ns; /* total time stopped by a signal so far */
    int64_t seen;       /* interrupt: timer interrupts on its CPUs; -1: not known */
    bool is_ready;      /* storm: did no work, but waits for a CPU */
    uint64_t counters[LOAD_COUNTERS];
};

struct load_snapshot {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    /* Counters of the kernel; -1: not known, or no element needs them. */
    int64_t interrupts;          /* on the load's CPUs */
    int64_t timer_interrupts;    /* of those, by the local timer */
    int64_t tcp_segments;        /* sent by the whole system */
    int64_t device_bytes;        /* written by all processes to the device of disk */
    struct load_sample *samples; /* one for each slot */
};

/* ---- the life cycle ---- */

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
 * host of network is not found, takes no connection, or has no echo service; there is no such UIO
 * device), denied (of that device). */
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
