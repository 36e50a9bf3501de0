/* The arena that a test's results go to: plan, size, and what does not fit. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "record/arena.h"
#include "same_record.h"
#include "tap.h"

#include <pthread.h>

enum { THREADS = 4, EVENTS_EACH = 1000, MANY = 1000 };

static struct arena_plan plan;
static struct arena *arena;
static struct record *scratch;

/* As planned. */
static void create(void)
{
    struct outcome outcome = {0};
    arena = arena_create(&plan, NULL, &outcome);
    if (!arena)
        abort();
    CHECK_SAME(outcome.status, STATUS_MEASURED);
    scratch = tap_memory(arena_scratch_bytes(arena));
}

static void destroy(void)
{
    arena_free(arena);
    arena = NULL;
    arena_plan_free(&plan);
    memset(&plan, 0, sizeof plan);
}

#define ARENA_TEST(what) TEST_IN(true, destroy(), what)

ARENA_TEST(plan_is_kept)
{
    CHECK_SAME(arena_plan_series(&plan, "jitter", "ns", NULL), 0);
    CHECK_SAME(arena_plan_series(&plan, "blocking", "ns", NULL), 1);
    arena_plan_label_text(&plan, 0, "mechanism", "timerfd");
    arena_plan_label_number(&plan, 0, "period_ns", -7);
    arena_plan_derived(&plan, 1, "max - mean");
    arena_plan_range(&plan, 1, &(struct record_range){.least = RECORD_NO_LEAST, .most = 7});
    create();
    CHECK_SAME(arena->series_count, 2);
    CHECK_TEXT(arena->series[0].name, "jitter");
    CHECK_TEXT(arena->series[0].labels[0].text, "timerfd");
    CHECK_SAME(arena->series[0].labels[1].number, -7);
    CHECK_TEXT(arena->series[0].derived, "");
    CHECK_TEXT(arena->series[1].derived, "max - mean");
    CHECK_SAME(arena->series[0].range.least, 0);
    CHECK_SAME(arena->series[0].range.most, 0);
    CHECK_SAME(arena->series[1].range.least, RECORD_NO_LEAST);
    CHECK_SAME(arena->series[1].range.most, 7);
}

/* A series whose name is not complete before it measures; what has no such label stays. */
ARENA_TEST(a_label_that_comes_late)
{
    arena_plan_series(&plan, "loss", "count", NULL);
    arena_plan_late_label(&plan, 0, "period_ns");
    arena_plan_series(&plan, "wakeup", "ns", NULL);
    arena_plan_label_number(&plan, 1, "cpu", 3);
    create();
    CHECK(!arena_is_named(arena, 0) && arena_is_named(arena, 1));
    CHECK_SAME(arena_named_count(arena), 1);
    arena_label(arena, 0, 1000);
    arena_label(arena, 1, 1000);
    CHECK_SAME(arena_named_count(arena), 2);
    CHECK_TEXT(arena->series[0].labels[0].key, "period_ns");
    CHECK_SAME(arena->series[0].labels[0].number, 1000);
    CHECK_SAME(arena->series[1].labels[0].number, 3);
}

/* Their number is not fixed. */
ARENA_TEST(many_series)
{
    const struct record_shape shape = {1023, 4};
    for (int i = 0; i < MANY; i++)
        CHECK_SAME(arena_plan_series(&plan, "x", "ns", &shape), i);
    arena_plan_label_text(&plan, -1, "key", "text"); /* what a caller does with a -1 */
    arena_plan_label_number(&plan, -1, "key", 1);
    arena_plan_derived(&plan, -1, "formula");
    arena_plan_range(&plan, -1, &(struct record_range){.least = 1});
    CHECK_SAME(plan.series_count, MANY);
    create();
    for (int i = 0; i < MANY; i++)
        record_value(arena_record(arena, i), i, 0);
    for (int i = 0; i < MANY; i++) {
        const struct record *record = arena_read(arena, (uint32_t)i, scratch);
        CHECK(record->count == 1 && record->min == i && arena_count(arena, (uint32_t)i) == 1);
    }
    arena_plan_free(&plan);
    CHECK(plan.series == NULL && plan.series_count == 0);
}

