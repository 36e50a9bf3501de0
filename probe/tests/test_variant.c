/* The variants of a test that is made up: which there are, in which order, what their series are
 * called, what share of the samples each has, and how long all takes. The port is a fake. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "run/variant.h"
#include "tap.h"

enum { KINDS, PERIODS, LOOPS, CPUS };
enum { RED, GREEN, BLUE };
enum { WAKEUP, MISSED };
enum { WARM_UP = 3, REFUSED = 7 };

#define DAY_NS (INT64_C(86400) * 1000000000)

static const char *const kind_names[] = {"red", "green", "blue", NULL};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "red,green,blue", 0, 0, kind_names, "", "kind"},
    {"periods", PARAM_NS, true, "1ms,20ms", 1, 1000000000, NULL, "", "period_ns"},
    {"loops", PARAM_COUNT, false, "5", 1, 100, NULL, "", NULL},
    {"cpus", PARAM_CPU, true, "", 0, 1000, NULL, "", "cpu"},
    {0},
};

static const struct series_spec series[] = {
    {"wakeup", "ns", "period_ns,kind,mode=fast", "begin", "end"},
    {"missed", "count", "kind,cpu", "what is counted", NULL, "of wakeup", {1000, 4}, {1, 9}},
    {0},
};

/* Green does not go with 20 ms; blue has a name of its own. */
static bool has_variant(const struct run *run, struct variant *variant)
{
    (void)run;
    if (variant->number[KINDS] == BLUE)
        variant->text[KINDS] = "azure";
    return variant->number[KINDS] != GREEN || variant->number[PERIODS] != 20000000;
}

static const struct test made_up = {.id = "MAD-P-EUP",
                                    .title = "made up",
                                    .params = params,
                                    .series = series,
                                    .setup_ns = 1000,
                                    .sample_ns = 200,
                                    .warm_up_samples = WARM_UP,
                                    .has_variant = has_variant};

#include "made_up_run.h" /* behind functions whose parameter is named `run` */

static struct test test;

/* With the default parameters. */
static void start(void)
{
    test = made_up;
    run_of(&test);
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = 1};
    run.setup.cpu = 6;
    request.params[KINDS] = (struct param_value){3, {RED, GREEN, BLUE}};
    request.params[PERIODS] = (struct param_value){2, {1000000, 20000000}};
    request.params[LOOPS] = (struct param_value){1, {5}};
}

/* As far as measuring. */
static void make_arena(void)
{
    CHECK_SAME(variant_declare(&run), 0);
    run_make_arena();
    run.scratch = tap_memory(record_size(NULL, 0));
    record_init(run.scratch, NULL, 0);
    clock_open(&run.clock, false, 0);
    rt_budget_init(&run.rt_budget);
    run.rt_budget.burst_ns = DAY_NS; /* no rest of its own */
    run.start_ns = clock_monotonic_ns();
}

#define VARIANT_TEST(what) TEST_IN((start(), true), run_free(), what)

/* ---- which there are ---- */

VARIANT_TEST(count)
{
    CHECK_SAME(variant_count(&run), 5);
    request.params[CPUS] = (struct param_value){3, {0, 1, 5}};
    CHECK_SAME(variant_count(&run), 15);
    request.params[KINDS] = (struct param_value){1, {GREEN}};
    request.params[PERIODS] = (struct param_value){1, {20000000}};
    CHECK_SAME(variant_count(&run), 0);
    test.has_variant = NULL;
    CHECK_SAME(variant_count(&run), 3);
    test.params = NULL;
    CHECK_SAME(variant_count(&run), 1);
    test.params = &params[4];
    CHECK_SAME(variant_count(&run), 1);
}

