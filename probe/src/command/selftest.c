#include "base/posix_source.h"

#include "command/commands.h"

#include "base/status.h"
#include "run/stream.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t ns_of_ticks(const struct clock *clock, uint64_t ticks)
{
    return clock_ns(clock, ticks);
}

static void record_one(struct record *record, int64_t value, int64_t at_ns)
{
    record_value(record, value, at_ns);
}

const struct selftest_subject selftest_own = {
    .ns_of_ticks = ns_of_ticks,
    .record = record_one,
    .quantile = record_quantile,
    .mean = record_mean,
    .stddev = record_stddev,
    .recover = arena_recover,
    .advance = tire_advance,
};

/* A system without memory is no probe that computes wrongly. */
static void leave_out(struct finding *found)
{
    finding_say(found, true, "not checked: there is no memory for it");
    found->is_left_out = true;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- stamps ---- */

#define MOST_NS (UINT64_C(1) << 62)

/* Of counters, and of some that come out uneven. */
static const double rates_hz[] = {1e6,    19.2e6, 24e6,       62.5e6, 1e9, 1.2e9,
                                  1.46e9, 2.4e9,  2995200123, 3.7e9,  5e9};

enum { RATES = sizeof rates_hz / sizeof rates_hz[0], RANDOM_TICKS = 200 };

struct stamps {
    const struct selftest_subject *subject;
    struct clock clock;
    double hz, worst_off_ns;
    uint64_t tried, wrong_ticks; /* wrong_ticks: the first */
    double wrong_hz;
    uint64_t wrong, out_of_order;
};

/* ticks * mult / 2^32, digit by digit in base 2^32; MOST_NS if it is more. */
static uint64_t exact_ns(uint64_t ticks, uint64_t mult)
{
    uint64_t a[2] = {ticks & UINT32_MAX, ticks >> 32}, b[2] = {mult & UINT32_MAX, mult >> 32};
    uint32_t digits[4] = {0};
    for (int i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 2; j++) {
            uint64_t sum = a[i] * b[j] + digits[i + j] + carry;
            digits[i + j] = (uint32_t)sum;
            carry = sum >> 32;
        }
        digits[i + 2] = (uint32_t)(digits[i + 2] + carry);
    }
    uint64_t ns = (uint64_t)digits[2] << 32 | digits[1];
    return digits[3] > 0 || ns > MOST_NS ? MOST_NS : ns;
}

static bool is_near(const struct stamps *stamps, uint64_t ticks, uint64_t ns)
{
    double ideal = (double)ticks * 1e9 / stamps->hz;
    double rounded = ideal * (0.5 / (double)stamps->clock.mult + 8 * DBL_EPSILON);
    return fabs((double)ns - ideal) <= 1.0 + rounded;
}

static void try_ticks(struct stamps *stamps, uint64_t ticks)
{
    uint64_t exact = exact_ns(ticks, stamps->clock.mult);
    if (exact >= MOST_NS || ticks > INT64_MAX)
        return;
    int64_t ns = stamps->subject->ns_of_ticks(&stamps->clock, ticks);
    int64_t back = stamps->subject->ns_of_ticks(&stamps->clock, (uint64_t) - (int64_t)ticks);
    bool is_even = fabs((double)back + (double)ns) <= 1.0 + (double)exact * 4 * DBL_EPSILON;
    stamps->tried++;
    if (ns >= 0 && (uint64_t)ns == exact && is_near(stamps, ticks, exact) && is_even)
        return;
    if (stamps->wrong++ == 0) {
        stamps->wrong_ticks = ticks;
        stamps->wrong_hz = stamps->hz;
        stamps->worst_off_ns = (double)ns - (double)exact;
    }
}

static void try_order(struct stamps *stamps, uint64_t ticks)
{
    if (exact_ns(ticks + 2, stamps->clock.mult) >= MOST_NS)
        return;
    int64_t ns = INT64_MIN;
    for (uint64_t i = 0; i < 3; i++) {
        int64_t next = stamps->subject->ns_of_ticks(&stamps->clock, ticks + i);
        stamps->out_of_order += next < ns ? 1 : 0;
        ns = next;
    }
}

