/* A distribution against the plain computation on all of its values. */
#include "base/posix_source.h"

#include "record/record.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 20000 };

#define SECOND_NS INT64_C(1000000000)

struct values {
    int64_t value[COUNT], at_ns[COUNT];
    int count;
};

static struct record *new_record(int64_t duration_ns)
{
    struct record *record = malloc(record_size(duration_ns));
    if (!record)
        abort();
    record_init(record, duration_ns);
    return record;
}

static struct record *record_all(const struct values *values, int64_t duration_ns)
{
    struct record *record = new_record(duration_ns);
    for (int i = 0; i < values->count; i++)
        record_value(record, values->value[i], values->at_ns[i]);
    return record;
}

static uint64_t buckets_of(const struct record *record)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++)
        sum += record->buckets[i];
    return sum;
}

/* ---- buckets ---- */

static void test_buckets_are_contiguous(void)
{
    CHECK_SAME(record_bucket_low(0), 0);
    CHECK_SAME(record_bucket_low(RECORD_BUCKETS), RECORD_LIMIT_NS + 1);
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++) {
        int64_t low = record_bucket_low(i), next = record_bucket_low(i + 1);
        CHECK(next > low);
        CHECK_SAME(record_bucket((uint64_t)low), i);
        CHECK_SAME(record_bucket((uint64_t)next - 1), i);
    }
}

static void test_buckets_are_narrow(void)
{
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++) {
        int64_t low = record_bucket_low(i), width = record_bucket_low(i + 1) - low;
        CHECK(width == 1 || width <= low >> RECORD_SUB_BITS);
    }
}

/* ---- random values ---- */

/* Of all sizes from below zero to far past the last bucket. */
static void draw_any(struct values *values, uint64_t seed)
{
    uint64_t state = seed;
    values->count = COUNT;
    for (int i = 0; i < COUNT; i++) {
        int64_t value = (int64_t)(tap_random(&state) >> (tap_random(&state) % 54 + 8));
        values->value[i] = tap_random(&state) % 8 ? value : -value;
        values->at_ns[i] = (int64_t)i * 1000000;
    }
}

/* `middle` +- `spread`. */
static void draw_near(struct values *values, int64_t middle, uint64_t spread)
{
    uint64_t state = 7;
    values->count = COUNT;
    for (int i = 0; i < COUNT; i++) {
        values->value[i] =
            middle + (int64_t)(tap_random(&state) % (2 * spread + 1)) - (int64_t)spread;
        values->at_ns[i] = i;
    }
}

static void check_moments(const struct record *record, const struct values *values)
{
    long double sum = 0, squares = 0, largest = 0;
    for (int i = 0; i < values->count; i++) {
        sum += (long double)values->value[i];
        if (fabsl((long double)values->value[i]) > largest)
            largest = fabsl((long double)values->value[i]);
    }
    long double mean = sum / values->count;
    for (int i = 0; i < values->count; i++)
        squares += ((long double)values->value[i] - mean) * ((long double)values->value[i] - mean);
    long double deviation = values->count > 1 ? sqrtl(squares / (values->count - 1)) : 0;
    CHECK_NEAR(record_mean(record), (double)mean, (double)largest * 1e-15);
    /* the first value is one of the sample: cancellation costs at most a factor of count */
    CHECK_NEAR(record_stddev(record), (double)deviation, (double)deviation * 1e-15 * values->count);
}

static void check_extremes(const struct record *record, const struct values *values)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (int i = 0; i < values->count; i++) {
        min = values->value[i] < min ? values->value[i] : min;
        max = values->value[i] > max ? values->value[i] : max;
    }
    CHECK_SAME(record->count, values->count);
    CHECK_SAME(record->min, min);
    CHECK_SAME(record->max, max);
}

static void check_counts(const struct record *record, const struct values *values)
{
    static uint64_t buckets[RECORD_BUCKETS];
    uint64_t underflow = 0, overflow = 0;
    memset(buckets, 0, sizeof buckets);
    for (int i = 0; i < values->count; i++) {
        underflow += values->value[i] < 0;
        overflow += values->value[i] > RECORD_LIMIT_NS;
        if (values->value[i] >= 0 && values->value[i] <= RECORD_LIMIT_NS)
            buckets[record_bucket((uint64_t)values->value[i])]++;
    }
    CHECK_SAME(record->underflow, underflow);
    CHECK_SAME(record->overflow, overflow);
    CHECK(memcmp(record->buckets, buckets, sizeof buckets) == 0);
    CHECK_SAME(buckets_of(record) + record->underflow + record->overflow, record->count);
}

