/* Excerpts of the kernel's trace around the largest values of a measurement.
 *
 * There is room for a few: a larger value takes the place of the least. */
#ifndef HS_RECORD_TRACE_TABLE_H
#define HS_RECORD_TRACE_TABLE_H

#include "record/arena.h"

/* A value of the arena that has no excerpt yet and is larger than one that has, or finds a free
 * place. `cpu`: label of its series; -1: none. */
struct trace_value {
    int64_t value_ns, at_ns;
    int cpu;
};

/* The largest such value among the largest of each series that is being measured, of those that
 * ended at `since_ns` or later. False: none. May be called while others record. */
bool trace_table_wants(const struct arena *arena, int64_t since_ns, struct trace_value *value);

/* Keeps an excerpt of `count` lines, oldest first; nothing without lines. */
void trace_table_keep(struct arena *arena, const struct trace_value *value,
                      const char (*lines)[ARENA_TRACE_BYTES], uint32_t count);

/* Whether an entry is in use and whole. */
bool trace_table_has(const struct arena_trace *entry);

/* For arena_open: drops what is torn or damaged. */
void trace_table_repair(struct arena *arena);

#endif
