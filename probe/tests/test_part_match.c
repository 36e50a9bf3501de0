/* Which events of the kernel belong to which wake-up: of tracepoints, and of timerlat. */
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

/* ---- by timerlat: its releases, and which of its events belong to which read ---- */

enum { PERIOD = 100000, PHASE = 700, LIMIT = 500 };

static struct timerlat_match timerlat;
static struct timerlat_wakeup seen[64];
static int seen_count;

static void keep(const struct timerlat_wakeup *wakeup, void *context)
{
    (void)context;
    if (CHECK(seen_count < 64))
        seen[seen_count++] = *wakeup;
}

static void begin_timerlat(void)
{
    timerlat_match_open(&timerlat, PERIOD, LIMIT);
    seen_count = 0;
}

static int64_t release_of(int cycle)
{
    return (int64_t)cycle * PERIOD + PHASE;
}

/* An event whose stamp is `lag_ns` after timerlat's own reading. */
static void event(int cycle, int64_t context, int64_t latency_ns, int64_t lag_ns)
{
    timerlat_match_event(&timerlat, release_of(cycle) + latency_ns + lag_ns, cycle, context,
                         latency_ns);
}

static void take_cycle(int cycle, int64_t total_ns)
{
    const struct part_sample sample = {0, release_of(cycle) + total_ns};
    timerlat_match_take(&timerlat, &sample, keep, NULL);
}

static void cycle(int number, int64_t lag_ns)
{
    event(number, TIMERLAT_INTERRUPT, 1000, lag_ns);
    event(number, TIMERLAT_THREAD, 3000, lag_ns);
    event(number, TIMERLAT_USER, 5300, lag_ns);
    take_cycle(number, 5000);
}

/* Its phase is found. */
static void begin_located(int64_t lag_ns)
{
    begin_timerlat();
    for (int i = 1; i <= TIMERLAT_LOCATE; i++)
        cycle(i, lag_ns);
}

#define LOCATED_TEST(what, lag_ns) TEST_IN((begin_located(lag_ns), true), (void)0, what)

TEST(parts)
{
    begin_timerlat();
    for (int i = 1; i <= 20; i++)
        cycle(i, i == 5 ? 0 : 90);
    CHECK_SAME(seen_count, 20);
    CHECK_SAME(timerlat.counts.matched, 20);
    for (int i = 0; i < seen_count; i++) {
        CHECK_SAME(seen[i].release_ns, release_of(i + 1));
        CHECK_SAME(seen[i].split.ns[PART_INTERRUPT], 1000);
        CHECK_SAME(seen[i].split.ns[PART_DISPATCH], 2000);
        CHECK_SAME(seen[i].split.ns[PART_RETURN], 2000);
        CHECK_SAME(seen[i].split.before_thread, -1);
    }
    CHECK_SAME(timerlat.total.count, 20);
    CHECK_SAME(timerlat.total.most_ns, 300);
    CHECK_SAME(timerlat.grid.most_ns, 90);
    CHECK_SAME(timerlat.total.beyond, 0);
    CHECK_SAME(timerlat.grid.beyond, 0);
}

/* Fewer than it takes to find the phase: they are not lost at the end. */
TEST(few)
{
    begin_timerlat();
    for (int i = 1; i < TIMERLAT_LOCATE; i++)
        cycle(i, 10);
    CHECK_SAME(seen_count, 0);
    timerlat_match_close(&timerlat, keep, NULL);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE - 1);
    timerlat_match_close(&timerlat, keep, NULL);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE - 1);
}

/* Something comes between timerlat's reading and its stamp: of some cycle, or of the first ones. */
TEST(delayed_stamps)
{
    static const int64_t delays_ns[] = {30000, 60000, 80000, 95000};
    for (size_t i = 0; i < sizeof delays_ns / sizeof delays_ns[0]; i++) {
        begin_timerlat();
        for (int number = 1; number <= 40; number++) {
            int64_t delay_ns = number <= 2 || number == 30 ? delays_ns[i] : 0;
            event(number, TIMERLAT_INTERRUPT, 1000, 20 + delay_ns);
            event(number, TIMERLAT_THREAD, 3000 + delay_ns, 10);
            take_cycle(number, 5000 + delay_ns);
        }
        CHECK_SAME(seen_count, 40);
        for (int j = 0; j < seen_count; j++)
            CHECK_NEAR((double)(seen[j].release_ns - release_of(j + 1)), 10, 0);
    }
}

