/* What a load did: the counters around the measurement, what it reached of what was asked, as lines
 * and as a table, and events where it fell short. */
#ifndef HS_LOAD_REPORT_H
#define HS_LOAD_REPORT_H

#include "base/data.h"
#include "base/emit.h"
#include "load/load.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- snapshots ---- */

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

/* ---- what was reached ---- */

enum { LOAD_HOW_BYTES = LOAD_HOST_BYTES + 32 };

struct load_reached {
    double asked, reached; /* in load_unit; share and rates per process. asked < 0: no figure */
    double least;          /* smallest `reached` of one process; load_events evaluates it */
    int processes;         /* working at load_begin */
    uint64_t counters[LOAD_COUNTERS];
    int64_t seen[2]; /* counted by the kernel in the same time; -1: not known */
    const char *seen_names[2];
    char how[LOAD_HOW_BYTES]; /* destination or scheduling class, which the degree does not state;
                                 may be empty */
};

/* Computes what term number `term` reached between load_begin and load_end. */
void load_reached(const struct load *load, int term, struct load_reached *reached);

/* One `load` line, or one row, for each term; nothing without a measurement. */
void load_lines(struct emit *emit, const struct load *load);
void load_table(struct emit *emit, const struct load *load);

/* Formats a value with the unit of the kind, for people; a negative value is "-". */
void load_figure(char *text, size_t bytes, enum load_degree_kind kind, double value);

/* ---- events ---- */

/* Receives one event. at_ns: CLOCK_MONOTONIC; -1: no time. */
typedef void load_teller(void *context, const char *name, int64_t at_ns, const struct datum *data,
                         const char *text);

/* Calls `tell` for each event. Call it after load_stop. Names:
 * load_short: less than 80 % of what was asked, processes without a round or stopped for more
 *     than 20 % of the measurement, classes of `kernel` that never ran;
 * load_unseen: the kernel counted less than 80 % of what the element sent;
 * load_ended_early: processes ended before the load was stopped;
 * load_limited: fewer processes or jobs than asked, for want of room; the first note of an
 * element's processes. */
void load_events(const struct load *load, load_teller *tell, void *context);

/* After a load_settle that failed, calls `tell` with load_not_settled for each element of which not
 * all processes work. */
void load_unsettled_events(const struct load *load, load_teller *tell, void *context);

#endif