/* A day on many CPUs: what is sent stays within what a reader takes, and no maximum is lost. */
ARENA_TEST(many_series_over_hours_share_their_maxima)
{
    enum { CPUS = 256, HOURS = 24, SECONDS = HOURS * 3600 };
    const struct record_shape shape = {1023, 4};
    plan.duration_ns = SECONDS * INT64_C(1000000000);
    arena_plan_series(&plan, "latency", "ns", &shape);
    CHECK_SAME(arena_room_ns(&plan), plan.duration_ns);
    plan.duration_ns *= 7; /* a week: the maxima are locked, and take no more than a share of it */
    CHECK_SAME(arena_room_ns(&plan), ARENA_SLOT_MAXIMA * INT64_C(1000000000));
    plan.duration_ns /= 7;
    for (int i = 1; i < CPUS; i++)
        arena_plan_series(&plan, "latency", "ns", &shape);
    create();
    struct record *last = arena_record(arena, CPUS - 1);
    CHECK(last->maxima_capacity <= ARENA_SLOT_MAXIMA / CPUS + 4);
    for (int i = 0; i < SECONDS; i++)
        record_value(last, i == 1000 ? 900 : i % 7, i * INT64_C(1000000000));
    CHECK(last->maxima_used <= last->maxima_capacity);
    CHECK(last->maxima_interval_ns * last->maxima_used >= plan.duration_ns);
    CHECK_SAME(record_maxima_view(last)[1000 * INT64_C(1000000000) / last->maxima_interval_ns],
               900);
}

