/* Durations and points in time as text. */
#ifndef HS_BASE_TEXT_H
#define HS_BASE_TEXT_H

#include <stdint.h>

/* Parses a whole number with a unit (ns, us, ms, s, m, min, h, d), such as "250us", or without
 * one: then in units of `bare_ns`. 0, or -1 for anything else, a negative value, or more than
 * 366 d. */
int duration_parse(const char *text, int64_t bare_ns, int64_t *ns);

enum { UTC_BYTES = 64 };

/* Writes `utc_ns` (ns since 1970) as "2026-11-22 15:04:05 UTC". */
void utc_format(int64_t utc_ns, char text[UTC_BYTES]);

#endif