static void check_all(const struct values *values)
{
    struct record *record = record_all(values, 0);
    check_extremes(record, values);
    check_counts(record, values);
    check_moments(record, values);
    free(record);
}

static void test_random_values(void)
{
    static struct values values;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw_any(&values, seed);
        check_all(&values);
    }
}

static void test_edges(void)
{
    static const int64_t edges[] = {0,
                                    1,
                                    -1,
                                    1023,
                                    1024,
                                    1025,
                                    2047,
                                    2048,
                                    RECORD_LIMIT_NS - 1,
                                    RECORD_LIMIT_NS,
                                    RECORD_LIMIT_NS + 1,
                                    INT64_MAX / 2,
                                    INT64_MIN / 2};
    static struct values values;
    values.count = sizeof edges / sizeof edges[0];
    memcpy(values.value, edges, sizeof edges);
    check_all(&values);
    struct record *record = record_all(&values, 0);
    CHECK_SAME(record->underflow, 2);
    CHECK_SAME(record->overflow, 2);
    CHECK_SAME(record->buckets[RECORD_BUCKETS - 1], 2);
    free(record);
}

static void test_moments_far_from_zero(void)
{
    static struct values values;
    static const int64_t middles[] = {0, 1000, 1000000000, 100000000000, INT64_C(1) << 40};
    for (size_t i = 0; i < sizeof middles / sizeof middles[0]; i++) {
        draw_near(&values, middles[i], 5);
        check_all(&values);
        draw_near(&values, -middles[i], 5);
        check_all(&values);
    }
}

/* The first wake-up is often the worst: moments are taken about the first value. */
static void test_moments_about_an_odd_first_value(void)
{
    static struct values values;
    draw_near(&values, 5000, 300);
    values.value[0] = 900000000;
    check_all(&values);
    values.value[0] = -900000000;
    check_all(&values);
}

static void test_moments_of_a_few(void)
{
    static struct values values;
    static const int64_t few[] = {100, 95, 90, 4, 2000};
    memcpy(values.value, few, sizeof few);
    for (values.count = 1; values.count <= 5; values.count++)
        check_all(&values);
    struct record *empty = new_record(0);
    CHECK_NEAR(record_mean(empty), 0, 0);
    CHECK_NEAR(record_stddev(empty), 0, 0);
    free(empty);
}

/* ---- the worst, and quantiles ---- */

static int compare_worst(const void *left, const void *right)
{
    const struct record_worst *a = left, *b = right;
    if (a->value_ns != b->value_ns)
        return a->value_ns < b->value_ns ? 1 : -1;
    return a->index > b->index ? 1 : -1;
}

static void check_worst(const struct values *values)
{
    static struct record_worst sorted[COUNT];
    struct record *record = record_all(values, 0);
    for (int i = 0; i < values->count; i++)
        sorted[i] = (struct record_worst){values->value[i], values->at_ns[i], (uint64_t)i};
    qsort(sorted, (size_t)values->count, sizeof sorted[0], compare_worst);
    uint32_t kept = values->count < RECORD_WORST ? (uint32_t)values->count : RECORD_WORST;
    CHECK_SAME(record->worst_count, kept);
    for (uint32_t i = 0; i < kept; i++) {
        CHECK_SAME(record->worst[i].value_ns, sorted[i].value_ns);
        CHECK_SAME(record->worst[i].at_ns, sorted[i].at_ns);
        CHECK_SAME(record->worst[i].index, sorted[i].index);
    }
    free(record);
}

static void test_worst_are_those_of_a_sort(void)
{
    static struct values values;
    draw_any(&values, 11);
    check_worst(&values);
    draw_near(&values, 1000, 20); /* full of ties: the first ones stay */
    check_worst(&values);
    for (values.count = 1; values.count <= RECORD_WORST + 1; values.count += 8)
        check_worst(&values);
}

static void test_worst_of_sorted_input(void)
{
    static struct values values;
    values.count = 1000;
    for (int i = 0; i < values.count; i++)
        values.value[i] = values.at_ns[i] = i;
    check_worst(&values);
    for (int i = 0; i < values.count; i++)
        values.value[i] = -i;
    check_worst(&values);
}