ARENA_TEST(too_many_labels_and_long_names)
{
    char name[2 * ARENA_NAME_BYTES + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_SAME(arena_plan_series(&plan, name, name, NULL), 0);
    for (int i = 0; i < ARENA_LABELS + 2; i++)
        arena_plan_label_text(&plan, 0, name, name);
    CHECK_SAME(plan.series[0].label_count, ARENA_LABELS);
    CHECK_SAME(strlen(plan.series[0].name), ARENA_NAME_BYTES - 1);
    CHECK_SAME(strlen(plan.series[0].labels[ARENA_LABELS - 1].text), ARENA_NAME_BYTES - 1);
}

ARENA_TEST(records_do_not_overlap)
{
    plan.duration_ns = INT64_C(3600000000000);
    for (int i = 0; i < 5; i++)
        arena_plan_series(&plan, "x", "ns", NULL);
    create();
    for (int i = 0; i < 5; i++)
        for (int64_t at_s = 0; at_s <= 3600; at_s++)
            record_value(arena_record(arena, i), at_s + i, at_s * 1000000000);
    for (int i = 0; i < 5; i++) {
        const struct record *record = arena_read(arena, (uint32_t)i, scratch);
        CHECK_SAME(record->count, 3601);
        CHECK_SAME(record->min, i);
        CHECK_SAME(record_maxima_view(record)[3600], 3600 + i);
    }
}

/* ---- shared slots ---- */

enum { EACH = 3, VARIANTS = 50, SERIES = EACH * VARIANTS, SOME = 400 };

static void create_variants(int each, int variants)
{
    for (int i = 0; i < each * variants; i++) {
        CHECK_SAME(arena_plan_series(&plan, "wakeup", "ns", NULL), i);
        if (i >= each)
            arena_plan_share(&plan, i % each);
    }
    create();
}

/* Latencies with a tail, as most are; or of all sizes. */
static int64_t draw_value(uint64_t *state, bool is_wide)
{
    if (is_wide)
        return (int64_t)(tap_random(state) >> (tap_random(state) % 34 + 29));
    int64_t tail = tap_random(state) % 100 ? 0 : (int64_t)(tap_random(state) % 100000);
    return 900 + (int64_t)(tap_random(state) % 600) + tail;
}

static void record_some(struct record *record, int series, int from, int count, bool is_wide)
{
    uint64_t state = (uint64_t)series * 1000 + (uint64_t)from;
    for (int i = from; i < from + count; i++)
        record_value(record, draw_value(&state, is_wide),
                     (series / EACH * SOME + i) * INT64_C(1000000));
}

/* One of its own that has the same values. */
static struct record *new_twin(int series, int count, bool is_wide)
{
    struct record *twin = tap_memory(record_size(NULL, 0));
    record_init(twin, NULL, 0);
    record_some(twin, series, 0, count, is_wide);
    return twin;
}

static void check_twin(int series, int count)
{
    CHECK(is_same_record(arena_read(arena, (uint32_t)series, scratch),
                         new_twin(series, count, false)));
    CHECK_SAME(arena_count(arena, (uint32_t)series), count);
}

ARENA_TEST(shared_slots)
{
    create_variants(EACH, VARIANTS);
    CHECK_SAME(plan.slot_count, EACH);
    for (int i = 0; i < SERIES; i += EACH)
        for (int j = i; j < i + EACH; j++)
            record_some(arena_record(arena, j), j, 0, SOME + j, false);
    for (int i = 0; i < SERIES; i++)
        check_twin(i, SOME + i);
    CHECK_SAME(arena->event_count, 0);
}

/* As the main thread does of a test that does not end: neither is the emptied slot. */
ARENA_TEST(during_a_move)
{
    create_variants(1, 3);
    for (int i = 0; i < 2; i++)
        record_some(arena_record(arena, i), i, 0, SOME, false);
    arena_record(arena, 2);
    struct record *slot = arena_record(arena, 1);
    record_move_begin(slot, NULL);
    for (int i = 0; i < 2; i++)
        check_twin(i, SOME);
    CHECK_SAME(arena_count(arena, 2), 0);
}

/* In turn, so that each leaves its slot and comes back several times. */
ARENA_TEST(a_series_goes_on)
{
    create_variants(1, 4);
    struct record *twins[4];
    for (int i = 0; i < 4; i++)
        twins[i] = new_twin(i, 0, false);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 4; i++) {
            record_some(arena_record(arena, i), i, round * 50, 50, false);
            record_some(twins[i], i, round * 50, 50, false);
            for (int j = 0; j < 4; j++)
                CHECK(is_same_record(arena_read(arena, (uint32_t)j, scratch), twins[j]));
        }
    CHECK_SAME(arena->event_count, 0);
}

/* It came back until no room was left: each has what it had when it was kept last, and what was
 * lost is told. */
ARENA_TEST(a_series_comes_back_too_often)
{
    create_variants(1, 3);
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < 2; i++)
            record_some(arena_record(arena, i), i, round * 20, 20, true);
    record_value(arena_record(arena, 2), 7, 0);
    CHECK(arena_count(arena, 0) >= 100 && arena_count(arena, 1) >= 100);
    for (uint32_t i = 0; i < 2; i++) {
        const struct record *record = arena_read(arena, i, scratch);
        CHECK(record->count % 20 == 0);
        CHECK_SAME(held_by(record), record->count);
    }
    arena_record(arena, 1); /* the one that was never kept still finds room */
    CHECK_SAME(arena_read(arena, 2, scratch)->min, 7);
    CHECK(count_events(arena, "series_not_kept") > 0);
    CHECK_HOLDS(arena->events[1].text, "there was no room for the last 20 values of wakeup, "
                                       "series");
    CHECK(arena->kept_end <= arena->bytes);
}

