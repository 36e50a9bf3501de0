/* Tables of the arena: room, the lines of a stream, what a file of a killed probe gives, what is
 * torn or damaged; and who had the CPU before the worst values. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "record/arena_layout.h"
#include "record/tables.h"
#include "record_file.h"
#include "run/stream.h"
#include "tap.h"

#include <unistd.h>

/* ---- rows ---- */

enum { TABLES = 3, ROWS = 10 };

static const char *const columns[] = {"x_um", "y_um", NULL};
static struct arena *row_arena;

static void row_create(const char *backing, uint32_t tables, uint32_t rows)
{
    struct arena_plan plan = {.tables[TABLE_ROWS] = {tables, rows}};
    arena_plan_series(&plan, "step_time", "ns", &(struct record_shape){1 << 12, 5});
    row_arena = new_arena(&plan, backing);
    put_header(row_arena);
}

#define ARENA_TEST(what, ...)                                                                      \
    TEST_IN((row_create(NULL, __VA_ARGS__), true), arena_free(row_arena), what)

/* A table with 100 * number + row in its first column, and less than nothing in its row_second. */
static int row_add(int number, uint32_t rows)
{
    int table =
        row_table_add(row_arena, "frame", DATA(data_integer("step_ns", number)), columns, rows);
    for (uint32_t row = 0; row < rows; row++) {
        row_table_set(row_arena, table, row, 0, 100 * number + row);
        row_table_set(row_arena, table, row, 1, -(int64_t)row);
    }
    return table;
}

static const struct row_table *row_at(const struct arena *of, uint32_t table)
{
    return table_head(of, TABLE_ROWS, table);
}

static int64_t value(const struct arena *of, uint32_t table, uint32_t row, uint32_t column)
{
    return row_table_value(of, row_at(of, table), row, column);
}

ARENA_TEST(no_tables, 0, 0)
{
    CHECK_SAME(row_add(1, 2), -1);
    CHECK_SAME(row_arena->tables[TABLE_ROWS].count, 0);
    CHECK_SAME(row_arena->table_lost, 1);
    table_repair(row_arena);
    CHECK_SAME(row_arena->event_count, 0);
    CHECK_SAME(row_arena->tables[TABLE_GAPS].count, 0);
}

ARENA_TEST(rows_and_columns, TABLES, ROWS)
{
    CHECK_SAME(row_add(1, 2), 0);
    CHECK_SAME(row_add(2, 0), 1);
    CHECK_SAME(row_add(3, 5), 2);
    CHECK_SAME(row_arena->tables[TABLE_ROWS].count, 3);
    CHECK_SAME(value(row_arena, 0, 1, 0), 101);
    CHECK_SAME(value(row_arena, 2, 0, 0), 300);
    CHECK_SAME(value(row_arena, 2, 4, 1), -4);
    CHECK_TEXT(row_at(row_arena, 2)->columns[1], "y_um");
    CHECK_SAME(row_arena->table_lost, 0);
}

/* What is not there is not set, and nothing beside it. */
ARENA_TEST(outside, TABLES, ROWS)
{
    row_add(1, 2);
    row_add(2, 2);
    row_table_set(row_arena, -1, 0, 0, 9);
    row_table_set(row_arena, 2, 0, 0, 9);
    row_table_set(row_arena, 0, 2, 0, 9);
    row_table_set(row_arena, 0, 0, -1, 9);
    row_table_set(row_arena, 0, 0, 2, 9);
    CHECK_SAME(value(row_arena, 0, 0, 0), 100);
    CHECK_SAME(value(row_arena, 1, 0, 0), 200);
    for (uint32_t column = 2; column < ROW_TABLE_COLUMNS; column++)
        CHECK_SAME(value(row_arena, 0, 0, column), 0);
}

