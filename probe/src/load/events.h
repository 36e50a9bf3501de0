/* Events: where a load fell short of what was asked. */
#ifndef HS_LOAD_EVENTS_H
#define HS_LOAD_EVENTS_H

#include "base/data.h"
#include "load/load.h"

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
