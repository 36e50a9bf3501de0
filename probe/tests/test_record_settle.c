/* Records that were left in the middle of a value, or copied while values came: their parts fit
 * each other afterwards, as the reader of a stream asks of them. */
#include "posix_source.h"

#include "record.h"
#include "tap.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3000 };

#define DURATION_NS INT64_C(1000000000)

static struct record *new_record(void)
{
    struct record *record = malloc(record_size(DURATION_NS));
    if (!record)
        abort();
    record_init(record, DURATION_NS);
    return record;
}

static uint64_t held_count(const struct record *record)
{
    uint64_t held = record->underflow + record->overflow;
    for (int i = 0; i < RECORD_BUCKETS; i++)
        held += record->buckets[i];
    return held;
}

static int first_bucket(const struct record *record)
{
    int i = 0;
    while (i < RECORD_BUCKETS && record->buckets[i] == 0)
        i++;
    return i;
}

static int last_bucket(const struct record *record)
{
    int i = RECORD_BUCKETS - 1;
    while (i >= 0 && record->buckets[i] == 0)
        i--;
    return i;
}

static bool is_in(const struct record *record, int64_t value, int bucket)
{
    if (value < 0)
        return record->underflow > 0;
    if (value > RECORD_LIMIT_NS)
        return record->overflow > 0;
    return bucket >= 0 && bucket < RECORD_BUCKETS && (int)record_bucket((uint64_t)value) == bucket;
}

static int64_t largest_maximum(const struct record *record)
{
    int64_t largest = RECORD_NO_MAXIMUM;
    for (uint32_t i = 0; i < record->maxima_used; i++)
        largest = record->maxima[i] > largest ? record->maxima[i] : largest;
    return largest;
}

/* The claims that the toolkit checks of each series. */
static bool fits(const struct record *record)
{
    bool is_sorted = true;
    for (uint32_t i = 1; i < record->worst_count; i++)
        is_sorted &= record->worst[i - 1].value_ns >= record->worst[i].value_ns;
    return held_count(record) == record->count && (record->min < 0) == (record->underflow > 0) &&
           (record->max > RECORD_LIMIT_NS) == (record->overflow > 0) &&
           is_in(record, record->min, first_bucket(record)) &&
           is_in(record, record->max, last_bucket(record)) && is_sorted &&
           (record->worst_count == 0 || record->worst[0].value_ns == record->max) &&
           largest_maximum(record) == record->max && record_mean(record) >= (double)record->min &&
           record_mean(record) <= (double)record->max && record_stddev(record) >= 0;
}

static void test_a_whole_record_stays(void)
{
    struct record *record = new_record(), *copy = new_record();
    for (int i = 0; i < 100; i++)
        record_value(record, i * 37 - 90, i);
    memcpy(copy, record, record_size(DURATION_NS));
    CHECK_SAME(record_settle(copy), 0);
    copy->summed_count = 0; /* it says the same */
    CHECK_SAME(memcmp(copy, record, record_size(DURATION_NS)), 0);
    free(record);
    free(copy);
}

static void test_an_empty_record_stays(void)
{
    struct record *record = new_record(), *copy = new_record();
    CHECK_SAME(record_settle(copy), 0);
    CHECK_SAME(memcmp(copy, record, record_size(DURATION_NS)), 0);
    free(record);
    free(copy);
}

/* The sums are those of the count. A count that is ahead by two is damage. */
static void test_a_histogram_that_does_not_fit(void)
{
    struct record *record = new_record();
    for (int more = -2; more <= 2; more++) {
        record_init(record, DURATION_NS);
        for (int i = 0; i < 10; i++)
            record_value(record, i < 3 ? 2 : 4 - i, i); /* some below 0 */
        double mean = record_mean(record), stddev = record_stddev(record);
        record->buckets[2] += (uint64_t)more;
        CHECK_SAME(record_settle(record), more == 2 ? 2 : 0);
        CHECK_SAME(record->count, more == -2 ? 10 : 10 + more);
        CHECK(record_mean(record) == mean && record_stddev(record) == stddev);
    }
    free(record);
}

/* Its sums have the first value, and nothing else was written. */
static void test_a_kill_in_the_first_value(void)
{
    struct record *record = new_record();
    record_value(record, 5, 0);
    record->buckets[5] = 0;
    CHECK_SAME(record_settle(record), 0);
    CHECK(record->count == 0 && record->worst_count == 0 && record_mean(record) == 0);
    record_init(record, DURATION_NS);
    record_value(record, 5, 0);
    record->count = 0;
    CHECK_SAME(record_settle(record), 0);
    CHECK_SAME(held_count(record), 0);
    free(record);
}

/* record_value in its order, given up before step `end`. */
static void record_until(struct record *record, int64_t value, int64_t at_ns, int end)
{
    if (end > 0 && value < record->min)
        record->min = value;
    if (end > 1 && value > record->max)
        record->max = value;
    if (end > 2 && value > record->worst_floor)
        record_keep_worst(record, value, at_ns);
    if (end > 3 && at_ns >= record->maxima_end_ns)
        record_advance_maxima(record, at_ns);
    if (end > 4 && value > record->maxima[record->maxima_used - 1])
        record->maxima[record->maxima_used - 1] = value;
    if (end > 5) {
        wide_add(&record->sum, value - record->shift);
        wide_add_square(&record->sum_of_squares, value - record->shift);
    }
    if (end > 6)
        record->count++;
}

