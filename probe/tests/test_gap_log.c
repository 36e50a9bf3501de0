/* The gap log on a made-up counter: the tests choose each step that the loop sees. Builds clock.c
 * and gap_log.c anew. */
#include "base/posix_source.h"

#include <stdint.h>

#define COUNTER_NAME "made up"
static uint64_t counter_read(void);
static uint64_t counter_begin(void);
static uint64_t counter_end(void);

#include "base/clock.c"
#include "family/shared/gap_log.c"
#include "tap.h"

enum { GAPS = 4, JUMPS = 8 };

/* The counter moves on by `step` at each reading, and by `jump` more at the reading `at`. It shows
 * a multiple of `quantum`. */
static struct {
    uint64_t now, step, quantum, reads;
    int jumps;
    struct {
        uint64_t at;
        int64_t ticks;
    } jump[JUMPS];
    uint64_t over_at; /* reading at which is_over is set; 0: never */
    atomic_bool is_over;
} fake;

static uint64_t counter_read(void)
{
    fake.reads++;
    fake.now += fake.step;
    for (int i = 0; i < fake.jumps; i++)
        if (fake.jump[i].at == fake.reads)
            fake.now += (uint64_t)fake.jump[i].ticks;
    if (fake.over_at > 0 && fake.reads >= fake.over_at)
        atomic_store(&fake.is_over, true);
    return fake.now - fake.now % fake.quantum;
}

static uint64_t counter_begin(void)
{
    return counter_read();
}

static uint64_t counter_end(void)
{
    return counter_read();
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
    (void)reason, (void)reason_bytes;
    return true;
}

static struct gap gaps[GAPS];
static struct gap_log gap_log;
static struct clock made_up;

static bool open_log(uint64_t hz, uint64_t step, uint64_t quantum)
{
    memset(&fake, 0, sizeof fake);
    memset(&made_up, 0, sizeof made_up);
    clock_set_rate(&made_up, (double)hz, 0);
    fake.now = 1000000;
    fake.step = step;
    fake.quantum = quantum;
    gap_log_open(&gap_log, &made_up, gaps, GAPS);
    return true;
}

static uint64_t watch(uint64_t until)
{
    return gap_log_watch(&gap_log, &made_up, until, NULL);
}

#define LOG_TEST(what) TEST_IN(open_log(2000000000, 40, 1), (void)0, what)

static void jump(uint64_t reads_ahead, int64_t ticks)
{
    fake.jump[fake.jumps].at = fake.reads + reads_ahead;
    fake.jump[fake.jumps++].ticks = ticks;
}

TEST(thresholds)
{
    static const struct {
        uint64_t hz, step, quantum, turn, threshold;
    } cases[] = {
        {2000000000, 40, 1, 40, 600}, {2000000000, 100, 1, 100, 1000}, {24000000, 1, 1, 1, 10},
        {100000000, 2, 1, 2, 30},     {1000000000, 20, 1000, 0, 2000}, /* it shows whole
                                                                          microseconds */
        {1000000, 0, 1, 0, 2},        {1000000000, 30, 40, 40, 400},
    };
    foreach (row, cases, NULL) {
        open_log(row->hz, row->step, row->quantum);
        CHECK_SAME(gap_log.turn, row->turn);
        CHECK_SAME(gap_log.threshold, row->threshold);
        CHECK_SAME(gap_log.count, 0);
        CHECK_SAME(gap_log.dropped_count, 0);
    }
}

/* The first steps of a clock that moves on with the kernel's tick come late. */
TEST(a_step_that_comes_late)
{
    open_log(1000000000, 20, 4000000);
    CHECK_SAME(gap_log.threshold, 8000000);
    watch(counter_read() + 40000000);
    CHECK_SAME(gap_log.count, 0);
}

/* A loop that was interrupted while it was measured. */
LOG_TEST(the_median)
{
    for (uint64_t at = 2; at < JUMPS + 2; at++)
        jump(at, 1000000);
    gap_log_open(&gap_log, &made_up, gaps, GAPS);
    CHECK_SAME(gap_log.turn, 40);
}

LOG_TEST(gaps)
{
    uint64_t from = fake.now;
    jump(2, 559); /* one tick less than a gap */
    jump(4, 560);
    jump(5, 10000); /* at once after it */
    uint64_t end = watch(from + 20000);
    CHECK_SAME(gap_log.count, 2);
    CHECK_SAME(gaps[0].begin - from, 3 * 40 + 559);
    CHECK_SAME(gaps[0].end - gaps[0].begin, 600);
    CHECK_SAME(gaps[1].begin, gaps[0].end);
    CHECK_SAME(gaps[1].end - gaps[1].begin, 10040);
    CHECK(end >= from + 20000 && end < from + 20040);
}

/* From one watch to the next no gap: the thread was allowed to rest. */
LOG_TEST(two_watches)
{
    jump(3, 1000);
    watch(fake.now + 4000);
    CHECK_SAME(gap_log.count, 1);
    fake.now += 1000000;
    jump(3, 1000);
    watch(fake.now + 4000);
    CHECK_SAME(gap_log.count, 2);
    CHECK_SAME(gaps[1].end - gaps[1].begin, 1040);
}

LOG_TEST(being_told_to_end)
{
    fake.over_at = fake.reads + 10;
    uint64_t end = gap_log_watch(&gap_log, &made_up, fake.now + 1000000000, &fake.is_over);
    CHECK_SAME(fake.reads, fake.over_at);
    CHECK_SAME(end, fake.now);
}

LOG_TEST(a_full_log)
{
    for (uint64_t i = 0; i < GAPS + 3; i++)
        jump(2 + 2 * i, 2000 + (int64_t)i);
    watch(fake.now + 30000);
    CHECK_SAME(gap_log.count, GAPS);
    CHECK_SAME(gap_log.dropped_count, 3);
    CHECK_SAME(gaps[0].end - gaps[0].begin, 2040);
    CHECK_SAME(gaps[GAPS - 1].end - gaps[GAPS - 1].begin, 2040 + GAPS - 1);
}

/* Whatever made it: there is no gap of minus some ticks. */
LOG_TEST(a_counter_that_steps_back)
{
    jump(3, -5000);
    jump(6, 800);
    watch(fake.now + 4000);
    CHECK_SAME(gap_log.count, 1);
    CHECK_SAME(gaps[0].end - gaps[0].begin, 840);
}

/* A counter of few bits that wraps while it is watched. */
LOG_TEST(a_counter_that_wraps)
{
    fake.now = UINT64_MAX - 1000;
    jump(30, 1000);
    watch(fake.now + 4000);
    CHECK_SAME(gap_log.count, 1);
    CHECK_SAME(gaps[0].end - gaps[0].begin, 1040);
}