ARENA_TEST(row_room, TABLES, ROWS)
{
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", NULL};
    CHECK_SAME(row_add(1, ROWS + 1), -1); /* its rows */
    CHECK_SAME(row_add(1, ROWS), 0);
    CHECK_SAME(row_add(2, 1), -1);
    CHECK_SAME(row_table_add(row_arena, "frame", NO_DATA, many, 0), -1);
    CHECK_SAME(row_table_add(row_arena, "frame", NO_DATA, many + 7, 0), -1);
    CHECK_SAME(row_table_add(row_arena, "frame", NO_DATA, many + 1, 0), 1);
    CHECK_SAME(row_add(3, 0), 2);
    CHECK_SAME(row_add(4, 0), -1); /* the tables are used up */
    CHECK_SAME(row_arena->table_lost, 5);
    CHECK_SAME(value(row_arena, 0, ROWS - 1, 0), 100 + ROWS - 1);
}

ARENA_TEST(most, UINT32_MAX, UINT32_MAX)
{
    CHECK_SAME(row_arena->tables[TABLE_ROWS].room.heads, ROW_TABLE_TABLES);
    CHECK_SAME(row_arena->tables[TABLE_ROWS].room.entries, ROW_TABLE_ALL);
    CHECK_SAME(row_add(1, ROW_TABLE_ROWS + 1), -1);
    CHECK_SAME(row_add(1, ROW_TABLE_ROWS), 0);
}

ARENA_TEST(lines, TABLES, ROWS)
{
    row_add(1, 2);
    row_add(2, 0);
    CHECK_TEXT(sent_of(row_arena, false),
               "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":1},"
               "\"columns\":{\"x_um\":[100,101],\"y_um\":[0,-1]}}\n"
               "{\"type\":\"table\",\"name\":\"frame\",\"data\":{\"step_ns\":2},"
               "\"columns\":{\"x_um\":[],\"y_um\":[]}}\n");
}

ARENA_TEST(dropped_are_told, 1, ROWS)
{
    row_add(1, 2);
    CHECK(!strstr(sent_of(row_arena, true), "table_dropped"));
    row_add(2, 2);
    row_add(3, 2);
    CHECK_HOLDS(
        sent_of(row_arena, true),
        "\"name\":\"table_dropped\",\"at_ns\":null,\"data\":{\"dropped_count\":2},\"text\":\"2 "
        "there was no room for tables\"");
    CHECK_HOLDS(sent_of(row_arena, true), "\"x_um\":[100,101]");
}

/* ---- what a killed probe leaves, and damage to it ---- */

static size_t leave_tables(const char *path)
{
    row_create(path, TABLES, ROWS);
    for (int i = 1; i <= TABLES; i++)
        row_add(i, 2);
    size_t bytes = (size_t)row_arena->bytes;
    arena_free(row_arena);
    return bytes;
}

static size_t left_bytes;

#define LEFT_TEST(what)                                                                            \
    TEST_IN((row_arena = left_by(leave_tables, path_of("left"), &left_bytes)) != NULL,             \
            (free(row_arena), unlink(path_of("left"))), what)

static struct row_table *row_second(void)
{
    return (struct row_table *)(uintptr_t)row_at(row_arena, 1);
}

/* How many tables are found in the file as the arena is now, and how many events. */
static void row_check_kept(uint32_t tables, uint32_t events)
{
    char reason[REASON_BYTES] = "";
    write_all(path_of("left"), (char *)row_arena, left_bytes);
    struct arena *found = arena_open(path_of("left"), reason, sizeof reason);
    if (!CHECK(found != NULL))
        return;
    CHECK_SAME(found->tables[TABLE_ROWS].count, tables);
    if (CHECK_SAME(found->event_count, events) && events)
        CHECK_TEXT(arena_event_at(found, 0)->name, "tables_damaged");
    for (uint32_t i = 0; i < tables; i++)
        CHECK_SAME(value(found, i, 1, 0), 100 * (i + 1) + 1);
    arena_free(found);
}

LEFT_TEST(row_a_killed_probe)
{
    row_check_kept(TABLES, 0);
}

