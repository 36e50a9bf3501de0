/* What a load reached, as JSON lines and as a table. */
#ifndef HS_LOAD_REPORT_H
#define HS_LOAD_REPORT_H

#include "base/emit.h"
#include "load/load.h"

enum { LOAD_HOW_BYTES = LOAD_HOST_BYTES + 32 };

struct load_reached {
    double asked, reached; /* in load_unit; share and rates per process. asked < 0: no figure */
    double least;          /* smallest `reached` of one process; events.h evaluates it */
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

#endif
