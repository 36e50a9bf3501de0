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

/* Tables in the arena behind the compact forms, so that a killed probe leaves them. Each has a head
 * (struct gap_window, struct row_table) and entries (struct gap_entry, struct row_table_row), which
 * lie behind those of the table before it. A table has its head before it counts, and the arena's
 * head, which has the counts, is the first part that a copy reads. */

enum {
    GAP_TABLE_WINDOWS = 4096,
    GAP_TABLE_MOST = 1000000,
    ROW_TABLE_COLUMNS = 6,
    ROW_TABLE_ROWS = 1 << 14,      /* at most, of one table */
    ROW_TABLE_TABLES = 1 << 12,    /* at most, of a test */
    ROW_TABLE_ALL = HS_ARENA_ROWS, /* at most, of all tables of a test; 0: it has none */
    ROW_TABLE_NAME_BYTES = 40,
};

struct table_shape {
    uint32_t head_bytes, entry_bytes;
    uint32_t count_at; /* where a head has the number of its entries, a uint32_t */
    struct table_room most;
};

extern const struct table_shape table_shapes[TABLE_KINDS];

/* As much of the room as tables of that kind may have. */
struct table_room table_room(int kind, struct table_room wanted);

/* For reading: the head of a table that counts; an entry, counted over all tables. */
const void *table_head(const struct arena *arena, enum table_kind kind, uint32_t place);
const void *table_entry(const struct arena *arena, enum table_kind kind, uint32_t place);

/* Leaves out all tables but the first `count`. When nothing records any more. */
void table_cut(struct arena *arena, enum table_kind kind, uint32_t count);

/* For arena_open: keeps the tables of each kind before the first that is damaged. */
void table_repair(struct arena *arena);

/* ---- rows: whole numbers that a test keeps beside its series ---- */

struct row_table {
    char name[ROW_TABLE_NAME_BYTES];
    char columns[ROW_TABLE_COLUMNS][ROW_TABLE_NAME_BYTES];
    char data[HS_ARENA_DATA_BYTES]; /* packed (base/data.h) */
    uint32_t column_count, first_row, row_count;
};

struct row_table_row {
    _Atomic int64_t values[ROW_TABLE_COLUMNS];
};

/* Adds a table (pictures of a simulation, the blocks of its threads) with `rows` rows of zeros: its
 * index, or -1 where there is no room, which the stream tells as the event `table_dropped`. `data`:
 * as of an event. `columns` ends with NULL; at least one and at most ROW_TABLE_COLUMNS. From one
 * thread at a time, outside timed sections. */
int row_table_add(struct arena *arena, const char *name, const struct datum *data,
                  const char *const *columns, uint32_t rows);

/* Nothing for the table -1, and for a row or column that the table has not. Wait-free; each row
 * from one thread, any number of threads at the same time. Rows are zero until they are set, in a
 * file that a kill left too: set the column that tells that a row is there (a number from 1) last.
 */
void row_table_set(struct arena *arena, int table, uint32_t row, int column, int64_t value);

int64_t row_table_value(const struct arena *arena, const struct row_table *table, uint32_t row,
                        uint32_t column);

/* ---- gaps: of a loop that reads the counter, and the windows in which it did (CLK-P-DUR): what
 * the toolkit needs to tell a tick from a host's ---- */

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

/* Places for the gaps of the next window, and how many there are. */
struct gap_entry *gap_table_free(struct arena *arena, uint32_t *count);

/* Adds a window whose gaps are in the first gap_count of those places. False: there is no room for
 * it, and none for later ones. */
bool gap_table_add(struct arena *arena, const struct gap_window *window);

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
