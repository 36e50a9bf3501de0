/* Results for a person at a terminal. */
#ifndef HS_RUN_TEXT_REPORT_H
#define HS_RUN_TEXT_REPORT_H

#include "base/emit.h"
#include "run/run.h"

/* Table of the series, verdicts and events, in at most 80 columns. */
void text_report(struct emit *emit, const struct run *run);

/* Formats a duration as "812 ns" or "3.01 ms", with up to four significant digits. */
void plain_duration(char *text, size_t bytes, double ns);

#endif
