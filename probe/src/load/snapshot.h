/* What all processes of a load had done at a moment. */
#ifndef HS_LOAD_SNAPSHOT_H
#define HS_LOAD_SNAPSHOT_H

#include "load/load.h"

/* Reads the counters of all processes. */
void load_snapshot_take(const struct load *load, struct load_snapshot *snapshot);

/* Reads those of the kernel that the load's elements move. It goes before the other at the begin
 * and after it at the end: a delay between the two must not hide what came. */
void load_snapshot_seen(const struct load *load, struct load_snapshot *snapshot);

/* Counts the processes of other programs: it takes a while, so it is done after the other. */
void load_snapshot_foreign(const struct load *load, struct load_snapshot *snapshot);

/* Reads again what elements that count late had counted of the window by now. */
void load_snapshot_recount(const struct load *load, struct load_snapshot *snapshot);

#endif