LEFT_TEST(a_damaged_table)
{
    const struct row_table good = *row_second();
    struct row_table bad[] = {good, good, good, good, good, good};
    bad[0].column_count = 0;
    bad[1].column_count = ROW_TABLE_COLUMNS + 1;
    bad[2].columns[1][0] = '\0';
    bad[3].name[0] = '\0';
    bad[4].first_row = 1; /* rows of another */
    bad[5].row_count = UINT32_MAX;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *row_second() = bad[i];
        row_check_kept(1, 1);
    }
}

/* The head of the third was written when the probe was killed, and it did not count yet. */
LEFT_TEST(a_torn_head)
{
    row_arena->tables[TABLE_ROWS].count = 2;
    memset(row_second() + 1, 0x7f, sizeof *row_second());
    row_check_kept(2, 0);
    row_arena->tables[TABLE_ROWS].count = UINT32_MAX;
    row_check_kept(2, 1);
}

LEFT_TEST(a_damaged_size)
{
    for (int i = 0; i < 2; i++) {
        struct table_room *room = &row_arena->tables[TABLE_ROWS].room;
        room->entries = i ? UINT32_MAX : room->entries + 1;
        room->heads = i ? UINT32_MAX : room->heads;
        write_all(path_of("left"), (char *)row_arena, left_bytes);
        refuse_file(path_of("left"), "cut short or damaged");
    }
}

TEST(row_flipped_bits)
{
    row_create(NULL, TABLES, ROWS);
    size_t tables = (size_t)arena_heads_offset(row_arena, TABLE_ROWS),
           bytes = (size_t)row_arena->bytes;
    arena_free(row_arena);
    flip_bits(leave_tables, tables, bytes - tables);
    flip_bits(leave_tables, offsetof(struct arena, tables), sizeof row_arena->tables);
}

/* ---- gaps ---- */

enum { WINDOWS = 4, GAPS = 10 };

static struct arena *gap_create(const char *backing)
{
    struct arena_plan plan = {.tables[TABLE_GAPS] = {WINDOWS, GAPS}};
    arena_plan_series(&plan, "gap", "ns", NULL);
    struct arena *arena = new_arena(&plan, backing);
    put_header(arena);
    return arena;
}

static const struct gap_window *window_at(const struct arena *arena, uint32_t place)
{
    return table_head(arena, TABLE_GAPS, place);
}

static const struct gap_entry *gap_at(const struct arena *arena, uint32_t place)
{
    return table_entry(arena, TABLE_GAPS, place);
}

/* A window of 1000 ns from `begin_ns` on with `count` gaps of 5 ns, each 100 ns after the last. */
static bool gap_add(struct arena *arena, int64_t begin_ns, uint32_t count)
{
    uint32_t gap_room;
    struct gap_entry *gaps = gap_table_free(arena, &gap_room);
    struct gap_window window = {begin_ns, begin_ns + 1000, 1100, 3, 2, 0, 0};
    window.gap_count = count < gap_room ? count : gap_room;
    window.dropped_count = count - window.gap_count;
    for (uint32_t i = 0; i < window.gap_count; i++)
        gaps[i] = (struct gap_entry){begin_ns + 100 * (int64_t)i, 5};
    return gap_table_add(arena, &window);
}

TEST(windows_and_gaps)
{
    struct arena *arena = gap_create(NULL);
    CHECK(gap_add(arena, 0, 2));
    CHECK(gap_add(arena, 2000, 0));
    CHECK(gap_add(arena, 4000, 3));
    CHECK_SAME(arena->tables[TABLE_GAPS].count, 3);
    CHECK_SAME(arena->tables[TABLE_GAPS].entry_count, 5);
    CHECK_SAME(gap_at(arena, 1)->begin_ns, 100);
    CHECK_SAME(gap_at(arena, 2)->begin_ns, 4000);
    CHECK_SAME(window_at(arena, 2)->interrupts, 3);
    arena_free(arena);
}

