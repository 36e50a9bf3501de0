/* A record's statistics against those computed from all its values. */
#include "base/posix_source.h"

#include "record/record.h"
#include "same_record.h"
#include "tap.h"

#include <math.h>

enum { COUNT = 20000 };

#define SECOND_NS INT64_C(1000000000)

static struct {
    int64_t value[COUNT], at_ns[COUNT];
    int count;
} values;

static struct record *new_record(const struct record_shape *shape, int64_t duration_ns)
{
    struct record *record = tap_memory(record_size(shape, duration_ns));
    memset(record, 0x5a, record_size(shape, duration_ns)); /* as memory of anybody */
    record_init(record, shape, duration_ns);
    return record;
}

static struct record *record_all(int64_t duration_ns)
{
    struct record *record = new_record(NULL, duration_ns);
    for (int i = 0; i < values.count; i++)
        record_value(record, values.value[i], values.at_ns[i]);
    return record;
}

/* ---- buckets ---- */

TEST(buckets_are_contiguous_and_narrow)
{
    CHECK_SAME(record_bucket_low(0, RECORD_SUB_BITS), 0);
    CHECK_SAME(record_bucket_low(RECORD_BUCKETS, RECORD_SUB_BITS), RECORD_LIMIT_NS + 1);
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++) {
        int64_t low = record_bucket_low(i, RECORD_SUB_BITS),
                next = record_bucket_low(i + 1, RECORD_SUB_BITS);
        CHECK(next > low);
        CHECK_SAME(record_bucket((uint64_t)low, RECORD_SUB_BITS), i);
        CHECK_SAME(record_bucket((uint64_t)next - 1, RECORD_SUB_BITS), i);
        CHECK(next - low == 1 || next - low <= low >> RECORD_SUB_BITS);
    }
}

/* "log-linear/B" as the toolkit reads it (hardstone/stats/identity.py): with e = max(floor(log2 v)
 * - B, 0) the index of v is e * 2^B + (v >> e). */
static uint32_t layout_index(uint64_t value, unsigned bits)
{
    unsigned length = 0;
    while (length < 64 && value >> length != 0)
        length++;
    unsigned shift = length > bits + 1 ? length - 1 - bits : 0;
    return (uint32_t)((shift << bits) + (value >> shift));
}

static void check_layout(uint64_t value, unsigned bits)
{
    uint32_t index = record_bucket(value, bits);
    CHECK_SAME(index, layout_index(value, bits));
    CHECK(record_bucket_low(index, bits) <= (int64_t)value);
    CHECK(record_bucket_high(index, bits) >= (int64_t)value);
    CHECK(layout_index((uint64_t)record_bucket_low(index, bits), bits) == index);
    CHECK(layout_index((uint64_t)record_bucket_high(index, bits), bits) == index);
}

TEST(each_resolution_is_the_toolkits)
{
    uint64_t state = 4;
    for (unsigned bits = 1; bits <= RECORD_SUB_BITS; bits++) {
        for (uint64_t value = 0; value < 5000; value++)
            check_layout(value, bits);
        for (unsigned i = 0; i <= RECORD_TOP_BIT; i++)
            for (int64_t off = -1; off <= 1; off++)
                check_layout(((uint64_t)1 << i) + (i > 0 ? (uint64_t)off : 0), bits);
        for (int i = 0; i < 2000; i++)
            check_layout(tap_random(&state) >> (64 - RECORD_TOP_BIT - 1), bits);
        check_layout(RECORD_LIMIT_NS, bits);
    }
}

/* ---- shapes ---- */

/* The limit is 2^n - 1, has the last bucket, and ends it. */
static void check_shape(const struct record_shape *shape, int64_t limit, uint32_t sub_bits)
{
    struct record *record = new_record(shape, 0);
    CHECK_SAME(record->limit, limit);
    CHECK_SAME(record->sub_bits, sub_bits);
    CHECK_SAME(record_bucket_high(record->bucket_count - 1, sub_bits), limit);
    CHECK(record_is_sized(record, shape, 0) && record_is_sound(record));
    CHECK(!record_is_moving(record));
    record_value(record, limit, 0);
    record_value(record, limit + 1, 0);
    CHECK(record->buckets[record->bucket_count - 1] == 1 && record->overflow == 1);
}

