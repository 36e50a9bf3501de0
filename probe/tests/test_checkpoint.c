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
    struct arena *arena = new_arena(&plan, NULL);
    arena->started_ns = 1;
    return arena;
}

static void add(struct arena *arena, int series, int from, int to)
{
    struct record *record = arena_record(arena, series);
    for (int i = from; i < to; i++)
        record_value(record, (int64_t)i * 7919 % 99991, i * (SECOND_NS / 100));
}

static void add_window(struct arena *arena, int64_t begin_ns)
{
    uint32_t room;
    const struct gap_window window = {
        .begin_ns = begin_ns, .end_ns = begin_ns + 100, .gap_count = 1};
    gap_table_free(arena, &room)[0] = (struct gap_entry){begin_ns + 1, 5};
    gap_table_add(arena, &window);
}

static bool has_same(struct arena *arena, struct arena *other)
{
    struct record *scratch = malloc(arena_scratch_bytes(arena));
    struct record *others = malloc(arena_scratch_bytes(other));
    bool is_same = scratch && others;
    for (uint32_t i = 0; is_same && i < SERIES; i++)
        is_same = is_same_record(arena_read(arena, i, scratch), arena_read(other, i, others));
    free(scratch);
    free(others);
    return is_same;
}

static void free_all(struct checkpoint *checkpoint, struct arena *arena, struct arena *other)
{
    checkpoint_close(checkpoint);
    arena_free(arena);
    arena_free(other);
}

TEST(what_came_later_is_gone)
{
    struct arena *arena = create(), *other = create();
    struct checkpoint *checkpoint = checkpoint_open(arena);
    for (int i = 0; i < 2; i++)
        add(i ? other : arena, 0, 0, FEW);
    checkpoint_take(checkpoint);
    checkpoint_confirm(checkpoint);
    int64_t taken_ns = clock_monotonic_ns();
    add(arena, 0, FEW, 2 * FEW);
    add(arena, 1, 0, FEW);
    CHECK(!has_same(arena, other));
    CHECK(checkpoint_restore(checkpoint));
    CHECK(has_same(arena, other));
    CHECK(arena->ended_ns > 0 && arena->ended_ns <= taken_ns);
    CHECK_SAME(arena->event_count, 0);
    free_all(checkpoint, arena, other);
}

TEST(a_copy_that_is_not_confirmed_is_not_used)
{
    struct arena *arena = create(), *other = create();
    struct checkpoint *checkpoint = checkpoint_open(arena);
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
    CHECK(has_same(arena, other));
    free_all(checkpoint, arena, other);
}

/* Before the copy the second series has left its slot to the third, and comes back after it. */
TEST(series_that_share_a_slot)
{
    struct arena *arena = create(), *other = create();
    struct checkpoint *checkpoint = checkpoint_open(arena);
    for (int i = 0; i < 2; i++) {
        add(i ? other : arena, 1, 0, FEW);
        add(i ? other : arena, 2, 0, 20);
    }
    checkpoint_take(checkpoint);
    checkpoint_confirm(checkpoint);
    add(arena, 2, 20, 40);
    add(arena, 1, FEW, 2 * FEW);
    add(arena, 2, 40, 60);
    CHECK(checkpoint_restore(checkpoint));
    CHECK(has_same(arena, other));
    add(arena, 1, FEW, FEW + 1);
    add(other, 1, FEW, FEW + 1);
    CHECK(has_same(arena, other));
    free_all(checkpoint, arena, other);
}

TEST(nothing_to_go_back_to)
{
    struct arena *arena = create();
    struct checkpoint *checkpoint = checkpoint_open(arena);
    checkpoint_take(checkpoint);
    checkpoint_confirm(checkpoint);
    add(arena, 0, 0, FEW);
    CHECK(!checkpoint_restore(checkpoint));
    CHECK_SAME(arena_count(arena, 0), FEW);
    CHECK(!checkpoint_restore(NULL));
    free_all(checkpoint, arena, NULL);
}

/* What has no moment cannot be cut: verdicts and tables. */
TEST(what_is_beside_the_series)
{
    static const char lines[1][ARENA_TRACE_BYTES] = {"a line"};
    static const char *const columns[] = {"number", NULL};
    struct trace_value early = {7, 1, -1}, late = {9, 3600 * SECOND_NS, -1};
    struct arena *arena = create();
    struct checkpoint *checkpoint = checkpoint_open(arena);
    arena->started_ns = clock_monotonic_ns();
    add(arena, 0, 0, 1);
    add_window(arena, 0);
    arena_event(arena, "earlier", -1, NO_DATA, "of what was there");
    trace_table_keep(arena, &early, lines, 1);
    checkpoint_take(checkpoint);
    arena->intervals[0].span_ns = 4;
    checkpoint_confirm(checkpoint);
    add_window(arena, 200);
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
    free_all(checkpoint, arena, NULL);
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

TEST(copies_while_values_come)
{
    struct writer writer = {.arena = create()};
    struct checkpoint *checkpoint = checkpoint_open(writer.arena);
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_on, &writer) != 0)
        abort();
    while (!atomic_load(&writer.has_begun))
        sched_yield();
    for (int i = 0; i < 50; i++) {
        checkpoint_take(checkpoint);
        checkpoint_confirm(checkpoint);
    }
    atomic_store(&writer.should_end, true);
    pthread_join(thread, NULL);
    CHECK(checkpoint_restore(checkpoint));
    struct record *scratch = malloc(arena_scratch_bytes(writer.arena));
    if (!scratch)
        abort();
    for (uint32_t i = 0; i < SERIES; i++) {
        const struct record *record = arena_read(writer.arena, i, scratch);
        CHECK_SAME(held_by(record), record->count);
        CHECK(record->count == 0 || record->max < 99991);
    }
    free(scratch);
    free_all(checkpoint, writer.arena, NULL);
}
