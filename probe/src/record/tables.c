#include "base/posix_source.h"

#include "record/tables.h"

#include "record/arena_layout.h"
#include "record/kept.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct table_shape table_shapes[TABLE_KINDS] = {
    [TABLE_GAPS] = {sizeof(struct gap_window),
                    sizeof(struct gap_entry),
                    offsetof(struct gap_window, gap_count),
                    {GAP_TABLE_WINDOWS, GAP_TABLE_MOST}},
    [TABLE_ROWS] = {sizeof(struct row_table),
                    sizeof(struct row_table_row),
                    offsetof(struct row_table, row_count),
                    {ROW_TABLE_ALL > 0 ? ROW_TABLE_TABLES : 0, ROW_TABLE_ALL}},
};

struct table_room table_room(int kind, struct table_room wanted)
{
    struct table_room most = table_shapes[kind].most;
    return (struct table_room){wanted.heads < most.heads ? wanted.heads : most.heads,
                               wanted.entries < most.entries ? wanted.entries : most.entries};
}

static uint64_t head_offset(const struct arena *arena, enum table_kind kind, uint32_t place)
{
    return arena_heads_offset(arena, kind) + (uint64_t)place * table_shapes[kind].head_bytes;
}

static uint64_t entry_offset(const struct arena *arena, enum table_kind kind, uint32_t place)
{
    return arena_heads_offset(arena, kind) + arena_heads_bytes(arena, kind) +
           (uint64_t)place * table_shapes[kind].entry_bytes;
}

const void *table_head(const struct arena *arena, enum table_kind kind, uint32_t place)
{
    return (const char *)arena + head_offset(arena, kind, place);
}

const void *table_entry(const struct arena *arena, enum table_kind kind, uint32_t place)
{
    return (const char *)arena + entry_offset(arena, kind, place);
}

static void *next_head(struct arena *arena, enum table_kind kind)
{
    return (char *)arena + head_offset(arena, kind, arena->tables[kind].count);
}

/* Entries for the next table; 0: there is no place for its head, or none for them. */
static uint32_t entries_left(const struct arena *arena, enum table_kind kind)
{
    const struct arena_tables *tables = &arena->tables[kind];
    return tables->count < tables->room.heads ? tables->room.entries - tables->entry_count : 0;
}

static bool has_room(const struct arena *arena, enum table_kind kind, uint32_t entries)
{
    return arena->tables[kind].count < arena->tables[kind].room.heads &&
           entries <= entries_left(arena, kind);
}

static uint32_t entries_of(const struct arena *arena, enum table_kind kind, uint32_t place)
{
    const char *head = table_head(arena, kind, place);
    return *(const uint32_t *)(const void *)(head + table_shapes[kind].count_at);
}

/* The next head, which is written, counts. Returns its place. */
static uint32_t add(struct arena *arena, enum table_kind kind)
{
    struct arena_tables *tables = &arena->tables[kind];
    uint32_t place = tables->count;
    tables->entry_count += entries_of(arena, kind, place);
    atomic_store(&tables->count, place + 1);
    return place;
}

void table_cut(struct arena *arena, enum table_kind kind, uint32_t count)
{
    arena->tables[kind].count = arena->tables[kind].entry_count = 0;
    for (uint32_t i = 0; i < count; i++)
        add(arena, kind);
}

/* In their order, inside the window, apart from each other. */
static bool are_gaps_sound(const struct gap_window *window, const struct gap_entry *gaps)
{
    int64_t from_ns = window->begin_ns;
    for (uint32_t i = 0; i < window->gap_count; i++) {
        if (gaps[i].begin_ns < from_ns || gaps[i].length_ns < 0 ||
            gaps[i].length_ns > window->end_ns - gaps[i].begin_ns)
            return false;
        from_ns = gaps[i].begin_ns + gaps[i].length_ns;
    }
    return true;
}

/* Behind the windows before it. */
static bool is_window_sound(const struct gap_window *window, uint32_t place,
                            const struct gap_entry *gaps)
{
    int64_t from_ns = place > 0 ? window[-1].end_ns : 0;
    return window->begin_ns >= from_ns && window->end_ns >= window->begin_ns &&
           are_gaps_sound(window, gaps);
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* Behind the tables before it, and with a name for each column. */
static bool is_table_sound(struct row_table *table, uint32_t first_row)
{
    END_TEXT(table->name);
    if (table->column_count == 0 || table->column_count > ROW_TABLE_COLUMNS ||
        table->first_row != first_row || table->row_count > ROW_TABLE_ROWS || !table->name[0])
        return false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        END_TEXT(table->columns[i]);
        if (!table->columns[i][0])
            return false;
    }
    return true;
}

