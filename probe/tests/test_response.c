/* RSP-P-FIX on a made-up machine: time passes only by its work, so the time of each block is known.
 * Some blocks are disturbed, each has a fixed overhead, and a load makes all work slower. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "command/args.h"
#include "fake_port.h"
#include "run/stop.h"
#include "run/variant.h"
#include "tap.h"
#include "work/fixed_work.h"

#include <stdlib.h>

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
static void start(struct run *run, struct request *request, char *assignment)
{
    char error[ARGS_ERROR_BYTES];
    char *words[] = {"hardstone-probe", "run", "RSP-P-FIX", "--clock",
                     "monotonic",       "-p",  assignment};
    fake_port.has_budget = true;
    fake_port.runtime_ns = 950000000;
    fake_port.period_ns = 1000000000;
    fake_now_ns = 1000 * CLOCK_NS_PER_S;
    blocks = block_taken = 0;
    largest = 0;
    slower = 1;
    has_cold = false;
    CHECK_SAME(args_parse(sizeof words / sizeof words[0], words, request, error, sizeof error), 0);
    memset(run, 0, sizeof *run);
    run->request = request;
    run->test = request->test;
    run->samples = SAMPLES;
    run->is_realtime = true;
    run->before.steal_ns = -1;
    clock_open(&run->clock, false, 0);
    rt_budget_init(&run->rt_budget);
    CHECK_SAME(variant_declare(run), 0);
    run->scratch = calloc(1, record_size(NULL, 0));
    record_init(run->scratch, NULL, 0);
    run->arena = arena_create(&run->plan, NULL, &run->outcome);
    CHECK_SAME(run->test->prepare(run), 0);
}

static int measure(struct run *run)
{
    run->start_ns = clock_monotonic_ns();
    return run->test->measure(run);
}

/* Operations that the result tells; 0: it does not. */
static int64_t told(const struct run *run, const char *param)
{
    for (uint32_t i = 0; i < run->arena->calibrated_count; i++)
        if (strcmp(run->arena->calibrated[i].param, param) == 0)
            return run->arena->calibrated[i].value;
    return 0;
}

#define ALL_KINDS "kinds=add,copy,whetstone"

static void end(struct run *run)
{
    arena_free(run->arena);
    arena_plan_free(&run->plan);
    free(run->scratch);
    free(run->own);
}

TEST(a_block_takes_its_time)
{
    static struct run run;
    static struct request request;
    start(&run, &request, ALL_KINDS);
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(measure(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    struct record *scratch = malloc(arena_scratch_bytes(run.arena));
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
    free(scratch);
    end(&run);
}

TEST(what_follows_a_rest_is_not_recorded)
{
    static struct run run;
    static struct request request;
    start(&run, &request, ALL_KINDS);
    has_cold = true;
    run.samples = 10 * SAMPLES;
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(measure(&run), 0);
    CHECK(run.rt_budget.rested_ns > 0);
    const struct record *time = arena_record(run.arena, WORK_KINDS - 1);
    CHECK_SAME(time->count, 10 * SAMPLES);
    CHECK_SAME(time->max, time->min + DISTURBANCE_NS);
    end(&run);
}

/* Under a load that makes all slower the work is what it was without: only its time is another. */
TEST(the_load_does_not_change_the_work)
{
    static const char *const params[WORK_KINDS] = {"add_operations", "copy_operations",
                                                   "whetstone_operations"};
    static struct run run;
    static struct request request;
    start(&run, &request, ALL_KINDS);
    CHECK_SAME(run.test->calibrate(&run), 0);
    slower = 3;
    largest = 0;
    CHECK_SAME(measure(&run), 0);
    CHECK_SAME(largest, told(&run, params[WORK_ADD]));
    struct record *scratch = malloc(arena_scratch_bytes(run.arena));
    for (uint32_t kind = 0; kind < WORK_KINDS; kind++) {
        CHECK(told(&run, params[kind]) > 0);
        CHECK_NEAR((double)arena_read(run.arena, kind, scratch)->min, 3.0 * BLOCK_NS,
                   0.05 * 3 * BLOCK_NS);
    }
    free(scratch);
    end(&run);
}

/* Nothing is worked before the measurement for the kind, and its blocks have just that number. */
TEST(a_given_number_is_not_calibrated)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "add_operations=1234567");
    request.params[variant_place(&run, "kinds")].count = 1;
    CHECK_SAME(run.test->calibrate(&run), 0);
    CHECK_SAME(blocks, 0);
    CHECK_SAME(told(&run, "add_operations"), ADDITIONS);
    CHECK_SAME(told(&run, "copy_operations"), 0);
    CHECK_SAME(measure(&run), 0);
    CHECK_SAME(largest, ADDITIONS);
    CHECK_SAME(arena_record(run.arena, WORK_ADD)->min, FIXED_NS + (int64_t)ADDITIONS + READ_NS);
    end(&run);
}

/* A number that is found half is told to nobody. */
TEST(a_stop_leaves_no_number)
{
    static struct run run;
    static struct request request;
    start(&run, &request, ALL_KINDS);
    block_taken = 50;
    run.test->calibrate(&run);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_SAME(run.arena->calibrated_count, 0);
    CHECK_SAME(run.arena->events[0].at_ns, -1);
    stop_reset();
    end(&run);
}

/* The last one: it asks the process to end. */
TEST(time_that_was_taken_is_no_response)
{
    static struct run run;
    static struct request request;
    start(&run, &request, ALL_KINDS);
    CHECK_SAME(run.test->calibrate(&run), 0);
    block_taken = blocks + 20;
    measure(&run);
    CHECK(blocks >= block_taken && blocks < block_taken + DISTURB_EVERY);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the CPU was not given to the test");
    end(&run);
}
