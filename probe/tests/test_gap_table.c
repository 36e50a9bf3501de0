/* The table of gaps: room, and what a file of a killed probe gives. */
#include "base/posix_source.h"

#include "record/gap_table.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { WINDOWS = 4, GAPS = 10, PATH_BYTES = 64 };

static struct arena *create(const char *backing)
{
    struct arena_plan plan = {.window_room = WINDOWS, .gap_room = GAPS};
    struct outcome outcome = {0};
    arena_plan_series(&plan, "gap", "ns", NULL);
    struct arena *arena = arena_create(&plan, backing, &outcome);
    arena_plan_free(&plan);
    if (!arena)
        abort();
    snprintf(arena->header_json, sizeof arena->header_json, "{}");
    return arena;
}

/* A window of 1000 ns from `begin_ns` on with `count` gaps of 5 ns, each 100 ns after the last. */
static bool add(struct arena *arena, int64_t begin_ns, uint32_t count)
{
    uint32_t room;
    struct gap_entry *gaps = gap_table_free(arena, &room);
    struct gap_window window = {begin_ns, begin_ns + 1000, 1100, 3, 2, 0, 0};
    window.gap_count = count < room ? count : room;
    window.dropped_count = count - window.gap_count;
    for (uint32_t i = 0; i < window.gap_count; i++)
        gaps[i] = (struct gap_entry){begin_ns + 100 * (int64_t)i, 5};
    return gap_table_add(arena, &window);
}

static void test_no_table(void)
{
    struct arena_plan plan = {0};
    struct outcome outcome = {0};
    arena_plan_series(&plan, "call", "ns", NULL);
    struct arena *arena = arena_create(&plan, NULL, &outcome);
    arena_plan_free(&plan);
    CHECK(gap_table_of(arena) == NULL);
    gap_table_repair(arena);
    arena_free(arena);
}

static void test_windows_and_gaps(void)
{
    struct arena *arena = create(NULL);
    CHECK(add(arena, 0, 2));
    CHECK(add(arena, 2000, 0));
    CHECK(add(arena, 4000, 3));
    CHECK_SAME(gap_table_of(arena)->window_count, 3);
    CHECK_SAME(gap_table_of(arena)->gap_count, 5);
    CHECK_SAME(gap_table_gaps(arena)[1].begin_ns, 100);
    CHECK_SAME(gap_table_gaps(arena)[2].begin_ns, 4000);
    CHECK_SAME(gap_table_windows(arena)[2].interrupts, 3);
    arena_free(arena);
}

static void test_room(void)
{
    struct arena *arena = create(NULL);
    uint32_t room;
    CHECK(add(arena, 0, GAPS - 2));
    CHECK(add(arena, 2000, 5));
    CHECK_SAME(gap_table_windows(arena)[1].gap_count, 2);
    CHECK_SAME(gap_table_windows(arena)[1].dropped_count, 3);
    CHECK(add(arena, 4000, 1));
    CHECK_SAME(gap_table_windows(arena)[2].dropped_count, 1);
    CHECK(add(arena, 6000, 0));
    CHECK(!add(arena, 8000, 0)); /* the windows are used up */
    CHECK_SAME(gap_table_of(arena)->window_count, WINDOWS);
    CHECK(gap_table_free(arena, &room) != NULL);
    CHECK_SAME(room, 0);
    arena_free(arena);
}

/* The windows that ended are there; `spoil` is done to the mapped file before. */
static struct arena *reopened(void (*spoil)(struct arena *arena))
{
    char path[PATH_BYTES], reason[200] = "";
    snprintf(path, sizeof path, "/tmp/hardstone-gaps-%ld", (long)getpid());
    struct arena *arena = create(path);
    add(arena, 0, 2);
    add(arena, 2000, 3);
    add(arena, 4000, 1);
    if (spoil)
        spoil(arena);
    arena_free(arena);
    struct arena *found = arena_open(path, reason, sizeof reason);
    unlink(path);
    if (!CHECK(found != NULL))
        printf("# %s\n", reason);
    return found;
}

static void check_kept(void (*spoil)(struct arena *arena), uint32_t windows, uint32_t gaps)
{
    struct arena *arena = reopened(spoil);
    if (!arena)
        return;
    CHECK_SAME(gap_table_of(arena)->window_count, windows);
    CHECK_SAME(gap_table_of(arena)->gap_count, gaps);
    CHECK_SAME(arena->event_count, spoil ? 1 : 0);
    if (spoil)
        CHECK_TEXT(arena_event_at(arena, 0)->name, "gaps_damaged");
    arena_free(arena);
}

static struct gap_window *second(struct arena *arena)
{
    return (struct gap_window *)(uintptr_t)&gap_table_windows(arena)[1];
}

static struct gap_entry *third_gap(struct arena *arena)
{
    return (struct gap_entry *)(uintptr_t)&gap_table_gaps(arena)[3];
}

static void ends_before_it_begins(struct arena *arena)
{
    second(arena)->end_ns = 1999;
}

static void begins_too_early(struct arena *arena)
{
    second(arena)->begin_ns = 999;
}

static void has_more_gaps_than_there_are(struct arena *arena)
{
    second(arena)->gap_count = GAPS;
}

static void has_a_gap_before_another(struct arena *arena)
{
    third_gap(arena)->begin_ns = 2003;
}

static void has_a_gap_that_is_too_long(struct arena *arena)
{
    third_gap(arena)->length_ns = INT64_MAX;
}

static void has_a_negative_gap(struct arena *arena)
{
    third_gap(arena)->length_ns = -1;
}

static void counts_more_windows_than_there_are(struct arena *arena)
{
    struct gap_table *table = (struct gap_table *)(uintptr_t)gap_table_of(arena);
    table->window_count = UINT32_MAX;
    second(arena)[2].begin_ns = -5;
}

static void test_a_killed_probe(void)
{
    check_kept(NULL, 3, 6);
    check_kept(ends_before_it_begins, 1, 2);
    check_kept(begins_too_early, 1, 2);
    check_kept(has_more_gaps_than_there_are, 1, 2);
    check_kept(has_a_gap_before_another, 1, 2);
    check_kept(has_a_gap_that_is_too_long, 1, 2);
    check_kept(has_a_negative_gap, 1, 2);
    check_kept(counts_more_windows_than_there_are, 3, 6);
}

TAP_MAIN({"a test without gaps", test_no_table}, {"windows and their gaps", test_windows_and_gaps},
         {"room", test_room}, {"a file that a killed probe left", test_a_killed_probe})
