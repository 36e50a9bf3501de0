/* The life of a load: start, settle, begin and end of the measurement, stop. */
#ifndef HS_LOAD_LOAD_H
#define HS_LOAD_LOAD_H

#include "base/status.h"
#include "load/spec.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What one loader had done at a moment. */
struct load_sample {
    int state;
    int64_t stopped_ns; /* so long it had been stopped by then */
    int64_t seen;       /* interrupt: of its CPU, as the kernel counts; -1: not known */
    uint64_t counters[LOAD_COUNTERS];
};

struct load_snapshot {
    int64_t at_ns;               /* CLOCK_MONOTONIC */
    int64_t interrupts;          /* of the load's CPUs, as the kernel counts; -1: not known */
    int64_t timer_interrupts;    /* of those, the timer's; -1: not known */
    int64_t tcp_segments;        /* of the whole system; -1: not known */
    int64_t device_bytes;        /* written to the device of disk, by all; -1: not known */
    struct load_sample *samples; /* one for each slot */
};

struct load_setup {
    const struct load_spec *spec;
    bool cpus[PORT_CPUS]; /* the load runs there */
    int cpu_count;        /* of those; -1: CPUs cannot be told apart */
    int64_t limit_ns;     /* CLOCK_MONOTONIC: it is ended then, whatever happens */
    int64_t stall_ns; /* a start in which no process moved on for so long is given up; 0: 15 s */
    const char *called_as; /* argv[0] */
    uint64_t seed;
};

struct load {
    struct load_setup setup;
    struct load_map *map;
    size_t map_bytes;
    char program[LOAD_PATH_BYTES];
    pid_t guard; /* 0: not running */
    bool is_guard_gone;
    int order, gate;
    int64_t started_ns;
    bool is_measured; /* begin and end were taken */
    struct load_snapshot begin, end;
};

/* Whether what the spec needs is here: 0; -1 with the outcome unsupported (stress-ng is not
 * installed). */
int load_check(const struct load_spec *spec, struct outcome *outcome);

/* Starts the processes of setup->spec; they prepare and wait. Call it before memory is
 * locked and before the caller has a real-time priority. 0; -1 with the outcome: unsupported
 * (stress-ng is not installed), denied (no process, no memory). With an empty spec nothing
 * is started, and everything below does nothing. */
int load_start(struct load *load, const struct load_setup *setup, struct outcome *outcome);

/* How many processes it has, and how long its start may take at most. */
int load_processes(const struct load_setup *setup);
int64_t load_patience_ns(int processes);

/* Lets the load begin, waits until every process works, and a little more. True; false when
 * some did not within the deadline: then `text` says which. `should_stop` may end it early
 * (NULL: nothing does). */
bool load_settle(struct load *load, bool (*should_stop)(void), char *text, size_t bytes);

/* Around the measurement: reads the counters of all processes. They neither allocate nor
 * wait; what is counted late comes with load_stop. */
void load_begin(struct load *load);
void load_end(struct load *load);

/* Waits, 0.3 s at most, for elements that count late; then ends all processes and removes the
 * scratch folder; returns when all are gone. What was counted stays. May be called twice. */
void load_stop(struct load *load);

void load_free(struct load *load);

#endif
