/* What is known of stops of the program, and records from which their values are taken out: against
 * records that never had them. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "record/arena.h"
#include "same_record.h"
#include "tap.h"

#include <math.h>

#define MS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)
#define STARTED_NS (50 * SECOND_NS)
#define STOP_NS (2500 * MS)

enum { COUNT = 400 };

static struct arena *arena, *other;

static struct arena *create(void)
{
    struct arena_plan plan = {.duration_ns = 20 * SECOND_NS};
    arena_plan_series(&plan, "times", "ns", NULL);
    arena_plan_series(&plan, "missed", "count", NULL);
    struct arena *made = new_arena(&plan, NULL);
    made->started_ns = STARTED_NS;
    return made;
}

/* Of any size up to 1 ms, one each 10 ms. */
static int64_t value_at(int i)
{
    return (int64_t)i * 7919 % 1000 * 1000 + i;
}

/* With a stop that ended at 2 s, if `stop_ns` is not 0. */
static struct record *fill(struct arena *of, int count, int64_t stop_ns)
{
    struct record *record = arena_record(of, 0);
    for (int i = 0; i < count; i++) {
        if (i == count / 2 && stop_ns > 0)
            record_value(record, stop_ns, 2 * SECOND_NS + 50000);
        record_value(record, value_at(i), (i < count / 2 ? 0 : 2 * SECOND_NS) + i * 10 * MS);
    }
    return record;
}

static bool has_figures_of(const struct record *record, const struct record *without)
{
    return record->count == without->count && record->min == without->min &&
           record->max == without->max && is_same_sum(&record->sum, &without->sum) &&
           is_same_sum(&record->sum_of_squares, &without->sum_of_squares) &&
           has_same_histogram(record, without) && record_quantile(record, 1) == without->max;
}

/* A stop that ended then is known, and its values are taken out. */
static void stop_at(int64_t ended_ns)
{
    stops_add(arena, STARTED_NS + ended_ns);
    arena_settle(arena);
}

#define STOPS_TEST(what)                                                                           \
    TEST_IN((arena = create(), other = create(), true), (arena_free(arena), arena_free(other)),    \
            what)

STOPS_TEST(no_stop_changes_nothing)
{
    struct record *record = fill(arena, COUNT, STOP_NS);
    arena_settle(arena);
    CHECK(is_same_record(record, fill(other, COUNT, STOP_NS)));
    CHECK_SAME(record->stopped_count, 0);
    arena_report_stops(arena);
    CHECK_SAME(arena->event_count, 0);
}

/* Of the value some was its own: up to the longest other one. */
STOPS_TEST(a_stop_is_no_longer_than_what_its_value_has_beyond_others)
{
    const struct record *record = fill(arena, COUNT, STOP_NS);
    stop_at(2 * SECOND_NS);
    CHECK(record->max > 900000);
    CHECK_SAME(arena->stops[0].least_ns, STOP_NS - record->max);
}

STOPS_TEST(the_length_of_a_stop_is_not_known_from_a_value_alone)
{
    record_value(arena_record(arena, 0), STOP_NS, 2 * SECOND_NS + 50000);
    stop_at(2 * SECOND_NS);
    CHECK_SAME(arena_record(arena, 0)->stopped_count, 1);
    CHECK_SAME(arena->stops[0].least_ns, 0);
    arena_report_stops(arena);
    CHECK_HOLDS(arena_event_at(arena, 0)->text, "the program was stopped and continued");
}

STOPS_TEST(values_of_each_of_two_stops)
{
    struct record *record = arena_record(arena, 0);
    record_value(record, 7, 100);
    for (int i = 1; i <= 2; i++) {
        record_value(record, 500 * MS + i, i * 2 * SECOND_NS + 50000);
        stops_add(arena, STARTED_NS + i * 2 * SECOND_NS);
    }
    arena_settle(arena);
    CHECK_SAME(record->stopped_count, 2);
    CHECK_SAME(record->max, 7);
    CHECK_SAME(arena->stops[1].least_ns, 500 * MS + 2 - 7);
    arena_report_stops(arena);
    CHECK_HOLDS(arena_event_at(arena, 1)->text, "was stopped for at least 0.500 s and continued");
}

