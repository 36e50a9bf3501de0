/* 128-bit sums from two words, against the compiler's type where it has one. */
#include "base/posix_source.h"

#include "record/record.h"
#include "tap.h"

enum { ROUNDS = 100000 };

static const int64_t edges[] = {0,
                                1,
                                -1,
                                INT64_C(4294967295),
                                INT64_C(4294967296),
                                -INT64_C(4294967296),
                                INT64_C(4294967297),
                                INT64_C(6074001001),
                                INT64_C(3037000500),
                                INT64_MAX,
                                -INT64_MAX};
enum { EDGES = sizeof edges / sizeof edges[0] };

static int64_t any_size(uint64_t *state)
{
    int64_t value = (int64_t)(tap_random(state) >> 1) >> (tap_random(state) % 63);
    return tap_random(state) % 2 ? value : -value;
}

/* What double arithmetic can lose in the two parts together. */
static double error_of(double size)
{
    return (size < 0 ? -size : size) * 4.5e-16;
}

TEST(small_sums_below_zero)
{
    for (int64_t value = -3000; value <= 3000; value++) {
        struct wide sum = {0, 0};
        wide_add(&sum, value);
        CHECK_NEAR(wide_to_double(&sum), (double)value, 0);
    }
}

TEST(add_takes_back_what_it_added)
{
    uint64_t state = 1;
    struct wide sum = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        int64_t value = any_size(&state);
        wide_add(&sum, value);
        wide_add(&sum, -value);
    }
    CHECK(sum.low == 0 && sum.high == 0);
}

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 int128;

static bool is_same(const struct wide *sum, int128 wanted)
{
    return sum->low == (uint64_t)wanted && sum->high == (int64_t)(wanted >> 64);
}

static void check_one(struct wide *sum, struct wide *squares, int128 exact[2], int64_t value)
{
    wide_add(sum, value);
    wide_add_square(squares, value);
    exact[0] += value;
    exact[1] += (int128)value * value;
    CHECK(is_same(sum, exact[0]));
    CHECK(is_same(squares, exact[1]));
    CHECK_NEAR(wide_to_double(sum), (double)exact[0], error_of((double)exact[0]));
    CHECK_NEAR(wide_to_double(squares), (double)exact[1], error_of((double)exact[1]));
}

TEST(random_values)
{
    uint64_t state = 2;
    struct wide sum = {0, 0}, squares = {0, 0};
    int128 exact[2] = {0, 0};
    for (int i = 0; i < ROUNDS; i++) { /* from zero again before squares could overflow */
        if (i % 2 == 0) {
            sum = squares = (struct wide){0, 0};
            exact[0] = exact[1] = 0;
        }
        check_one(&sum, &squares, exact, any_size(&state));
    }
}

TEST(long_sums)
{
    uint64_t state = 3;
    struct wide sum = {0, 0}, squares = {0, 0};
    int128 exact[2] = {0, 0};
    for (int i = 0; i < ROUNDS; i++)
        check_one(&sum, &squares, exact, any_size(&state) >> 16);
}

TEST(edges)
{
    for (int i = 0; i < EDGES; i++) {
        struct wide sum = {UINT64_MAX, 0}, squares = {UINT64_MAX, 0};
        int128 exact[2] = {UINT64_MAX, UINT64_MAX};
        check_one(&sum, &squares, exact, edges[i]);
    }
}
#endif