static void try_rate(struct stamps *stamps, double hz)
{
    uint64_t state = 7;
    stamps->hz = hz;
    clock_set_rate(&stamps->clock, hz, 0);
    for (int bit = 0; bit < 63; bit++)
        for (uint64_t i = 0; i < 3; i++) {
            try_ticks(stamps, (UINT64_C(1) << bit) + i - 1);
            try_order(stamps, (UINT64_C(1) << bit) + i - 1);
        }
    for (int i = 0; i < RANDOM_TICKS; i++) {
        uint64_t shift = next_random(&state) % 60 + 1, ticks = next_random(&state) >> shift;
        try_ticks(stamps, ticks);
        try_order(stamps, ticks);
    }
}

static void check_clock(const struct selftest_subject *subject, struct finding *found)
{
    struct stamps stamps = {.subject = subject};
    for (int i = 0; i < RATES; i++)
        try_rate(&stamps, rates_hz[i]);
    unsigned long long tried = (unsigned long long)stamps.tried;
    if (stamps.wrong == 0)
        finding_say(&found[SELFTEST_CLOCK_CONVERSION], true,
                    "%llu intervals of %d counters: each has the exact number of ns", tried, RATES);
    else
        finding_say(&found[SELFTEST_CLOCK_CONVERSION], false,
                    "%llu of %llu intervals are not the exact number of ns: %llu ticks at %.0f Hz "
                    "are off by %.3g ns",
                    (unsigned long long)stamps.wrong, tried, (unsigned long long)stamps.wrong_ticks,
                    stamps.wrong_hz, stamps.worst_off_ns);
    finding_say(&found[SELFTEST_CLOCK_ORDER], stamps.out_of_order == 0,
                "%llu of %llu intervals that are a tick longer are shorter in ns",
                (unsigned long long)stamps.out_of_order, 2 * tried);
}

/* ---- records ---- */

enum { VALUES = 4000, SETS = 3 };
enum set { OF_ALL_SIZES, NARROW, FEW };

#define STEP_NS INT64_C(1000000)
#define DURATION_NS (VALUES * STEP_NS)
#define MOMENTS_TOLERANCE 1e-11

static const char *const set_names[SETS] = {"of all sizes", "close to 30 s", "few"};

struct values {
    const struct selftest_subject *subject;
    struct record *record;
    int64_t *sorted; /* VALUES of them */
    enum set set;
    int count;
    double mean, stddev;
};

static int64_t one_value(enum set set, uint64_t *state)
{
    uint64_t number = next_random(state);
    if (set == NARROW)
        return INT64_C(30000000000) + (int64_t)(number % 1000);
    if (number % 50 == 0)
        return -(int64_t)(number >> 40);
    return (int64_t)(number >> (next_random(state) % 50 + 13));
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* From differences to a value among them, in two passes. */
static void find_moments(struct values *values)
{
    int half = values->count / 2;
    double middle = (double)values->sorted[half], sum = 0, squares = 0;
    for (int i = 0; i < values->count; i++)
        sum += (double)values->sorted[i] - middle;
    double mean = sum / values->count;
    for (int i = 0; i < values->count; i++) {
        double off = (double)values->sorted[i] - middle - mean;
        squares += off * off;
    }
    values->mean = middle + mean;
    values->stddev = sqrt(squares / (values->count - 1));
}

static void fill(struct values *values, enum set set)
{
    uint64_t state = 5;
    values->set = set;
    values->count = set == FEW ? 3 : VALUES;
    record_init(values->record, NULL, DURATION_NS);
    for (int i = 0; i < values->count; i++) {
        values->sorted[i] = one_value(set, &state);
        values->subject->record(values->record, values->sorted[i], i * STEP_NS);
    }
    qsort(values->sorted, (size_t)values->count, sizeof *values->sorted, compare);
    find_moments(values);
}

/* Values up to `most`. */
static uint64_t count_up_to(const struct values *values, int64_t most)
{
    int low = 0, high = values->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (values->sorted[middle] <= most)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint64_t)low;
}

