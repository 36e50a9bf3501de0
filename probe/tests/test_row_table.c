/* Tables of whole numbers: room, the lines of a stream, and what a file of a killed probe gives. */
#include "base/posix_source.h"

#include "record/arena_layout.h"
#include "record/tables.h"
#include "record_file.h"
#include "run/stream.h"

enum { TABLES = 3, ROWS = 10, LINE_BYTES = 4096 };

static const char *const columns[] = {"x_um", "y_um", NULL};
static struct arena *arena;

static void create(const char *backing, uint32_t tables, uint32_t rows)
{
    struct arena_plan plan = {.table_room = tables, .row_room = rows};
    struct outcome outcome = {0};
    arena_plan_series(&plan, "step_time", "ns", &(struct record_shape){1 << 12, 5});
    arena = arena_create(&plan, backing, &outcome);
    arena_plan_free(&plan);
    if (!arena)
        abort();
    put_header(arena);
}

#define ARENA_TEST(what, ...) TEST_IN((create(NULL, __VA_ARGS__), true), arena_free(arena), what)

/* A table with 100 * number + row in its first column, and less than nothing in its second. */
static int add(int number, uint32_t rows)
{
    int table = row_table_add(arena, "frame", DATA(data_integer("step_ns", number)), columns, rows);
    for (uint32_t row = 0; row < rows; row++) {
        row_table_set(arena, table, row, 0, 100 * number + row);
        row_table_set(arena, table, row, 1, -(int64_t)row);
    }
    return table;
}

static int64_t value(const struct arena *of, uint32_t table, uint32_t row, uint32_t column)
{
    return row_table_value(of, row_table_at(of, table), row, column);
}

ARENA_TEST(no_tables, 0, 0)
{
    CHECK_SAME(add(1, 2), -1);
    CHECK_SAME(row_table_count(arena), 0);
    CHECK_SAME(arena->table_lost, 1);
    row_table_repair(arena);
    CHECK_SAME(arena->event_count, 0);
}

ARENA_TEST(rows_and_columns, TABLES, ROWS)
{
    CHECK_SAME(add(1, 2), 0);
    CHECK_SAME(add(2, 0), 1);
    CHECK_SAME(add(3, 5), 2);
    CHECK_SAME(row_table_count(arena), 3);
    CHECK_SAME(value(arena, 0, 1, 0), 101);
    CHECK_SAME(value(arena, 2, 0, 0), 300);
    CHECK_SAME(value(arena, 2, 4, 1), -4);
    CHECK_TEXT(row_table_at(arena, 2)->columns[1], "y_um");
    CHECK_SAME(arena->table_lost, 0);
}

/* What is not there is not set, and nothing beside it. */
ARENA_TEST(outside, TABLES, ROWS)
{
    add(1, 2);
    add(2, 2);
    row_table_set(arena, -1, 0, 0, 9);
    row_table_set(arena, 2, 0, 0, 9);
    row_table_set(arena, 0, 2, 0, 9);
    row_table_set(arena, 0, 0, -1, 9);
    row_table_set(arena, 0, 0, 2, 9);
    CHECK_SAME(value(arena, 0, 0, 0), 100);
    CHECK_SAME(value(arena, 1, 0, 0), 200);
    for (uint32_t column = 2; column < ROW_TABLE_COLUMNS; column++)
        CHECK_SAME(value(arena, 0, 0, column), 0);
}

ARENA_TEST(room, TABLES, ROWS)
{
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", NULL};
    CHECK_SAME(add(1, ROWS + 1), -1); /* its rows */
    CHECK_SAME(add(1, ROWS), 0);
    CHECK_SAME(add(2, 1), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many, 0), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many + 7, 0), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many + 1, 0), 1);
    CHECK_SAME(add(3, 0), 2);
    CHECK_SAME(add(4, 0), -1); /* the tables are used up */
    CHECK_SAME(arena->table_lost, 5);
    CHECK_SAME(value(arena, 0, ROWS - 1, 0), 100 + ROWS - 1);
}

ARENA_TEST(most, UINT32_MAX, UINT32_MAX)
{
    CHECK_SAME(arena->table_room, ROW_TABLE_TABLES);
    CHECK_SAME(arena->row_room, ROW_TABLE_ALL);
    CHECK_SAME(add(1, ROW_TABLE_ROWS + 1), -1);
    CHECK_SAME(add(1, ROW_TABLE_ROWS), 0);
}

