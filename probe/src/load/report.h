/* What a load reached, as lines and a table. */
#ifndef HS_LOAD_REPORT_H
#define HS_LOAD_REPORT_H

#include "base/emit.h"
#include "load/load.h"

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

/* A value in the unit of the kind, for people; below 0: "-". */
void load_figure(char *text, size_t bytes, enum load_degree_kind kind, double value);

#endif