STOPS_TEST(figures_are_those_without_the_stop)
{
    struct record *record = fill(arena, COUNT, STOP_NS);
    stops_add(arena, STARTED_NS + 2 * SECOND_NS);
    CHECK_SAME(record->max, STOP_NS);
    arena_settle(arena);
    const struct record *without = fill(other, COUNT, 0);
    CHECK(has_figures_of(record, without));
    CHECK_SAME(record->stopped_count, 1);
    CHECK_SAME(record->stopped_worst, STOP_NS);
    CHECK_SAME(record->count + record->stopped_count, COUNT + 1);
    CHECK_SAME(record->worst_count, RECORD_WORST - 1);
    for (uint64_t i = 0; i < record->worst_count; i++)
        CHECK_SAME(record->worst[i].value_ns, without->worst[i].value_ns);
    arena_settle(arena); /* once is enough */
    CHECK_SAME(record->stopped_count, 1);
}

STOPS_TEST(its_second_has_what_is_known_of_it)
{
    struct record *record = arena_record(arena, 0);
    record_value(record, 5, 100);
    record_value(record, STOP_NS, 2 * SECOND_NS + 50000);
    record_value(record, 7, 2 * SECOND_NS + MS);
    stop_at(2 * SECOND_NS);
    CHECK_SAME(record_maxima(record)[0], 5);
    CHECK_SAME(record_maxima(record)[1], RECORD_NO_MAXIMUM);
    CHECK_SAME(record_maxima(record)[2], 7);
    CHECK_SAME(record->max, 7);
}

STOPS_TEST(nothing_is_left)
{
    struct record *record = arena_record(arena, 0);
    record_value(record, STOP_NS, 2 * SECOND_NS);
    stop_at(2 * SECOND_NS);
    CHECK_SAME(record->count, 0);
    CHECK_SAME(record->stopped_count, 1);
    record_value(record, 9, 3 * SECOND_NS);
    CHECK_SAME(record->min, 9);
    CHECK_SAME(record->max, 9);
    CHECK(fabs(record_mean(record) - 9) < 1e-9);
}

static void fill_list_with_stop(int64_t ended_ns)
{
    for (int i = 0; i < RECORD_WORST; i++)
        record_value(arena_record(arena, 0), STOP_NS + i, ended_ns);
    stop_at(ended_ns);
}

/* Nothing of `worst` is left: the maxima of the other seconds have the largest value. */
STOPS_TEST(maximum_without_a_list)
{
    struct record *record = fill(arena, COUNT, 0);
    int64_t most = record->max;
    CHECK(record_bucket_high(record_bucket((uint64_t)most, RECORD_SUB_BITS), RECORD_SUB_BITS) >
          most);
    fill_list_with_stop(6 * SECOND_NS);
    CHECK_SAME(record->count, COUNT);
    CHECK_SAME(record->worst_count, 0);
    CHECK_SAME(record->max, most);
    CHECK_SAME(record_maxima(record)[6], RECORD_NO_MAXIMUM);
    arena_report_stops(arena);
    CHECK_SAME(arena->event_count, 2);
    CHECK_TEXT(arena_event_at(arena, 1)->name, "stops_mixed");
}

/* The largest value that is left was in the second of the stop: its bucket is known, and is above
 * what the other seconds have. */
STOPS_TEST(maximum_in_the_second_of_the_stop)
{
    static const int64_t most = 5 * MS;
    struct record *record = fill(arena, COUNT, 0);
    int64_t first = record_maxima(record)[0];
    record_value(record, most, 6 * SECOND_NS);
    fill_list_with_stop(6 * SECOND_NS + 30 * MS);
    int64_t high =
        record_bucket_high(record_bucket((uint64_t)most, RECORD_SUB_BITS), RECORD_SUB_BITS);
    CHECK_SAME(record->count, COUNT + 1);
    CHECK_SAME(record->worst_count, 0);
    CHECK_SAME(record->max, high);
    CHECK_SAME(record_maxima(record)[6], high);
    CHECK_SAME(record_maxima(record)[0], first);
}

