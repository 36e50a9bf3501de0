/* Tables of whole numbers: room, the lines of a stream, and what a file of a killed probe gives. */
#include "base/posix_source.h"

#include "record/arena_layout.h"
#include "record/row_table.h"
#include "record_file.h"
#include "run/table_lines.h"

enum { TABLES = 3, ROWS = 10, LINE_BYTES = 4096 };

static const char *const columns[] = {"x_um", "y_um", NULL};

static struct arena *create(const char *backing, uint32_t tables, uint32_t rows)
{
    struct arena_plan plan = {.table_room = tables, .row_room = rows};
    struct outcome outcome = {0};
    arena_plan_series(&plan, "step_time", "ns", &(struct record_shape){1 << 12, 5});
    struct arena *arena = arena_create(&plan, backing, &outcome);
    arena_plan_free(&plan);
    if (!arena)
        abort();
    put_header(arena);
    return arena;
}

/* A table with 100 * number + row in its first column, and less than nothing in its second. */
static int add(struct arena *arena, int number, uint32_t rows)
{
    int table = row_table_add(arena, "frame", DATA(data_integer("step_ns", number)), columns, rows);
    for (uint32_t row = 0; row < rows; row++) {
        row_table_set(arena, table, row, 0, 100 * number + row);
        row_table_set(arena, table, row, 1, -(int64_t)row);
    }
    return table;
}

static int64_t value(const struct arena *arena, uint32_t table, uint32_t row, uint32_t column)
{
    return row_table_value(arena, row_table_at(arena, table), row, column);
}

TEST(no_tables)
{
    struct arena *arena = create(NULL, 0, 0);
    CHECK_SAME(add(arena, 1, 2), -1);
    CHECK_SAME(row_table_count(arena), 0);
    CHECK_SAME(arena->table_lost, 1);
    row_table_repair(arena);
    CHECK_SAME(arena->event_count, 0);
    arena_free(arena);
}

TEST(rows_and_columns)
{
    struct arena *arena = create(NULL, TABLES, ROWS);
    CHECK_SAME(add(arena, 1, 2), 0);
    CHECK_SAME(add(arena, 2, 0), 1);
    CHECK_SAME(add(arena, 3, 5), 2);
    CHECK_SAME(row_table_count(arena), 3);
    CHECK_SAME(value(arena, 0, 1, 0), 101);
    CHECK_SAME(value(arena, 2, 0, 0), 300);
    CHECK_SAME(value(arena, 2, 4, 1), -4);
    CHECK_TEXT(row_table_at(arena, 2)->columns[1], "y_um");
    CHECK_SAME(arena->table_lost, 0);
    arena_free(arena);
}

/* What is not there is not set, and nothing beside it. */
TEST(outside)
{
    struct arena *arena = create(NULL, TABLES, ROWS);
    add(arena, 1, 2);
    add(arena, 2, 2);
    row_table_set(arena, -1, 0, 0, 9);
    row_table_set(arena, 2, 0, 0, 9);
    row_table_set(arena, 0, 2, 0, 9);
    row_table_set(arena, 0, 0, -1, 9);
    row_table_set(arena, 0, 0, 2, 9);
    CHECK_SAME(value(arena, 0, 0, 0), 100);
    CHECK_SAME(value(arena, 1, 0, 0), 200);
    for (uint32_t column = 2; column < ROW_TABLE_COLUMNS; column++)
        CHECK_SAME(value(arena, 0, 0, column), 0);
    arena_free(arena);
}

TEST(room)
{
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", NULL};
    struct arena *arena = create(NULL, TABLES, ROWS);
    CHECK_SAME(add(arena, 1, ROWS + 1), -1); /* its rows */
    CHECK_SAME(add(arena, 1, ROWS), 0);
    CHECK_SAME(add(arena, 2, 1), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many, 0), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many + 7, 0), -1);
    CHECK_SAME(row_table_add(arena, "frame", NO_DATA, many + 1, 0), 1);
    CHECK_SAME(add(arena, 3, 0), 2);
    CHECK_SAME(add(arena, 4, 0), -1); /* the tables are used up */
    CHECK_SAME(arena->table_lost, 5);
    CHECK_SAME(value(arena, 0, ROWS - 1, 0), 100 + ROWS - 1);
    arena_free(arena);
}

TEST(most)
{
    struct arena *arena = create(NULL, UINT32_MAX, UINT32_MAX);
    CHECK_SAME(arena->table_room, ROW_TABLE_TABLES);
    CHECK_SAME(arena->row_room, ROW_TABLE_ALL);
    CHECK_SAME(add(arena, 1, ROW_TABLE_ROWS + 1), -1);
    CHECK_SAME(add(arena, 1, ROW_TABLE_ROWS), 0);
    arena_free(arena);
}

/* What the stream, or a dump, has of the arena. */
static const char *sent(const struct arena *arena, bool is_dump)
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