/* The next head, which the arena's file claims. */
static bool is_sound(struct arena *arena, enum table_kind kind)
{
    uint32_t place = arena->tables[kind].count, first = arena->tables[kind].entry_count;
    return has_room(arena, kind, 0) &&
           entries_of(arena, kind, place) <= entries_left(arena, kind) &&
           (kind == TABLE_ROWS
                ? is_table_sound(next_head(arena, kind), first)
                : is_window_sound(next_head(arena, kind), place, table_entry(arena, kind, first)));
}

static uint32_t repair(struct arena *arena, enum table_kind kind, uint32_t claimed)
{
    table_cut(arena, kind, 0);
    while (arena->tables[kind].count < claimed && is_sound(arena, kind))
        add(arena, kind);
    return arena->tables[kind].room.heads > 0 ? arena->tables[kind].count : claimed;
}

void table_repair(struct arena *arena)
{
    uint32_t windows = arena->tables[TABLE_GAPS].count, tables = arena->tables[TABLE_ROWS].count;
    uint32_t kept = repair(arena, TABLE_GAPS, windows);
    if (kept < windows)
        arena_event(arena, "gaps_damaged", -1,
                    DATA(data_integer("kept_count", kept), data_integer("window_count", windows)),
                    "the gaps of the windows from number %lu are damaged and left out",
                    (unsigned long)kept);
    kept = repair(arena, TABLE_ROWS, tables);
    if (kept < tables)
        arena_event(arena, "tables_damaged", -1,
                    DATA(data_integer("kept_count", kept), data_integer("table_count", tables)),
                    "the tables from number %lu are damaged and left out", (unsigned long)kept);
}

/* ---- rows ---- */

static uint32_t count_of(const char *const *columns)
{
    uint32_t count = 0;
    while (columns[count])
        count++;
    return count;
}

int row_table_add(struct arena *arena, const char *name, const struct datum *data,
                  const char *const *columns, uint32_t rows)
{
    uint32_t column_count = count_of(columns);
    if (column_count == 0 || column_count > ROW_TABLE_COLUMNS || rows > ROW_TABLE_ROWS ||
        !has_room(arena, TABLE_ROWS, rows)) {
        arena->table_lost++;
        return -1;
    }
    struct row_table *table = next_head(arena, TABLE_ROWS);
    snprintf(table->name, sizeof table->name, "%s", name);
    for (uint32_t i = 0; i < column_count; i++)
        snprintf(table->columns[i], sizeof table->columns[i], "%s", columns[i]);
    data_pack(table->data, sizeof table->data, data);
    table->column_count = column_count;
    table->first_row = arena->tables[TABLE_ROWS].entry_count;
    table->row_count = rows;
    return (int)add(arena, TABLE_ROWS);
}

/* Release: where a later column of a row is seen, the earlier ones are. */
void row_table_set(struct arena *arena, int table, uint32_t row, int column, int64_t value)
{
    if (table < 0 || (uint32_t)table >= arena->tables[TABLE_ROWS].count)
        return;
    const struct row_table *head = table_head(arena, TABLE_ROWS, (uint32_t)table);
    if (row >= head->row_count || column < 0 || (uint32_t)column >= head->column_count)
        return;
    char *at = (char *)arena + entry_offset(arena, TABLE_ROWS, head->first_row + row);
    atomic_store_explicit(&((struct row_table_row *)at)->values[column], value,
                          memory_order_release);
}

int64_t row_table_value(const struct arena *arena, const struct row_table *table, uint32_t row,
                        uint32_t column)
{
    const struct row_table_row *rows = table_entry(arena, TABLE_ROWS, table->first_row);
    return rows[row].values[column];
}

/* ---- gaps ---- */

struct gap_entry *gap_table_free(struct arena *arena, uint32_t *count)
{
    *count = entries_left(arena, TABLE_GAPS);
    uint32_t first = arena->tables[TABLE_GAPS].entry_count;
    return (struct gap_entry *)((char *)arena + entry_offset(arena, TABLE_GAPS, first));
}