/* The first parameter is the slowest; what is dropped has no place among the numbers. */
VARIANT_TEST(order)
{
    static const struct {
        const char *kind;
        int64_t number, period_ns, cpu;
        const char *name;
    } wanted[] = {
        {"red", RED, 1000000, 0, "red, period_ns 1000000, cpu 0"},
        {"red", RED, 1000000, 5, "red, period_ns 1000000, cpu 5"},
        {"red", RED, 20000000, 0, "red, period_ns 20000000, cpu 0"},
        {"red", RED, 20000000, 5, "red, period_ns 20000000, cpu 5"},
        {"green", GREEN, 1000000, 0, "green, period_ns 1000000, cpu 0"},
        {"green", GREEN, 1000000, 5, "green, period_ns 1000000, cpu 5"},
        {"azure", BLUE, 1000000, 0, "azure, period_ns 1000000, cpu 0"},
        {"azure", BLUE, 1000000, 5, "azure, period_ns 1000000, cpu 5"},
        {"azure", BLUE, 20000000, 0, "azure, period_ns 20000000, cpu 0"},
        {"azure", BLUE, 20000000, 5, "azure, period_ns 20000000, cpu 5"},
    };
    const int count = sizeof wanted / sizeof wanted[0];
    request.params[CPUS] = (struct param_value){2, {0, 5}};
    make_arena();
    CHECK_SAME(variant_count(&run), count);
    for (int i = 0; i < count; i++) {
        char name[100], cut[10];
        variant_begin(&run, i);
        CHECK_TEXT(variant_text(&run, "kinds"), wanted[i].kind);
        CHECK_SAME(variant_number(&run, "kinds"), wanted[i].number);
        CHECK_SAME(variant_number(&run, "periods"), wanted[i].period_ns);
        CHECK_SAME(variant_number(&run, "cpus"), wanted[i].cpu);
        CHECK_SAME(run.variant.series, 2 * i);
        variant_name(&run, name, sizeof name);
        CHECK_TEXT(name, wanted[i].name);
        variant_name(&run, cut, sizeof cut);
        CHECK_SAME(strlen(cut), sizeof cut - 1);
    }
    CHECK_SAME(variant_place(&run, "cpus"), CPUS);
}

/* ---- their series ---- */

/* "missed count of wakeup 1000/4 1-9: kind red,0 cpu ,6": name, unit, derivation, shape, range,
 * labels. */
static const char *series_text(uint32_t place)
{
    static char text[200];
    const struct arena_series *of = &run.plan.series[place];
    int used = snprintf(text, sizeof text, "%s %s %s %d/%d %d-%d:", of->name, of->unit, of->derived,
                        (int)of->shape.most, (int)of->shape.sub_bits, (int)of->range.least,
                        (int)of->range.most);
    for (int i = 0; i < (int)of->label_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s %s,%lld", of->labels[i].key,
                         of->labels[i].text, (long long)of->labels[i].number);
    return text;
}

/* Labels in the order of the series; an empty list of CPUs: the run's own. */
VARIANT_TEST(series)
{
    static const char *const texts[] = {
        "wakeup ns  0/0 0-0: period_ns ,1000000 kind red,0 mode fast,0",
        "missed count of wakeup 1000/4 1-9: kind red,0 cpu ,6",
        "wakeup ns  0/0 0-0: period_ns ,20000000 kind red,0 mode fast,0",
        "missed count of wakeup 1000/4 1-9: kind red,0 cpu ,6",
        "wakeup ns  0/0 0-0: period_ns ,1000000 kind green,0 mode fast,0",
        "missed count of wakeup 1000/4 1-9: kind green,0 cpu ,6",
        "wakeup ns  0/0 0-0: period_ns ,1000000 kind azure,0 mode fast,0",
        "missed count of wakeup 1000/4 1-9: kind azure,0 cpu ,6",
        "wakeup ns  0/0 0-0: period_ns ,20000000 kind azure,0 mode fast,0",
        "missed count of wakeup 1000/4 1-9: kind azure,0 cpu ,6",
    };
    CHECK_SAME(variant_declare(&run), 0);
    CHECK_SAME(run.plan.series_count, 10);
    for (uint32_t i = 0; i < 10; i++)
        CHECK_TEXT(series_text(i), texts[i]);
}

/* One after another they share the slots of the first; at the same time each has its own. */
VARIANT_TEST(slots)
{
    CHECK_SAME(variant_declare(&run), 0);
    CHECK_SAME(run.plan.slot_count, 2);
    CHECK_SAME(run.plan.more_events, 0);
    for (uint32_t i = 0; i < run.plan.series_count; i++)
        CHECK_SAME(run.plan.series[i].slot, i % 2);
    arena_plan_free(&run.plan);
    test.is_concurrent = true;
    CHECK_SAME(variant_declare(&run), 0);
    CHECK_SAME(run.plan.slot_count, 10);
    CHECK_SAME(run.plan.more_events, 4); /* of the fifth variant */
    for (uint32_t i = 0; i < run.plan.series_count; i++)
        CHECK_SAME(run.plan.series[i].slot, i);
}

/* Some variants have series that others lack. */
static const struct series_spec parted[] = {
    {"wakeup", "ns", "kind", "begin", "end"},
    {"hue", "ns", "period_ns", "begin", "end", .only = "kind=red"},
    {"depth", "ns", "kind", "begin", "end", .only = "kind=azure"},
    {0},
};

