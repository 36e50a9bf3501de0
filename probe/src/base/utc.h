/* A point in time as text. */
#ifndef HS_BASE_UTC_H
#define HS_BASE_UTC_H

#include <stdint.h>

enum { UTC_BYTES = 64 };

/* Writes `utc_ns` (ns since 1970) as "2026-11-22 15:04:05 UTC". */
void utc_format(int64_t utc_ns, char text[UTC_BYTES]);

#endif
