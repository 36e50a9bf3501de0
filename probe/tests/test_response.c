/* RSP-P-FIX on a machine that is made up: time passes only by its work, so that the time of a
 * block is known. Some blocks are disturbed, and each has a cost that does not grow with it. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "command/args.h"
#include "command/list.h"
#include "run/run.h"
#include "tap.h"
#include "work/fixed_work.h"

#include <stdlib.h>

enum { SAMPLES = 30, DISTURB_EVERY = 4 };

#define BLOCK_NS INT64_C(10000000)
#define FIXED_NS INT64_C(200000)
#define DISTURBANCE_NS INT64_C(3000000)
#define READ_NS INT64_C(20)

static int64_t fake_now_ns;
static unsigned blocks;

const char *const work_names[WORK_KINDS + 1] = {"add", "copy", "whetstone", NULL};

void work_do(struct work_space *space, int kind, uint64_t count)
{
    static const int64_t cost_ns[WORK_KINDS] = {1, 333, 9001};
    (void)space;
    fake_now_ns += FIXED_NS + (int64_t)count * cost_ns[kind];
    if (++blocks % DISTURB_EVERY == 0)
        fake_now_ns += DISTURBANCE_NS;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    fake_now_ns += READ_NS;
    *time = clock_ns_timespec(fake_now_ns);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted);
    return 0;
}

static void start(struct run *run, struct request *request)
{
    char error[ARGS_ERROR_BYTES];
    char *words[] = {"hardstone-probe", "run", "RSP-P-FIX", "--clock", "monotonic"};
    fake_now_ns = 1000 * CLOCK_NS_PER_S;
    blocks = 0;
    CHECK_SAME(args_parse(sizeof words / sizeof words[0], words, request, error, sizeof error), 0);
    memset(run, 0, sizeof *run);
    run->request = request;
    run->test = request->test;
    run->samples = SAMPLES;
    clock_open(&run->clock, false, 0);
    breath_init(&run->breath);
    CHECK_SAME(run->test->size(run), 0);
    run->arena = arena_create(&run->plan, NULL, &run->outcome);
    CHECK_SAME(run->test->prepare(run), 0);
    run->start_ns = clock_monotonic_ns();
}

static void end(struct run *run)
{
    arena_free(run->arena);
    free(run->own);
}

static void test_a_block_takes_its_time(void)
{
    static struct run run;
    static struct request request;
    start(&run, &request);
    CHECK_SAME(run.test->measure(&run), 0);
    for (int kind = 0; kind < WORK_KINDS; kind++) {
        const struct record *time = arena_record_view(run.arena, (uint32_t)kind);
        CHECK_SAME(time->count, SAMPLES);
        CHECK_NEAR((double)time->min, (double)BLOCK_NS, (double)BLOCK_NS * 0.05);
        /* what was disturbed is longer by just that: always the same work */
        CHECK_SAME(time->max, time->min + DISTURBANCE_NS);
        CHECK_NEAR((double)record_quantile(time, 0.5), (double)time->min, (double)time->min / 512);
        CHECK_NEAR(record_mean(time), (double)(time->min + DISTURBANCE_NS / DISTURB_EVERY),
                   (double)DISTURBANCE_NS / SAMPLES);
    }
    end(&run);
}

TAP_MAIN({"a block takes its time", test_a_block_takes_its_time})