bool gap_table_add(struct arena *arena, const struct gap_window *window)
{
    if (!has_room(arena, TABLE_GAPS, window->gap_count))
        return false;
    *(struct gap_window *)next_head(arena, TABLE_GAPS) = *window;
    add(arena, TABLE_GAPS);
    return true;
}

/* ---- counters ---- */

/* Rank of an interval: the lowest place of any worst value that lies in it, 0 for the largest of
 * its series. `rank` is that of the series in their slots, and new at each look; `held_rank` that
 * of series that have left theirs. */
#define NO_RANK UINT32_MAX

enum { WHOLE_MOST = (ARENA_INTERVALS + 1) / 2 };

const char *arena_counter_name(enum arena_counter counter)
{
    static const char *const names[ARENA_COUNTERS] = {
        [ARENA_STEAL_NS] = "steal_ns",
        [ARENA_INTERRUPTS] = "interrupts_count",
        [ARENA_TIMER_INTERRUPTS] = "timer_interrupts_count",
        [ARENA_BUSIEST] = "busiest_count",
        [ARENA_RUN_DELAY_NS] = "run_delay_ns",
        [ARENA_MINOR_FAULTS] = "minor_faults_count",
        [ARENA_MAJOR_FAULTS] = "major_faults_count",
        [ARENA_MIGRATIONS] = "migrations_count",
        [ARENA_INVOLUNTARY] = "involuntary_switches_count",
        [ARENA_THROTTLED] = "throttled_count",
        [ARENA_THROTTLED_NS] = "throttled_ns",
        [ARENA_HEAT] = "thermal_throttled_count",
        [ARENA_HEAT_NS] = "thermal_throttled_ns",
    };
    return names[counter];
}

bool counter_table_has(const struct arena_interval *entry)
{
    return entry->is_used && entry->done == entry->begun;
}

/* Writes an entry, so that a copy of the arena can tell one that is half written. */
static void write_entry(struct arena_interval *entry, const struct arena_interval *from)
{
    atomic_fetch_add(&entry->begun, 1);
    entry->at_ns = from->at_ns;
    entry->span_ns = from->span_ns;
    entry->cpu = from->cpu;
    entry->is_used = 1;
    entry->is_whole = from->is_whole;
    entry->rank = from->rank;
    entry->held_rank = from->held_rank;
    memcpy(entry->counters, from->counters, sizeof entry->counters);
    memcpy(entry->busiest, from->busiest, sizeof entry->busiest);
    atomic_fetch_add(&entry->done, 1);
}

static struct arena_interval *free_entry(struct arena *arena)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        if (!arena->intervals[i].is_used)
            return &arena->intervals[i];
    return NULL;
}

int counter_table_add_whole(struct arena *arena, const struct arena_interval *interval)
{
    int count = 0;
    for (int i = 0; i < ARENA_INTERVALS; i++)
        count += arena->intervals[i].is_used && arena->intervals[i].is_whole ? 1 : 0;
    struct arena_interval *entry = count < WHOLE_MOST ? free_entry(arena) : NULL;
    if (!entry) {
        arena->interval_lost++;
        return -1;
    }
    write_entry(entry, interval);
    return (int)(entry - arena->intervals);
}

void counter_table_set(struct arena *arena, int place, const struct arena_interval *interval)
{
    if (place >= 0)
        write_entry(&arena->intervals[place], interval);
}

/* Which values lie in which interval. */

/* The worst values of one series, and the intervals that they are looked for in. */
struct worst_values {
    const struct arena *arena;
    struct record_worst worst[RECORD_WORST];
    int count;
    int64_t cpu;   /* label of the series; -1: none */
    bool is_time;  /* a value is a time, and began that long before */
    bool has_left; /* the series has left its slot */
};

static void describe(struct worst_values *values, uint32_t number)
{
    const struct arena_series *series = &values->arena->series[number];
    values->cpu = -1;
    values->is_time = strcmp(series->unit, "ns") == 0;
    for (uint32_t i = 0; i < series->label_count; i++)
        if (strcmp(series->labels[i].key, "cpu") == 0 && !series->labels[i].text[0])
            values->cpu = series->labels[i].number;
}

static bool holds(const struct arena_interval *interval, int64_t ns)
{
    return ns >= interval->at_ns && ns < interval->at_ns + interval->span_ns;
}

