/* What became of interrupts that were sent, from made-up gaps. */
#include "base/posix_source.h"

#include "family/interrupt/interrupt_latency.h"
#include "tap.h"

#include <stdlib.h>

enum { MANY = 20000 };

#define MOST UINT64_MAX

static struct sent_counts counts;
static struct sent_result results[MANY];
static const struct sent_watch always = {0, MOST / 2};

/* `gap`: its index; -1: none. `watch`: left out: always. */
static const struct one_send {
    const char *name;
    struct gap gaps[3];
    uint32_t gap_count;
    struct sent sent;
    enum sent_fate fate;
    int gap;
    struct sent_watch watch;
} one_sends[] = {
    {"seen", {{500, 600}, {1010, 1100}, {3000, 3100}}, 3, {990, 1000, 1200}, SENT_SEEN, 1},
    /* both ends of the window are in it */
    {"a window of one moment", {{1010, 1100}}, 1, {1010, 1010, 1010}, SENT_SEEN, 0},
    {"clocks apart", {{995, 1100}}, 1, {990, 1000, 1200}, SENT_SEEN, 0},
    {"begun before", {{995, 1100}}, 1, {996, 1000, 1200}, SENT_IN_OTHER, 0},
    /* the tick had the CPU when the interrupt was sent, and both are one gap */
    {"in other", {{900, 1100}, {3000, 3100}}, 2, {990, 1000, 1200}, SENT_IN_OTHER, 0},
    /* one that ends before the send is not it, whatever the window's begin says */
    {"gap before", {{900, 995}, {1010, 1100}}, 2, {990, 1000, 1200}, SENT_SEEN, 1},
    {"only before", {{900, 995}}, 1, {990, 1000, 1200}, SENT_NOT_SEEN, -1},
    {"one before", {{900, 1010}, {1020, 1100}}, 2, {990, 1000, 1120}, SENT_AMBIGUOUS, -1},
    {"two", {{1020, 1100}, {1150, 1160}}, 2, {990, 1000, 1200}, SENT_AMBIGUOUS, -1},
    {"not seen", {{900, 950}, {1201, 1300}}, 2, {990, 1000, 1200}, SENT_NOT_SEEN, -1},
    {"no gaps", {{0, 0}}, 0, {990, 1000, 1200}, SENT_NOT_SEEN, -1},
    {"watched late", {{1010, 1100}}, 1, {990, 1000, 1200}, SENT_NOT_WATCHED, -1, {991, 5000}},
    {"not to the end", {{1010, 1100}}, 1, {990, 1000, 1200}, SENT_NOT_WATCHED, -1, {0, 1199}},
    {"just watched", {{1010, 1100}}, 1, {990, 1000, 1200}, SENT_SEEN, 0, {990, 1200}},
    {"wrap", {{MOST - 4, 20}}, 1, {MOST - 20, MOST - 10, 5}, SENT_SEEN, 0, {MOST - 100, 100}},
};

TEST(one_send)
{
    foreach (one, one_sends, NULL) {
        const struct one_send *row = one;
        const struct sent_watch *watch = row->watch.until ? &row->watch : &always;
        tap_row(row->name);
        memset(&counts, 0, sizeof counts);
        sent_match(row->gaps, row->gap_count, watch, &row->sent, 1, results, &counts);
        CHECK_SAME(results[0].fate, row->fate);
        if (row->gap >= 0)
            CHECK_SAME(results[0].gap, row->gap);
        CHECK_SAME(counts.sent, 1);
        CHECK_SAME(counts.of[row->fate], 1);
    }
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
    CHECK_SAME(counts.sent, MANY);
    CHECK_SAME(sum(), MANY);
    for (int i = 0; i < SENT_FATES; i++)
        CHECK_SAME(counts.of[i], wanted[i]);
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
        CHECK_SAME(counts.sent, 500);
        CHECK_SAME(sum(), 500);
        for (int i = 1, last = -1; i < 500; i++) {
            if (results[i].fate != SENT_SEEN)
                continue;
            CHECK((int)results[i].gap > last);
            last = (int)results[i].gap;
        }
    }
}
