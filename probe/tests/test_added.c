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

TAP_MAIN({"few values", few}, {"the median of large values", no_overflow}, {"many values", many},
         {"less than zero is 0, and counted", less_than_nothing_is_counted})