static void rank(const struct worst_values *values, struct arena_interval *interval)
{
    int64_t started_ns = values->arena->started_ns;
    if (values->cpu >= 0 && values->cpu != interval->cpu)
        return;
    for (int i = 0; i < values->count; i++) {
        int64_t end_ns = started_ns + values->worst[i].at_ns, value_ns = values->worst[i].value_ns;
        bool is_long = values->is_time && value_ns > 0;
        if (!holds(interval, end_ns) && !(is_long && holds(interval, end_ns - value_ns)))
            continue;
        uint32_t *of = values->has_left ? &interval->held_rank : &interval->rank;
        *of = (uint32_t)i < *of ? (uint32_t)i : *of;
        return;
    }
}

static void rank_all(struct arena *arena, const struct counter_table_offer *offer,
                     const struct worst_values *values)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        if (arena->intervals[i].is_used && !arena->intervals[i].is_whole)
            rank(values, &arena->intervals[i]);
    for (int i = 0; i < offer->count; i++)
        rank(values, &offer->intervals[i]);
}

/* Those of the slots. False: one is written to all the time, so that nothing may be dropped. */
static bool rank_by_slots(struct arena *arena, const struct counter_table_offer *offer)
{
    struct worst_values values = {.arena = arena};
    bool is_known = true;
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        uint64_t owner;
        values.count = record_copy_worst(arena_slot_view(arena, i), values.worst, &owner);
        is_known &= values.count >= 0;
        if (values.count <= 0 || owner == 0 || owner > arena->series_count)
            continue;
        describe(&values, (uint32_t)(owner - 1));
        rank_all(arena, offer, &values);
    }
    return is_known;
}

/* Those of series that have left their slot since the last look. */
static void rank_by_kept(struct arena *arena, struct counter_table_offer *offer)
{
    struct worst_values values = {.arena = arena, .has_left = true};
    uint64_t end = arena->kept_end, at = offer->kept_at ? offer->kept_at : arena->kept_begin;
    while (at < end) {
        uint32_t series;
        const char *entry = (const char *)arena + at;
        size_t bytes = kept_find(entry, (size_t)(end - at), &series);
        if (bytes == 0)
            break;
        describe(&values, series);
        values.count = kept_worst(entry, values.worst);
        rank_all(arena, offer, &values);
        at += bytes;
    }
    offer->kept_at = end;
}

/* What stays. */

static uint32_t best_rank(const struct arena_interval *interval)
{
    return interval->rank < interval->held_rank ? interval->rank : interval->held_rank;
}

static struct arena_interval *find_interval(struct arena *arena,
                                            const struct arena_interval *interval)
{
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && entry->cpu == interval->cpu &&
            entry->at_ns == interval->at_ns)
            return entry;
    }
    return NULL;
}

static struct arena_interval *least_interval(struct arena *arena)
{
    struct arena_interval *found = NULL;
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && (!found || best_rank(entry) > best_rank(found)))
            found = entry;
    }
    return found;
}

static void keep_interval(struct arena *arena, struct arena_interval *interval)
{
    if (best_rank(interval) == NO_RANK || find_interval(arena, interval))
        return;
    struct arena_interval *entry = free_entry(arena);
    if (!entry) {
        arena->interval_lost += interval->is_used ? 0 : 1;
        interval->is_used = 1; /* counted */
        entry = least_interval(arena);
        if (!entry || best_rank(entry) <= best_rank(interval))
            return;
    }
    write_entry(entry, interval);
}

void counter_table_sort(struct arena *arena, struct counter_table_offer *offer)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        arena->intervals[i].rank = NO_RANK;
    for (int i = 0; i < offer->count; i++)
        offer->intervals[i].rank = offer->intervals[i].held_rank = NO_RANK;
    rank_by_kept(arena, offer);
    bool is_known = rank_by_slots(arena, offer);
    for (int i = 0; is_known && i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && best_rank(entry) == NO_RANK)
            entry->is_used = 0;
    }
    for (int i = 0; i < offer->count; i++)
        keep_interval(arena, &offer->intervals[i]);
}

static bool is_interval_sound(const struct arena_interval *entry)
{
    return counter_table_has(entry) && entry->span_ns >= 0 && entry->cpu >= 0 && entry->at_ns >= 0;
}

void counter_table_repair(struct arena *arena)
{
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        entry->busiest[sizeof entry->busiest - 1] = '\0';
        if (is_interval_sound(entry))
            continue;
        if (entry->is_used)
            arena->interval_lost++;
        entry->is_used = 0;
    }
}

