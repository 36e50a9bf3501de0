/* The search for the shortest sustained period, on systems that are made up. */
#include "base/posix_source.h"

#include "family/interrupt/sustained_search.h"

#include "tap.h"

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
static void the_limit_is_found(void)
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

static void all_pass(void)
{
    struct sustained_search search = usual();
    CHECK_SAME(search_all(&search, all, 0).count, 1);
    CHECK_SAME(search.passed_ns, 1000);
    CHECK_SAME(search.failed_ns, 0);
}

static void none_passes(void)
{
    struct sustained_search search = usual();
    CHECK_SAME(search_all(&search, none, 0).count, 11);
    CHECK_SAME(search.passed_ns, 0);
    CHECK_SAME(search.failed_ns, 1000000);
}

static void one_period_only(void)
{
    struct sustained_search search = {.least_ns = 5050, .most_ns = 5050};
    CHECK_SAME(search_all(&search, all, 0).count, 1);
    CHECK_SAME(search.passed_ns, 5050);
    search = (struct sustained_search){.least_ns = 5050, .most_ns = 5050};
    CHECK_SAME(search_all(&search, none, 0).count, 1);
    CHECK_SAME(search.passed_ns, 0);
}

/* What is found was sustained, and a shorter period next to it was not. */
static void noise_ends_too(void)
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
static void it_goes_on_from_its_bounds(void)
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

TAP_MAIN({"the limit is found", the_limit_is_found}, {"all periods pass", all_pass},
         {"no period passes", none_passes}, {"one period", one_period_only},
         {"a noisy system", noise_ends_too},
         {"a search that was cut goes on from its bounds", it_goes_on_from_its_bounds})
