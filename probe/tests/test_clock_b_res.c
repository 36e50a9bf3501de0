/* CLK-B-RES on made-up clocks: each reading takes a known time, and the clock under test behaves as
 * a test chooses. Builds clk_b_res.c anew. */
#include "base/posix_source.h"

#include "family/clock/clk_b_res.c"
#include "made_up_run.h"
#include "tap.h"

#define READING_NS 100
#define REST_NS INT64_C(1000000)
#define START_NS (1000 * CLOCK_NS_PER_S)

enum { WATCHED = CLOCK_PROCESS_CPUTIME_ID };

static struct {
    int64_t now_ns;
    bool is_stopped;         /* CLOCK_MONOTONIC */
    int64_t tick_ns;         /* step of the watched clock; 0: it stands still */
    int64_t rest_back_ns;    /* it goes back by so much at each rest */
    int64_t rest_forward_ns; /* it moves by so much at each rest */
    int rests;
} fake;

static int64_t watched_ns(void)
{
    int64_t ns = START_NS + fake.rests * (fake.rest_forward_ns - fake.rest_back_ns);
    if (fake.tick_ns > 0)
        ns += (fake.now_ns - START_NS) / fake.tick_ns * fake.tick_ns;
    return ns;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    fake.now_ns += READING_NS;
    int64_t monotonic_ns = fake.is_stopped ? START_NS : fake.now_ns;
    *time = clock_ns_timespec(id == WATCHED ? watched_ns() : monotonic_ns);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake.now_ns += clock_timespec_ns(wanted);
    fake.rests++;
    return 0;
}

/* The watched clock, looked at on one CPU with a rest after each chunk. */
static struct clock_subject look(uint64_t reads)
{
    struct clock_subject subject = {.name = "CLOCK_WATCHED", .id = WATCHED};
    struct record *step = calloc(1, record_size(NULL, 0));
    record_init(step, NULL, 0);
    memset(&run, 0, sizeof run);
    run.rt_budget = (struct rt_budget){.burst_ns = 1, .rest_ns = REST_NS};
    read_steps(&run, &subject, step, reads);
    free(step);
    CHECK_SAME(subject.cpu_count, 1);
    return subject;
}

static const char *judged(const struct clock_subject *subject)
{
    run_of(&clk_b_res);
    run_make_arena();
    report_monotonic(&run, subject);
    bool is_judged = run.arena->verdict_count > 0;
    bool has_passed = is_judged && run.arena->verdicts[0].pass;
    CHECK_SAME(count_events(run.arena, "clock_stands_still"), !is_judged);
    run_free();
    return !is_judged ? "no verdict" : has_passed ? "passed" : "failed";
}

static bool reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ns = START_NS;
    return true;
}

#define CLOCK_TEST(what) TEST_IN(reset(), (void)0, what)

static const struct {
    const char *name;
    int64_t tick_ns, back_ns, forward_ns; /* of the watched clock */
    bool may_stand;                       /* the port knows */
    int back_count;                       /* that is made up; 0: as it was seen */
    bool stands_still;
    const char *judged;
} rows[] = {
    {"it moves", 1, 0, 0, false, 0, false, "passed"},
    {"it stands still", 0, 0, 0, false, 0, true, "failed"},
    {"it steps in a chunk", STILL_LIMIT_NS / 10 * 9 + REST_NS, 0, 0, false, 0, false, "passed"},
    /* a kernel may count CPU time at switches only */
    {"it moves in rests", 0, 0, 1000, false, 0, true, "no verdict"},
    {"it may stand", 0, 0, 0, true, 0, true, "no verdict"},
    {"it may stand, and moves", 1, 0, 0, true, 0, false, "passed"},
    {"it may stand, and goes back", 1, 0, 0, true, 1, false, "failed"},
    {"it goes back at a rest without a step", 0, 1000, 0, false, 0, true, "failed"},
};

TEST(one_clock)
{
    foreach (row, rows, row->name) {
        reset();
        fake.tick_ns = row->tick_ns;
        fake.rest_back_ns = row->back_ns;
        fake.rest_forward_ns = row->forward_ns;
        struct clock_subject subject = look(CHUNK);
        CHECK_SAME(subject.still_count, row->stands_still);
        CHECK_SAME(subject.back_count > 0, row->back_ns > 0);
        CHECK_SAME(subject.has_moved_at_rest, row->forward_ns + row->back_ns > 0);
        /* what stands still, or steps in a chunk only, is waited for */
        CHECK_SAME(subject.read_count > CHUNK, row->tick_ns != 1);
        subject.may_stand = row->may_stand;
        subject.back_count += row->back_count;
        CHECK_TEXT(judged(&subject), row->judged);
    }
}

/* Its rests are no time in which a clock of CPU time had to move. */
CLOCK_TEST(a_clock_that_stands_still)
{
    struct clock_subject subject = look(CHUNK);
    CHECK(subject.still_ns >= STILL_LIMIT_NS);
    CHECK(subject.still_ns <= (int64_t)(subject.read_count + CHUNK) * READING_NS);
}

CLOCK_TEST(a_step_back_over_a_rest)
{
    fake.tick_ns = 1;
    fake.rest_back_ns = 10 * REST_NS;
    struct clock_subject subject = look(3 * CHUNK);
    CHECK_SAME(subject.still_count, 0);
    CHECK_SAME(subject.back_count, fake.rests);
    CHECK(subject.back_worst_ns < -8 * REST_NS && subject.back_worst_ns >= -9 * REST_NS);
}

CLOCK_TEST(all_clocks_stand_still)
{
    fake.is_stopped = true;
    struct clock_subject subject = look(CHUNK);
    CHECK_SAME(subject.still_count, 1);
    CHECK(subject.read_count >= MOST_READS);
}

CLOCK_TEST(limits_of_a_ring)
{
    struct clock_ring ring = {.until_ns = START_NS + CLOCK_SUBJECT_STEPS_NS};
    CHECK(!has_compared_enough(&ring, TOKEN_ROUNDS - 1));
    CHECK(!has_compared_enough(&ring, TOKEN_ROUNDS));
    ring.step_count = CLOCK_SUBJECT_STEPS;
    CHECK(!has_compared_enough(&ring, TOKEN_ROUNDS - 1));
    CHECK(has_compared_enough(&ring, TOKEN_ROUNDS));
    ring.step_count = CLOCK_SUBJECT_STEPS - 1;
    CHECK(has_compared_enough(&ring, MOST_TOKEN_ROUNDS));
    fake.now_ns += CLOCK_SUBJECT_STEPS_NS;
    CHECK(has_compared_enough(&ring, TOKEN_ROUNDS));
}

TEST(steps_of_a_ring)
{
    struct clock_ring ring = {.last = 100};
    compare(&ring, 100);
    CHECK_SAME(ring.step_count, 0);
    compare(&ring, 130);
    CHECK_SAME(ring.step_count, 1);
    CHECK_SAME(ring.back_count, 0);
    compare(&ring, 60);
    CHECK_SAME(ring.step_count, 2);
    CHECK_SAME(ring.back_count, 1);
    CHECK_SAME(ring.back_worst, -40);
}