STOPS_TEST(moments_of_a_recovered_record)
{
    struct record *record = fill(arena, COUNT, STOP_NS), *without = fill(other, COUNT, 0);
    record->recovered_mean = record_mean(record);
    record->recovered_stddev = record_stddev(record);
    record->is_recovered = record->count;
    stop_at(2 * SECOND_NS);
    CHECK(fabs(record_mean(record) - record_mean(without)) < 1e-6 * record_mean(without));
    CHECK(fabs(record_stddev(record) - record_stddev(without)) < 1e-4 * record_stddev(without));
}

/* The end of a stop is noted some time after it, and values end then. */
STOPS_TEST(which_values_are_of_a_stop)
{
    static const struct {
        const char *name;
        int64_t value_ns, at_ns;
        bool is_of_stop;
    } cases[] = {
        {"in progress", 100 * MS, 2010 * MS, true},
        {"ends before it is noted", 100 * MS, 1985 * MS, true},
        {"too long before", 100 * MS, 1979 * MS, false},
        {"short, before", MS, 1998 * MS, false},
        {"short, under way", MS, 2000 * MS + MS / 2, true},
        {"begins after it", MS, 2002 * MS, false},
        {"long after it", 100 * MS, 2101 * MS, false},
        {"none", 0, 2000 * MS, false},
        {"below 0", -MS, 2000 * MS, false},
    };
    stops_add(arena, STARTED_NS + 2000 * MS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_TEXT(stops_touch(arena, cases[i].value_ns, cases[i].at_ns) == cases[i].is_of_stop
                       ? cases[i].name
                       : "",
                   cases[i].name);
    CHECK(stops_since(arena, STARTED_NS + 2000 * MS));
    CHECK(!stops_since(arena, STARTED_NS + 2000 * MS + 1));
}

/* A count has no length: it is of the stop at whose end it came. A count of none is not. */
STOPS_TEST(counts)
{
    struct record *record = arena_record(arena, 1);
    record_value(record, 3, SECOND_NS);
    record_value(record, 2500, 2 * SECOND_NS + MS);
    record_value(record, 0, 2 * SECOND_NS + 2 * MS);
    stop_at(2 * SECOND_NS);
    CHECK_SAME(record->count, 2);
    CHECK_SAME(record->max, 3);
    CHECK_SAME(record->stopped_worst, 2500);
}

/* More stops than places: the last ones are known, and all are counted. */
STOPS_TEST(many_stops)
{
    for (int i = 0; i < 2 * ARENA_STOPS; i++)
        stops_add(arena, STARTED_NS + i * SECOND_NS);
    CHECK(!stops_touch(arena, MS, (ARENA_STOPS - 1) * SECOND_NS));
    CHECK(stops_touch(arena, MS, ARENA_STOPS * SECOND_NS));
    CHECK(stops_touch(arena, MS, (2 * ARENA_STOPS - 1) * SECOND_NS));
    arena_report_stops(arena);
    CHECK_SAME(arena->event_count, 5);
    arena_report_stops(arena); /* as when the recording is read again */
    CHECK_SAME(arena->event_count, 5);
}

STOPS_TEST(a_verdict_that_failed_is_taken_back)
{
    arena_verdict(arena, false, 1, "early", "before");
    arena_verdict(arena, true, 1, "order", "right");
    arena_withhold_failures(arena);
    CHECK_SAME(arena->verdict_count, 2);
    stops_add(arena, STARTED_NS + SECOND_NS);
    arena_withhold_failures(arena);
    CHECK_SAME(arena->verdict_count, 1);
    CHECK_TEXT(arena->verdicts[0].name, "order");
    CHECK_TEXT(arena_event_at(arena, 0)->name, "not_seen");
    CHECK_TEXT(arena_event_at(arena, 0)->text,
               "early: no verdict, because the program was stopped meanwhile; otherwise it would "
               "have failed: before");
}
