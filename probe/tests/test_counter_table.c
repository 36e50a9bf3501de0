/* The table of counters in a record file: what survives the probe, what is torn or damaged, and
 * series that have left their slot. */
#include "base/posix_source.h"

#include "record/tables.h"
#include "record_file.h"
#include "tap.h"

#define SECOND_NS INT64_C(1000000000)
#define BEGIN_NS (5 * SECOND_NS)

static struct arena *create(const char *path, int series, bool is_shared)
{
    static struct arena_plan plan;
    struct outcome outcome;
    memset(&plan, 0, sizeof plan);
    memset(&outcome, 0, sizeof outcome);
    plan.duration_ns = SECOND_NS;
    for (int i = 0; i < series; i++) {
        arena_plan_series(&plan, "wakeup", "ns", &(struct record_shape){1 << 16, 5});
        arena_plan_label_number(&plan, i, "variant", i);
        if (is_shared && i > 0)
            arena_plan_share(&plan, 0);
    }
    struct arena *arena = arena_create(&plan, path, &outcome);
    arena_plan_free(&plan);
    if (!arena)
        abort();
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
    snprintf(arena->header_json, sizeof arena->header_json, "{\"type\":\"header\"}");
}

static size_t leave_file(const char *path)
{
    unlink(path);
    struct arena *arena = create(path, 1, false);
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

TEST(flipped_bits)
{
    flip_bits(leave_file, offsetof(struct arena, intervals), 4 * sizeof(struct arena_interval));
}

/* A series that has left its slot, between two looks or before one, keeps its seconds. */
TEST(a_series_that_has_left_its_slot)
{
    uint64_t kept_at = 0;
    struct arena *arena = create(NULL, 3, true);
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
    struct arena *arena = create(NULL, 1, false);
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
    struct arena *arena = create(NULL, 1, false);
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
