/* Counters of all processes of a load at one time. */
#ifndef HS_LOAD_SNAPSHOT_H
#define HS_LOAD_SNAPSHOT_H

#include "load/map.h"
#include "load/spec.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Memory for load_snapshot_external_stressor; free it. NULL: no memory. */
struct load_family *load_family_make(void);

/* Reads the time and the counters of all processes. */
void load_snapshot_take(const struct load_map *map, struct load_snapshot *snapshot);

/* Reads the kernel's counters that the load's elements change. Call it before load_snapshot_take at
 * the begin and after it at the end, so that a delay between the two reads cannot hide an event. */
void load_snapshot_seen(const struct load_map *map, const struct load_spec *spec,
                        struct load_snapshot *snapshot);

/* Counts the processes of the external stressor. Slow (it reads the process table), so call it
 * last. */
void load_snapshot_external_stressor(const struct load_map *map, const struct load_spec *spec,
                                     struct load_family *family, struct load_snapshot *snapshot);

/* Finds which LOAD_COUNT processes without work between the two snapshots are ready to run. Slow:
 * it reads files of each process. */
void load_snapshot_ready(const struct load_map *map, const struct load_spec *spec,
                         const struct load_snapshot *begin, struct load_snapshot *end);

/* True if a process worked between two samples. A stopped process, or one without a CPU, did not.
 */
bool load_sample_did_work(const struct load_sample *from, const struct load_sample *to);

/* Reads COUNTER_OWN again for elements that count events of the measurement late. */
void load_snapshot_recount(const struct load_map *map, struct load_snapshot *snapshot);

#endif
