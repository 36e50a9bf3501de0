/* What a flood adds, by values that are made up. */
#include "base/posix_source.h"

#include "family/interrupt/added.h"

#include "tap.h"

enum { MOST = 600 };

static void few(void)
{
    int64_t one[] = {7}, two[] = {4, 1}, three[] = {9, -5, 2}, four[] = {10, 1, 3, 4};
    CHECK_SAME(added_median(one, 1), 7);
    CHECK_SAME(added_median(two, 2), 2); /* 2.5 rounded down */
    CHECK_SAME(added_median(three, 3), 2);
    CHECK_SAME(added_median(four, 4), 3);
}

static void no_overflow(void)
{
    int64_t values[] = {INT64_MAX, INT64_MAX - 2};
    CHECK_SAME(added_median(values, 2), INT64_MAX - 1);
}

/* As many values are below the median as above it, whatever their order and ties. */
static void many(void)
{
    uint64_t state = 15;
    int64_t values[MOST];
    for (int count = 1; count < MOST; count += 13) {
        for (int i = 0; i < count; i++)
            values[i] = (int64_t)(tap_random(&state) % (count % 2 ? 10 : 1000000));
        int64_t median = added_median(values, count);
        int below = 0, above = 0;
        for (int i = 0; i < count; i++) {
            below += values[i] < median;
            above += values[i] > median;
            CHECK(i == 0 || values[i - 1] <= values[i]);
        }
        CHECK(2 * below <= count && 2 * above <= count);
    }
}

static void less_than_nothing_is_counted(void)
{
    uint64_t below = 0;
    CHECK_SAME(added_value(1500, 1000, &below), 500);
    CHECK_SAME(added_value(1000, 1000, &below), 0);
    CHECK_SAME(below, 0);
    CHECK_SAME(added_value(999, 1000, &below), 0);
    CHECK_SAME(below, 1);
}

/* Latencies that the flood leaves as they are: the mean of added values is above zero all the same,
 * the difference of medians is not. */
static void a_flood_without_effect(void)
{
    struct added_effect effect = {0};
    uint64_t below = 0;
    int64_t sum = 0, values[101];
    for (int i = 0; i < 101; i++)
        values[i] = 1000 + i;
    int64_t median = added_median(values, 101);
    for (int i = 0; i < 101; i++)
        sum += added_value(values[i], median, &below);
    CHECK(sum > INT64_C(101) * 12); /* half of the mean deviation, 25 */
    CHECK_SAME(below, 50);
    added_effect_take(&effect, added_median(values, 101), median, 101);
    CHECK_SAME(added_effect_ns(&effect), 0);
}

static void effects_are_weighted_and_may_be_negative(void)
{
    struct added_effect effect = {0};
    CHECK_SAME(added_effect_ns(&effect), 0);
    added_effect_take(&effect, 900, 1000, 250);
    CHECK_SAME(added_effect_ns(&effect), -100);
    CHECK_SAME(effect.most_ns, -100);
    added_effect_take(&effect, 1100, 1000, 50);
    CHECK_SAME(added_effect_ns(&effect), (-100 * 250 + 100 * 50) / 300);
    CHECK_SAME(effect.least_ns, -100);
    CHECK_SAME(effect.most_ns, 100);
}

TAP_MAIN({"a flood without effect", a_flood_without_effect},
         {"effects are weighted and may be negative", effects_are_weighted_and_may_be_negative},
         {"few values", few}, {"the median of large values", no_overflow}, {"many values", many},
         {"less than zero is 0, and counted", less_than_nothing_is_counted})
