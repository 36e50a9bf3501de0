/* What a load reached, as lines, events and a table. */
#ifndef HS_LOAD_REPORT_H
#define HS_LOAD_REPORT_H

#include "../emit.h"
#include "load.h"

struct load_reached {
    double asked, reached; /* asked < 0: nothing in figures */
    double least;          /* as reached, of the process that did least; events judge it */
    int processes;         /* that were there at the begin */
    uint64_t counters[LOAD_COUNTERS];
    int64_t seen[2]; /* by the kernel's counters, where the element has some; -1: not known */
    const char *seen_names[2];
};

/* Of the term with that index, between load_begin and load_end. */
void load_reached(const struct load *load, int term, struct load_reached *reached);

/* One `load` line for each term. */
void load_lines(struct emit *emit, const struct load *load);
void load_table(struct emit *emit, const struct load *load);

/* Calls `tell` for what a reader must know: load_short, load_ended_early, load_limited.
 * at_ns: CLOCK_MONOTONIC; -1: none. After load_stop. */
typedef void load_teller(void *context, const char *name, const char *text, int64_t at_ns);
void load_events(const struct load *load, load_teller *tell, void *context);

#endif
