/* The table of gaps: room, and what a file of a killed probe gives. */
#include "base/posix_source.h"

#include "record/tables.h"
#include "tap.h"

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

TEST(no_table)
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

TEST(windows_and_gaps)
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

TEST(room)
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

/* A file of three windows, as a killed probe leaves it. */
static struct arena *left(char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "/tmp/hardstone-gaps-%ld", (long)getpid());
    struct arena *arena = create(path);
    add(arena, 0, 2);
    add(arena, 2000, 3);
    add(arena, 4000, 1);
    return arena;
}

static struct gap_table *counts(struct arena *arena)
{
    return (struct gap_table *)(uintptr_t)gap_table_of(arena);
}

static struct gap_window *second(struct arena *arena)
{
    return (struct gap_window *)(uintptr_t)&gap_table_windows(arena)[1];
}

static struct gap_entry *third_gap(struct arena *arena)
{
    return (struct gap_entry *)(uintptr_t)&gap_table_gaps(arena)[3];
}

static void check_kept(struct arena *left, const char *path, bool is_damaged, uint32_t windows,
                       uint32_t gaps)
{
    char reason[200] = "";
    arena_free(left);
    struct arena *arena = arena_open(path, reason, sizeof reason);
    unlink(path);
    if (!CHECK(arena != NULL))
        return;
    CHECK_SAME(gap_table_of(arena)->window_count, windows);
    CHECK_SAME(gap_table_of(arena)->gap_count, gaps);
    CHECK_SAME(arena->event_count, is_damaged ? 1 : 0);
    if (is_damaged)
        CHECK_TEXT(arena_event_at(arena, 0)->name, "gaps_damaged");
    arena_free(arena);
}

/* What is kept once the file was damaged so. */
#define CHECK_DAMAGED(damage, windows, gaps)                                                       \
    do {                                                                                           \
        char path[PATH_BYTES];                                                                     \
        struct arena *arena = left(path);                                                          \
        damage;                                                                                    \
        check_kept(arena, path, true, windows, gaps);                                              \
    } while (0)

TEST(a_killed_probe)
{
    char path[PATH_BYTES];
    struct arena *arena = left(path);
    check_kept(arena, path, false, 3, 6);
}

TEST(a_damaged_file)
{
    CHECK_DAMAGED(second(arena)->end_ns = 1999, 1, 2); /* before it begins */
    CHECK_DAMAGED(second(arena)->begin_ns = 999, 1, 2);
    CHECK_DAMAGED(second(arena)->gap_count = GAPS, 1, 2);
    CHECK_DAMAGED(third_gap(arena)->begin_ns = 2003, 1, 2); /* before another */
    CHECK_DAMAGED(third_gap(arena)->length_ns = INT64_MAX, 1, 2);
    CHECK_DAMAGED(third_gap(arena)->length_ns = -1, 1, 2);
    CHECK_DAMAGED(counts(arena)->window_count = UINT32_MAX; second(arena)[2].begin_ns = -5, 3, 6);
}