VARIANT_TEST(only)
{
    static const struct {
        const char *name;
        int slot;
    } wanted[] = {{"wakeup", 0}, {"hue", 1},   {"wakeup", 0}, {"hue", 1},  {"wakeup", 0},
                  {"wakeup", 0}, {"depth", 2}, {"wakeup", 0}, {"depth", 2}};
    static const int first[] = {0, 2, 4, 5, 7};
    test.series = parted;
    make_arena();
    CHECK_SAME(run.plan.series_count, 9);
    CHECK_SAME(run.plan.slot_count, 3);
    for (int i = 0; i < 9; i++) {
        CHECK_TEXT(run.plan.series[i].name, wanted[i].name);
        CHECK_SAME(run.plan.series[i].slot, wanted[i].slot);
    }
    for (int i = 0; i < 5; i++) {
        variant_begin(&run, i);
        CHECK_SAME(run.variant.series, first[i]);
        CHECK_SAME(run.records[0]->owner, first[i] + 1);
        CHECK((run.records[1] != NULL) == (i < 2));
        CHECK((run.records[2] != NULL) == (i > 2));
        for (int j = 1; j < 3; j++)
            if (run.records[j])
                CHECK_SAME(run.records[j]->owner, first[i] + 2);
    }
}

/* A CPU that cannot be chosen is no label. */
VARIANT_TEST(no_cpu)
{
    run.setup.cpu = -1;
    CHECK_SAME(variant_declare(&run), 0);
    CHECK_TEXT(series_text(1), "missed count of wakeup 1000/4 1-9: kind red,0");
}

VARIANT_TEST(no_labels)
{
    static const struct series_spec plain[] = {{"cost", "ns", "", "begin", "end"}, {0}};
    test.params = NULL;
    test.has_variant = NULL;
    test.series = plain;
    CHECK_SAME(variant_declare(&run), 0);
    CHECK(run.plan.series_count == 1 && run.plan.slot_count == 1);
    CHECK_TEXT(series_text(0), "cost ns  0/0 0-0:");
}

/* ---- samples ---- */

static int calls, warm_ups, refuse_at, rest_at;
static uint64_t warm_up_before; /* recorded when the latest warm-up value came */

/* One value of each series. */
static int take(struct run *of)
{
    if (++calls == refuse_at)
        return -1;
    if (of->is_warm_up) {
        warm_ups++;
        warm_up_before = of->records[WAKEUP]->count;
    }
    if (calls == rest_at)
        of->rt_budget.rested_ns += 1000;
    run_record_value(of, WAKEUP, 100 + calls, clock_begin(&of->clock));
    run_record_value(of, MISSED, 1, clock_begin(&of->clock));
    return 0;
}

static int sample(int burst_count)
{
    calls = warm_ups = 0;
    warm_up_before = 0;
    burst_begin(&run, 0);
    return variant_sample(&run, WAKEUP, burst_count, take);
}

/* Each variant has the whole number of samples, whatever the size of a burst. */
TEST(samples)
{
    static const struct {
        const char *name;
        int samples, burst, warm_up, rest_at, refuse_at; /* what is given */
        int calls, warm_ups, warm_up_before, recorded;
    } rows[] = {
        {"bursts of 1", 50, 1, WARM_UP, 0, 0, 50 + WARM_UP, WARM_UP, 0, 50},
        {"bursts of 7", 50, 7, WARM_UP, 0, 0, 50 + WARM_UP, WARM_UP, 0, 50},
        {"one burst", 50, 50, WARM_UP, 0, 0, 50 + WARM_UP, WARM_UP, 0, 50},
        {"less than a burst", 50, 64, WARM_UP, 0, 0, 50 + WARM_UP, WARM_UP, 0, 50},
        {"no warm-up", 20, 8, 0, 0, 0, 20, 0, 0, 20},
        /* the second warm-up comes before the burst that follows the rest */
        {"a rest", 40, 10, WARM_UP, WARM_UP + 12, 0, 40 + 2 * WARM_UP, 2 * WARM_UP, 20, 40},
        /* -1 goes through, at once, from a warm-up value as well */
        {"refused at once", 40, 10, WARM_UP, 0, 1, 1, 0, 0, 0},
        {"refused in the warm-up", 40, 10, WARM_UP, 0, WARM_UP, WARM_UP, WARM_UP - 1, 0, 0},
        {"refused after it", 40, 10, WARM_UP, 0, WARM_UP + 1, WARM_UP + 1, WARM_UP, 0, 0},
        {"refused later", 40, 10, WARM_UP, 0, WARM_UP + 15, WARM_UP + 15, WARM_UP, 0, 14},
    };
    foreach (row, rows, row->name) {
        start();
        test.warm_up_samples = row->warm_up;
        run.samples = (uint64_t)row->samples;
        rest_at = row->rest_at;
        refuse_at = row->refuse_at;
        make_arena();
        for (int j = 0; j < 5; j++) {
            variant_begin(&run, j);
            CHECK_SAME(sample(row->burst), refuse_at ? -1 : 0);
            CHECK_SAME(calls, row->calls);
            CHECK_SAME(warm_ups, row->warm_ups);
            CHECK_SAME(warm_up_before, row->warm_up_before);
            CHECK(!run.is_warm_up);
        }
        for (uint32_t j = 0; j < 10; j++)
            CHECK_SAME(arena_count(run.arena, j), row->recorded);
        CHECK_SAME(run.scratch->count, 2 * row->warm_ups * 5);
        if (row->recorded > 0) /* the first of each is the one after its warm-up */
            CHECK_SAME(arena_read(run.arena, 0, run.scratch)->min, 100 + row->warm_up + 1);
        run_free();
    }
    rest_at = refuse_at = 0;
}