/* A phase that was found too high is lowered by a cycle whose stamps came at once. */
LOCATED_TEST(lowered_phase, 90)
{
    cycle(20, 0);
    cycle(21, 90);
    CHECK_SAME(seen[TIMERLAT_LOCATE - 1].release_ns, release_of(TIMERLAT_LOCATE) + 90);
    CHECK_SAME(seen[TIMERLAT_LOCATE].release_ns, release_of(20));
    CHECK_SAME(seen[TIMERLAT_LOCATE + 1].release_ns, release_of(21));
}

/* A wake-up late by more than a period is of its own release, not of the next. */
LOCATED_TEST(late, 0)
{
    event(20, TIMERLAT_INTERRUPT, 250000, 0);
    event(20, TIMERLAT_THREAD, 260000, 0);
    take_cycle(20, 270000);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE + 1);
    const struct timerlat_wakeup *late = &seen[seen_count - 1];
    CHECK_SAME(late->user_ns - late->release_ns, 270000);
    CHECK_SAME(late->split.ns[PART_INTERRUPT], 250000);
}

/* What the check is for: a sum that is not the total, a release beside the grid. */
LOCATED_TEST(beyond, 0)
{
    event(30, TIMERLAT_INTERRUPT, 1000, 0);
    event(30, TIMERLAT_THREAD, 3000, LIMIT + 1);
    event(30, TIMERLAT_USER, 5000 + LIMIT + 2, 0);
    take_cycle(30, 5000);
    CHECK_SAME(timerlat.total.beyond, 1);
    CHECK_SAME(timerlat.total.most_ns, LIMIT + 2);
    CHECK_SAME(timerlat.grid.beyond, 1);
    cycle(31, 0);
    event(32, TIMERLAT_INTERRUPT, 1000, 0);
    event(32, TIMERLAT_THREAD, 3000, 0);
    event(32, TIMERLAT_USER, 5000 - LIMIT - 1, 0); /* before our stamp */
    take_cycle(32, 5000);
    CHECK_SAME(timerlat.total.beyond, 2);
    CHECK_SAME(timerlat.total.least_ns, -LIMIT - 1);
}

LOCATED_TEST(timerlat_order, 0)
{
    event(40, TIMERLAT_INTERRUPT, 1000, 0);
    event(40, TIMERLAT_THREAD, 900, 0);
    take_cycle(40, 5000);
    event(41, TIMERLAT_INTERRUPT, 1000, 0);
    event(41, TIMERLAT_THREAD, 3000, 0);
    take_cycle(41, 2999);
    CHECK_SAME(timerlat.counts.out_of_order, 2);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE);
}

LOCATED_TEST(timerlat_lost, 0)
{
    event(50, TIMERLAT_INTERRUPT, 1000, 0);
    timerlat_match_lost(&timerlat, release_of(50) + 2000);
    event(50, TIMERLAT_USER, 5000, 0);
    take_cycle(50, 5000);
    CHECK_SAME(timerlat.counts.lost, 1);
    take_cycle(60, 5000); /* without any event, long after the gap */
    CHECK_SAME(timerlat.counts.unmatched, 1);
    event(61, TIMERLAT_INTERRUPT, 1000, 0);
    event(62, TIMERLAT_THREAD, 3000, 0); /* of another cycle */
    event(61, 77, 3000, 0);              /* no context that is known */
    take_cycle(61, 5000);
    CHECK_SAME(timerlat.counts.unmatched, 2);
    event(63, TIMERLAT_INTERRUPT, 1000, 0);
    event(63, TIMERLAT_CONTEXTS, 7777, 0); /* touches nothing */
    event(63, TIMERLAT_THREAD, 3000, 0);
    take_cycle(63, 5000);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE + 1);
    CHECK_SAME(seen[seen_count - 1].split.ns[PART_INTERRUPT], 1000);
}