/* The first bucket that has not what lies between its bounds, or whose bounds are wrong; -1: none.
 */
static int64_t wrong_bucket(const struct values *values)
{
    const struct record *record = values->record;
    int64_t expected_low = 0;
    for (uint32_t i = 0; i < record->bucket_count; i++) {
        int64_t low = record_bucket_low(i, record->sub_bits);
        int64_t high = record_bucket_high(i, record->sub_bits);
        uint64_t held = count_up_to(values, high) - count_up_to(values, low - 1);
        bool is_narrow = high - low <= low >> record->sub_bits;
        if (low != expected_low || high < low || !is_narrow || record->buckets[i] != held)
            return i;
        expected_low = high + 1;
    }
    return -1;
}

static bool are_worst_right(const struct values *values)
{
    const struct record *record = values->record;
    uint64_t most = values->count < RECORD_WORST ? (uint64_t)values->count : RECORD_WORST;
    for (uint64_t i = 0; i < most && record->worst_count == most; i++)
        if (record->worst[i].value_ns != values->sorted[values->count - 1 - (int)i])
            return false;
    return record->worst_count == most;
}

static int64_t largest_maximum(const struct record *record)
{
    const int64_t *maxima = record_maxima_view(record);
    int64_t largest = RECORD_NO_MAXIMUM;
    for (uint32_t i = 0; i < record->maxima_used; i++)
        largest = maxima[i] > largest ? maxima[i] : largest;
    return largest;
}

/* These three say what is wrong, and nothing of what is right. */
static void say_counts(const struct values *values, struct finding *found)
{
    const struct record *record = values->record;
    int64_t least = values->sorted[0], most = values->sorted[values->count - 1];
    uint64_t under = count_up_to(values, -1);
    uint64_t over = (uint64_t)values->count - count_up_to(values, record->limit);
    int64_t bucket = wrong_bucket(values);
    bool are_ends_right = record->min == least && record->max == most &&
                          largest_maximum(record) == most && are_worst_right(values);
    bool are_counts_right = record->count == (uint64_t)values->count &&
                            record->underflow == under && record->overflow == over;
    if (bucket >= 0 || !are_ends_right || !are_counts_right)
        finding_say(found, false,
                    "%d values %s: count %llu, %llu below and %llu above the buckets (%llu, %llu), "
                    "least %lld (%lld), largest %lld (%lld)%s%s; first wrong bucket: %lld",
                    values->count, set_names[values->set], (unsigned long long)record->count,
                    (unsigned long long)record->underflow, (unsigned long long)record->overflow,
                    (unsigned long long)under, (unsigned long long)over, (long long)record->min,
                    (long long)least, (long long)record->max, (long long)most,
                    largest_maximum(record) == most ? "" : ", other maxima",
                    are_worst_right(values) ? "" : ", other largest values", (long long)bucket);
}

static bool is_close(double one, double other, double scale)
{
    return fabs(one - other) <= MOMENTS_TOLERANCE * scale;
}

static void say_moments(const struct values *values, struct finding *found)
{
    double mean = values->subject->mean(values->record);
    double stddev = values->subject->stddev(values->record);
    double scale = fabs(values->mean) + values->stddev;
    if (!is_close(mean, values->mean, scale) || !is_close(stddev, values->stddev, values->stddev))
        finding_say(found, false,
                    "%d values %s: mean %.17g, directly %.17g; standard deviation %.17g, directly "
                    "%.17g",
                    values->count, set_names[values->set], mean, values->mean, stddev,
                    values->stddev);
}

/* From the value itself to the end of its bucket, and at most the maximum. */
static bool is_quantile_right(const struct values *values, double q, int64_t quantile)
{
    const struct record *record = values->record;
    int64_t most = values->sorted[values->count - 1];
    int64_t value = values->sorted[(int)ceil(q * values->count) - 1];
    if (value < 0)
        return quantile == values->sorted[0];
    if (value > record->limit)
        return quantile == most;
    return quantile >= value && quantile <= most && quantile - value <= value >> record->sub_bits;
}

