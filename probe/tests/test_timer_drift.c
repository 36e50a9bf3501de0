/* The verdict interval_exact of TMR-B-EDGE on a timer whose lateness a test chooses, and a clock of
 * a made-up resolution. Builds tmr_b_edge.c anew. */
#include "base/posix_source.h"

#include "family/timer/tmr_b_edge.c"
#include "made_up_run.h"
#include "tap.h"

#define LATE_NS 5000
#define US INT64_C(1000)

static struct {
    int64_t now_ns;
    int64_t resolution_ns; /* that clock_getres claims; 0: it fails */
    int64_t jump_ns;       /* lateness from the middle on */
    int64_t drift_ns;      /* lateness of each period more than of the one before */
} fake;

int clock_getres(clockid_t id, struct timespec *step)
{
    (void)id;
    *step = clock_ns_timespec(fake.resolution_ns);
    return fake.resolution_ns > 0 ? 0 : -1;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    *time = clock_ns_timespec(fake.now_ns);
    return 0;
}

int mechanism_arm(struct timer_armed *timer, enum timer_kind kind, int64_t start_ns,
                  int64_t period_ns)
{
    *timer = (struct timer_armed){.kind = kind, .base_ns = start_ns, .period_ns = period_ns};
    return 0;
}

int64_t mechanism_wait(struct timer_armed *timer, int64_t timeout_ns, int64_t *now_ns)
{
    (void)timeout_ns;
    int64_t place = (int64_t)timer->served++;
    int64_t late_ns = LATE_NS + place * fake.drift_ns + (place >= PERIODS / 2 ? fake.jump_ns : 0);
    fake.now_ns = *now_ns = timer->base_ns + place * timer->period_ns + late_ns;
    return 1;
}

void mechanism_release(struct timer_armed *timer)
{
    (void)timer;
}

static bool is_exact(int64_t resolution_ns, int64_t jump_ns, int64_t drift_ns)
{
    fake.now_ns = CLOCK_NS_PER_S;
    fake.resolution_ns = resolution_ns;
    fake.jump_ns = jump_ns;
    fake.drift_ns = drift_ns;
    run_of(&tmr_b_edge);
    run_make_arena();
    try_interval_exact(&run, TIMER_NANOSLEEP);
    bool is_judged = CHECK_SAME(run.arena->verdict_count, 1);
    bool has_passed = is_judged && run.arena->verdicts[0].pass;
    run_free();
    return has_passed;
}

TEST(a_fine_clock_allows_a_tenth_of_a_period)
{
    CHECK(is_exact(1, 0, 0));
    CHECK(is_exact(1, 100 * US, 0));
    CHECK(!is_exact(1, 101 * US, 0));
    CHECK(!is_exact(0, 101 * US, 0)); /* nothing is told */
    CHECK(!is_exact(1, -101 * US, 0));
}

TEST(timers_on_ticks_may_be_later_by_one)
{
    CHECK(is_exact(1000 * US, 900 * US, 0));
    CHECK(is_exact(1000 * US, -900 * US, 0));
    CHECK(!is_exact(1000 * US, 1001 * US, 0));
    CHECK(is_exact(10000 * US, 10000 * US, 0));
    CHECK(!is_exact(10000 * US, 10001 * US, 0));
}

TEST(a_drift_adds_up_beyond_a_tick)
{
    CHECK(is_exact(1000 * US, 0, 1 * US));
    CHECK(!is_exact(1000 * US, 0, 2 * US));
}

TEST(no_resolution_excuses_more_than_posix_does)
{
    CHECK(!is_exact(CLOCK_NS_PER_S, 20001 * US, 0));
    CHECK(is_exact(CLOCK_NS_PER_S, 20000 * US, 0));
}
