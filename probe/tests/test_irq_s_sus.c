/* The parts of IRQ-S-SUS: which interrupt belongs to which send, and the search for the rate. */
#include "base/posix_source.h"

#include "family/interrupt/interrupt_latency.h"
#include "family/interrupt/irq_s_sus.h"
#include "tap.h"

/* ---- The fate of each interrupt of a long series, by gaps that are made up ---- */

enum { PERIOD = 10000, MANY = 20000 };

static struct sustained_match match;

/* A test of sends whose CPUs' counters may differ by `skew`. */
#define MATCH_TEST(what, skew) TEST_IN((sustained_match_open(&match, skew), true), (void)0, what)

static void send(uint64_t at, uint64_t returned, uint64_t due)
{
    sustained_match_send(&match, &(struct sustained_send){at, returned, due});
}

/* One that returns after 1000 and is due again a period after it. */
static void send_at(uint64_t at)
{
    send(at, at + 1000, at + PERIOD);
}

static void check_counts(uint64_t seen, uint64_t merged, uint64_t lost, uint64_t late)
{
    CHECK_SAME(match.counts.seen, seen);
    CHECK_SAME(match.counts.merged, merged);
    CHECK_SAME(match.counts.lost, lost);
    CHECK_SAME(match.counts.late, late);
    CHECK_SAME(match.counts.interrupts, seen + merged + lost);
}

MATCH_TEST(fates, 0)
{
    sustained_match_gap(&match, 10100, 11500);
    send_at(10000);
    check_counts(1, 0, 0, 0);
    send_at(20000); /* no gap at all */
    check_counts(1, 0, 1, 0);
    sustained_match_gap(&match, 29000, 31500);
    send_at(30000); /* the CPU was gone before */
    check_counts(1, 1, 1, 0);
    sustained_match_gap(&match, 39000, 39900);
    sustained_match_gap(&match, 40500, 52000);
    send_at(40000); /* served when the next is due */
    check_counts(2, 1, 1, 1);
    send_at(51000); /* within the gap of the one before */
    check_counts(2, 2, 1, 1);
    sustained_match_gap(&match, 62500, 63000);
    send_at(61000); /* another gap, after the return */
    check_counts(2, 2, 2, 1);
}

/* One gap is one interrupt, also where the skew of two sends covers it. */
MATCH_TEST(a_gap_is_one_interrupt, 300)
{
    sustained_match_gap(&match, 10900, 11050);
    send(10000, 11000, 20000);
    send(11010, 12000, 20000);
    check_counts(1, 1, 0, 0);
}

MATCH_TEST(a_late_source_is_not_the_systems, 0)
{
    sustained_match_gap(&match, 30100, 31000);
    send(30000, 30900, 20000);
    check_counts(1, 0, 0, 0);
    CHECK_SAME(match.counts.source_late, 1);
}

/* More gaps than are kept: the newest ones are. */
MATCH_TEST(many_gaps_before_a_send, 0)
{
    for (uint64_t i = 0; i < 10 * SUSTAINED_GAPS; i++)
        sustained_match_gap(&match, 10 * i, 10 * i + 5);
    sustained_match_gap(&match, 10100, 11500);
    send_at(10000);
    check_counts(1, 0, 0, 0);
}

/* A system that loses by name: each third of some thousands, with ticks between, over the end of
 * the counter. The same fates as those of sent_match, which has all gaps at once. */