TEST(lines)
{
    struct arena *arena = create(NULL, TABLES, ROWS);
    add(arena, 1, 2);
    add(arena, 2, 0);
    CHECK_TEXT(sent(arena, false),
               "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":1},"
               "\"columns\":{\"x_um\":[100,101],\"y_um\":[0,-1]}}\n"
               "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":2},"
               "\"columns\":{\"x_um\":[],\"y_um\":[]}}\n");
    arena_free(arena);
}

TEST(dropped_are_told)
{
    struct arena *arena = create(NULL, 1, ROWS);
    add(arena, 1, 2);
    CHECK(!strstr(sent(arena, true), "table_dropped"));
    add(arena, 2, 2);
    add(arena, 3, 2);
    CHECK_HOLDS(sent(arena, true), "\"name\":\"table_dropped\",\"at_ns\":null,\"data\":{"
                                   "\"dropped_count\":2},\"text\":\"2 tables found no room\"");
    CHECK_HOLDS(sent(arena, true), "\"x_um\":[100,101]");
    arena_free(arena);
}

static size_t leave_tables(const char *path)
{
    struct arena *arena = create(path, TABLES, ROWS);
    for (int i = 1; i <= TABLES; i++)
        add(arena, i, 2);
    size_t bytes = (size_t)arena->bytes;
    arena_free(arena);
    return bytes;
}

static struct row_tables *tables_in(struct arena *arena)
{
    return (void *)((char *)arena + arena_tables_offset(arena));
}

static struct row_table *second(struct arena *arena)
{
    return (struct row_table *)(uintptr_t)row_table_at(arena, 1);
}

static void check_kept(const char *path, struct arena *left, size_t bytes, uint32_t tables)
{
    char reason[REASON_BYTES] = "";
    write_all(path, (char *)left, bytes);
    free(left);
    struct arena *found = arena_open(path, reason, sizeof reason);
    unlink(path);
    if (!CHECK(found != NULL))
        return;
    CHECK_SAME(row_table_count(found), tables);
    CHECK_SAME(found->event_count, tables < TABLES ? 1 : 0);
    if (tables < TABLES)
        CHECK_TEXT(arena_event_at(found, 0)->name, "tables_damaged");
    for (uint32_t i = 0; i < tables; i++)
        CHECK_SAME(value(found, i, 1, 0), 100 * (i + 1) + 1);
    arena_free(found);
}

/* The first table is kept once the file was damaged so. */
#define CHECK_DAMAGED(damage)                                                                      \
    do {                                                                                           \
        size_t bytes;                                                                              \
        const char *path = path_of("left");                                                        \
        struct arena *arena = left_by(leave_tables, path, &bytes);                                 \
        damage;                                                                                    \
        check_kept(path, arena, bytes, 1);                                                         \
    } while (0)

TEST(a_killed_probe)
{
    size_t bytes;
    const char *path = path_of("left");
    struct arena *arena = left_by(leave_tables, path, &bytes);
    check_kept(path, arena, bytes, TABLES);
}

TEST(a_damaged_file)
{
    CHECK_DAMAGED(second(arena)->column_count = 0);
    CHECK_DAMAGED(second(arena)->column_count = ROW_TABLE_COLUMNS + 1);
    CHECK_DAMAGED(second(arena)->columns[1][0] = '\0');
    CHECK_DAMAGED(second(arena)->name[0] = '\0');
    CHECK_DAMAGED(second(arena)->first_row = 1); /* rows of another */
    CHECK_DAMAGED(second(arena)->row_count = UINT32_MAX);
}

TEST(a_torn_head)
{
    char reason[REASON_BYTES] = "";
    const char *path = path_of("torn");
    size_t bytes;
    struct arena *arena = left_by(leave_tables, path, &bytes);
    /* The head of the third was written when the probe was killed, and it did not count yet. */
    tables_in(arena)->count = 2;
    memset(second(arena) + 1, 0x7f, sizeof *second(arena));
    write_all(path, (char *)arena, bytes);
    struct arena *found = arena_open(path, reason, sizeof reason);
    if (CHECK(found != NULL)) {
        CHECK_SAME(row_table_count(found), 2);
        CHECK_SAME(found->event_count, 0);
        arena_free(found);
    }
    tables_in(arena)->count = UINT32_MAX;
    write_all(path, (char *)arena, bytes);
    found = arena_open(path, reason, sizeof reason);
    if (CHECK(found != NULL)) {
        CHECK_SAME(row_table_count(found), 2);
        CHECK_SAME(found->event_count, 1);
        arena_free(found);
    }
    unlink(path);
    free(arena);
}

TEST(a_damaged_size)
{
    const char *path = path_of("size");
    size_t bytes;
    struct arena *arena = left_by(leave_tables, path, &bytes);
    arena->row_room++;
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "cut short or damaged");
    arena->row_room = UINT32_MAX;
    arena->table_room = UINT32_MAX;
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "cut short or damaged");
    unlink(path);
    free(arena);
}

TEST(flipped_bits)
{
    struct arena *arena = create(NULL, TABLES, ROWS);
    size_t tables = (size_t)arena_tables_offset(arena), bytes = (size_t)arena->bytes;
    arena_free(arena);
    flip_bits(leave_tables, tables, bytes - tables);
}
