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

static const struct {
    const char *name;
    int64_t resolution_ns, jump_ns, drift_ns;
    bool is_exact;
} rows[] = {
    {"a fine clock", 1, 0, 0, true},
    {"a fine clock allows a tenth of a period", 1, 100 * US, 0, true},
    {"a fine clock allows no more", 1, 101 * US, 0, false},
    {"no more where nothing is told", 0, 101 * US, 0, false},
    {"no more the other way", 1, -101 * US, 0, false},
    {"timers on ticks may be later by one", 1000 * US, 900 * US, 0, true},
    {"or earlier", 1000 * US, -900 * US, 0, true},
    {"and no more", 1000 * US, 1001 * US, 0, false},
    {"also by a long tick", 10000 * US, 10000 * US, 0, true},
    {"and no more than that", 10000 * US, 10001 * US, 0, false},
    {"a drift within a tick", 1000 * US, 0, 1 * US, true},
    {"a drift adds up beyond a tick", 1000 * US, 0, 2 * US, false},
    {"no resolution excuses more than POSIX does", CLOCK_NS_PER_S, 20001 * US, 0, false},
    {"that much", CLOCK_NS_PER_S, 20000 * US, 0, true},
};

TEST(interval_exact)
{
    foreach (row, rows, row->name)
        CHECK_SAME(is_exact(row->resolution_ns, row->jump_ns, row->drift_ns), row->is_exact);
}