TEST(as_with_all_gaps_at_once)
{
    static struct gap gaps[2 * MANY];
    static struct sent sends[MANY];
    static struct sent_result results[MANY];
    struct sent_counts all = {0};
    uint64_t state = 7, at = UINT64_MAX - (uint64_t)MANY * PERIOD / 2, lost = 0;
    uint32_t gap_count = 0;
    sustained_match_open(&match, 0);
    for (uint32_t i = 0; i < MANY; i++, at += PERIOD) {
        uint64_t kind = tap_random(&state) % 3, first = gap_count;
        if (tap_random(&state) % 5 == 0 && kind == 1) { /* a tick that covers it */
            gaps[gap_count++] = (struct gap){at - 500, at + 700};
        } else if (kind == 0) {
            lost++;
        } else {
            gaps[gap_count++] = (struct gap){at + 200, at + 1500};
        }
        if (tap_random(&state) % 7 == 0) /* a tick between two */
            gaps[gap_count++] = (struct gap){at + 3000, at + 6000};
        sends[i] = (struct sent){at, at, at + 1000};
        bool has_tick_after = gap_count > first && gaps[gap_count - 1].begin == at + 3000;
        for (uint64_t j = first; j < gap_count - (has_tick_after ? 1 : 0); j++)
            sustained_match_gap(&match, gaps[j].begin, gaps[j].end);
        send_at(at);
        if (has_tick_after)
            sustained_match_gap(&match, at + 3000, at + 6000);
    }
    struct sent_watch always = {sends[0].from - PERIOD, sends[MANY - 1].to + PERIOD};
    sent_match(gaps, gap_count, &always, sends, MANY, results, &all);
    CHECK_SAME(match.counts.lost, lost);
    CHECK_SAME(match.counts.lost, all.of[SENT_NOT_SEEN]);
    CHECK_SAME(match.counts.seen, all.of[SENT_SEEN]);
    CHECK_SAME(match.counts.merged, all.of[SENT_IN_OTHER]);
    CHECK_SAME(match.counts.interrupts, MANY);
}

static void take(uint64_t first, uint64_t count, const struct gap *gap)
{
    static const struct sustained_grid grid = {.start = PERIOD, .period_16 = PERIOD * 65536};
    sustained_match_expiries(&match, &grid, &(struct sustained_expiries){first, count, gap}, 500);
}

static void check_timer(uint64_t seen, uint64_t merged, uint64_t lost, uint64_t unwatched,
                        uint64_t not_armed)
{
    CHECK_SAME(match.counts.seen, seen);
    CHECK_SAME(match.counts.merged, merged);
    CHECK_SAME(match.counts.lost, lost);
    CHECK_SAME(match.counts.unwatched, unwatched);
    CHECK_SAME(match.counts.not_armed, not_armed);
    CHECK_SAME(match.counts.interrupts, seen + merged + lost + unwatched);
}

/* Number k is due at PERIOD x (k + 1). */
MATCH_TEST(expiries_of_a_timer, 0)
{
    take(0, 1, &(struct gap){10100, 11500});
    take(1, 1, &(struct gap){19600, 21000}); /* by a hypervisor, to be in time */
    check_timer(2, 0, 0, 0, 0);
    take(2, 1, &(struct gap){29000, 31000});
    check_timer(2, 1, 0, 0, 0);
    take(3, 4, &(struct gap){40100, 70500}); /* numbers 4 to 6 were due in it */
    check_timer(3, 1, 3, 0, 0);
    CHECK_SAME(match.counts.late, 1);
}

/* The first came in the take before, and the timer was not armed for the second. */
MATCH_TEST(an_expiry_in_a_take_loses_none, 0)
{
    take(0, 2, NULL);
    check_timer(0, 0, 0, 1, 1);
    /* of something else, before the take in which it came */
    take(2, 1, &(struct gap){28000, 29900});
    check_timer(0, 0, 0, 2, 1);
    take(3, 3, &(struct gap){40100, 50500}); /* the CPU was back before number 5 was due */
    check_timer(1, 0, 1, 2, 2);
}

/* ---- The search for the shortest sustained period, on systems that are made up ---- */

enum { MOST_STEPS = 40 };

struct tried {
    int count;
    int64_t periods_ns[MOST_STEPS];
    int64_t sum_ns;
};

typedef bool (*system_kind)(int64_t period_ns, int64_t limit_ns);

static bool above(int64_t period_ns, int64_t limit_ns)
{
    return period_ns >= limit_ns;
}

static bool all(int64_t period_ns, int64_t limit_ns)
{
    (void)period_ns, (void)limit_ns;
    return true;
}

static bool none(int64_t period_ns, int64_t limit_ns)
{
    (void)period_ns, (void)limit_ns;
    return false;
}

/* Fails now and then above its limit, and passes now and then below it. */
static bool noisy(int64_t period_ns, int64_t limit_ns)
{
    uint64_t state = (uint64_t)period_ns;
    return tap_random(&state) % 4 == 0 ? period_ns < limit_ns : period_ns >= limit_ns;
}

