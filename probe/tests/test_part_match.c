/* Which interrupt and which switch belong to which wake-up. */
#include "base/posix_source.h"

#include "family/timer/part_match.h"
#include "tap.h"

static struct part_match match;
static struct part_split split;

static bool begin(void)
{
    memset(&match, 0, sizeof match);
    memset(&split, 0, sizeof split);
    return true;
}

#define MATCH_TEST(what) TEST_IN(begin(), (void)0, what)

static bool take(int64_t release_ns, int64_t user_ns)
{
    const struct part_sample sample = {release_ns, user_ns};
    return part_match_take(&match, &sample, &split);
}

static void wake_up(int64_t entry_ns, int64_t waking_ns, int64_t exit_ns, int64_t switch_ns)
{
    part_match_interrupt(&match, entry_ns, true);
    part_match_waking(&match, waking_ns, true);
    part_match_interrupt(&match, exit_ns, false);
    part_match_switch(&match, switch_ns, 7, "cc1", 4);
}

static void expect(int64_t interrupt_ns, int64_t dispatch_ns, int64_t return_ns)
{
    CHECK_SAME(split.ns[PART_INTERRUPT], interrupt_ns);
    CHECK_SAME(split.ns[PART_DISPATCH], dispatch_ns);
    CHECK_SAME(split.ns[PART_RETURN], return_ns);
}

MATCH_TEST(plain)
{
    wake_up(1010, 1020, 1030, 1050);
    CHECK(take(1000, 1100));
    expect(10, 40, 50);
    CHECK_SAME(split.before_thread, 7);
    CHECK_TEXT(split.before, "cc1");
    CHECK_SAME(match.counts.matched, 1);
    CHECK_SAME(match.counts.begun_early, 0);
}

/* The tick, a handler of its own, comes between the release and ours, or after the wake-up. */
MATCH_TEST(several_interrupts)
{
    part_match_interrupt(&match, 1001, true);
    part_match_interrupt(&match, 1004, false);
    wake_up(1010, 1020, 1030, 1050);
    part_match_interrupt(&match, 1060, true);
    part_match_interrupt(&match, 1070, false);
    CHECK(take(1000, 1100));
    expect(10, 40, 50);
}

/* At the release the handler already ran for another timer: nothing had to be waited for. */
MATCH_TEST(handler_begun_before)
{
    wake_up(990, 1020, 1030, 1050);
    CHECK(take(1000, 1100));
    expect(0, 50, 50);
    CHECK_SAME(match.counts.begun_early, 1);
}

/* Woken in a handler that is not among the events: of another line, or on another CPU. */
MATCH_TEST(other_handler)
{
    part_match_interrupt(&match, 990, true);
    part_match_interrupt(&match, 995, false);
    part_match_waking(&match, 1020, true);
    part_match_switch(&match, 1050, 0, "swapper", 8);
    CHECK(!take(1000, 1100));
    CHECK_SAME(match.counts.unmatched, 1);
    part_match_interrupt(&match, 2005, true); /* the tick, alone since the release, is not ours */
    part_match_interrupt(&match, 2008, false);
    part_match_waking(&match, 2020, true);
    part_match_switch(&match, 2050, 0, "swapper", 8);
    CHECK(!take(2000, 2100));
    CHECK_SAME(match.counts.unmatched, 2);
}

static void softirq(int64_t first_ns, int64_t second_ns)
{
    begin();
    part_match_interrupt(&match, first_ns, true);
    part_match_interrupt(&match, first_ns + 2, false);
    part_match_interrupt(&match, second_ns, true);
    part_match_interrupt(&match, second_ns + 2, false);
    part_match_waking(&match, 1020, false);
    part_match_switch(&match, 1050, 0, "swapper", 8);
}

/* Woken after the handler: only an interrupt that is alone since the release is ours. */
TEST(softirq)
{
    softirq(990, 1010);
    CHECK(take(1000, 1100));
    expect(10, 40, 50);
    softirq(1002, 1010);
    CHECK(!take(1000, 1100));
    CHECK_SAME(match.counts.unmatched, 1);
    softirq(980, 990);
    CHECK(!take(1000, 1100));
    CHECK_SAME(match.counts.unmatched, 1);
}

/* Preempted on its way to user space: the first switch ends the dispatch, and whoever had the CPU
 * before the last one kept the thread waiting. */
