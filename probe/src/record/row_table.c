#include "base/posix_source.h"

#include "record/row_table.h"

#include "record/arena_layout.h"

#include <stdio.h>

/* The head, NULL where the test has none; then the tables, then the rows of all. */
static struct row_tables *tables_of(struct arena *arena)
{
    char *at = (char *)arena + arena_tables_offset(arena);
    return arena->table_room > 0 ? (void *)at : NULL;
}

static const struct row_tables *tables_in(const struct arena *arena)
{
    const char *at = (const char *)arena + arena_tables_offset(arena);
    return arena->table_room > 0 ? (const void *)at : NULL;
}

static struct row_table *heads_of(struct arena *arena)
{
    return (struct row_table *)((char *)tables_of(arena) + ARENA_TABLES_HEAD);
}

static const struct row_table *heads_in(const struct arena *arena)
{
    return (const struct row_table *)((const char *)tables_in(arena) + ARENA_TABLES_HEAD);
}

static struct row_table_row *rows_of(struct arena *arena, const struct row_table *table)
{
    char *behind = (char *)heads_of(arena) + arena_table_heads_bytes(arena);
    return (struct row_table_row *)behind + table->first_row;
}

static const struct row_table_row *rows_in(const struct arena *arena, const struct row_table *table)
{
    const char *behind = (const char *)heads_in(arena) + arena_table_heads_bytes(arena);
    return (const struct row_table_row *)behind + table->first_row;
}

static uint32_t count_of(const char *const *columns)
{
    uint32_t count = 0;
    while (columns[count])
        count++;
    return count;
}

static bool has_room(const struct arena *arena, uint32_t column_count, uint32_t rows)
{
    const struct row_tables *tables = tables_in(arena);
    return tables && tables->count < arena->table_room && column_count > 0 &&
           column_count <= ROW_TABLE_COLUMNS && rows <= ROW_TABLE_ROWS &&
           rows <= arena->row_room - tables->row_count;
}

int row_table_add(struct arena *arena, const char *name, const struct datum *data,
                  const char *const *columns, uint32_t rows)
{
    uint32_t column_count = count_of(columns);
    if (!has_room(arena, column_count, rows)) {
        arena->table_lost++;
        return -1;
    }
    struct row_tables *tables = tables_of(arena);
    uint32_t place = tables->count;
    struct row_table *table = heads_of(arena) + place;
    snprintf(table->name, sizeof table->name, "%s", name);
    for (uint32_t i = 0; i < column_count; i++)
        snprintf(table->columns[i], sizeof table->columns[i], "%s", columns[i]);
    data_pack(table->data, sizeof table->data, data);
    table->column_count = column_count;
    table->first_row = tables->row_count;
    table->row_count = rows;
    tables->row_count += rows;
    atomic_store(&tables->count, place + 1);
    return (int)place;
}

/* Release: where a later column of a row is seen, the earlier ones are. */
void row_table_set(struct arena *arena, int table, uint32_t row, int column, int64_t value)
{
    if (table < 0 || (uint32_t)table >= row_table_count(arena))
        return;
    const struct row_table *head = row_table_at(arena, (uint32_t)table);
    if (row < head->row_count && column >= 0 && (uint32_t)column < head->column_count)
        atomic_store_explicit(&rows_of(arena, head)[row].values[column], value,
                              memory_order_release);
}

void row_table_clear(struct arena *arena)
{
    struct row_tables *tables = tables_of(arena);
    if (tables)
        tables->count = tables->row_count = 0;
}

uint32_t row_table_count(const struct arena *arena)
{
    const struct row_tables *tables = tables_in(arena);
    return tables ? tables->count : 0;
}

const struct row_table *row_table_at(const struct arena *arena, uint32_t table)
{
    return heads_in(arena) + table;
}

int64_t row_table_value(const struct arena *arena, const struct row_table *table, uint32_t row,
                        uint32_t column)
{
    return rows_in(arena, table)[row].values[column];
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* Behind the tables before it, with room, and with a name for each column. */
static bool is_sound(struct row_table *table, uint32_t first_row, uint32_t row_room)
{
    END_TEXT(table->name);
    if (table->column_count == 0 || table->column_count > ROW_TABLE_COLUMNS ||
        table->first_row != first_row || table->row_count > ROW_TABLE_ROWS ||
        table->row_count > row_room - first_row || !table->name[0])
        return false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        END_TEXT(table->columns[i]);
        if (!table->columns[i][0])
            return false;
    }
    return true;
}

void row_table_repair(struct arena *arena)
{
    struct row_tables *tables = tables_of(arena);
    uint32_t place = 0, rows = 0, claimed = tables ? tables->count : 0;
    for (; place < claimed && place < arena->table_room; place++) {
        struct row_table *table = heads_of(arena) + place;
        if (!is_sound(table, rows, arena->row_room))
            break;
        rows += table->row_count;
    }
    if (place < claimed)
        arena_event(arena, "tables_damaged", -1,
                    DATA(data_integer("kept_count", place), data_integer("table_count", claimed)),
                    "the tables from number %lu on are damaged and left out", (unsigned long)place);
    if (tables) {
        tables->row_count = rows;
        tables->count = place;
    }
}
