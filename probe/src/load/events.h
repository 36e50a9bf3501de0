/* What a reader must know about a load. */
#ifndef HS_LOAD_EVENTS_H
#define HS_LOAD_EVENTS_H

#include "load/load.h"

/* at_ns: CLOCK_MONOTONIC; -1: none. */
typedef void load_teller(void *context, const char *name, const char *text, int64_t at_ns);

/* Calls `tell` for each: load_short, load_unseen, load_ended_early, load_limited. After
 * load_stop. */
void load_events(const struct load *load, load_teller *tell, void *context);

#endif
