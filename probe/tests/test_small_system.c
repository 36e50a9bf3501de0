/* Records of a build for a small system, whose sizes are given by the compiler's command line: what
 * one series takes, and that all of it works at such sizes. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "record/arena.h"
#include "record/kept.h"
#include "record/recovery.h"
#include "same_record.h"
#include "tap.h"

enum { MOST_BYTES = 28 * 1024, VARIANTS = 12, VALUES = 3000 };

static struct arena *arena_of(int variants)
{
    struct arena_plan plan = {0};
    for (int i = 0; i < variants; i++) {
        arena_plan_series(&plan, "wakeup", "ns", NULL);
        if (i > 0)
            arena_plan_share(&plan, 0);
    }
    return new_arena(&plan, NULL);
}

static struct record *new_record(void)
{
    struct record *record = tap_memory(record_size(NULL, 0));
    record_init(record, NULL, 0);
    return record;
}

static void record_some(struct record *record, int series)
{
    uint64_t state = (uint64_t)series;
    for (int i = 0; i < VALUES; i++)
        record_value(record, (int64_t)(tap_random(&state) >> (tap_random(&state) % 30 + 30)),
                     i * INT64_C(1000000));
}

/* The arena, and the record into which warm-up values go and finished series are read. */
TEST(one_series)
{
    struct arena *arena = arena_of(1);
    size_t scratch = record_size(NULL, 0);
    printf("# one series: %llu bytes, and a record beside it of %zu\n",
           (unsigned long long)arena->bytes, scratch);
    CHECK(arena->bytes + scratch <= MOST_BYTES);
    CHECK_SAME(arena_scratch_bytes(arena), scratch);
    CHECK_SAME(arena_record(arena, 0)->sub_bits, 5);
    arena_free(arena);
}

/* Each further one that is measured after it. */
TEST(more_series)
{
    struct arena *one = arena_of(1), *more = arena_of(VARIANTS);
    uint64_t each = (more->bytes - one->bytes) / (VARIANTS - 1);
    printf("# each further series: %llu bytes\n", (unsigned long long)each);
    CHECK(each < 4096);
    struct record *scratch = new_record();
    for (int i = 0; i < VARIANTS; i++)
        record_some(arena_record(more, i), i);
    for (int i = 0; i < VARIANTS; i++) {
        struct record *twin = new_record();
        record_some(twin, i);
        const struct record *record = arena_read(more, (uint32_t)i, scratch);
        CHECK(has_same_moments(record, twin) && has_same_worst(record, twin));
        CHECK_SAME(held_by(record), VALUES);
        CHECK(record->sub_bits >= 3);
    }
    arena_free(one);
    arena_free(more);
}

TEST(the_worst)
{
    struct record *record = new_record();
    for (int i = 0; i < 100; i++)
        record_value(record, i * 37 % 101, i);
    CHECK_SAME(record->worst_count, 8);
    for (int i = 0; i < 8; i++)
        CHECK_SAME(record->worst[i].value_ns, 100 - i);
    struct recovered recovered = record_recover(record);
    CHECK(!record_was_recovered(&recovered));
}

TEST(texts)
{
    struct arena *arena = arena_of(1);
    for (int i = 0; i < 20; i++) {
        arena_event(arena, "name", -1, NO_DATA, "%0300d", i);
        arena_verdict(arena, true, 1, "name", "%0300d", i);
    }
    CHECK_SAME(arena->verdict_count, 8);
    CHECK_SAME(strlen(arena->events[7].text), 159);
    CHECK_SAME(strlen(arena->verdicts[7].evidence), 159);
    arena_free(arena);
}
