/* Results for a person at a terminal. */
#ifndef HS_PLAIN_H
#define HS_PLAIN_H

#include "base/emit.h"
#include "run/run.h"

/* Table of the series, verdicts and events, in at most 80 columns. */
void plain_result(struct emit *emit, const struct run *run);

/* "812 ns", "3.01 ms": three or four significant digits, into `text`. */
void plain_duration(char *text, size_t bytes, double ns);

#endif