/* What a variant needs is not there: the others are measured. */
static int lacking; /* how many variants lack something */

static int lacks(struct run *of)
{
    bool is_so = variant_number(of, "kinds") < lacking;
    return is_so ? variant_lacks(of, "this system has no colour") : 1;
}

static int measure_or_lack(struct run *of)
{
    if (lacks(of) == 1)
        run_record_value(of, WAKEUP, 100, clock_begin(&of->clock));
    return 0;
}

/* A test of behaviour has no values: what it judged was observed all the same. */
static int judge_or_lack(struct run *of)
{
    if (lacks(of) == 1)
        arena_verdict(of->arena, true, 1, "has_colour", "%s", "blue");
    return 0;
}

TEST(variants_that_lack_something)
{
    static const struct {
        const char *name;
        int (*act)(struct run *of);
        int lacking, answer;
        enum status status;
        const char *reason;
        int events;
    } rows[] = {
        {"one", measure_or_lack, GREEN, 0, STATUS_MEASURED, "", 2},
        {"all", measure_or_lack, BLUE + 1, -1, STATUS_UNSUPPORTED, "this system has no colour", 5},
        {"some, and the others are judged", judge_or_lack, BLUE, 0, STATUS_MEASURED, "", 3},
    };
    foreach (row, rows, row->name) {
        start();
        test.measure_variant = row->act;
        make_arena();
        lacking = row->lacking;
        CHECK_SAME(variants_measure(&run), row->answer);
        CHECK_SAME(run.outcome.status, row->status);
        CHECK_TEXT(run.outcome.reason, row->reason);
        CHECK_SAME(run.arena->event_count, row->events);
        CHECK_TEXT(arena_event_at(run.arena, 0)->name, "variant_unsupported");
        run_free();
    }
}

/* A share of 0 ns: nothing is taken, not even a warm-up. Without limits a stop ends it. */
VARIANT_TEST(limits)
{
    make_arena();
    variant_begin(&run, 0);
    struct run_budget over = {0, 1}, ten = {10, INT64_MAX};
    calls = 0;
    burst_begin(&run, 0);
    CHECK_SAME(variant_sample_within(&run, WAKEUP, 4, &over, take), 0);
    CHECK_SAME(calls, 0);
    CHECK_SAME(variant_sample_within(&run, WAKEUP, 4, &ten, take), 0);
    CHECK_SAME(arena_count(run.arena, 0), 10);
    CHECK_SAME(variant_sample_within(&run, WAKEUP, 4, &ten, take), 0);
    CHECK_SAME(calls, 10 + WARM_UP); /* it had them */
}

/* Shares of a duration: one of each variant, or all of it where they run at the same time. */
VARIANT_TEST(shares_of_a_duration)
{
    run.duration_ns = 500 * DAY_NS;
    int64_t before_ns = clock_monotonic_ns();
    struct run_budget budget = run_budget(&run, variant_count(&run));
    CHECK(budget.samples == 0);
    CHECK(budget.end_ns - before_ns >= 100 * DAY_NS && budget.end_ns - before_ns < 101 * DAY_NS);
}

static int seen[REFUSED + 1], seen_count;

static int measure_one(struct run *of)
{
    if (seen_count == REFUSED)
        return -1;
    seen[seen_count++] = of->variant.series;
    record_value(run_record(of, WAKEUP), of->variant.number[KINDS], 0);
    return 0;
}

