/* The block of memory that a test collects into: plan, room, and what does not fit. */
#include "base/posix_source.h"

#include "record/arena.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, EVENTS_EACH = 1000 };

static struct arena *new_arena(const struct arena_plan *plan)
{
    struct outcome outcome = {STATUS_MEASURED, "", ""};
    struct arena *arena = arena_create(plan, NULL, &outcome);
    if (!arena)
        abort();
    CHECK_SAME(outcome.status, STATUS_MEASURED);
    return arena;
}

static void test_plan_is_kept(void)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    CHECK_SAME(arena_plan_series(&plan, "jitter", "ns"), 0);
    CHECK_SAME(arena_plan_series(&plan, "blocking", "ns"), 1);
    arena_plan_label_text(&plan, 0, "mechanism", "timerfd");
    arena_plan_label_number(&plan, 0, "period_ns", -7);
    arena_plan_derived(&plan, 1, "max - mean");
    struct arena *arena = new_arena(&plan);
    CHECK_SAME(arena->series_count, 2);
    CHECK_TEXT(arena->series[0].name, "jitter");
    CHECK_TEXT(arena->series[0].labels[0].text, "timerfd");
    CHECK_SAME(arena->series[0].labels[1].number, -7);
    CHECK_TEXT(arena->series[0].derived, "");
    CHECK_TEXT(arena->series[1].derived, "max - mean");
    arena_free(arena);
}

static void test_too_many_series(void)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    for (int i = 0; i < ARENA_SERIES; i++)
        CHECK_SAME(arena_plan_series(&plan, "x", "ns"), i);
    CHECK_SAME(arena_plan_series(&plan, "x", "ns"), -1);
    arena_plan_label_text(&plan, -1, "key", "text"); /* what a caller does with the -1 */
    arena_plan_label_number(&plan, -1, "key", 1);
    arena_plan_derived(&plan, -1, "formula");
    CHECK_SAME(plan.series_count, ARENA_SERIES);
}

static void test_too_many_labels_and_long_names(void)
{
    static struct arena_plan plan;
    char name[2 * ARENA_NAME_BYTES + 1];
    memset(&plan, 0, sizeof plan);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_SAME(arena_plan_series(&plan, name, name), 0);
    for (int i = 0; i < ARENA_LABELS + 2; i++)
        arena_plan_label_text(&plan, 0, name, name);
    CHECK_SAME(plan.series[0].label_count, ARENA_LABELS);
    CHECK_SAME(strlen(plan.series[0].name), ARENA_NAME_BYTES - 1);
    CHECK_SAME(strlen(plan.series[0].labels[ARENA_LABELS - 1].text), ARENA_NAME_BYTES - 1);
}

static void test_records_do_not_overlap(void)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.duration_ns = INT64_C(3600000000000);
    for (int i = 0; i < 5; i++)
        arena_plan_series(&plan, "x", "ns");
    struct arena *arena = new_arena(&plan);
    for (int i = 0; i < 5; i++)
        for (int64_t at_s = 0; at_s <= 3600; at_s++)
            record_value(arena_record(arena, i), at_s + i, at_s * 1000000000);
    for (int i = 0; i < 5; i++) {
        const struct record *record = arena_record_view(arena, (uint32_t)i);
        CHECK_SAME(record->count, 3601);
        CHECK_SAME(record->min, i);
        CHECK_SAME(record->maxima[3600], 3600 + i);
    }
    arena_free(arena);
}

static void test_too_many_events(void)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    struct arena *arena = new_arena(&plan);
    for (int i = 0; i < ARENA_EVENTS + 5; i++)
        arena_event(arena, "late", i, "number %d", i);
    CHECK_SAME(arena->event_count, ARENA_EVENTS + 5);
    CHECK_TEXT(arena->events[ARENA_EVENTS - 1].text, "number 47");
    CHECK_SAME(arena->events[ARENA_EVENTS - 1].at_ns, ARENA_EVENTS - 1);
    CHECK_SAME(arena->verdict_count, 0);
    arena_free(arena);
}

static void test_too_many_verdicts(void)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    struct arena *arena = new_arena(&plan);
    for (int i = 0; i < ARENA_VERDICTS + 2; i++)
        arena_verdict(arena, i % 2 == 0, "claim", "seen %d", i);
    CHECK_SAME(arena->verdict_count, ARENA_VERDICTS);
    CHECK(arena->verdicts[62].pass && !arena->verdicts[63].pass);
    CHECK_TEXT(arena->verdicts[63].evidence, "seen 63");
    CHECK_SAME(arena->event_count, 2);
    CHECK_TEXT(arena->events[0].name, "too_many_verdicts");
    arena_free(arena);
}

static void test_long_texts_are_cut(void)
{
    static struct arena_plan plan;
    char text[2 * ARENA_TEXT_BYTES];
    memset(&plan, 0, sizeof plan);
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct arena *arena = new_arena(&plan);
    arena_event(arena, text, -1, "%s", text);
    arena_verdict(arena, true, text, "%s", text);
    CHECK_SAME(strlen(arena->events[0].text), ARENA_TEXT_BYTES - 1);
    CHECK_SAME(strlen(arena->verdicts[0].evidence), ARENA_TEXT_BYTES - 1);
    CHECK_SAME(strlen(arena->verdicts[0].name), ARENA_NAME_BYTES - 1);
    CHECK(arena->verdicts[0].pass);
    arena_free(arena);
}

static void *note_events(void *argument)
{
    for (int i = 0; i < EVENTS_EACH; i++)
        arena_event(argument, "from_a_thread", i, "number %d", i);
    return NULL;
}

static void test_events_of_many_threads(void)
{
    static struct arena_plan plan;
    pthread_t threads[THREADS];
    memset(&plan, 0, sizeof plan);
    struct arena *arena = new_arena(&plan);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, note_events, arena) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_SAME(arena->event_count, THREADS * EVENTS_EACH);
    for (int i = 0; i < ARENA_EVENTS; i++)
        CHECK_TEXT(arena->events[i].name, "from_a_thread");
    arena_free(arena);
}

static void test_no_arena_to_free(void)
{
    arena_free(NULL);
    CHECK(true);
}

TAP_MAIN({"series, labels and formulas of a plan", test_plan_is_kept},
         {"too many series", test_too_many_series},
         {"too many labels, and long names", test_too_many_labels_and_long_names},
         {"records do not overlap", test_records_do_not_overlap},
         {"too many events are counted", test_too_many_events},
         {"too many verdicts are told", test_too_many_verdicts},
         {"long texts are cut", test_long_texts_are_cut},
         {"events of four threads at once", test_events_of_many_threads},
         {"freeing nothing", test_no_arena_to_free})
