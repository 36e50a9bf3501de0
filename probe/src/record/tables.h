/* Tables of the arena: whole numbers in rows that a test keeps (row_table), gaps of a loop
 * (gap_table), counters of the kernel (counter_table) and excerpts of its trace (trace_table) for
 * the worst values; and beside the arena, who had the CPU before them (before_table). */
#ifndef HS_RECORD_TABLES_H
#define HS_RECORD_TABLES_H

#include "base/options.h"
#include "record/arena.h"
#include "record/record.h"

#include <stdatomic.h>
#include <stdint.h>

/* ---- rows ---- */

enum {
    ROW_TABLE_COLUMNS = 6,
    ROW_TABLE_ROWS = 1 << 14,      /* at most, of one table */
    ROW_TABLE_TABLES = 1 << 12,    /* at most, of a test */
    ROW_TABLE_ALL = HS_ARENA_ROWS, /* at most, of all tables of a test; 0: it has none */
    ROW_TABLE_NAME_BYTES = 40,
};

struct row_table {
    char name[ROW_TABLE_NAME_BYTES];
    char columns[ROW_TABLE_COLUMNS][ROW_TABLE_NAME_BYTES];
    char data[HS_ARENA_DATA_BYTES]; /* packed (base/data.h) */
    uint32_t column_count, first_row, row_count;
};

struct row_tables {
    _Atomic uint32_t count; /* of tables whose head is whole */
    uint32_t row_count;     /* of all of them */
};

struct row_table_row {
    _Atomic int64_t values[ROW_TABLE_COLUMNS];
};

/* Tables of whole numbers that a test keeps beside its series (pictures of a simulation, the blocks
 * of its threads). In the arena behind the gaps, so that a killed probe leaves them.
 *
 * A table has its head before it counts. Its rows are zero until they are set, in a file that a
 * kill left too: set the column that tells that a row is there (a number from 1) last. */

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

/* For reading. */

uint32_t row_table_count(const struct arena *arena);
const struct row_table *row_table_at(const struct arena *arena, uint32_t table);
int64_t row_table_value(const struct arena *arena, const struct row_table *table, uint32_t row,
                        uint32_t column);

/* For arena_open: keeps the tables before the first that is damaged. */
void row_table_repair(struct arena *arena);

/* ---- gaps ---- */

enum { GAP_TABLE_WINDOWS = 4096, GAP_TABLE_MOST = 1000000 };

/* Since the start of the measurement. */
struct gap_entry {
    int64_t begin_ns, length_ns;
};

/* One watch of the loop, from its first reading to its last. The kernel's counters of the CPU were
 * read before and after it, counted_ns apart; -1: not known. */
struct gap_window {
    int64_t begin_ns, end_ns;
    int64_t counted_ns, interrupts, timer_interrupts;
    uint32_t gap_count;     /* that are in the table */
    uint32_t dropped_count; /* that are not */
};

struct gap_table {
    _Atomic uint32_t window_count; /* those that are whole */
    uint32_t gap_count;            /* of all of them */
};

/* Gaps in a loop that reads the counter, and the windows in which it did (CLK-P-DUR): what the
 * toolkit needs to tell a tick from a host's. In the arena behind the compact forms, so that a
 * killed probe leaves them: all of the windows that ended.
 *
 * A window has its gaps before it counts, and the head is the first part that a copy reads. */

/* NULL: the test has none. */
const struct gap_table *gap_table_of(const struct arena *arena);
const struct gap_window *gap_table_windows(const struct arena *arena);
const struct gap_entry *gap_table_gaps(const struct arena *arena);

/* Places for the gaps of the next window, and how many there are. */
struct gap_entry *gap_table_free(struct arena *arena, uint32_t *count);

/* Adds a window whose gaps are in the first gap_count of those places. False: there is no room for
 * it, and none for later ones. */
bool gap_table_add(struct arena *arena, const struct gap_window *window);

/* Leaves out all windows but the first `window_count`. */
void gap_table_cut(struct arena *arena, uint32_t window_count);

/* For arena_open: keeps the windows before the first that is damaged. */
void gap_table_repair(struct arena *arena);

/* ---- counters ---- */

/* Counters of the kernel for the seconds in which a worst value lies.
 *
 * The supervisor offers the intervals of each look, one for each CPU. One is kept while a worst
 * value of any series ends or begins in it; a series with a label `cpu` counts for that CPU only.
 * An interval is offered twice, since a value may be recorded just after the look. Where there is
 * no room, the interval goes whose values are the least of the worst, and it is counted. One entry
 * of each CPU is over the whole measurement.
 *
 * The intervals of a series that has left its slot stay. */

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

/* ---- traces ---- */

/* Excerpts of the kernel's trace around the largest values of a measurement.
 *
 * There is room for a few: a larger value takes the place of the least. */

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

/* ---- before ---- */

/* Which task had the CPU before a worst value of a series. Whoever knows it keeps a table for the
 * series, of as many values as the series keeps; it is filled by a thread that does not measure and
 * read when that has ended. It is not in the arena: a kill leaves the values without it. */

enum { BEFORE_NAME_BYTES = 16 };

struct before {
    int64_t value_ns, at_ns; /* as in the record */
    int64_t thread;          /* the kernel's id; 0: the CPU was idle */
    char name[BEFORE_NAME_BYTES];
};

struct before_table {
    const struct before_table *next; /* of another series */
    uint32_t series, count;
    struct before values[RECORD_WORST]; /* largest first */
};

/* Keeps a value, unless there are as many that are as large: those of its record that have a task
 * are among them, if they come in the same order. */
void before_table_see(struct before_table *table, const struct before *before);

/* That of a worst value of the series, in any of the tables from `tables` on; NULL: not known. */
const struct before *before_table_find(const struct before_table *tables, uint32_t series,
                                       const struct record_worst *worst);

#endif