TEST(gap_room)
{
    struct arena *arena = gap_create(NULL);
    uint32_t gap_room;
    CHECK(gap_add(arena, 0, GAPS - 2));
    CHECK(gap_add(arena, 2000, 5));
    CHECK_SAME(window_at(arena, 1)->gap_count, 2);
    CHECK_SAME(window_at(arena, 1)->dropped_count, 3);
    CHECK(gap_add(arena, 4000, 1));
    CHECK_SAME(window_at(arena, 2)->dropped_count, 1);
    CHECK(gap_add(arena, 6000, 0));
    CHECK(!gap_add(arena, 8000, 0)); /* the windows are used up */
    CHECK_SAME(arena->tables[TABLE_GAPS].count, WINDOWS);
    CHECK(gap_table_free(arena, &gap_room) != NULL);
    CHECK_SAME(gap_room, 0);
    arena_free(arena);
}

/* A file of three windows, as a killed probe leaves it. */
static struct arena *gap_left(void)
{
    struct arena *arena = gap_create(path_of("gaps"));
    gap_add(arena, 0, 2);
    gap_add(arena, 2000, 3);
    gap_add(arena, 4000, 1);
    return arena;
}

static struct gap_window *gap_second(struct arena *arena)
{
    return (struct gap_window *)(uintptr_t)window_at(arena, 1);
}

static struct gap_entry *third_gap(struct arena *arena)
{
    return (struct gap_entry *)(uintptr_t)gap_at(arena, 3);
}

static void gap_check_kept(struct arena *left, bool is_damaged, uint32_t windows, uint32_t gaps)
{
    char reason[200] = "";
    arena_free(left);
    struct arena *arena = arena_open(path_of("gaps"), reason, sizeof reason);
    unlink(path_of("gaps"));
    if (!CHECK(arena != NULL))
        return;
    CHECK_SAME(arena->tables[TABLE_GAPS].count, windows);
    CHECK_SAME(arena->tables[TABLE_GAPS].entry_count, gaps);
    CHECK_SAME(arena->event_count, is_damaged ? 1 : 0);
    if (is_damaged)
        CHECK_TEXT(arena_event_at(arena, 0)->name, "gaps_damaged");
    arena_free(arena);
}

/* What is kept once the file was damaged so. */
#define CHECK_DAMAGED(damage, windows, gaps)                                                       \
    do {                                                                                           \
        struct arena *arena = gap_left();                                                          \
        damage;                                                                                    \
        gap_check_kept(arena, true, windows, gaps);                                                \
    } while (0)

TEST(gap_a_killed_probe)
{
    gap_check_kept(gap_left(), false, 3, 6);
}

TEST(a_damaged_file)
{
    CHECK_DAMAGED(gap_second(arena)->end_ns = 1999, 1, 2); /* before it begins */
    CHECK_DAMAGED(gap_second(arena)->begin_ns = 999, 1, 2);
    CHECK_DAMAGED(gap_second(arena)->gap_count = GAPS, 1, 2);
    CHECK_DAMAGED(third_gap(arena)->begin_ns = 2003, 1, 2); /* before another */
    CHECK_DAMAGED(third_gap(arena)->length_ns = INT64_MAX, 1, 2);
    CHECK_DAMAGED(third_gap(arena)->length_ns = -1, 1, 2);
    CHECK_DAMAGED(arena->tables[TABLE_GAPS].count = UINT32_MAX;
                  gap_second(arena)[2].begin_ns = -5, 3, 6);
}

/* ---- counters ---- */

#define SECOND_NS INT64_C(1000000000)
#define BEGIN_NS (5 * SECOND_NS)

static struct arena *counter_create(const char *path, int series, bool is_shared)
{
    struct arena_plan plan = {.duration_ns = SECOND_NS};
    for (int i = 0; i < series; i++) {
        arena_plan_series(&plan, "wakeup", "ns", &(struct record_shape){1 << 16, 5});
        arena_plan_label_number(&plan, i, "variant", i);
        if (is_shared && i > 0)
            arena_plan_share(&plan, 0);
    }
    struct arena *arena = new_arena(&plan, path);
    arena->started_ns = BEGIN_NS;
    return arena;
}

