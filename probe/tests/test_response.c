/* RSP-P-FIX on a made-up machine: time passes only by its work, so the time of each block is known.
 * Some blocks are disturbed, each has a fixed overhead, and a load makes all work slower. */
#include "base/posix_source.h"

#include "fake_run.h"
#include "run/run.h"
#include "work/fixed_work.h"

enum { SAMPLES = 30, DISTURB_EVERY = 4 };

#define BLOCK_NS INT64_C(10000000)
#define FIXED_NS INT64_C(200000)
#define DISTURBANCE_NS INT64_C(3000000)
#define COLD_NS INT64_C(7000000)
#define TAKEN_NS INT64_C(50000000)
#define READ_NS INT64_C(20)
#define ADDITIONS UINT64_C(1234567)

static int64_t fake_now_ns, fake_taken_ns; /* time, and what of it the thread was not given */
static unsigned blocks, block_taken;
static uint64_t largest;       /* most operations of a block since the start */
static int64_t slower;         /* how many times longer an operation takes */
static bool has_cold, is_cold; /* the first work after a sleep takes longer */

const char *const work_names[WORK_KINDS + 1] = {"add", "copy", "whetstone", NULL};

void work_do(struct work_space *space, int kind, uint64_t count)
{
    static const int64_t cost_ns[WORK_KINDS] = {1, 333, 9001};
    (void)space;
    fake_now_ns += FIXED_NS + (int64_t)count * cost_ns[kind] * slower;
    largest = count > largest ? count : largest;
    if (++blocks % DISTURB_EVERY == 0)
        fake_now_ns += DISTURBANCE_NS;
    if (has_cold && is_cold)
        fake_now_ns += COLD_NS;
    is_cold = false;
    if (blocks == block_taken) {
        fake_now_ns += TAKEN_NS;
        fake_taken_ns += TAKEN_NS;
    }
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    fake_now_ns += READ_NS;
    *time = clock_ns_timespec(fake_now_ns - (id == CLOCK_PROCESS_CPUTIME_ID ? fake_taken_ns : 0));
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted);
    is_cold = true;
    return 0;
}

/* `assignment`: a parameter with its value. */
static bool start(char *assignment)
{
    fake_now_ns = 1000 * CLOCK_NS_PER_S;
    blocks = block_taken = 0;
    largest = 0;
    slower = 1;
    has_cold = false;
    fake_run_parse((char *[]){"RSP-P-FIX", "--clock", "monotonic", "-p", assignment, NULL},
                   SAMPLES);
    bool is_ready = CHECK(fake_run_prepare());
    run.start_ns = 0; /* it begins after the calibration */
    return is_ready;
}

static int measure(void)
{
    run.start_ns = clock_monotonic_ns();
    return run.test->measure(&run);
}

#define RUN_TEST(what, assignment) TEST_IN(start(assignment), fake_run_end(), what)
#define ALL_KINDS "kinds=add,copy,whetstone"

/* Operations that the result tells; 0: it does not. */
static int64_t told(const char *param)
{
    for (uint32_t i = 0; i < run.arena->calibrated_count; i++)
        if (strcmp(run.arena->calibrated[i].param, param) == 0)
            return run.arena->calibrated[i].value;
    return 0;
}

RUN_TEST(a_block_takes_its_time, ALL_KINDS)
{
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(measure(), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    struct record *scratch = tap_memory(arena_scratch_bytes(run.arena));
    for (uint32_t kind = 0; kind < WORK_KINDS; kind++) {
        const struct record *time = arena_read(run.arena, kind, scratch);
        CHECK_SAME(time->count, SAMPLES);
        CHECK_NEAR((double)time->min, (double)BLOCK_NS, (double)BLOCK_NS * 0.05);
        /* what was disturbed is longer by just that: always the same work */
        CHECK_SAME(time->max, time->min + DISTURBANCE_NS);
        CHECK_NEAR((double)record_quantile(time, 0.5), (double)time->min, (double)time->min / 512);
        CHECK_NEAR(record_mean(time), (double)(time->min + DISTURBANCE_NS / DISTURB_EVERY),
                   (double)DISTURBANCE_NS / SAMPLES);
    }
}

RUN_TEST(what_follows_a_rest_is_not_recorded, ALL_KINDS)
{
    has_cold = true;
    run.samples = 10 * SAMPLES;
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(measure(), 0);
    CHECK(run.rt_budget.rested_ns > 0);
    const struct record *time = arena_record(run.arena, WORK_KINDS - 1);
    CHECK_SAME(time->count, 10 * SAMPLES);
    CHECK_SAME(time->max, time->min + DISTURBANCE_NS);
}

/* Under a load that makes all slower the work is what it was without: only its time is another. */
RUN_TEST(the_load_does_not_change_the_work, ALL_KINDS)
{
    static const char *const params[WORK_KINDS] = {"add_operations", "copy_operations",
                                                   "whetstone_operations"};
    CHECK_SAME(run.test->calibrate(&run), 0);
    slower = 3;
    largest = 0;
    CHECK_SAME(measure(), 0);
    CHECK_SAME(largest, told(params[WORK_ADD]));
    struct record *scratch = tap_memory(arena_scratch_bytes(run.arena));
    for (uint32_t kind = 0; kind < WORK_KINDS; kind++) {
        CHECK(told(params[kind]) > 0);
        CHECK_NEAR((double)arena_read(run.arena, kind, scratch)->min, 3.0 * BLOCK_NS,
                   0.05 * 3 * BLOCK_NS);
    }
}

/* Nothing is worked before the measurement for the kind, and its blocks have just that number. */
RUN_TEST(a_given_number_is_not_calibrated, "add_operations=1234567")
{
    struct request given = *run.request;
    given.params[variant_place(&run, "kinds")].count = 1;
    run.request = &given;
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(blocks, 0);
    CHECK_SAME(told("add_operations"), ADDITIONS);
    CHECK_SAME(told("copy_operations"), 0);
    CHECK_SAME(measure(), 0);
    CHECK_SAME(largest, ADDITIONS);
    CHECK_SAME(arena_record(run.arena, WORK_ADD)->min, FIXED_NS + (int64_t)ADDITIONS + READ_NS);
}

/* A number that is found half is told to nobody. */
RUN_TEST(a_stop_leaves_no_number, ALL_KINDS)
{
    block_taken = 50;
    run.test->calibrate(&run);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_SAME(run.arena->calibrated_count, 0);
    CHECK_SAME(run.arena->events[0].at_ns, -1);
    stop_reset();
}

/* The last one: it asks the process to end. */
RUN_TEST(time_that_was_taken_is_no_response, ALL_KINDS)
{
    CHECK_SAME(run.test->calibrate(&run), 0);
    block_taken = blocks + 20;
    measure();
    CHECK(blocks >= block_taken && blocks < block_taken + DISTURB_EVERY);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the test did not get the CPU");
}