/* ---- traces ---- */

static const struct arena_trace *least_trace(const struct arena *arena)
{
    const struct arena_trace *found = &arena->traces[0];
    for (int i = 1; i < ARENA_TRACES && found->line_count > 0; i++)
        if (arena->traces[i].line_count == 0 || arena->traces[i].value_ns < found->value_ns)
            found = &arena->traces[i];
    return found;
}

static bool is_kept(const struct arena *arena, const struct record_worst *worst)
{
    for (int i = 0; i < ARENA_TRACES; i++)
        if (arena->traces[i].line_count > 0 && arena->traces[i].at_ns == worst->at_ns)
            return true;
    return false;
}

static int cpu_of(const struct arena_series *series)
{
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++)
        if (strcmp(series->labels[i].key, "cpu") == 0 && !series->labels[i].text[0])
            return (int)series->labels[i].number;
    return -1;
}

/* Of the parts of a value, only the total has its begin. */
static bool is_whole_time(const struct arena_series *series)
{
    if (strcmp(series->unit, "ns") != 0 || series->derived[0])
        return false;
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++)
        if (strcmp(series->labels[i].key, "part") == 0)
            return strcmp(series->labels[i].text, "total") == 0;
    return true;
}

bool trace_table_wants(const struct arena *arena, int64_t since_ns, struct trace_value *value)
{
    struct record_worst worst[RECORD_WORST];
    const struct arena_trace *place = least_trace(arena);
    int64_t most_ns = place->line_count > 0 ? place->value_ns : 0;
    bool is_found = false;
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        uint64_t owner;
        int count = record_copy_worst(arena_slot_view(arena, i), worst, &owner);
        if (count <= 0 || owner == 0 || owner > arena->series_count)
            continue;
        const struct arena_series *series = &arena->series[owner - 1];
        if (!is_whole_time(series) || worst[0].value_ns <= most_ns || worst[0].at_ns < since_ns ||
            is_kept(arena, &worst[0]))
            continue;
        *value = (struct trace_value){worst[0].value_ns, worst[0].at_ns, cpu_of(series)};
        most_ns = value->value_ns;
        is_found = true;
    }
    return is_found;
}

void trace_table_keep(struct arena *arena, const struct trace_value *value,
                      const char (*lines)[ARENA_TRACE_BYTES], uint32_t count)
{
    struct arena_trace *entry = &arena->traces[least_trace(arena) - arena->traces];
    count = count < ARENA_TRACE_LINES ? count : ARENA_TRACE_LINES;
    if (count == 0)
        return;
    atomic_fetch_add(&entry->begun, 1);
    entry->value_ns = value->value_ns;
    entry->at_ns = value->at_ns;
    entry->cpu = value->cpu;
    entry->line_count = count;
    memcpy(entry->lines, lines, count * sizeof lines[0]);
    atomic_fetch_add(&entry->done, 1);
}

bool trace_table_has(const struct arena_trace *entry)
{
    return entry->line_count > 0 && entry->done == entry->begun;
}

void trace_table_repair(struct arena *arena)
{
    for (int i = 0; i < ARENA_TRACES; i++) {
        struct arena_trace *entry = &arena->traces[i];
        if (!trace_table_has(entry) || entry->line_count > ARENA_TRACE_LINES)
            entry->line_count = 0;
        for (int line = 0; line < ARENA_TRACE_LINES; line++)
            entry->lines[line][ARENA_TRACE_BYTES - 1] = '\0';
    }
}

/* ---- before ---- */

void before_table_see(struct before_table *table, const struct before *before)
{
    uint32_t place = table->count;
    if (place == RECORD_WORST && before->value_ns <= table->values[place - 1].value_ns)
        return;
    if (place < RECORD_WORST)
        table->count++;
    else
        place--;
    for (; place > 0 && table->values[place - 1].value_ns < before->value_ns; place--)
        table->values[place] = table->values[place - 1];
    table->values[place] = *before;
}

const struct before *before_table_find(const struct before_table *tables, uint32_t series,
                                       const struct record_worst *worst)
{
    while (tables && tables->series != series)
        tables = tables->next;
    for (uint32_t i = 0; tables && i < tables->count; i++)
        if (tables->values[i].at_ns == worst->at_ns &&
            tables->values[i].value_ns == worst->value_ns)
            return &tables->values[i];
    return NULL;
}
