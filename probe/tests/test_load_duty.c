/* Duty cycles and rates of a load: periods lie on a fixed grid and do not drift. Time passes as the
 * tests say, so what is busy is known to the nanosecond. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "load/element.h"
#include "tap.h"

#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define READ_NS INT64_C(100) /* what a reading takes */

/* One CPU. A wait for it begins right after a reading of the clock or of the run delay, or before
 * it, which is after the one before. */
static struct {
    int64_t now_ns;
    int64_t delay_ns;      /* < 0: not known */
    int64_t wait_ns;       /* another has the CPU for so long ... */
    int readings, wait_at; /* ... after this reading; 0: never */
} fake;

static void pass_reading(void)
{
    fake.now_ns += READ_NS;
    if (++fake.readings != fake.wait_at)
        return;
    fake.now_ns += fake.wait_ns;
    fake.delay_ns += fake.wait_ns;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    *time = clock_ns_timespec(id == CLOCK_MONOTONIC ? fake.now_ns : 0);
    pass_reading();
    return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    (void)id, (void)flags, (void)left;
    int64_t until_ns = clock_timespec_ns(wanted);
    fake.now_ns = until_ns > fake.now_ns ? until_ns : fake.now_ns;
    return 0;
}

WRAP(int64_t, port_run_delay_ns, void)
{
    int64_t told_ns = fake.delay_ns;
    pass_reading();
    return told_ns;
}

/* A piece that takes `ns`; ends the load after `left` of them. */
struct piece {
    int64_t ns;
    int left;
    bool is_idle;
    int64_t waits_ns, stopped_ns; /* in each */
    int64_t begun_ns[16];
    int done;
};

static struct load_map map;
static struct load_slot slot;

static void work(struct worker *worker)
{
    struct piece *piece = worker->own;
    piece->begun_ns[piece->done++ % 16] = fake.now_ns;
    worker->is_idle = piece->is_idle;
    fake.now_ns += piece->ns + piece->waits_ns + piece->stopped_ns;
    fake.delay_ns += piece->waits_ns;
    if (--piece->left == 0)
        atomic_store(&map.stop, 1);
}

static const struct load_element by_wall = {
    .name = "sleep", .kind = LOAD_SHARE, .judged_by_wall = true, .work = work};

static struct piece piece;
static int strangers; /* 1: its parent is another process */

/* In a machine in which no time has passed. */
static void keep(struct piece what, const struct load_element *element, int64_t busy_ns,
                 int64_t period_ns)
{
    struct load_degree degree = {.busy_ns = busy_ns, .period_ns = period_ns};
    struct worker worker = {.element = element,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .supervisor = getppid() + strangers,
                            .own = &piece};
    piece = what;
    fake.now_ns = 5000 * CLOCK_NS_PER_S;
    fake.readings = 0;
    atomic_store(&map.stop, 0);
    memset(&slot, 0, sizeof slot);
    atomic_store(&slot.state, WORKER_READY);
    duty_keep(&worker);
}

static uint64_t counted(int counter)
{
    return atomic_load(&slot.counters[counter]);
}

/* What a piece took, with the readings at its ends. */
static void check_busy(int64_t least_ns)
{
    enum { READINGS = 8 };
    int64_t busy_ns = (int64_t)counted(COUNTER_BUSY_NS);
    CHECK(busy_ns >= least_ns);
    CHECK(busy_ns <= least_ns + (int64_t)counted(COUNTER_ROUNDS) * READINGS * READ_NS);
}

/* When each piece began, in periods of `period_ns` since the first. */
static void check_periods(int64_t period_ns, int each)
{
    for (int i = 1; i < piece.done; i++)
        CHECK_SAME((piece.begun_ns[i] - piece.begun_ns[0] + period_ns / 2) / period_ns, i * each);
}

TEST(busy_is_what_the_pieces_took)
{
    keep((struct piece){.ns = 2 * MS, .left = 5}, &by_wall, 2 * MS, 10 * MS);
    CHECK_SAME(counted(COUNTER_ROUNDS), 5);
    check_busy(10 * MS);
    check_periods(10 * MS, 1);
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS);
}

/* A piece of three times the share may come every third period only. */
TEST(an_overdraft_is_paid_back)
{
    keep((struct piece){.ns = 6 * MS, .left = 4}, &by_wall, 2 * MS, 10 * MS);
    check_periods(10 * MS, 3);
    CHECK_SAME(counted(COUNTER_ROUNDS), 4);
}