static int compare_values(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void test_quantiles(void)
{
    static struct values values;
    static const double wanted[] = {0.001, 0.5, 0.99, 0.9999, 1};
    draw_any(&values, 13);
    struct record *record = record_all(&values, 0);
    qsort(values.value, COUNT, sizeof values.value[0], compare_values);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int64_t exact = values.value[(int)ceil(wanted[i] * COUNT) - 1];
        int64_t told = record_quantile(record, wanted[i]);
        if (exact >= 0 && exact <= RECORD_LIMIT_NS)
            CHECK(told >= exact && told - exact <= exact >> RECORD_SUB_BITS);
        else
            CHECK_SAME(told, exact < 0 ? record->min : record->max);
    }
    free(record);
}

/* ---- maxima of each interval ---- */

static int64_t plain_maximum(const struct values *values, int64_t from_ns, int64_t end_ns)
{
    int64_t max = RECORD_NO_MAXIMUM;
    for (int i = 0; i < values->count; i++)
        if (values->at_ns[i] >= from_ns && values->at_ns[i] < end_ns && values->value[i] > max)
            max = values->value[i];
    return max;
}

static void check_maxima(const struct values *values, int64_t duration_ns, int64_t interval_ns)
{
    struct record *record = record_all(values, duration_ns);
    int64_t last_ns = values->at_ns[values->count - 1];
    CHECK_SAME(record->maxima_interval_ns, interval_ns);
    CHECK_SAME(record->maxima_used, last_ns / interval_ns + 1);
    CHECK(record->maxima_used <= record->maxima_capacity);
    for (uint32_t i = 0; i < record->maxima_used; i++)
        CHECK_SAME(record->maxima[i],
                   plain_maximum(values, i * interval_ns, (i + 1) * interval_ns));
    for (uint32_t i = record->maxima_used; i < record->maxima_capacity; i++)
        CHECK_SAME(record->maxima[i], RECORD_NO_MAXIMUM);
    free(record);
}

static void draw_times(struct values *values, int count, int64_t step_ns)
{
    draw_any(values, 17);
    values->count = count;
    for (int i = 0; i < count; i++)
        values->at_ns[i] = i * step_ns;
}

static void test_maxima_per_second(void)
{
    static struct values values;
    draw_times(&values, 1000, SECOND_NS / 20);
    check_maxima(&values, 50 * SECOND_NS, SECOND_NS);
}

static void test_maxima_with_gaps(void)
{
    static struct values values;
    draw_times(&values, 40, SECOND_NS / 20);
    for (int i = 20; i < 40; i++)
        values.at_ns[i] += 40 * SECOND_NS;
    check_maxima(&values, 50 * SECOND_NS, SECOND_NS);
}

static void test_maxima_halve_when_full(void)
{
    static struct values values;
    draw_times(&values, 1300, SECOND_NS / 10); /* 130 s where 64 s have a place */
    check_maxima(&values, 0, 4 * SECOND_NS);
}

static void test_maxima_over_a_leap_past_the_end(void)
{
    static struct values values;
    draw_times(&values, 100, SECOND_NS / 10);
    values.at_ns[99] = 3000 * SECOND_NS;
    check_maxima(&values, 0, 64 * SECOND_NS);
}

static void test_size_is_bounded(void)
{
    CHECK(record_size(INT64_MAX) == record_size(INT64_MAX / 2));
    CHECK(record_size(0) == record_size(-1));
    struct record *record = new_record(INT64_MAX);
    CHECK_SAME(record->maxima_capacity % 2, 0);
    free(record);
    record = new_record(101 * SECOND_NS);
    CHECK(record->maxima_capacity >= 102 && record->maxima_capacity % 2 == 0);
    free(record);
}

TAP_MAIN({"buckets are contiguous", test_buckets_are_contiguous},
         {"buckets are at most 2^-10 of their value wide", test_buckets_are_narrow},
         {"random values: counts, extremes, moments", test_random_values},
         {"edges of buckets; what is past the last one is counted", test_edges},
         {"moments far from zero", test_moments_far_from_zero},
         {"moments after an odd first value", test_moments_about_an_odd_first_value},
         {"moments of one to five values", test_moments_of_a_few},
         {"the worst 32 are those of a sort", test_worst_are_those_of_a_sort},
         {"the worst of rising and falling values", test_worst_of_sorted_input},
         {"quantiles", test_quantiles}, {"maxima per second", test_maxima_per_second},
         {"maxima: a second without a value has none", test_maxima_with_gaps},
         {"maxima: the interval doubles when there is no place", test_maxima_halve_when_full},
         {"maxima: one leap over many intervals", test_maxima_over_a_leap_past_the_end},
         {"a record's size is bounded", test_size_is_bounded})