static struct arena_interval interval_of(int second)
{
    struct arena_interval interval = {
        .at_ns = BEGIN_NS + second * SECOND_NS, .span_ns = SECOND_NS, .cpu = 3};
    for (int i = 0; i < ARENA_COUNTERS; i++)
        interval.counters[i] = 100 * second + i;
    snprintf(interval.busiest, sizeof interval.busiest, "24: net%d", second);
    return interval;
}

static void offer(struct arena *arena, int second, uint64_t *kept_at)
{
    struct arena_interval interval = interval_of(second);
    struct counter_table_offer one = {&interval, 1, *kept_at};
    counter_table_sort(arena, &one);
    *kept_at = one.kept_at;
}

static int count_entries(const struct arena *arena)
{
    int count = 0;
    for (int i = 0; i < ARENA_INTERVALS; i++)
        count += counter_table_has(&arena->intervals[i]) ? 1 : 0;
    return count;
}

static void fill(struct arena *arena)
{
    uint64_t kept_at = 0;
    struct arena_interval whole = interval_of(0);
    whole.is_whole = 1;
    for (int second = 0; second < 3; second++) {
        record_value(arena_record(arena, 0), 7000 + second, second * SECOND_NS + 5);
        offer(arena, second, &kept_at);
    }
    counter_table_add_whole(arena, &whole);
    put_header(arena);
}

static size_t leave_file(const char *path)
{
    unlink(path);
    struct arena *arena = counter_create(path, 1, false);
    fill(arena);
    size_t bytes = (size_t)arena->bytes;
    arena_free(arena); /* as a kill leaves it */
    return bytes;
}

static struct arena *open_changed(void (*change)(struct arena *arena))
{
    char reason[REASON_BYTES] = "";
    const char *path = path_of("table");
    size_t bytes;
    struct arena *left = left_by(leave_file, path, &bytes);
    if (change)
        change(left);
    write_all(path, (char *)left, bytes);
    free(left);
    CHECK(open_and_dump(path));
    struct arena *arena = arena_open(path, reason, sizeof reason);
    unlink(path);
    if (!arena)
        abort();
    return arena;
}

TEST(it_outlives_the_probe)
{
    struct arena *arena = open_changed(NULL);
    CHECK_SAME(count_entries(arena), 4);
    CHECK_SAME(arena->interval_lost, 0);
    CHECK_SAME(arena->intervals[1].at_ns, BEGIN_NS + SECOND_NS);
    CHECK_SAME(arena->intervals[1].counters[ARENA_RUN_DELAY_NS], 100 + ARENA_RUN_DELAY_NS);
    CHECK_TEXT(arena->intervals[2].busiest, "24: net2");
    CHECK_SAME(arena->intervals[3].is_whole, 1);
    arena_free(arena);
}

static void tear(struct arena *arena)
{
    arena->intervals[1].begun++;
}

TEST(a_torn_entry_is_dropped)
{
    struct arena *arena = open_changed(tear);
    CHECK_SAME(count_entries(arena), 3);
    CHECK(!counter_table_has(&arena->intervals[1]));
    CHECK_SAME(arena->interval_lost, 1);
    arena_free(arena);
}

static void damage(struct arena *arena)
{
    memset(arena->intervals[0].busiest, 'x', sizeof arena->intervals[0].busiest);
    arena->intervals[1].span_ns = -1;
    arena->intervals[2].cpu = INT32_MIN;
}

TEST(damaged_entries)
{
    struct arena *arena = open_changed(damage);
    CHECK_SAME(count_entries(arena), 2);
    CHECK_SAME(strlen(arena->intervals[0].busiest), sizeof arena->intervals[0].busiest - 1);
    CHECK_SAME(arena->interval_lost, 2);
    arena_free(arena);
}

TEST(counter_flipped_bits)
{
    flip_bits(leave_file, offsetof(struct arena, intervals), 4 * sizeof(struct arena_interval));
}