/* What the stream, or a dump, has of the arena. */
static const char *sent(bool is_dump)
{
    static struct emit emit;
    static char text[2 * LINE_BYTES];
    int file = open(path_of("sent"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        abort();
    emit_open(&emit, file);
    if (is_dump) {
        struct record *scratch = new_scratch(arena);
        stream_dump(&emit, arena, scratch);
        free(scratch);
    } else {
        table_lines(&emit, arena);
    }
    emit_flush(&emit);
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(file);
    unlink(path_of("sent"));
    return text;
}

ARENA_TEST(lines, TABLES, ROWS)
{
    add(1, 2);
    add(2, 0);
    CHECK_TEXT(sent(false), "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":1},"
                            "\"columns\":{\"x_um\":[100,101],\"y_um\":[0,-1]}}\n"
                            "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":2},"
                            "\"columns\":{\"x_um\":[],\"y_um\":[]}}\n");
}

ARENA_TEST(dropped_are_told, 1, ROWS)
{
    add(1, 2);
    CHECK(!strstr(sent(true), "table_dropped"));
    add(2, 2);
    add(3, 2);
    CHECK_HOLDS(sent(true), "\"name\":\"table_dropped\",\"at_ns\":null,\"data\":{"
                            "\"dropped_count\":2},\"text\":\"2 tables found no room\"");
    CHECK_HOLDS(sent(true), "\"x_um\":[100,101]");
}

/* ---- what a killed probe leaves, and damage to it ---- */

static size_t leave_tables(const char *path)
{
    create(path, TABLES, ROWS);
    for (int i = 1; i <= TABLES; i++)
        add(i, 2);
    size_t bytes = (size_t)arena->bytes;
    arena_free(arena);
    return bytes;
}

static size_t left_bytes;

#define LEFT_TEST(what)                                                                            \
    TEST_IN((arena = left_by(leave_tables, path_of("left"), &left_bytes)) != NULL,                 \
            (free(arena), unlink(path_of("left"))), what)

static struct row_tables *head(void)
{
    return (void *)((char *)arena + arena_tables_offset(arena));
}

static struct row_table *second(void)
{
    return (struct row_table *)(uintptr_t)row_table_at(arena, 1);
}

/* How many tables are found in the file as the arena is now, and how many events. */
static void check_kept(uint32_t tables, uint32_t events)
{
    char reason[REASON_BYTES] = "";
    write_all(path_of("left"), (char *)arena, left_bytes);
    struct arena *found = arena_open(path_of("left"), reason, sizeof reason);
    if (!CHECK(found != NULL))
        return;
    CHECK_SAME(row_table_count(found), tables);
    if (CHECK_SAME(found->event_count, events) && events)
        CHECK_TEXT(arena_event_at(found, 0)->name, "tables_damaged");
    for (uint32_t i = 0; i < tables; i++)
        CHECK_SAME(value(found, i, 1, 0), 100 * (i + 1) + 1);
    arena_free(found);
}

LEFT_TEST(a_killed_probe)
{
    check_kept(TABLES, 0);
}

LEFT_TEST(a_damaged_table)
{
    const struct row_table good = *second();
    struct row_table bad[] = {good, good, good, good, good, good};
    bad[0].column_count = 0;
    bad[1].column_count = ROW_TABLE_COLUMNS + 1;
    bad[2].columns[1][0] = '\0';
    bad[3].name[0] = '\0';
    bad[4].first_row = 1; /* rows of another */
    bad[5].row_count = UINT32_MAX;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *second() = bad[i];
        check_kept(1, 1);
    }
}

/* The head of the third was written when the probe was killed, and it did not count yet. */
LEFT_TEST(a_torn_head)
{
    head()->count = 2;
    memset(second() + 1, 0x7f, sizeof *second());
    check_kept(2, 0);
    head()->count = UINT32_MAX;
    check_kept(2, 1);
}

LEFT_TEST(a_damaged_size)
{
    for (int i = 0; i < 2; i++) {
        arena->row_room = i ? UINT32_MAX : arena->row_room + 1;
        arena->table_room = i ? UINT32_MAX : arena->table_room;
        write_all(path_of("left"), (char *)arena, left_bytes);
        refuse_file(path_of("left"), "cut short or damaged");
    }
}

TEST(flipped_bits)
{
    create(NULL, TABLES, ROWS);
    size_t tables = (size_t)arena_tables_offset(arena), bytes = (size_t)arena->bytes;
    arena_free(arena);
    flip_bits(leave_tables, tables, bytes - tables);
}
