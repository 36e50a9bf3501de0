/* Tables of whole numbers that a test keeps beside its series (pictures of a simulation, the blocks
 * of its threads). In the arena behind the gaps, so that a killed probe leaves them.
 *
 * A table has its head before it counts. Its rows are zero until they are set, in a file that a
 * kill left too: set the column that tells that a row is there (a number from 1) last. */
#ifndef HS_RECORD_ROW_TABLE_H
#define HS_RECORD_ROW_TABLE_H

#include "record/arena.h"
#include "record/row_entry.h"

/* Adds a table with `rows` rows of zeros: its index, or -1 where there is no room, which the stream
 * tells as the event `table_dropped`. `data`: as of an event. `columns` ends with NULL; at least
 * one and at most ROW_TABLE_COLUMNS. From one thread at a time, outside timed sections. */
int row_table_add(struct arena *arena, const char *name, const struct datum *data,
                  const char *const *columns, uint32_t rows);

/* Nothing for the table -1, and for a row or column that the table has not. Wait-free; each row
 * from one thread, any number of threads at the same time. */
void row_table_set(struct arena *arena, int table, uint32_t row, int column, int64_t value);

/* Leaves out all tables. When nothing records any more. */
void row_table_clear(struct arena *arena);

/* ---- for reading ---- */

uint32_t row_table_count(const struct arena *arena);
const struct row_table *row_table_at(const struct arena *arena, uint32_t table);
int64_t row_table_value(const struct arena *arena, const struct row_table *table, uint32_t row,
                        uint32_t column);

/* For arena_open: keeps the tables before the first that is damaged. */
void row_table_repair(struct arena *arena);

#endif
