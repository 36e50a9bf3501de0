/* The releases of timerlat, and which of its events belong to which read. */
#include "base/posix_source.h"

#include "family/timer/timerlat_match.h"
#include "tap.h"

enum { PERIOD = 100000, PHASE = 700, LIMIT = 500 };

static struct timerlat_match match;
static struct timerlat_wakeup seen[64];
static int seen_count;

static void keep(const struct timerlat_wakeup *wakeup, void *context)
{
    (void)context;
    if (CHECK(seen_count < 64))
        seen[seen_count++] = *wakeup;
}

static void begin(void)
{
    timerlat_match_open(&match, PERIOD, LIMIT);
    seen_count = 0;
}

static int64_t release_of(int cycle)
{
    return (int64_t)cycle * PERIOD + PHASE;
}

/* An event whose stamp is `lag_ns` after timerlat's own reading. */
static void event(int cycle, int64_t context, int64_t latency_ns, int64_t lag_ns)
{
    timerlat_match_event(&match, release_of(cycle) + latency_ns + lag_ns, cycle, context,
                         latency_ns);
}

static void take(int cycle, int64_t total_ns)
{
    const struct part_sample sample = {0, release_of(cycle) + total_ns};
    timerlat_match_take(&match, &sample, keep, NULL);
}

static void cycle(int number, int64_t lag_ns)
{
    event(number, TIMERLAT_INTERRUPT, 1000, lag_ns);
    event(number, TIMERLAT_THREAD, 3000, lag_ns);
    event(number, TIMERLAT_USER, 5300, lag_ns);
    take(number, 5000);
}

/* Its phase is found. */
static void begin_located(int64_t lag_ns)
{
    begin();
    for (int i = 1; i <= TIMERLAT_LOCATE; i++)
        cycle(i, lag_ns);
}

#define LOCATED_TEST(what, lag_ns) TEST_IN((begin_located(lag_ns), true), (void)0, what)

TEST(parts)
{
    begin();
    for (int i = 1; i <= 20; i++)
        cycle(i, i == 5 ? 0 : 90);
    CHECK_SAME(seen_count, 20);
    CHECK_SAME(match.counts.matched, 20);
    for (int i = 0; i < seen_count; i++) {
        CHECK_SAME(seen[i].release_ns, release_of(i + 1));
        CHECK_SAME(seen[i].split.ns[PART_INTERRUPT], 1000);
        CHECK_SAME(seen[i].split.ns[PART_DISPATCH], 2000);
        CHECK_SAME(seen[i].split.ns[PART_RETURN], 2000);
        CHECK_SAME(seen[i].split.before_thread, -1);
    }
    CHECK_SAME(match.total.count, 20);
    CHECK_SAME(match.total.most_ns, 300);
    CHECK_SAME(match.grid.most_ns, 90);
    CHECK_SAME(match.total.beyond, 0);
    CHECK_SAME(match.grid.beyond, 0);
}

/* Fewer than it takes to find the phase: they are not lost at the end. */
TEST(few)
{
    begin();
    for (int i = 1; i < TIMERLAT_LOCATE; i++)
        cycle(i, 10);
    CHECK_SAME(seen_count, 0);
    timerlat_match_close(&match, keep, NULL);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE - 1);
    timerlat_match_close(&match, keep, NULL);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE - 1);
}

/* Something comes between timerlat's reading and its stamp: of some cycle, or of the first ones. */
TEST(delayed_stamps)
{
    static const int64_t delays_ns[] = {30000, 60000, 80000, 95000};
    for (size_t i = 0; i < sizeof delays_ns / sizeof delays_ns[0]; i++) {
        begin();
        for (int number = 1; number <= 40; number++) {
            int64_t delay_ns = number <= 2 || number == 30 ? delays_ns[i] : 0;
            event(number, TIMERLAT_INTERRUPT, 1000, 20 + delay_ns);
            event(number, TIMERLAT_THREAD, 3000 + delay_ns, 10);
            take(number, 5000 + delay_ns);
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
    take(20, 270000);
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
    take(30, 5000);
    CHECK_SAME(match.total.beyond, 1);
    CHECK_SAME(match.total.most_ns, LIMIT + 2);
    CHECK_SAME(match.grid.beyond, 1);
    cycle(31, 0);
    event(32, TIMERLAT_INTERRUPT, 1000, 0);
    event(32, TIMERLAT_THREAD, 3000, 0);
    event(32, TIMERLAT_USER, 5000 - LIMIT - 1, 0); /* before our stamp */
    take(32, 5000);
    CHECK_SAME(match.total.beyond, 2);
    CHECK_SAME(match.total.least_ns, -LIMIT - 1);
}

LOCATED_TEST(order, 0)
{
    event(40, TIMERLAT_INTERRUPT, 1000, 0);
    event(40, TIMERLAT_THREAD, 900, 0);
    take(40, 5000);
    event(41, TIMERLAT_INTERRUPT, 1000, 0);
    event(41, TIMERLAT_THREAD, 3000, 0);
    take(41, 2999);
    CHECK_SAME(match.counts.out_of_order, 2);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE);
}

LOCATED_TEST(lost, 0)
{
    event(50, TIMERLAT_INTERRUPT, 1000, 0);
    timerlat_match_lost(&match, release_of(50) + 2000);
    event(50, TIMERLAT_USER, 5000, 0);
    take(50, 5000);
    CHECK_SAME(match.counts.lost, 1);
    take(60, 5000); /* without any event, long after the gap */
    CHECK_SAME(match.counts.unmatched, 1);
    event(61, TIMERLAT_INTERRUPT, 1000, 0);
    event(62, TIMERLAT_THREAD, 3000, 0); /* of another cycle */
    event(61, 77, 3000, 0);              /* no context that is known */
    take(61, 5000);
    CHECK_SAME(match.counts.unmatched, 2);
    event(63, TIMERLAT_INTERRUPT, 1000, 0);
    event(63, TIMERLAT_CONTEXTS, 7777, 0); /* touches nothing */
    event(63, TIMERLAT_THREAD, 3000, 0);
    take(63, 5000);
    CHECK_SAME(seen_count, TIMERLAT_LOCATE + 1);
    CHECK_SAME(seen[seen_count - 1].split.ns[PART_INTERRUPT], 1000);
}
