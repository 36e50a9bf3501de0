/* Series that left their slot, in a record file: found whatever the head says, told where they are
 * damaged, counted once. */
#include "base/posix_source.h"

#include "record_file.h"
#include "tap.h"

enum { SHARED = 4 };

/* A file as a probe leaves it behind, of four series of one slot; the last one is in it. */
static size_t leave_shared_file(const char *path)
{
    struct arena_plan plan;
    struct outcome outcome;
    memset(&plan, 0, sizeof plan);
    for (int i = 0; i < SHARED; i++) {
        arena_plan_series(&plan, "wakeup", "ns", &(struct record_shape){1 << 12, 5});
        if (i > 0)
            arena_plan_share(&plan, 0);
    }
    unlink(path);
    struct arena *arena = arena_create(&plan, path, &outcome);
    if (!arena)
        abort();
    put_header(arena);
    for (int i = 0; i < SHARED; i++)
        for (int j = 0; j <= 100 * i; j++)
            record_value(arena_record(arena, i), i + j, j * INT64_C(10000000));
    arena_plan_free(&plan);
    size_t bytes = arena->bytes;
    arena_free(arena);
    return bytes;
}

TEST(flipped_bits)
{
    size_t bytes;
    const char *path = path_of("flipped");
    struct arena *arena = left_by(leave_shared_file, path, &bytes);
    flip_bits(leave_shared_file, (size_t)arena->kept_begin,
              (size_t)(arena->kept_end - arena->kept_begin));
    free(arena);
}

/* Opens what was changed; series up to `whole` are there, the others that left the slot empty. */
static void check_shared(const char *path, const struct arena *changed, size_t bytes, int whole)
{
    char reason[REASON_BYTES];
    write_all(path, (const char *)changed, bytes);
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (!CHECK(arena != NULL))
        return;
    struct record *scratch = new_scratch(arena);
    for (int i = 0; i < SHARED; i++) {
        bool is_there = i < whole || i == SHARED - 1;
        const struct record *record = arena_read(arena, (uint32_t)i, scratch);
        CHECK_SAME(record->count, is_there ? 100 * i + 1 : 0);
        CHECK_SAME(arena_count(arena, (uint32_t)i), record->count);
        CHECK(!is_there || (record->min == i && record->max == 101 * i));
    }
    CHECK_SAME(arena->event_count, whole < SHARED - 1);
    if (arena->event_count == 1) {
        CHECK_TEXT(arena->events[0].name, "file_damaged");
        CHECK_HOLDS(arena->events[0].text, "are damaged: this result has them without values");
    }
    CHECK(open_and_dump(path));
    free(scratch);
    arena_free(arena);
}

/* Found where they stand, whatever the head knows of them. */
TEST(finished_series_are_found)
{
    const char *path = path_of("found");
    size_t bytes;
    struct arena *arena = left_by(leave_shared_file, path, &bytes);
    check_shared(path, arena, bytes, SHARED - 1);
    arena->kept_end = arena->kept_begin;
    arena->kept_count = 0;
    for (int i = 0; i < SHARED; i++)
        arena->series[i].kept_offset = 0;
    check_shared(path, arena, bytes, SHARED - 1);
    for (int i = 0; i < SHARED; i++)
        arena->series[i].kept_offset = UINT64_MAX - 8 * (uint64_t)i;
    check_shared(path, arena, bytes, SHARED - 1);
    free(arena);
    unlink(path);
}

TEST(a_damaged_finished_series_is_told)
{
    const char *path = path_of("damaged");
    size_t bytes;
    struct arena *arena = left_by(leave_shared_file, path, &bytes);
    for (int i = 0; i < SHARED - 1; i++) {
        char *at = (char *)arena + arena->series[i].kept_offset + 100;
        *at ^= 4;
        check_shared(path, arena, bytes, i);
        *at ^= 4;
    }
    free(arena);
    unlink(path);
}

/* In its slot as well, as where the probe was killed before the slot was moved: it counts once. */
TEST(a_series_in_its_slot_and_kept)
{
    const char *path = path_of("both");
    size_t bytes;
    struct arena *arena = left_by(leave_shared_file, path, &bytes);
    struct record *slot = arena_record(arena, SHARED - 1);
    slot->owner = SHARED - 1; /* the series before, which is kept */
    write_all(path, (char *)arena, bytes);
    char reason[REASON_BYTES];
    struct arena *opened = arena_open(path, reason, sizeof reason);
    if (CHECK(opened != NULL)) {
        CHECK_SAME(arena_count(opened, SHARED - 1), 0);
        CHECK_SAME(arena_count(opened, SHARED - 2), 301); /* the slot has more */
        arena_free(opened);
    }
    slot->count = 150; /* the slot was copied before more values came */
    write_all(path, (char *)arena, bytes);
    opened = arena_open(path, reason, sizeof reason);
    if (CHECK(opened != NULL)) {
        CHECK_SAME(arena_count(opened, SHARED - 2), 201);
        CHECK_SAME(opened->event_count, 0);
        arena_free(opened);
    }
    free(arena);
    unlink(path);
}

/* A series whose shape needs more than its slot has, and than is there to read it into. */
TEST(a_wide_series)
{
    const char *path = path_of("wide");
    size_t bytes;
    struct arena *arena = left_by(leave_shared_file, path, &bytes);
    arena->series[1].shape = (struct record_shape){0, 0};
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    free(arena);
    unlink(path);
}