/* All take more than was planned: all are about as coarse, and no value is lost. */
ARENA_TEST(short_room)
{
    uint32_t least = RECORD_SUB_BITS, most = 0;
    create_variants(EACH, VARIANTS);
    for (int i = 0; i < SERIES; i++)
        record_some(arena_record(arena, i), i, 0, 20000, true);
    for (int i = 0; i < SERIES; i++) {
        const struct record *record = arena_read(arena, (uint32_t)i, scratch);
        struct record *twin = new_twin(i, 20000, true);
        CHECK(has_same_moments(record, twin) && has_same_worst(record, twin));
        CHECK_SAME(held_by(record), 20000);
        if (i < SERIES - EACH) {
            least = record->sub_bits < least ? record->sub_bits : least;
            most = record->sub_bits > most ? record->sub_bits : most;
        }
    }
    CHECK(most < RECORD_SUB_BITS && most - least <= 1 && least >= RECORD_SUB_BITS - 4);
    CHECK_SAME(arena->event_count, 1);
    CHECK_TEXT(arena->events[0].name, "series_coarser");
    CHECK_HOLDS(arena->events[0].text, "memory for series was short: some have a coarser");
}

/* Series of another shape share a slot: the record is of the shape of the one that has it. */
ARENA_TEST(shapes_in_one_slot)
{
    static const struct record_shape small = {4095, 5}, large = {0, 9};
    arena_plan_series(&plan, "missed", "count", &small);
    arena_plan_series(&plan, "wakeup", "ns", &large);
    arena_plan_share(&plan, 0);
    arena_plan_series(&plan, "missed", "count", &small);
    arena_plan_share(&plan, 0);
    create();
    for (int i = 0; i < 3; i++)
        record_value(arena_record(arena, i), 5000 + i, 0);
    for (uint32_t i = 0; i < 3; i++) {
        const struct record *record = arena_read(arena, i, scratch);
        CHECK(record->count == 1 && record->max == 5000 + (int)i);
        CHECK_SAME(record->sub_bits, i == 1 ? 9 : 5);
        CHECK_SAME(record->limit, i == 1 ? RECORD_LIMIT_NS : 4095);
        CHECK_SAME(record->overflow, i == 1 ? 0 : 1);
    }
    CHECK_SAME(arena_scratch_bytes(arena), record_size(&large, 0));
}

static uint64_t bytes_of(int each, int variants, int64_t duration_ns)
{
    plan.duration_ns = duration_ns;
    create_variants(each, variants);
    uint64_t bytes = arena->bytes;
    destroy();
    return bytes;
}

/* A test may lock 4 MB in all. */
ARENA_TEST(room)
{
    const int64_t minute_ns = INT64_C(60000000000);
    CHECK(bytes_of(1, 1, minute_ns) < 400000);
    CHECK(bytes_of(2, 10, minute_ns) < 1150000);  /* making semaphores: four kinds, two cases */
    CHECK(bytes_of(1, 108, minute_ns) < 1400000); /* messages: 108 sizes and kinds */
    CHECK(bytes_of(3, 50, 30 * minute_ns) < 2250000);
}

/* Few series keep the resolution of many values: lower bits are random over two decades. */
ARENA_TEST(few_keep_their_resolution)
{
    uint64_t state = 3;
    create_variants(1, 8);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 20000; j++)
            record_value(arena_record(arena, i), 1000 + (int64_t)(tap_random(&state) % 100000), j);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_SAME(arena_read(arena, i, scratch)->sub_bits, RECORD_SUB_BITS);
    CHECK_SAME(arena->event_count, 0);
}