VARIANT_TEST(each_is_measured)
{
    test.measure_variant = measure_one;
    make_arena();
    seen_count = 0;
    CHECK_SAME(variants_measure(&run), 0);
    CHECK_SAME(seen_count, 5);
    for (int i = 0; i < 5; i++) {
        CHECK_SAME(seen[i], 2 * i);
        CHECK_SAME(arena_read(run.arena, (uint32_t)(2 * i), run.scratch)->count, 1);
    }
    CHECK_SAME(arena_read(run.arena, 4, run.scratch)->min, GREEN);
    CHECK_SAME(variants_measure(&run), -1); /* at the third one of the second round */
    CHECK_SAME(seen_count, REFUSED);
}

/* ---- time ---- */

static int64_t expected_ns(uint64_t samples, int64_t duration_ns)
{
    run.samples = samples;
    run.duration_ns = duration_ns;
    return variant_expected_ns(&run);
}

/* Five variants of 200 ns for a value, five times as generous; 1000 ns besides. */
VARIANT_TEST(expected_time)
{
    CHECK_SAME(expected_ns(1, 0), 5 * 200 * 5 + 1000);
    CHECK_SAME(expected_ns(1000, 0), 5 * 200 * INT64_C(1000) * 5 + 1000);
    CHECK_SAME(expected_ns(1000000000, 0), 5 * 200 * INT64_C(1000000000) * 5 + 1000);
    CHECK_SAME(expected_ns(0, 700), 700 + 1000);
    CHECK_SAME(expected_ns(1000, 700), 700 + 1000);
    CHECK_SAME(expected_ns(1000, INT64_C(9000000)), 5 * 200 * INT64_C(1000) * 5 + 1000);
    test.is_concurrent = true;
    CHECK_SAME(expected_ns(1000, 0), 200 * INT64_C(1000) * 5 + 1000);
}

/* On top of each value 150 % of the period, 10.5 ms on the mean; ten more values once. */
VARIANT_TEST(expected_time_by_a_parameter)
{
    test.sample_param = "periods";
    test.sample_percent = 150;
    test.extra_samples = 10;
    const int64_t each_ns = 5 * (200 + 15750000);
    CHECK_SAME(expected_ns(100, 0), each_ns * 100 * 5 + each_ns * 10 + 1000);
    CHECK_SAME(expected_ns(0, 5000), 5000 + each_ns * 10 + 1000);
    CHECK_SAME(variant_least_ns(&run), each_ns * 11);
    test.sample_percent = 0;
    const int64_t whole_ns = 5 * (200 + 10500000);
    CHECK_SAME(expected_ns(100, 0), whole_ns * 100 * 5 + whole_ns * 10 + 1000);
}

/* The arithmetic that this replaces turned 1e9 samples of a second into none. */
VARIANT_TEST(expected_time_is_bounded)
{
    test.sample_param = "periods";
    request.params[PERIODS] = (struct param_value){1, {1000000000}};
    CHECK_SAME(expected_ns(1000000000, 0), RUN_LONGEST_NS);
    CHECK_SAME(expected_ns(1000000, 0), 3 * (INT64_C(1000000200)) * 1000000 * 5 + 1000);
    CHECK_SAME(expected_ns(UINT64_MAX, 0), RUN_LONGEST_NS);
    CHECK_SAME(expected_ns(UINT64_MAX, INT64_MAX), RUN_LONGEST_NS);
    CHECK_SAME(expected_ns(0, 0), 1000); /* what a test without counts takes: setup and extras */
    CHECK_SAME(expected_ns(1000000000, 60), 60 + 1000);
    test.sample_ns = INT64_MAX;
    CHECK_SAME(expected_ns(1, 0), RUN_LONGEST_NS);
}

static int lack_and_stop(struct run *of)
{
    run_request_stop();
    return variant_lacks(of, "this system has no colour");
}

/* From here on a stop holds. */
VARIANT_TEST(what_a_stop_left_out_is_not_lacking)
{
    test.measure_variant = lack_and_stop;
    make_arena();
    CHECK_SAME(variants_measure(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
}

VARIANT_TEST(a_stop)
{
    test.measure_variant = measure_one;
    make_arena();
    variant_begin(&run, 0);
    run_request_stop();
    CHECK_SAME(sample(10), 0);
    CHECK_SAME(calls, 0);
    seen_count = 0;
    CHECK_SAME(variants_measure(&run), 0);
    CHECK_SAME(seen_count, 0);
}