TEST(shapes)
{
    static const int64_t mosts[] = {0, -5, INT64_MAX, RECORD_LIMIT_NS, RECORD_LIMIT_NS - 7};
    check_shape(NULL, RECORD_LIMIT_NS, RECORD_SUB_BITS);
    for (size_t i = 0; i < sizeof mosts / sizeof mosts[0]; i++)
        check_shape(&(struct record_shape){mosts[i], 0}, RECORD_LIMIT_NS, RECORD_SUB_BITS);
    check_shape(&(struct record_shape){0, RECORD_SUB_BITS + 9}, RECORD_LIMIT_NS, RECORD_SUB_BITS);
    check_shape(&(struct record_shape){0, UINT32_MAX}, RECORD_LIMIT_NS, RECORD_SUB_BITS);
    check_shape(&(struct record_shape){1000, 4}, 1023, 4);
    check_shape(&(struct record_shape){1024, 4}, 2047, 4);
    check_shape(&(struct record_shape){1, 4}, 31, 4); /* below it each value has a bucket */
    check_shape(&(struct record_shape){1, 1}, 3, 1);
    for (uint32_t bits = 1; bits <= RECORD_SUB_BITS; bits++)
        check_shape(&(struct record_shape){0, bits}, RECORD_LIMIT_NS, bits);
}

/* ---- random values ---- */

/* Of all sizes from below zero to far past the last bucket. */
static void draw_any(uint64_t seed)
{
    uint64_t state = seed;
    values.count = COUNT;
    for (int i = 0; i < COUNT; i++) {
        int64_t value = (int64_t)(tap_random(&state) >> (tap_random(&state) % 54 + 8));
        values.value[i] = tap_random(&state) % 8 ? value : -value;
        values.at_ns[i] = (int64_t)i * 1000000;
    }
}

static void draw_times(int count, int64_t step_ns)
{
    draw_any(17);
    values.count = count;
    for (int i = 0; i < count; i++)
        values.at_ns[i] = i * step_ns;
}

/* `middle` +- `spread`. */
static void draw_near(int64_t middle, uint64_t spread)
{
    uint64_t state = 7;
    values.count = COUNT;
    for (int i = 0; i < COUNT; i++) {
        values.value[i] =
            middle + (int64_t)(tap_random(&state) % (2 * spread + 1)) - (int64_t)spread;
        values.at_ns[i] = i;
    }
}

/* As one of the new shape that was just made, but for the room. */
TEST(a_move_leaves_nothing_behind)
{
    const struct record_shape shape = {100000, 6};
    draw_times(1300, SECOND_NS / 10);
    struct record *record = record_all(0), *fresh = new_record(&shape, 0);
    record_move_begin(record, &shape);
    CHECK(record_is_moving(record) && record->owner == 0);
    record_move_end(record, 4);
    CHECK(!record_is_moving(record) && record->owner == 5);
    CHECK(is_same_record(record, fresh));
    for (int i = 0; i < 1000; i++) {
        record_value(record, i * i, i * SECOND_NS);
        record_value(fresh, i * i, i * SECOND_NS);
    }
    CHECK(is_same_record(record, fresh));
}

static void check_moments(const struct record *record)
{
    long double sum = 0, squares = 0, largest = 0;
    for (int i = 0; i < values.count; i++) {
        sum += (long double)values.value[i];
        if (fabsl((long double)values.value[i]) > largest)
            largest = fabsl((long double)values.value[i]);
    }
    long double mean = sum / values.count;
    for (int i = 0; i < values.count; i++)
        squares += ((long double)values.value[i] - mean) * ((long double)values.value[i] - mean);
    long double deviation = values.count > 1 ? sqrtl(squares / (values.count - 1)) : 0;
    CHECK_NEAR(record_mean(record), (double)mean, (double)largest * 1e-15);
    /* the first value is one of the sample: cancellation costs at most a factor of count */
    CHECK_NEAR(record_stddev(record), (double)deviation, (double)deviation * 1e-15 * values.count);
}

static void check_extremes(const struct record *record)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (int i = 0; i < values.count; i++) {
        min = values.value[i] < min ? values.value[i] : min;
        max = values.value[i] > max ? values.value[i] : max;
    }
    CHECK_SAME(record->count, values.count);
    CHECK_SAME(record->min, min);
    CHECK_SAME(record->max, max);
}