/* Places for more are behind the series, and before the records. */
static void check_events(uint32_t more)
{
    uint32_t room = ARENA_EVENTS + more;
    arena_plan_series(&plan, "first", "ns", NULL);
    arena_plan_series(&plan, "second", "ns", NULL);
    plan.more_events = more;
    create();
    for (uint32_t i = 0; i < room + 5; i++)
        arena_event(arena, "late", i, NO_DATA, "number %u", i);
    record_value(arena_record(arena, 0), 4711, 1);
    CHECK_SAME(arena->event_count, room + 5);
    CHECK_SAME(arena_event_room(arena), room);
    for (uint32_t i = 0; i < room; i++)
        CHECK_SAME(arena_event_at(arena, i)->at_ns, i);
    CHECK_TEXT(arena->events[ARENA_EVENTS - 1].text, "number 47");
    CHECK_TEXT(arena->series[1].name, "second");
    CHECK_SAME(arena->verdict_count, 0);
    destroy();
}

TEST(too_many_events)
{
    check_events(0);
    check_events(8);
}

ARENA_TEST(too_many_verdicts)
{
    create();
    for (int i = 0; i < ARENA_VERDICTS + 2; i++)
        arena_verdict(arena, i % 2 == 0, 1, "claim", "seen %d", i);
    CHECK_SAME(arena->verdict_count, ARENA_VERDICTS);
    CHECK(arena->verdicts[62].pass && !arena->verdicts[63].pass);
    CHECK_TEXT(arena->verdicts[63].evidence, "seen 63");
    CHECK_SAME(arena->event_count, 2);
    CHECK_TEXT(arena->events[0].name, "too_many_verdicts");
}

ARENA_TEST(a_verdict_on_nothing_is_none)
{
    create();
    arena_verdict(arena, true, 0, "claim", "0 of 0 hold");
    arena_verdict(arena, false, 0, "other", "0 of 0 hold");
    CHECK_SAME(arena->verdict_count, 0);
    CHECK_SAME(arena->event_count, 2);
    CHECK_TEXT(arena->events[0].name, "not_seen");
    CHECK_HOLDS(arena->events[0].text, "claim: no verdict, because nothing was observed");
}

ARENA_TEST(long_texts_are_cut)
{
    char text[2 * ARENA_TEXT_BYTES];
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    create();
    arena_event(arena, text, -1, NO_DATA, "%s", text);
    arena_verdict(arena, true, 1, text, "%s", text);
    CHECK_SAME(strlen(arena->events[0].text), ARENA_TEXT_BYTES - 1);
    CHECK_SAME(strlen(arena->verdicts[0].evidence), ARENA_TEXT_BYTES - 1);
    CHECK_SAME(strlen(arena->verdicts[0].name), ARENA_NAME_BYTES - 1);
    CHECK(arena->verdicts[0].pass);
}

static void *note_events(void *argument)
{
    for (int i = 0; i < EVENTS_EACH; i++)
        arena_event(argument, "from_a_thread", i, DATA(data_text("command", "of a thread")),
                    "number %d", i);
    return NULL;
}

ARENA_TEST(an_event_has_data)
{
    create();
    arena_event(arena, "not_put_back", 7, DATA(data_text("command", "hardstone doctor")), "%s",
                "x");
    arena_event(arena, "no_data", -1, NO_DATA, "%s", "y");
    arena_event_once(arena, "once", DATA(data_text("command", "first")), "%s", "z");
    arena_event_once(arena, "once", DATA(data_text("command", "second")), "%s", "z");
    CHECK_SAME(arena->event_count, 3);
    for (int i = 0; i < 3; i++) {
        static const char *const commands[] = {"hardstone doctor", "", "first"};
        const struct arena_event *event = &arena->events[i];
        const char *command = data_find_text(event->data, sizeof event->data, "command");
        CHECK_TEXT(command ? command : "", commands[i]);
    }
}

ARENA_TEST(events_of_many_threads)
{
    pthread_t threads[THREADS];
    create();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, note_events, arena) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_SAME(arena->event_count, THREADS * EVENTS_EACH);
    for (int i = 0; i < ARENA_EVENTS; i++) {
        const struct arena_event *event = &arena->events[i];
        CHECK_TEXT(event->name, "from_a_thread");
        CHECK_TEXT(data_find_text(event->data, sizeof event->data, "command"), "of a thread");
    }
}
