/* Which rounds of the inversion tests count, and which are repeated. */
#include "family/mutex/inversion_repeat.h"
#include "tap.h"

static struct inversion_repeats repeats;

static enum inversion_answer after(enum inversion_end end)
{
    return inversion_answer(&repeats, end);
}

static void begin_claim(void)
{
    repeats = (struct inversion_repeats){0};
}

TEST(an_order_counts_at_once)
{
    begin_claim();
    CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
    CHECK_SAME(after(INVERSION_BAD), INVERSION_COUNTS);
    CHECK_SAME(inversion_scale(&repeats), 1);
}

static void check_late_once(enum inversion_end late)
{
    begin_claim();
    for (int round = 0; round < 20; round++) {
        CHECK_SAME(after(late), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 2);
        CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
        CHECK_SAME(inversion_scale(&repeats), 1);
    }
}

TEST(late_once_in_each_round)
{
    check_late_once(INVERSION_ENDED_BY_WATCHDOG);
    check_late_once(INVERSION_OUT_OF_PATIENCE);
}

static void check_late_always(enum inversion_end late)
{
    begin_claim();
    CHECK_SAME(after(late), INVERSION_AGAIN);
    CHECK_SAME(after(late), INVERSION_AGAIN);
    CHECK_SAME(inversion_scale(&repeats), 4);
    CHECK_SAME(after(late), INVERSION_COUNTS);
    CHECK_SAME(inversion_scale(&repeats), 1);
}

TEST(late_each_time)
{
    check_late_always(INVERSION_ENDED_BY_WATCHDOG);
    check_late_always(INVERSION_OUT_OF_PATIENCE);
}

TEST(late_in_two_ways)
{
    begin_claim();
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_OUT_OF_PATIENCE), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_UNDECIDED);
}

TEST(another_order_after_a_late_round)
{
    begin_claim();
    CHECK_SAME(after(INVERSION_ENDED_BY_WATCHDOG), INVERSION_AGAIN);
    CHECK_SAME(after(INVERSION_BAD), INVERSION_COUNTS);
}

/* However long the claim is: the CPU that is always taken ends it, without a count. */
TEST(disturbed)
{
    begin_claim();
    for (int i = 0; i < INVERSION_DISTURBED; i++) {
        CHECK_SAME(after(INVERSION_DISTURBED_BAD), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 1);
        CHECK_SAME(after(INVERSION_GOOD), INVERSION_COUNTS);
    }
    CHECK_SAME(after(INVERSION_DISTURBED_BAD), INVERSION_UNDECIDED);
}