static void check_counts(const struct record *record)
{
    static uint64_t buckets[RECORD_BUCKETS];
    uint64_t underflow = 0, overflow = 0;
    memset(buckets, 0, sizeof buckets);
    for (int i = 0; i < values.count; i++) {
        underflow += values.value[i] < 0;
        overflow += values.value[i] > RECORD_LIMIT_NS;
        if (values.value[i] >= 0 && values.value[i] <= RECORD_LIMIT_NS)
            buckets[record_bucket((uint64_t)values.value[i], RECORD_SUB_BITS)]++;
    }
    CHECK_SAME(record->underflow, underflow);
    CHECK_SAME(record->overflow, overflow);
    CHECK(memcmp(record->buckets, buckets, sizeof buckets) == 0);
    CHECK_SAME(held_by(record), record->count);
}

static void check_all(void)
{
    struct record *record = record_all(0);
    check_extremes(record);
    check_counts(record);
    check_moments(record);
}

TEST(random_values)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw_any(seed);
        check_all();
    }
}

TEST(edges)
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
    values.count = sizeof edges / sizeof edges[0];
    memcpy(values.value, edges, sizeof edges);
    check_all();
    struct record *record = record_all(0);
    CHECK_SAME(record->underflow, 2);
    CHECK_SAME(record->overflow, 2);
    CHECK_SAME(record->buckets[RECORD_BUCKETS - 1], 2);
}

TEST(moments)
{
    static const int64_t middles[] = {0, 1000, 1000000000, 100000000000, INT64_C(1) << 40};
    static const int64_t few[] = {100, 95, 90, 4, 2000};
    for (size_t i = 0; i < sizeof middles / sizeof middles[0]; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            draw_near(sign * middles[i], 5);
            check_all();
        }
    /* the first wake-up is often the worst: moments are taken about the first value */
    draw_near(5000, 300);
    values.value[0] = 900000000;
    check_all();
    values.value[0] = -900000000;
    check_all();
    memcpy(values.value, few, sizeof few);
    for (values.count = 1; values.count <= 5; values.count++)
        check_all();
    struct record *empty = new_record(NULL, 0);
    CHECK_NEAR(record_mean(empty), 0, 0);
    CHECK_NEAR(record_stddev(empty), 0, 0);
}

/* ---- the worst, and quantiles ---- */

static int compare_worst(const void *left, const void *right)
{
    const struct record_worst *a = left, *b = right;
    if (a->value_ns != b->value_ns)
        return a->value_ns < b->value_ns ? 1 : -1;
    return a->index > b->index ? 1 : -1;
}

static void check_worst(void)
{
    static struct record_worst sorted[COUNT];
    struct record *record = record_all(0);
    for (int i = 0; i < values.count; i++)
        sorted[i] = (struct record_worst){values.value[i], values.at_ns[i], (uint64_t)i};
    qsort(sorted, (size_t)values.count, sizeof sorted[0], compare_worst);
    uint32_t kept = values.count < RECORD_WORST ? (uint32_t)values.count : RECORD_WORST;
    CHECK_SAME(record->worst_count, kept);
    for (uint32_t i = 0; i < kept; i++) {
        CHECK_SAME(record->worst[i].value_ns, sorted[i].value_ns);
        CHECK_SAME(record->worst[i].at_ns, sorted[i].at_ns);
        CHECK_SAME(record->worst[i].index, sorted[i].index);
    }
}

TEST(worst_are_those_of_a_sort)
{
    draw_any(11);
    check_worst();
    draw_near(1000, 20); /* full of ties: the first ones stay */
    check_worst();
    for (values.count = 1; values.count <= RECORD_WORST + 1; values.count += 8)
        check_worst();
    values.count = 1000;
    for (int sign = -1; sign <= 1; sign += 2) { /* input that is sorted */
        for (int i = 0; i < values.count; i++)
            values.value[i] = sign * i;
        check_worst();
    }
}