static void say_quantiles(const struct values *values, struct finding *found)
{
    static const double quantiles[] = {0.001, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        double q = quantiles[i];
        int64_t quantile = values->subject->quantile(values->record, q);
        if (is_quantile_right(values, q, quantile))
            continue;
        finding_say(found, false, "%d values %s: the %g-quantile is %lld, that value %lld",
                    values->count, set_names[values->set], q, (long long)quantile,
                    (long long)values->sorted[(int)ceil(q * values->count) - 1]);
        return;
    }
}

static void check_records(const struct selftest_subject *subject, struct finding *found)
{
    struct values values = {.subject = subject,
                            .record = malloc(record_size(NULL, DURATION_NS)),
                            .sorted = malloc(VALUES * sizeof *values.sorted)};
    struct finding *counts = &found[SELFTEST_RECORD_COUNTS];
    struct finding *moments = &found[SELFTEST_RECORD_MOMENTS];
    struct finding *quantiles = &found[SELFTEST_RECORD_QUANTILES];
    bool has_memory = values.record && values.sorted;
    finding_say(counts, true,
                "%d values %s, %d %s, and 3: each in its bucket, below or above all; ends, maxima "
                "and largest values are those of a sorted list",
                VALUES, set_names[OF_ALL_SIZES], VALUES, set_names[NARROW]);
    finding_say(moments, true, "mean and standard deviation are within %g of a direct computation",
                MOMENTS_TOLERANCE);
    finding_say(quantiles, true,
                "quantiles are the end of the bucket of the value in a sorted list");
    for (int i = 0; i < 3 && !has_memory; i++)
        leave_out(&found[SELFTEST_RECORD_COUNTS + i]);
    for (int set = 0; set < SETS && has_memory; set++) {
        fill(&values, (enum set)set);
        say_counts(&values, counts);
        say_moments(&values, moments);
        say_quantiles(&values, quantiles);
    }
    free(values.record);
    free(values.sorted);
}

/* ---- the arena after a kill ---- */

/* A kill ends the writer between two stores of record_value. Each of these cuts has the parts that
 * were written before it, in the order of that function, and of the rest the state before. */
enum cut {
    CUT_NOTHING,
    CUT_MIN,
    CUT_MAX,
    CUT_IN_WORST,
    CUT_WORST,
    CUT_MAXIMUM,
    CUT_SUM,
    CUT_SQUARES,
    CUT_COUNT,
    CUT_ALL,
    CUTS
};
enum { KEPT_VALUES = 500, WHOLE_VALUES = 700, CALIBRATED = 4711 };

static const char evidence[] = "a verdict before the kill";

struct recovery {
    const struct selftest_subject *subject;
    struct arena_plan plan;
    struct arena *before, *after, *torn; /* a value less, all of it, what a kill left */
    struct record *scratch, *kept;       /* of arena_read; the first series, before it was kept */
};

static int64_t arena_value(int i)
{
    return 1000 + (int64_t)i * 7919 % 5000;
}

/* The first series is kept in compact form when the second one takes its slot. */
static bool fill_arena(struct recovery *recovery)
{
    struct outcome outcome = {0};
    struct arena *arena;
    recovery->plan.duration_ns = DURATION_NS;
    if (arena_plan_series(&recovery->plan, "first", "ns", NULL) < 0 ||
        arena_plan_series(&recovery->plan, "second", "ns", NULL) < 0)
        return false;
    arena_plan_share(&recovery->plan, 0);
    arena = recovery->before = arena_create(&recovery->plan, NULL, &outcome);
    recovery->kept = malloc(record_size(NULL, DURATION_NS));
    if (!arena || !recovery->kept)
        return false;
    arena_verdict(arena, true, 1, "before_kill", "%s", evidence);
    arena_calibrated(arena, "steps", CALIBRATED);
    struct record *record = arena_record(arena, 0);
    record_init(recovery->kept, NULL, DURATION_NS);
    for (int i = 0; i < KEPT_VALUES; i++) {
        recovery->subject->record(record, arena_value(i), i * STEP_NS);
        recovery->subject->record(recovery->kept, arena_value(i), i * STEP_NS);
    }
    record = arena_record(arena, 1);
    for (int i = 0; i < WHOLE_VALUES; i++)
        recovery->subject->record(record, arena_value(i), i * STEP_NS);
    return true;
}

