/* Going back to what was recorded at a moment: against records that got no value after it. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "new_arena.h"
#include "record/recovery.h"
#include "record/tables.h"
#include "same_record.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SECOND_NS INT64_C(1000000000)

enum { SERIES = 3, FEW = 500 };

/* The third series is measured after the second, in its slot. */
static struct arena *create(void)
{
    static const struct record_shape shape = {1 << 24, 5};
    struct arena_plan plan = {.duration_ns = 20 * SECOND_NS,
                              .tables = {[TABLE_GAPS] = {4, 16}, [TABLE_ROWS] = {1, 2}}};
    for (int i = 0; i < SERIES; i++)
        arena_plan_series(&plan, "value", "ns", &shape);
    arena_plan_share(&plan, 1);
    struct arena *made = new_arena(&plan, NULL);
    made->started_ns = 1;
    return made;
}

static void add(struct arena *of, int series, int from, int to)
{
    struct record *record = arena_record(of, series);
    for (int i = from; i < to; i++)
        record_value(record, (int64_t)i * 7919 % 99991, i * (SECOND_NS / 100));
}

static struct arena *arena, *other;
static struct checkpoint *checkpoint; /* of the first */

static bool open_all(void)
{
    arena = create();
    other = create();
    checkpoint = checkpoint_open(arena);
    return true;
}

static void free_all(void)
{
    checkpoint_close(checkpoint);
    arena_free(arena);
    arena_free(other);
}

static void take_and_confirm(void)
{
    checkpoint_take(checkpoint);
    checkpoint_confirm(checkpoint);
}

static void add_window(int64_t begin_ns)
{
    uint32_t room;
    const struct gap_window window = {
        .begin_ns = begin_ns, .end_ns = begin_ns + 100, .gap_count = 1};
    gap_table_free(arena, &room)[0] = (struct gap_entry){begin_ns + 1, 5};
    gap_table_add(arena, &window);
}

static bool has_same(void)
{
    struct record *scratch = tap_memory(arena_scratch_bytes(arena));
    struct record *others = tap_memory(arena_scratch_bytes(other));
    bool is_same = true;
    for (uint32_t i = 0; is_same && i < SERIES; i++)
        is_same = is_same_record(arena_read(arena, i, scratch), arena_read(other, i, others));
    return is_same;
}

#define CHECKPOINT_TEST(what) TEST_IN(open_all(), free_all(), what)

CHECKPOINT_TEST(what_came_later_is_gone)
{
    for (int i = 0; i < 2; i++)
        add(i ? other : arena, 0, 0, FEW);
    take_and_confirm();
    int64_t taken_ns = clock_monotonic_ns();
    add(arena, 0, FEW, 2 * FEW);
    add(arena, 1, 0, FEW);
    CHECK(!has_same());
    CHECK(checkpoint_restore(checkpoint));
    CHECK(has_same());
    CHECK(arena->ended_ns > 0 && arena->ended_ns <= taken_ns);
    CHECK_SAME(arena->event_count, 0);
}

CHECKPOINT_TEST(a_copy_that_is_not_confirmed_is_not_used)
{
    add(arena, 0, 0, 1);
    checkpoint_take(checkpoint);
    CHECK(!checkpoint_restore(checkpoint));
    for (int to = 10; to <= 30; to += 10) {
        add(arena, 0, to - 10, to);
        checkpoint_take(checkpoint);
        if (to < 30)
            checkpoint_confirm(checkpoint);
    }
    checkpoint_take(checkpoint);
    add(other, 0, 0, 1);
    add(other, 0, 0, 20);
    CHECK(checkpoint_restore(checkpoint));
    CHECK(has_same());
}

/* Before the copy the second series has left its slot to the third, and comes back after it. */
CHECKPOINT_TEST(series_that_share_a_slot)
{
    for (int i = 0; i < 2; i++) {
        add(i ? other : arena, 1, 0, FEW);
        add(i ? other : arena, 2, 0, 20);
    }
    take_and_confirm();
    add(arena, 2, 20, 40);
    add(arena, 1, FEW, 2 * FEW);
    add(arena, 2, 40, 60);
    CHECK(checkpoint_restore(checkpoint));
    CHECK(has_same());
    add(arena, 1, FEW, FEW + 1);
    add(other, 1, FEW, FEW + 1);
    CHECK(has_same());
}

CHECKPOINT_TEST(nothing_to_go_back_to)
{
    take_and_confirm();
    add(arena, 0, 0, FEW);
    CHECK(!checkpoint_restore(checkpoint));
    CHECK_SAME(arena_count(arena, 0), FEW);
    CHECK(!checkpoint_restore(NULL));
}

/* What has no moment cannot be cut: verdicts and tables. */
CHECKPOINT_TEST(what_is_beside_the_series)
{
    static const char lines[1][ARENA_TRACE_BYTES] = {"a line"};
    static const char *const columns[] = {"number", NULL};
    struct trace_value early = {7, 1, -1}, late = {9, 3600 * SECOND_NS, -1};
    arena->started_ns = clock_monotonic_ns();
    add(arena, 0, 0, 1);
    add_window(0);
    arena_event(arena, "earlier", -1, NO_DATA, "of what was there");
    trace_table_keep(arena, &early, lines, 1);
    checkpoint_take(checkpoint);
    arena->intervals[0].span_ns = 4;
    checkpoint_confirm(checkpoint);
    add_window(200);
    trace_table_keep(arena, &late, lines, 1);
    arena->intervals[0].span_ns = 5;
    arena_verdict(arena, true, 1, "order", "right");
    row_table_add(arena, "steps", NO_DATA, columns, 2);
    arena_event(arena, "later", -1, NO_DATA, "of all values");
    CHECK(checkpoint_restore(checkpoint));
    CHECK_SAME(arena->tables[TABLE_GAPS].count, 1);
    CHECK_SAME(arena->tables[TABLE_GAPS].entry_count, 1);
    CHECK(trace_table_has(&arena->traces[0]) && !trace_table_has(&arena->traces[1]));
    CHECK_SAME(arena->intervals[0].span_ns, 4);
    CHECK_SAME(arena->verdict_count, 0);
    CHECK_SAME(arena->tables[TABLE_ROWS].count, 0);
    CHECK_SAME(arena->event_count, 1);
    CHECK_TEXT(arena_event_at(arena, 0)->name, "earlier");
}

struct writer {
    struct arena *arena;
    atomic_bool has_begun, should_end;
};

/* The second and third series in turn, so that a copy meets moves of the slot. */
static void *write_on(void *argument)
{
    struct writer *writer = argument;
    for (int i = 0; !atomic_load(&writer->should_end); i++) {
        add(writer->arena, 0, i, i + 50);
        add(writer->arena, 1 + i % 2, i, i + 50);
        atomic_store(&writer->has_begun, true);
    }
    return NULL;
}

CHECKPOINT_TEST(copies_while_values_come)
{
    struct writer writer = {.arena = arena};
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_on, &writer) != 0)
        abort();
    while (!atomic_load(&writer.has_begun))
        sched_yield();
    for (int i = 0; i < 50; i++)
        take_and_confirm();
    atomic_store(&writer.should_end, true);
    pthread_join(thread, NULL);
    CHECK(checkpoint_restore(checkpoint));
    struct record *scratch = tap_memory(arena_scratch_bytes(arena));
    for (uint32_t i = 0; i < SERIES; i++) {
        const struct record *record = arena_read(arena, i, scratch);
        CHECK_SAME(held_by(record), record->count);
        CHECK(record->count == 0 || record->max < 99991);
    }
}
