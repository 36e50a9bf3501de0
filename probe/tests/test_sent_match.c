/* What became of interrupts that were sent, from made-up gaps. */
#include "base/posix_source.h"

#include "family/interrupt/sent_match.h"
#include "tap.h"

#include <stdlib.h>

enum { MANY = 20000 };

static struct sent_counts counts;
static struct sent_result results[MANY];
static const struct sent_watch always = {0, UINT64_MAX / 2};

static enum sent_fate one(const struct gap *gaps, uint32_t gap_count, uint64_t from, uint64_t at,
                          uint64_t to)
{
    const struct sent sent = {from, at, to};
    memset(&counts, 0, sizeof counts);
    sent_match(gaps, gap_count, &always, &sent, 1, results, &counts);
    return results[0].fate;
}

TEST(seen)
{
    const struct gap gaps[] = {{500, 600}, {1010, 1100}, {3000, 3100}};
    CHECK(one(gaps, 3, 990, 1000, 1200) == SENT_SEEN);
    CHECK_SAME((int64_t)results[0].gap, 1);
    CHECK_SAME((int64_t)counts.sent, 1);
    CHECK_SAME((int64_t)counts.of[SENT_SEEN], 1);
    CHECK(one(gaps, 3, 1010, 1010, 1010) == SENT_SEEN); /* both ends of the window are in it */
}

TEST(clocks_apart)
{
    const struct gap gaps[] = {{995, 1100}};
    CHECK(one(gaps, 1, 990, 1000, 1200) == SENT_SEEN);
    CHECK(one(gaps, 1, 996, 1000, 1200) == SENT_IN_OTHER);
}

/* The tick had the CPU when the interrupt was sent, and both are one gap. */
TEST(in_other)
{
    const struct gap gaps[] = {{900, 1100}, {3000, 3100}};
    CHECK(one(gaps, 2, 990, 1000, 1200) == SENT_IN_OTHER);
    CHECK_SAME((int64_t)results[0].gap, 0);
}

/* One that ends before the send is not it, whatever the window's begin says. */
TEST(gap_before)
{
    const struct gap gaps[] = {{900, 995}, {1010, 1100}};
    CHECK(one(gaps, 2, 990, 1000, 1200) == SENT_SEEN);
    CHECK_SAME((int64_t)results[0].gap, 1);
    CHECK(one(gaps, 1, 990, 1000, 1200) == SENT_NOT_SEEN);
}

TEST(ambiguous)
{
    const struct gap gaps[] = {{900, 1010}, {1020, 1100}, {1150, 1160}};
    CHECK(one(gaps, 2, 990, 1000, 1120) == SENT_AMBIGUOUS);
    CHECK(one(gaps + 1, 2, 990, 1000, 1200) == SENT_AMBIGUOUS);
}

TEST(not_seen)
{
    const struct gap gaps[] = {{900, 950}, {1201, 1300}};
    CHECK(one(gaps, 2, 990, 1000, 1200) == SENT_NOT_SEEN);
    CHECK(one(gaps, 0, 990, 1000, 1200) == SENT_NOT_SEEN);
}

TEST(not_watched)
{
    const struct gap gaps[] = {{1010, 1100}};
    const struct sent sent = {990, 1000, 1200};
    const struct sent_watch late = {991, 5000}, early = {0, 1199}, just = {990, 1200};
    memset(&counts, 0, sizeof counts);
    sent_match(gaps, 1, &late, &sent, 1, results, &counts);
    CHECK(results[0].fate == SENT_NOT_WATCHED);
    sent_match(gaps, 1, &early, &sent, 1, results, &counts);
    CHECK(results[0].fate == SENT_NOT_WATCHED);
    sent_match(gaps, 1, &just, &sent, 1, results, &counts);
    CHECK(results[0].fate == SENT_SEEN);
    CHECK_SAME((int64_t)counts.sent, 3);
}