static struct arena *copy_of(const struct arena *arena)
{
    struct arena *copy = malloc(arena->bytes);
    if (copy)
        memcpy(copy, arena, arena->bytes);
    return copy;
}

static struct record *slot_of(struct arena *arena)
{
    return arena_record(arena, 1);
}

static void copy_worst(struct record *to, const struct record *from)
{
    memcpy(to->worst, from->worst, sizeof to->worst);
    to->worst_floor = from->worst_floor;
    to->worst_count = from->worst_count;
    to->worst_done = from->worst_done;
}

static void copy_maxima(struct record *to, const struct record *from)
{
    memcpy(record_maxima(to), record_maxima_view(from),
           from->maxima_capacity * sizeof *record_maxima(to));
    to->maxima_used = from->maxima_used;
    to->maxima_end_ns = from->maxima_end_ns;
}

static void cut_value(struct record *torn, const struct record *after, enum cut cut)
{
    if (cut >= CUT_MIN)
        torn->min = after->min;
    if (cut >= CUT_MAX)
        torn->max = after->max;
    if (cut >= CUT_IN_WORST) {
        torn->worst_begun = after->worst_begun;
        torn->worst[0] = torn->worst[RECORD_WORST - 1];
    }
    if (cut >= CUT_WORST)
        copy_worst(torn, after);
    if (cut >= CUT_MAXIMUM)
        copy_maxima(torn, after);
    if (cut >= CUT_SUM)
        torn->sum = after->sum;
    if (cut >= CUT_SQUARES)
        torn->sum_of_squares = after->sum_of_squares;
    if (cut >= CUT_COUNT)
        torn->count = after->count;
    if (cut >= CUT_ALL) {
        torn->overflow = after->overflow;
        memcpy(torn->buckets, after->buckets, after->bucket_count * sizeof *after->buckets);
    }
}

static uint64_t held_by(const struct record *record)
{
    uint64_t held = record->underflow + record->overflow;
    for (uint32_t i = 0; i < record->bucket_count; i++)
        held += record->buckets[i];
    return held;
}

static const char *wrong_of_kept(const struct recovery *recovery)
{
    const struct record *record = arena_read(recovery->torn, 0, recovery->scratch);
    const struct record *kept = recovery->kept;
    bool is_whole = record->count == kept->count && record->min == kept->min &&
                    record->max == kept->max && held_by(record) == kept->count &&
                    record_mean(record) == record_mean(kept) &&
                    record_stddev(record) == record_stddev(kept);
    return is_whole ? NULL : "the series that was finished before is another";
}

static const char *wrong_of_texts(const struct recovery *recovery)
{
    const struct arena *torn = recovery->torn;
    bool is_whole = torn->verdict_count == 1 && strcmp(torn->verdicts[0].evidence, evidence) == 0 &&
                    torn->calibrated_count == 1 && torn->calibrated[0].value == CALIBRATED;
    return is_whole ? NULL : "a verdict or a calibrated value is lost";
}

/* The value under way may be in it or not; all before it are. */
static const char *wrong_of_torn(const struct recovery *recovery)
{
    const struct record *record = arena_read(recovery->torn, 1, recovery->scratch);
    const struct record *before = slot_of(recovery->before), *after = slot_of(recovery->after);
    double span = (double)after->max - (double)after->min;
    if (record->count != WHOLE_VALUES && record->count != WHOLE_VALUES + 1)
        return "values that were complete are lost, or there are more";
    if (held_by(record) != record->count)
        return "the count is not that of the histogram";
    if (record->max != (record->count == WHOLE_VALUES ? before : after)->max ||
        largest_maximum(record) != record->max || record->min != before->min)
        return "the least or the largest value is another";
    if (record->worst_count > 0 && record->worst[0].value_ns != record->max)
        return "the largest values are others";
    if (fabs(record_mean(record) - record_mean(before)) > 2 * span / (double)WHOLE_VALUES)
        return "the mean is another";
    return NULL;
}

