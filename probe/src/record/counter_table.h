/* Counters of the kernel for the seconds in which a worst value lies.
 *
 * The supervisor offers the intervals of each look, one for each CPU. One is kept while a worst
 * value of any series ends or begins in it; a series with a label `cpu` counts for that CPU only.
 * An interval is offered twice, since a value may be recorded just after the look. Where there is
 * no room, the interval goes whose values are the least of the worst, and it is counted. One entry
 * of each CPU is over the whole measurement.
 *
 * The intervals of a series that has left its slot stay. */
#ifndef HS_RECORD_COUNTER_TABLE_H
#define HS_RECORD_COUNTER_TABLE_H

#include "record/arena.h"

/* Name of a counter in the stream. */
const char *arena_counter_name(enum arena_counter counter);

/* Whether an entry is in use and whole. */
bool counter_table_has(const struct arena_interval *entry);

/* Adds the entry over the whole measurement of a CPU; returns its place, -1: no room. At most half
 * of the places are for these. */
int counter_table_add_whole(struct arena *arena, const struct arena_interval *interval);

/* Writes the latest sums to the entry at that place. */
void counter_table_set(struct arena *arena, int place, const struct arena_interval *interval);

/* What a look has: the latest interval of each CPU, and the one before it. `kept_at`: where the
 * compact forms begin that are not looked at yet; 0 before the first look. Its members is_used,
 * rank and held_rank are the table's. */
struct counter_table_offer {
    struct arena_interval *intervals;
    int count;
    uint64_t kept_at;
};

/* Keeps those of the offer in which a worst value lies, and drops those of the table in which none
 * lies any more. Called by one thread; others may record meanwhile. */
void counter_table_sort(struct arena *arena, struct counter_table_offer *offer);

/* For arena_open: drops what is torn or damaged. */
void counter_table_repair(struct arena *arena);

#endif