/* A long interruption has several of them. */
TEST(several_in_one)
{
    const struct gap gaps[] = {{900, 5000}, {6010, 6100}};
    const struct sent sends[] = {{990, 1000, 1200}, {2000, 2010, 2200}, {6000, 6005, 6100}};
    memset(&counts, 0, sizeof counts);
    sent_match(gaps, 2, &always, sends, 3, results, &counts);
    CHECK_SAME((int64_t)counts.of[SENT_IN_OTHER], 2);
    CHECK_SAME((int64_t)counts.of[SENT_SEEN], 1);
    CHECK_SAME((int64_t)results[2].gap, 1);
}

TEST(readings_wrap)
{
    const struct gap gaps[] = {{UINT64_MAX - 4, 20}};
    const struct sent sent = {UINT64_MAX - 20, UINT64_MAX - 10, 5};
    const struct sent_watch watch = {UINT64_MAX - 100, 100};
    memset(&counts, 0, sizeof counts);
    sent_match(gaps, 1, &watch, &sent, 1, results, &counts);
    CHECK(results[0].fate == SENT_SEEN);
}

static uint64_t sum(void)
{
    uint64_t all = 0;
    for (int i = 0; i < SENT_FATES; i++)
        all += counts.of[i];
    return all;
}

/* Of 20,000 sent, 20,000 have a fate, and it is the one that was made up. */
TEST(all_have_a_fate)
{
    static struct sent sends[MANY];
    static struct gap gaps[2 * MANY];
    uint64_t wanted[SENT_FATES] = {0}, now = 1000;
    uint32_t gap_count = 0;
    unsigned short random[3] = {1, 2, 3};
    for (int i = 0; i < MANY; i++, now += 1000) {
        enum sent_fate fate = (enum sent_fate)(erand48(random) * SENT_NOT_WATCHED);
        sends[i] = (struct sent){now - 5, now, now + 400};
        if (fate == SENT_SEEN || fate == SENT_AMBIGUOUS)
            gaps[gap_count++] = (struct gap){now + 20, now + 100};
        if (fate == SENT_AMBIGUOUS)
            gaps[gap_count++] = (struct gap){now + 120, now + 200};
        if (fate == SENT_IN_OTHER)
            gaps[gap_count++] = (struct gap){now - 50, now + 50};
        if (fate == SENT_NOT_SEEN)
            gaps[gap_count++] = (struct gap){now + 500, now + 600};
        wanted[fate]++;
    }
    memset(&counts, 0, sizeof counts);
    sent_match(gaps, gap_count, &always, sends, MANY, results, &counts);
    CHECK_SAME((int64_t)counts.sent, MANY);
    CHECK_SAME((int64_t)sum(), MANY);
    for (int i = 0; i < SENT_FATES; i++)
        CHECK_SAME((int64_t)counts.of[i], (int64_t)wanted[i]);
}

/* Whatever the gaps are, none is left over and none counts twice. */
TEST(any_gaps_add_up)
{
    static struct sent sends[500];
    static struct gap gaps[1500];
    unsigned short random[3] = {4, 5, 6};
    for (int round = 0; round < 200; round++) {
        uint64_t at = 0;
        for (int i = 0; i < 1500; i++) {
            gaps[i].begin = at + 1 + (uint64_t)(erand48(random) * 200);
            gaps[i].end = at = gaps[i].begin + 1 + (uint64_t)(erand48(random) * 300);
        }
        for (int i = 0; i < 500; i++)
            sends[i] = (struct sent){1000u * i, 1000u * i + 10, 1000u * i + 400};
        const struct sent_watch watch = {20000, 400000};
        memset(&counts, 0, sizeof counts);
        sent_match(gaps, 1500, &watch, sends, 500, results, &counts);
        CHECK_SAME((int64_t)counts.sent, 500);
        CHECK_SAME((int64_t)sum(), 500);
        for (int i = 1, last = -1; i < 500; i++) {
            if (results[i].fate != SENT_SEEN)
                continue;
            CHECK((int)results[i].gap > last);
            last = (int)results[i].gap;
        }
    }
}

TEST(names)
{
    CHECK_TEXT(sent_fate_name(SENT_SEEN), "seen");
    CHECK_TEXT(sent_fate_name(SENT_NOT_WATCHED), "not_watched");
}