static const char *wrong_after(struct recovery *recovery, enum cut cut)
{
    memcpy(recovery->torn, recovery->before, recovery->before->bytes);
    cut_value(slot_of(recovery->torn), slot_of(recovery->after), cut);
    recovery->subject->recover(recovery->torn);
    const char *wrong = wrong_of_torn(recovery);
    if (!wrong)
        wrong = wrong_of_kept(recovery);
    return wrong ? wrong : wrong_of_texts(recovery);
}

/* The value under way is larger than all: it enters each part of a record. */
static bool make_images(struct recovery *recovery)
{
    if (!fill_arena(recovery))
        return false;
    recovery->after = copy_of(recovery->before);
    recovery->torn = copy_of(recovery->before);
    recovery->scratch = malloc(arena_scratch_bytes(recovery->before));
    if (!recovery->after || !recovery->torn || !recovery->scratch)
        return false;
    recovery->subject->record(slot_of(recovery->after), 1000000, WHOLE_VALUES * STEP_NS);
    return true;
}

static void check_recovery(const struct selftest_subject *subject, struct finding *found)
{
    struct recovery recovery = {.subject = subject};
    if (!make_images(&recovery)) {
        leave_out(found);
    } else {
        finding_say(found, true,
                    "killed at %d places of recording a value: what was complete before is "
                    "recovered, %d values and a finished series",
                    CUTS, WHOLE_VALUES);
        for (int cut = 0; cut < CUTS && found->is_good; cut++) {
            const char *wrong = wrong_after(&recovery, (enum cut)cut);
            if (wrong)
                finding_say(found, false, "killed at place %d of %d of recording a value: %s",
                            cut + 1, CUTS, wrong);
        }
    }
    free(recovery.scratch);
    free(recovery.kept);
    free(recovery.torn);
    free(recovery.after);
    if (recovery.before)
        arena_free(recovery.before);
    arena_plan_free(&recovery.plan);
}

/* ---- the tire ---- */

/* The default of the simulation first. */
static const int64_t steps_ns[] = {10000000, 500000, 30000000};

enum { STEPS = sizeof steps_ns / sizeof steps_ns[0] };

/* The finding of the default step stays, unless another one is bad. */
static void keep_worse(struct finding *kept, const struct finding *found, bool is_first)
{
    if (is_first || (kept->is_good && !found->is_good))
        *kept = *found;
}

static void check_tire_with(const struct selftest_subject *subject, int step, struct finding *found)
{
    static const enum selftest_place places[TIRE_FALL_FINDINGS] = {
        [TIRE_FREE_FALL] = SELFTEST_TIRE_FREE_FALL,
        [TIRE_ENERGY] = SELFTEST_TIRE_ENERGY,
        [TIRE_SYMMETRY] = SELFTEST_TIRE_SYMMETRY,
        [TIRE_MOMENTUM] = SELFTEST_TIRE_MOMENTUM};
    struct tire_trial trial;
    struct finding fall[TIRE_FALL_FINDINGS], one;
    if (!tire_trial_open(&trial, subject->advance, steps_ns[step], 0)) {
        for (int i = SELFTEST_TIRE_REST; i <= SELFTEST_TIRE_SAME_BITS; i++)
            leave_out(&found[i]);
        return;
    }
    tire_find_rest(&trial, &one);
    keep_worse(&found[SELFTEST_TIRE_REST], &one, step == 0);
    tire_find_fall(&trial, fall);
    for (int i = 0; i < TIRE_FALL_FINDINGS; i++)
        keep_worse(&found[places[i]], &fall[i], step == 0);
    if (step == 0)
        tire_find_same_bits(&trial, &found[SELFTEST_TIRE_SAME_BITS]);
    tire_trial_close(&trial);
}

/* ---- all of them ---- */

