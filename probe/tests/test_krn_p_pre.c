/* Random releases: their mean, that they are exponential beyond the least time, and seeds. */
#include "base/posix_source.h"

#include "family/kernel/sections.h"
#include "tap.h"

#include <math.h>

enum { TIMES = 200000, MEAN_NS = 400000, BINS = 20 };

/* Equal counts where the distribution function of the exponential says so; chi-squared with 19
 * degrees of freedom is below 50 in all but 1 of 7000 seeds. */
TEST(times_are_exponential_with_the_mean_that_was_asked_for)
{
    struct random_release release;
    uint64_t counts[BINS] = {0};
    double chi_squared = 0, sum = 0, expected = (double)TIMES / BINS;
    random_release_begin(&release, 1, 3, MEAN_NS);
    for (int i = 0; i < TIMES; i++) {
        int64_t more_ns = random_release_ahead_ns(&release) - RANDOM_RELEASE_LEAST_NS;
        if (!CHECK(more_ns >= 0))
            return;
        sum += (double)more_ns + RANDOM_RELEASE_LEAST_NS;
        double share = 1 - exp(-(double)more_ns / (MEAN_NS - RANDOM_RELEASE_LEAST_NS));
        counts[(int)fmin(share * BINS, BINS - 1)]++;
    }
    for (int i = 0; i < BINS; i++)
        chi_squared += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    CHECK(chi_squared < 50);
    CHECK_NEAR(sum / TIMES, (double)MEAN_NS, MEAN_NS * 0.01); /* 5 standard errors */
}

/* Against a tick of 4 ms: each tenth of it gets its share of the releases. */
TEST(releases_have_no_phase_with_a_tick)
{
    enum { TICK_NS = 4000000, PARTS = 10 };
    struct random_release release;
    uint64_t counts[PARTS] = {0};
    int64_t now_ns = 0;
    random_release_begin(&release, 5, 0, MEAN_NS);
    for (int i = 0; i < TIMES; i++) {
        now_ns += random_release_ahead_ns(&release);
        counts[now_ns % TICK_NS / (TICK_NS / PARTS)]++;
    }
    for (int i = 0; i < PARTS; i++)
        CHECK_NEAR((double)counts[i], TIMES / (double)PARTS, TIMES / (double)PARTS * 0.05);
}

static int equal_times(uint64_t seed, int stream, uint64_t other_seed, int other_stream)
{
    struct random_release one, other;
    int equal = 0;
    random_release_begin(&one, seed, stream, MEAN_NS);
    random_release_begin(&other, other_seed, other_stream, MEAN_NS);
    for (int i = 0; i < 100; i++)
        equal += random_release_ahead_ns(&one) == random_release_ahead_ns(&other);
    return equal;
}

TEST(a_seed_gives_its_times_again)
{
    CHECK_SAME(equal_times(9, 2, 9, 2), 100);
    CHECK(equal_times(9, 2, 10, 2) < 3);
    CHECK(equal_times(9, 2, 9, 3) < 3);
    CHECK(equal_times(9, 2, 9 + (UINT64_C(1) << 16), 2) < 3);
}