TEST(an_idle_piece_does_not_count)
{
    keep((struct piece){.ns = 2 * MS, .left = 3, .is_idle = true}, &by_wall, 5 * MS, 10 * MS);
    CHECK_SAME(piece.done, 3);
    CHECK_SAME(counted(COUNTER_BUSY_NS), 0);
    CHECK_SAME(counted(COUNTER_ROUNDS), 0);
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS); /* as far as it can */
}

/* A process that is stopped works nothing, whatever the clock says: at most one period. */
TEST(stopped_time_does_not_count)
{
    keep((struct piece){.ns = MS, .stopped_ns = 100 * MS, .left = 2}, &by_wall, 10 * MS, 10 * MS);
    CHECK_SAME(piece.done, 2);
    CHECK_SAME(counted(COUNTER_BUSY_NS), 2 * 10 * MS);
}

/* Wherever it falls between two readings, before a piece, after it or between two. */
TEST(a_wait_between_two_readings_does_not_count)
{
    if (!tap_is_wrapped())
        return;
    fake.wait_ns = 50 * MS;
    for (fake.wait_at = 1; fake.wait_at == 1 || fake.wait_at <= fake.readings; fake.wait_at++) {
        keep((struct piece){.ns = 20 * MS, .left = 3}, &by_wall, 900 * MS, 1000 * MS);
        CHECK_SAME(counted(COUNTER_ROUNDS), 3);
        check_busy(3 * 20 * MS);
    }
    CHECK(fake.wait_at > 3 * 2 * 2); /* readings: of two clocks, at both ends of each piece */
    fake.wait_at = 0;
}

/* Where it is not known how long a process waited, all counts. */
TEST(a_delay_that_is_not_known)
{
    if (!tap_is_wrapped())
        return;
    fake.delay_ns = -1;
    keep((struct piece){.ns = 20 * MS, .left = 3}, &by_wall, 900 * MS, 1000 * MS);
    check_busy(3 * 20 * MS);
    fake.delay_ns = 0;
}

/* Without CPU time a share of that is not used up: the period ends it. */
TEST(cpu_time_is_not_wall_time)
{
    struct load_element by_cpu = by_wall;
    by_cpu.judged_by_wall = false;
    keep((struct piece){.ns = MS, .left = 12}, &by_cpu, 2 * MS, 8 * MS);
    check_busy(12 * MS);
    check_periods(MS, 1); /* one after the other, all the period */
    CHECK_SAME(counted(COUNTER_CPU_NS), 0);
}

TEST(a_lost_parent_ends_it)
{
    strangers = 1;
    keep((struct piece){.ns = MS, .left = 1000}, &by_wall, MS, 2 * MS);
    CHECK_SAME(piece.done, 0);
    strangers = 0;
}

TEST(a_rate_is_on_a_grid)
{
    struct rate rate;
    rate_start(&rate, 3, 1000);
    int64_t expected[] = {333333333, 666666666, 1000000000, 1333333333};
    for (int i = 0; i < 4; i++) {
        CHECK_SAME(rate_next_ns(&rate), 1000 + expected[i]);
        rate_step(&rate);
    }
    for (int i = 4; i < 3 * 3600; i++)
        rate_step(&rate);
    CHECK_SAME(rate_next_ns(&rate), 1000 + INT64_C(3600000000000) + 333333333); /* no drift */
}

TEST(what_is_late_is_left_out_and_counted)
{
    struct rate rate;
    rate_start(&rate, 1000, 0);
    CHECK_SAME(rate_skip(&rate, 500000, 0), 0);
    CHECK_SAME(rate_skip(&rate, 10 * MS + 500000, 0), 10);
    CHECK_SAME(rate_next_ns(&rate), 11 * MS);
    CHECK_SAME(rate_skip(&rate, 20 * MS, 100 * MS), 0);
    int64_t hour_ns = INT64_C(3600000000000);
    int64_t skipped = rate_skip(&rate, hour_ns, 0);
    CHECK(rate_next_ns(&rate) >= hour_ns && rate_next_ns(&rate) <= hour_ns + MS);
    CHECK_SAME(10 + skipped, rate_next_ns(&rate) / MS - 1);
}
