/* Which events of the kernel belong to which wake-up: of tracepoints, and of timerlat. */
#include "base/posix_source.h"

#include "family/timer/part_match.h"
#include "tap.h"

/* "i" and "I": an interrupt begins and ends; "w" and "v": the thread is woken, in an interrupt or
 * not; "s" and "h": the CPU is given to it by cc1 7 and by hog 9; "L": something was lost; each
 * with its time. "t1000-1100" takes the sample of that release and stamp: its three parts, or "-",
 * and who had the CPU before. */
static void play(struct part_match *match, const char *events, char *taken)
{
    struct part_split split;
    for (char *next; *events; events = next + strspn(next, " ")) {
        int64_t at_ns = strtoll(events + 1, &next, 10);
        if (*events == 'i' || *events == 'I')
            part_match_interrupt(match, at_ns, *events == 'i');
        else if (*events == 'w' || *events == 'v')
            part_match_waking(match, at_ns, *events == 'w');
        else if (*events == 's')
            part_match_switch(match, at_ns, 7, "cc1", 4);
        else if (*events == 'h')
            part_match_switch(match, at_ns, 9, "hog", 4);
        else if (*events == 'L')
            part_match_lost(match, at_ns);
        if (*events != 't')
            continue;
        const struct part_sample sample = {at_ns, strtoll(next + 1, &next, 10)};
        if (part_match_take(match, &sample, &split))
            taken += sprintf(taken, "%d %d %d", (int)split.ns[PART_INTERRUPT],
                             (int)split.ns[PART_DISPATCH], (int)split.ns[PART_RETURN]);
        else
            taken += sprintf(taken, "-");
        bool is_known = split.before_thread != -1 || split.before[0];
        taken += sprintf(taken, is_known ? " %s %d; " : " nobody; ", split.before,
                         (int)split.before_thread);
    }
}

#define WAKE_UP "i1010 w1020 I1030 s1050 "
#define TAKE "t1000-1100 "

static const struct {
    const char *name, *events, *taken;
    struct part_counts counts;
} rows[] = {
    {"plain", WAKE_UP TAKE, "10 40 50 cc1 7; ", {.matched = 1}},
    /* the tick, a handler of its own, comes between the release and ours, or after the wake-up */
    {"several interrupts",
     "i1001 I1004 " WAKE_UP "i1060 I1070 " TAKE,
     "10 40 50 cc1 7; ",
     {.matched = 1}},
    /* it already ran for another timer: nothing had to be waited for */
    {"a handler begun before",
     "i990 w1020 I1030 s1050 " TAKE,
     "0 50 50 cc1 7; ",
     {.matched = 1, .begun_early = 1}},
    /* in a handler that is not among the events, of another line or CPU; the tick, alone since the
     * release, is not ours */
    {"another handler",
     "i990 I995 w1020 s1050 " TAKE "i2005 I2008 w2020 s2050 t2000-2100",
     "- cc1 7; - cc1 7; ",
     {.unmatched = 2}},
    /* after the handler: only an interrupt that is alone since the release is ours */
    {"in a softirq", "i990 I992 i1010 I1012 v1020 s1050 " TAKE, "10 40 50 cc1 7; ", {.matched = 1}},
    {"in a softirq of two",
     "i1002 I1004 i1010 I1012 v1020 s1050 " TAKE,
     "- cc1 7; ",
     {.unmatched = 1}},
    {"in a softirq of none",
     "i980 I982 i990 I992 v1020 s1050 " TAKE,
     "- cc1 7; ",
     {.unmatched = 1}},
    /* on its way to user space: the first switch ends the dispatch, and whoever had the CPU before
     * the last one kept the thread waiting */
    {"preempted", WAKE_UP "h1080 " TAKE, "10 40 50 hog 9; ", {.matched = 1}},
    {"preempted after its stamp", WAKE_UP "h1110 " TAKE, "10 40 50 nobody; ", {.matched = 1}},
    {"no handler, and no sleep",
     "w1020 s1050 " TAKE "t1200-1300",
     "- cc1 7; - nobody; ",
     {.unmatched = 1, .not_slept = 1}},
    /* the events before are not used again; woken before it had left the CPU */
    {"not slept",
     WAKE_UP TAKE "t1090-1110 w1200 t1190-1210",
     "10 40 50 cc1 7; - nobody; - nobody; ",
     {.matched = 1, .not_slept = 1, .not_switched = 1}},
    /* it comes before the sample of the one before is taken */
    {"the next waits",
     WAKE_UP "t900-950 " TAKE,
     "- nobody; 10 40 50 cc1 7; ",
     {.matched = 1, .out_of_order = 1}},
    {"switched to after its stamp",
     "i1010 w1020 I1030 s1101 " TAKE,
     "- nobody; ",
     {.out_of_order = 1}},
    {"woken before its release", "i980 w990 I995 s1050 " TAKE, "- nobody; ", {.out_of_order = 1}},
    /* the entry; all, where no stamp is after the latest event. After the gap it is a matter of the
     * sample again */
    {"lost",
     "i1010 L1015 w1020 s1050 " TAKE "i2010 w2020 I2030 s2050 L0 t2000-2100 "
     "i3010 w3020 I3030 s3050 t3000-3100 t3090-3110",
     "- cc1 7; - nobody; 10 40 50 cc1 7; - nobody; ",
     {.lost = 2, .matched = 1, .not_slept = 1}},
    {"lost before a softirq", "i1010 I1012 L1015 v1020 s1050 " TAKE, "- cc1 7; ", {.lost = 1}},
    {"lost at a known time", "i2010 w2020 I2030 s2050 L2060 t2000-2100", "- nobody; ", {.lost = 1}},
};

TEST(wake_ups_by_tracepoints)
{
    foreach (row, rows, row->name) {
        struct part_match match = {0};
        char taken[200] = "";
        play(&match, row->events, taken);
        CHECK_TEXT(taken, row->taken);
        CHECK(memcmp(&match.counts, &row->counts, sizeof match.counts) == 0);
    }
}

/* A name that fills its field has no end. */
TEST(long_name)
{
    static const char name[32] = "0123456789abcdefghijklmnopqrstu";
    const struct part_sample sample = {1000, 1100};
    struct part_match match = {0};
    struct part_split split;
    part_match_interrupt(&match, 1010, true);
    part_match_waking(&match, 1020, true);
    part_match_switch(&match, 1050, 1, name, sizeof name);
    CHECK(part_match_take(&match, &sample, &split));
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