static struct tried search_all(struct sustained_search *search, system_kind passes,
                               int64_t limit_ns)
{
    struct tried tried = {0};
    int64_t period_ns;
    while ((period_ns = sustained_search_next(search)) > 0 && tried.count < MOST_STEPS) {
        for (int i = 0; i < tried.count; i++)
            CHECK(tried.periods_ns[i] != period_ns); /* no period twice */
        CHECK(period_ns >= search->least_ns && period_ns <= search->most_ns);
        tried.periods_ns[tried.count++] = period_ns;
        tried.sum_ns += period_ns;
        sustained_search_take(search, period_ns, passes(period_ns, limit_ns));
    }
    CHECK(tried.count < MOST_STEPS);
    return tried;
}

static struct sustained_search usual(void)
{
    return (struct sustained_search){.least_ns = 1000, .most_ns = 1000000};
}

/* Within 2 % or one place of the grid above the true limit, in few steps, most of them short. */
TEST(the_limit_is_found)
{
    for (int64_t limit_ns = 1001; limit_ns < 1000000; limit_ns += limit_ns / 37 + 1) {
        struct sustained_search search = usual();
        struct tried tried = search_all(&search, above, limit_ns);
        CHECK(search.passed_ns >= limit_ns && search.failed_ns < limit_ns);
        CHECK((search.passed_ns - search.failed_ns) * 100 <= 2 * search.passed_ns ||
              search.passed_ns - search.failed_ns <= SUSTAINED_GRID_NS);
        CHECK(search.passed_ns % SUSTAINED_GRID_NS == 0 || search.passed_ns == search.most_ns);
        CHECK(tried.count <= 18);
        CHECK(tried.sum_ns < 14 * limit_ns + 4000);
    }
}

TEST(all_pass_or_none)
{
    static const struct {
        const char *name;
        struct sustained_search search;
        system_kind passes;
        int count;
        int64_t passed_ns, failed_ns;
    } rows[] = {{"all pass", {.least_ns = 1000, .most_ns = 1000000}, all, 1, 1000, 0},
                {"none passes", {.least_ns = 1000, .most_ns = 1000000}, none, 11, 0, 1000000},
                {"the only one passes", {.least_ns = 5050, .most_ns = 5050}, all, 1, 5050, 0},
                {"the only one fails", {.least_ns = 5050, .most_ns = 5050}, none, 1, 0, 5050}};
    foreach (row, rows, row->name) {
        struct sustained_search search = row->search;
        CHECK_SAME(search_all(&search, row->passes, 0).count, row->count);
        CHECK_SAME(search.passed_ns, row->passed_ns);
        CHECK_SAME(search.failed_ns, row->failed_ns);
    }
}

/* What is found was sustained, and a shorter period next to it was not. */
TEST(noise_ends_too)
{
    for (int64_t limit_ns = 1000; limit_ns < 500000; limit_ns += 997) {
        struct sustained_search search = usual();
        (void)search_all(&search, noisy, limit_ns);
        if (search.passed_ns > 0)
            CHECK(noisy(search.passed_ns, limit_ns));
        if (search.failed_ns > 0)
            CHECK(!noisy(search.failed_ns, limit_ns));
        CHECK(search.passed_ns == 0 || search.failed_ns < search.passed_ns);
    }
}

/* Cut after any step, with only the two bounds kept, it ends where it would have ended. */
TEST(it_goes_on_from_its_bounds)
{
    const int64_t limit_ns = 14300;
    struct sustained_search whole = usual();
    struct tried tried = search_all(&whole, above, limit_ns);
    for (int cut = 0; cut <= tried.count; cut++) {
        struct sustained_search first = usual();
        for (int i = 0; i < cut; i++)
            sustained_search_take(&first, tried.periods_ns[i],
                                  above(tried.periods_ns[i], limit_ns));
        struct sustained_search second = usual();
        second.passed_ns = first.passed_ns;
        second.failed_ns = first.failed_ns;
        CHECK_SAME(search_all(&second, above, limit_ns).count, tried.count - cut);
        CHECK_SAME(second.passed_ns, whole.passed_ns);
        CHECK_SAME(second.failed_ns, whole.failed_ns);
    }
}
