/* Which rounds of the inversion tests count, and which are repeated. */
#include "family/mutex/inversion.h"
#include "tap.h"

static struct inversion_repeats repeats;

static enum inversion_answer after(enum inversion_end end)
{
    return inversion_answer(&repeats, end);
}

static bool begin_claim(void)
{
    repeats = (struct inversion_repeats){0};
    return true;
}

#define CLAIM_TEST(what) TEST_IN(begin_claim(), (void)0, what)

CLAIM_TEST(an_order_counts_at_once)
{
    CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
    CHECK_SAME(after(INVERSION_BAD), INVERSION_COUNTS);
    CHECK_SAME(inversion_scale(&repeats), 1);
}

static const enum inversion_end late_ends[] = {INVERSION_ENDED_BY_WATCHDOG,
                                               INVERSION_OUT_OF_PATIENCE};

TEST(late_once_in_each_round)
{
    for (int i = 0; i < 2; i++) {
        begin_claim();
        for (int round = 0; round < 20; round++) {
            CHECK_SAME(after(late_ends[i]), INVERSION_AGAIN);
            CHECK_SAME(inversion_scale(&repeats), 2);
            CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
            CHECK_SAME(inversion_scale(&repeats), 1);
        }
    }
}

TEST(late_each_time)
{
    for (int i = 0; i < 2; i++) {
        begin_claim();
        CHECK_SAME(after(late_ends[i]), INVERSION_AGAIN);
        CHECK_SAME(after(late_ends[i]), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 4);
        CHECK_SAME(after(late_ends[i]), INVERSION_COUNTS);
        CHECK_SAME(inversion_scale(&repeats), 1);
    }
}

CLAIM_TEST(late_in_two_ways)
{
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_OUT_OF_PATIENCE), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_UNDECIDED);
}

CLAIM_TEST(another_order_after_a_late_round)
{
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_BAD), INVERSION_COUNTS);
}

/* However long the claim is: the CPU that is always taken ends it, without a count. */
CLAIM_TEST(disturbed)
{
    for (int i = 0; i < INVERSION_DISTURBED; i++) {
        CHECK_SAME(after(INVERSION_DISTURBED_BAD), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 1);
        CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
    }
    CHECK_SAME(after(INVERSION_DISTURBED_BAD), INVERSION_UNDECIDED);
}

CLAIM_TEST(high_does_not_wait)
{
    for (int i = 0; i < INVERSION_NOT_WAITED_MOST; i++) {
        CHECK_SAME(after(INVERSION_NOT_WAITED), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 1);
    }
    CHECK_SAME(after(INVERSION_NOT_WAITED), INVERSION_UNDECIDED);
}