static int compare_values(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

TEST(quantiles)
{
    static const double wanted[] = {0.001, 0.5, 0.99, 0.9999, 1};
    draw_any(13);
    struct record *record = record_all(0);
    qsort(values.value, COUNT, sizeof values.value[0], compare_values);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int64_t exact = values.value[(int)ceil(wanted[i] * COUNT) - 1];
        int64_t told = record_quantile(record, wanted[i]);
        if (exact >= 0 && exact <= RECORD_LIMIT_NS)
            CHECK(told >= exact && told - exact <= exact >> RECORD_SUB_BITS);
        else
            CHECK_SAME(told, exact < 0 ? record->min : record->max);
    }
}

/* ---- maxima of each interval ---- */

static int64_t plain_maximum(int64_t from_ns, int64_t end_ns)
{
    int64_t max = RECORD_NO_MAXIMUM;
    for (int i = 0; i < values.count; i++)
        if (values.at_ns[i] >= from_ns && values.at_ns[i] < end_ns && values.value[i] > max)
            max = values.value[i];
    return max;
}

static void check_maxima(int64_t duration_ns, int64_t interval_ns)
{
    struct record *record = record_all(duration_ns);
    int64_t last_ns = values.at_ns[values.count - 1];
    record_settle(record);
    CHECK_SAME(record->maxima_interval_ns, interval_ns);
    CHECK_SAME(record->maxima_used, last_ns / interval_ns + 1);
    CHECK(record->maxima_used <= record->maxima_capacity);
    for (uint32_t i = 0; i < record->maxima_used; i++)
        CHECK_SAME(record_maxima_view(record)[i],
                   plain_maximum(i * interval_ns, (i + 1) * interval_ns));
    for (uint32_t i = record->maxima_used; i < record->maxima_capacity; i++)
        CHECK_SAME(record_maxima_view(record)[i], RECORD_NO_MAXIMUM);
}

TEST(maxima)
{
    draw_times(1000, SECOND_NS / 20);
    check_maxima(50 * SECOND_NS, SECOND_NS);
    draw_times(40, SECOND_NS / 20);
    for (int i = 20; i < 40; i++)
        values.at_ns[i] += 40 * SECOND_NS; /* a gap */
    check_maxima(50 * SECOND_NS, SECOND_NS);
    draw_times(1300, SECOND_NS / 10); /* 130 s where 64 s have a place: they halve */
    check_maxima(0, 4 * SECOND_NS);
    draw_times(100, SECOND_NS / 10);
    values.at_ns[99] = 3000 * SECOND_NS; /* a leap past the end */
    check_maxima(0, 64 * SECOND_NS);
}

/* All at once they would take as long as a wake-up. */
TEST(a_halving_takes_a_few_steps_with_each_value)
{
    struct record *record = new_record(NULL, 1000 * SECOND_NS);
    uint32_t most = record->maxima_capacity - 2, calls = 2, last = 0;
    int64_t at_ns = most * SECOND_NS;
    for (uint32_t i = 0; i < most; i++)
        record_value(record, 100 + i, i * SECOND_NS);
    record_value(record, 7, at_ns);
    record_value(record, 100000, at_ns + 1);
    for (; record->maxima_interval_ns == SECOND_NS && calls < most; calls++) {
        CHECK(record->halved > last && record->halved - last <= 2 * 64);
        last = (uint32_t)record->halved;
        record_value(record, 8, at_ns + calls);
    }
    CHECK_SAME(calls, (most + 63) / 64);
    CHECK_SAME(record->maxima_used, most / 2 + 1);
    for (uint32_t i = 0; i < most / 2; i++)
        CHECK_SAME(record_maxima_view(record)[i], 100 + 2 * i + 1);
    CHECK_SAME(record_maxima_view(record)[most / 2], 100000);
    for (uint32_t i = most / 2 + 1; i < record->maxima_capacity; i++)
        CHECK_SAME(record_maxima_view(record)[i], RECORD_NO_MAXIMUM);
}

TEST(size_is_bounded)
{
    CHECK(record_size(NULL, INT64_MAX) == record_size(NULL, INT64_MAX / 2));
    CHECK(record_size(NULL, 0) == record_size(NULL, -1));
    struct record *record = new_record(NULL, INT64_MAX);
    CHECK_SAME(record->maxima_capacity % 2, 0);
    record = new_record(NULL, 101 * SECOND_NS);
    CHECK(record->maxima_capacity >= 102 && record->maxima_capacity % 2 == 0);
}