MATCH_TEST(preempted)
{
    wake_up(1010, 1020, 1030, 1050);
    part_match_switch(&match, 1080, 9, "hog", 4);
    CHECK(take(1000, 1100));
    expect(10, 40, 50);
    CHECK_TEXT(split.before, "hog");
}

static void expect_nobody(void)
{
    CHECK_SAME(split.before_thread, -1);
    CHECK_TEXT(split.before, "");
}

/* What ran before is known without the interrupt, and never guessed. */
MATCH_TEST(what_ran_before)
{
    part_match_waking(&match, 1020, true);
    part_match_switch(&match, 1050, 7, "cc1", 4);
    CHECK(!take(1000, 1100));
    CHECK_SAME(split.before_thread, 7);
    CHECK(!take(1200, 1300)); /* did not sleep */
    expect_nobody();
    wake_up(2010, 2020, 2030, 2050);
    part_match_lost(&match, 2060);
    CHECK(!take(2000, 2100));
    expect_nobody();
    wake_up(3010, 3020, 3030, 3050);
    part_match_switch(&match, 3110, 9, "hog", 4); /* after the stamp */
    CHECK(take(3000, 3100));
    expect_nobody();
}

MATCH_TEST(not_slept)
{
    wake_up(1010, 1020, 1030, 1050);
    CHECK(take(1000, 1100));
    CHECK(!take(1090, 1110)); /* the events before are not used again */
    CHECK_SAME(match.counts.not_slept, 1);
    CHECK_SAME(match.counts.matched, 1);
    part_match_waking(&match, 1200, true); /* woken before it had left the CPU */
    CHECK(!take(1190, 1210));
    CHECK_SAME(match.counts.not_switched, 1);
    CHECK_SAME(match.counts.not_slept, 1);
}

/* A wake-up that comes before the sample of the one before is taken. */
MATCH_TEST(next_waits)
{
    wake_up(1010, 1020, 1030, 1050);
    CHECK(!take(900, 950));
    CHECK(take(1000, 1100));
    expect(10, 40, 50);
}

MATCH_TEST(order)
{
    wake_up(1010, 1020, 1030, 1101); /* switched to after its own stamp */
    CHECK(!take(1000, 1100));
    begin();
    wake_up(980, 990, 995, 1050); /* woken before its release */
    CHECK(!take(1000, 1100));
    CHECK_SAME(match.counts.out_of_order, 1);
    CHECK_SAME(match.counts.matched, 0);
}

MATCH_TEST(lost)
{
    part_match_interrupt(&match, 1010, true);
    part_match_lost(&match, 1015);
    part_match_waking(&match, 1020, true);
    part_match_switch(&match, 1050, 0, "swapper", 8);
    CHECK(!take(1000, 1100)); /* the entry was lost */
    CHECK_SAME(match.counts.lost, 1);
    wake_up(2010, 2020, 2030, 2050);
    part_match_lost(&match, 0); /* no stamp: after the latest event */
    CHECK(!take(2000, 2100));
    CHECK_SAME(match.counts.lost, 2);
    wake_up(3010, 3020, 3030, 3050);
    CHECK(take(3000, 3100));
    CHECK(!take(3090, 3110)); /* after the gap it is a matter of the sample again */
    CHECK_SAME(match.counts.not_slept, 1);
}

/* A name that fills its field has no end. */
TEST(long_name)
{
    static const char name[32] = "0123456789abcdefghijklmnopqrstu";
    begin();
    part_match_interrupt(&match, 1010, true);
    part_match_waking(&match, 1020, true);
    part_match_switch(&match, 1050, 1, name, sizeof name);
    CHECK(take(1000, 1100));
    CHECK_TEXT(split.before, "0123456789abcde");
}

TEST(ring)
{
    struct part_ring *ring = calloc(1, sizeof *ring);
    if (!CHECK(ring != NULL))
        return;
    CHECK(part_ring_first(ring) == NULL);
    for (int64_t i = 0; i < PART_RING + 3; i++)
        part_ring_put(ring, i, i + 1);
    CHECK_SAME((int64_t)atomic_load(&ring->dropped), 3);
    for (int64_t i = 0; i < PART_RING; i++) {
        CHECK_SAME(part_ring_first(ring)->release_ns, i);
        part_ring_drop(ring);
    }
    CHECK(part_ring_first(ring) == NULL);
    part_ring_put(ring, 5, 6);
    CHECK_SAME(part_ring_first(ring)->user_ns, 6);
    free(ring);
}