/* A series that has left its slot, between two looks or before one, keeps its seconds. */
TEST(a_series_that_has_left_its_slot)
{
    uint64_t kept_at = 0;
    struct arena *arena = counter_create(NULL, 3, true);
    record_value(arena_record(arena, 0), 7000, 5);
    offer(arena, 0, &kept_at);
    CHECK_SAME(count_entries(arena), 1);
    record_value(arena_record(arena, 1), 7000, SECOND_NS + 5); /* series 0 leaves */
    arena_record(arena, 2);                                    /* and series 1, unseen */
    offer(arena, 1, &kept_at);
    CHECK_SAME(count_entries(arena), 2);
    offer(arena, 2, &kept_at);
    CHECK_SAME(count_entries(arena), 2);
    arena_free(arena);
}

TEST(half_is_for_whole_measurements)
{
    struct arena_interval whole = interval_of(0);
    struct arena *arena = counter_create(NULL, 1, false);
    whole.is_whole = 1;
    for (int i = 0; i < (ARENA_INTERVALS + 1) / 2; i++)
        CHECK(counter_table_add_whole(arena, &whole) >= 0);
    CHECK_SAME(arena->interval_lost, 0);
    CHECK_SAME(counter_table_add_whole(arena, &whole), -1);
    CHECK_SAME(arena->interval_lost, 1);
    arena_free(arena);
}

/* A list that is being written to is not taken: nothing may be dropped then. */
TEST(a_list_at_work)
{
    uint64_t kept_at = 0, owner;
    struct record_worst worst[RECORD_WORST];
    struct arena *arena = counter_create(NULL, 1, false);
    struct record *record = arena_record(arena, 0);
    record_value(record, 7000, 5);
    offer(arena, 0, &kept_at);
    CHECK_SAME(record_copy_worst(record, worst, &owner), 1);
    CHECK_SAME(worst[0].value_ns, 7000);
    CHECK_SAME(owner, 1);
    record->worst_begun++;
    record->worst_count = 0;
    CHECK_SAME(record_copy_worst(record, worst, &owner), -1);
    offer(arena, 1, &kept_at);
    CHECK_SAME(count_entries(arena), 1);
    record->worst_done++;
    offer(arena, 2, &kept_at);
    CHECK_SAME(count_entries(arena), 0);
    arena_free(arena);
}

/* ---- before ---- */

static struct before_table table;

static void see(int64_t value_ns, int64_t at_ns)
{
    const struct before before = {value_ns, at_ns, at_ns, "hog"};
    before_table_see(&table, &before);
}

static const struct before *find(int64_t value_ns, int64_t at_ns)
{
    const struct record_worst worst = {value_ns, at_ns, 0};
    return before_table_find(&table, 3, &worst);
}

static bool begin(void)
{
    memset(&table, 0, sizeof table);
    table.series = 3;
    return true;
}

#define BEFORE_TEST(what) TEST_IN(begin(), (void)0, what)

BEFORE_TEST(a_known_value)
{
    see(20, 1);
    see(40, 2);
    if (CHECK(find(40, 2) != NULL))
        CHECK_SAME(find(40, 2)->thread, 2);
    CHECK(!find(40, 1) && !find(30, 2));
}

BEFORE_TEST(of_another_series)
{
    static const struct record_worst worst = {40, 2, 0};
    struct before_table first = {.next = &table, .series = 1};
    see(40, 2);
    CHECK(before_table_find(&first, 3, &worst) == &table.values[0]);
    CHECK(!before_table_find(&first, 1, &worst));
    CHECK(!before_table_find(NULL, 3, &worst));
}

/* As the record: of equal values those that came first. */
BEFORE_TEST(the_worst_stay)
{
    for (int i = 0; i < 3 * RECORD_WORST; i++)
        see(i % 2 ? 1000 + i : 5, i);
    CHECK_SAME(table.count, RECORD_WORST);
    CHECK(find(1000 + 3 * RECORD_WORST - 1, 3 * RECORD_WORST - 1) != NULL);
    CHECK(!find(5, 0) && !find(1001, 1));
    begin();
    for (int i = 0; i <= RECORD_WORST; i++)
        see(7, i);
    CHECK(find(7, 0) != NULL && !find(7, RECORD_WORST));
}