/* The toolkit asks for the largest of the maxima, where there are any, and for the worst. */
static void test_a_kill_at_any_step(void)
{
    static const int64_t values[] = {-70, -5, 0, 20, 5000, RECORD_LIMIT_NS, RECORD_LIMIT_NS + 5};
    enum { VALUES = sizeof values / sizeof values[0], STEPS = 8 };
    struct record *record = new_record();
    for (int first = 0; first < VALUES; first++)
        for (int last = 0; last < VALUES; last++)
            for (int end = 0; end < STEPS; end++) {
                record_init(record, DURATION_NS);
                record_value(record, values[first], 0);
                record_value(record, values[first], 0);
                record_until(record, values[last], DURATION_NS + 1, end);
                record_settle(record);
                if (!CHECK(fits(record)))
                    printf("# %d, %d, given up before step %d\n", first, last, end);
                CHECK(record->count == 2 || record->count == 3);
            }
    free(record);
}

/* Of `moved`, which is not the first, there is another copy; or it is not in its place. */
static void test_worst_that_were_being_moved(void)
{
    struct record *record = new_record();
    for (int is_twice = 0; is_twice <= 1; is_twice++) {
        record_init(record, DURATION_NS);
        for (int i = 0; i < 5; i++)
            record_value(record, 100 + i, i);
        record->worst[2] = record->worst[is_twice ? 1 : 4];
        CHECK_SAME(record_settle(record), 0);
        CHECK_SAME(record->worst_count, 0);
    }
    free(record);
}

static void add(struct record *record, int count, int64_t *at_ns, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        int64_t value = (int64_t)(tap_random(state) >> (tap_random(state) % 40 + 22));
        *at_ns += (int64_t)(tap_random(state) % 200000000);
        record_value(record, tap_random(state) % 16 ? value : -value, *at_ns);
    }
}

/* Head, histogram and maxima of three moments, one after the other. */
static void test_a_copy_made_at_work(void)
{
    enum { FEW = 12 };
    uint64_t state = 11, told = 0, new_min = 0, new_max = 0, without_worst = 0;
    struct record *record = new_record(), *copy = new_record();
    size_t head = offsetof(struct record, buckets), rest = offsetof(struct record, maxima);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t at_ns = 0;
        record_init(record, DURATION_NS);
        add(record, 1 + (int)(tap_random(&state) % FEW), &at_ns, &state);
        memcpy(copy, record, head);
        struct record before = *record;
        add(record, (int)(tap_random(&state) % FEW), &at_ns, &state);
        memcpy((char *)copy + head, (char *)record + head, rest - head);
        add(record, (int)(tap_random(&state) % FEW), &at_ns, &state);
        memcpy((char *)copy + rest, (char *)record + rest, record_size(DURATION_NS) - rest);
        uint64_t held = held_count(copy), extra = record_settle(copy);
        if (!CHECK(fits(copy)))
            break;
        CHECK(copy->count == held || copy->count == held + 1); /* the largest of the maxima */
        CHECK_SAME(extra, copy->count > before.count + 1 ? copy->count - before.count : 0);
        CHECK(record_mean(copy) == record_mean(&before));
        CHECK(record_stddev(copy) == record_stddev(&before));
        told += extra > 0;
        new_min += copy->min < before.min;
        new_max += copy->max > before.max;
        without_worst += copy->worst_count == 0;
    }
    CHECK(told > 100 && new_min > 100 && new_max > 100 && without_worst > 100);
    free(record);
    free(copy);
}

/* Another second has begun, or the largest value came, after the histogram was copied. */
static void test_what_only_the_maxima_have(void)
{
    struct record *record = new_record(), *copy = new_record();
    size_t rest = offsetof(struct record, maxima);
    for (int i = 0; i < 10; i++)
        record_value(record, 100 + i, i);
    memcpy(copy, record, rest);
    record_value(record, 5000, 3 * DURATION_NS);
    memcpy((char *)copy + rest, (char *)record + rest, record_size(DURATION_NS) - rest);
    CHECK_SAME(record_settle(copy), 0);
    CHECK(fits(copy));
    CHECK_SAME(copy->count, 11);
    CHECK_SAME(copy->max, 5000);
    CHECK_SAME(copy->maxima_used, 4);
    CHECK_SAME(copy->worst_count, 0);
    free(record);
    free(copy);
}

static void test_a_minimum_that_only_the_histogram_has(void)
{
    struct record *record = new_record();
    for (int i = 0; i < 10; i++)
        record_value(record, 100000, i);
    record->buckets[record_bucket(50001)]++;
    record->buckets[record_bucket(60001)]++;
    CHECK_SAME(record_settle(record), 2);
    CHECK(fits(record));
    CHECK_SAME(record->min, record_bucket_low(record_bucket(50001)));
    free(record);
}

TAP_MAIN({"a whole record stays", test_a_whole_record_stays},
         {"an empty record stays", test_an_empty_record_stays},
         {"a histogram that does not fit", test_a_histogram_that_does_not_fit},
         {"a kill in the first value", test_a_kill_in_the_first_value},
         {"a kill at any step", test_a_kill_at_any_step},
         {"worst that were being moved", test_worst_that_were_being_moved},
         {"a copy made at work", test_a_copy_made_at_work},
         {"what only the maxima have", test_what_only_the_maxima_have},
         {"a minimum that only the histogram has", test_a_minimum_that_only_the_histogram_has})