static const struct {
    const char *name, *claim;
} checks[SELFTEST_CHECKS] = {
    [SELFTEST_CLOCK_CONVERSION] = {"clock_conversion", "ticks of a counter become ns exactly"},
    [SELFTEST_CLOCK_ORDER] = {"clock_order", "a longer interval in ticks is no shorter in ns"},
    [SELFTEST_RECORD_COUNTS] = {"record_counts", "a record has each value once, in its bucket, "
                                                 "and knows the ends and the largest ones"},
    [SELFTEST_RECORD_MOMENTS] = {"record_moments", "mean and standard deviation are those of a "
                                                   "direct computation"},
    [SELFTEST_RECORD_QUANTILES] = {"record_quantiles", "a quantile is the end of the bucket of its "
                                                       "value"},
    [SELFTEST_ARENA_RECOVERY] = {"arena_recovery", "what was complete when the probe was killed is "
                                                   "recovered"},
    [SELFTEST_TIRE_REST] = {"tire_rest", "without gravity, a tire whose springs are at rest stays "
                                         "where it is"},
    [SELFTEST_TIRE_FREE_FALL] = {"tire_free_fall", "until contact, masses fall by the closed form "
                                                   "of explicit Euler, and none is ever below the "
                                                   "floor"},
    [SELFTEST_TIRE_ENERGY] = {"tire_energy", "a step adds no more energy than explicit Euler can, "
                                             "in free fall exactly that; from contact on there is "
                                             "never more than then"},
    [SELFTEST_TIRE_SYMMETRY] = {"tire_symmetry", "left and right mirror each other to the bit"},
    [SELFTEST_TIRE_MOMENTUM] = {"tire_momentum", "until contact, the momentum is that of gravity"},
    [SELFTEST_TIRE_SAME_BITS] = {"tire_same_bits", "all numbers of threads and all codes give the "
                                                   "same bits"},
};

void selftest_check(const struct selftest_subject *subject, struct finding found[SELFTEST_CHECKS])
{
    check_clock(subject, found);
    check_records(subject, found);
    check_recovery(subject, &found[SELFTEST_ARENA_RECOVERY]);
    for (int step = 0; step < STEPS; step++)
        check_tire_with(subject, step, found);
}

static void send_header(struct emit *emit)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", "header");
    emit_member_text(emit, "schema", "hardstone.selftest/1");
    emit_member_text(emit, "probe_version", PROBE_VERSION);
    emit_end_object(emit);
    emit_line(emit);
}

static void send_check(struct emit *emit, int place, const struct finding *found)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", "check");
    emit_member_text(emit, "name", checks[place].name);
    emit_member_bool(emit, "passed", found->is_good);
    emit_member_bool(emit, "checked", !found->is_left_out);
    emit_member_text(emit, "claim", checks[place].claim);
    emit_member_text(emit, "why", found->evidence);
    emit_end_object(emit);
    emit_line(emit);
}

static void send_footer(struct emit *emit, int failed)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", "footer");
    emit_member_integer(emit, "checks", SELFTEST_CHECKS);
    emit_member_integer(emit, "failed", failed);
    emit_end_object(emit);
    emit_line(emit);
}

static const char *state_of(const struct finding *found)
{
    return found->is_left_out ? "left" : found->is_good ? "pass" : "FAIL";
}

int selftest_send(struct emit *emit, bool is_json, const struct selftest_subject *subject)
{
    int failed = 0;
    struct finding *found = calloc(SELFTEST_CHECKS, sizeof *found);
    if (!found)
        return EXIT_INTERNAL;
    selftest_check(subject, found);
    if (is_json)
        send_header(emit);
    for (int i = 0; i < SELFTEST_CHECKS; i++) {
        failed += found[i].is_good ? 0 : 1;
        if (is_json)
            send_check(emit, i, &found[i]);
        else
            emit_format(emit, "%s  %-18s %s\n", state_of(&found[i]), checks[i].name,
                        found[i].evidence);
    }
    if (is_json)
        send_footer(emit, failed);
    free(found);
    return failed == 0 ? EXIT_FINE : EXIT_NOT_MEASURED;
}
