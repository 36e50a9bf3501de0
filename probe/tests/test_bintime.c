/* CLK-P-BIN on a made-up machine: each clock call takes CALL_NS, some longer, and the first ones
 * after a rest are slow. So the blocking is known. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "command/args.h"
#include "fake_port.h"
#include "run/variant.h"
#include "tap.h"

#include <stdlib.h>

enum { SAMPLES = 40000, SLOW_CALLS = 100, CALL = 0, BLOCKING, SERIES };

#define CALL_NS INT64_C(10000)
#define SLOW_NS INT64_C(500000)
#define BLOCKING_NS INT64_C(300000)
#define TAKEN_NS INT64_C(50000000)

static int64_t fake_now_ns, fake_taken_ns; /* time, and what of it the thread was not given */
static int64_t calls, call_blocked, call_taken, slow_calls;

static void pass_call(void)
{
    fake_now_ns += slow_calls > 0 ? SLOW_NS : CALL_NS;
    slow_calls -= slow_calls > 0 ? 1 : 0;
    if (++calls == call_blocked)
        fake_now_ns += BLOCKING_NS;
    if (calls != call_taken)
        return;
    fake_now_ns += TAKEN_NS;
    fake_taken_ns += TAKEN_NS;
}

/* Only the call under test takes time. */
int clock_gettime(clockid_t id, struct timespec *time)
{
    if (id == CLOCK_REALTIME)
        pass_call();
    *time = clock_ns_timespec(fake_now_ns - (id == CLOCK_PROCESS_CPUTIME_ID ? fake_taken_ns : 0));
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted);
    slow_calls = SLOW_CALLS;
    return 0;
}

static void start(struct run *run, struct request *request, const char *via)
{
    char error[ARGS_ERROR_BYTES];
    char *words[] = {"hardstone-probe", "run", "CLK-P-BIN", "--clock",
                     "monotonic",       "-p",  (char *)via};
    fake_port.has_budget = true;
    fake_port.runtime_ns = 950000000;
    fake_port.period_ns = 1000000000;
    fake_now_ns = 1000 * CLOCK_NS_PER_S;
    calls = call_blocked = call_taken = 0;
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
    run->start_ns = clock_monotonic_ns();
    slow_calls = SLOW_CALLS;
}

static void end(struct run *run)
{
    arena_free(run->arena);
    arena_plan_free(&run->plan);
    free(run->scratch);
    free(run->own);
}

TEST(blocking)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "via=vdso");
    call_blocked = 20000;
    CHECK_SAME(run.test->measure(&run), 0);
    CHECK_SAME(run.test->judge(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    const struct record *call = arena_record(run.arena, CALL);
    const struct record *blocking = arena_record(run.arena, BLOCKING);
    CHECK_SAME(call->count, SAMPLES);
    CHECK_SAME(call->min, CALL_NS);
    CHECK_SAME(call->max, CALL_NS + BLOCKING_NS);
    CHECK_SAME(blocking->count, 1);
    CHECK_NEAR((double)blocking->max, (double)BLOCKING_NS, (double)BLOCKING_NS / SAMPLES + 1);
    end(&run);
}

/* Throughout: each rest makes the calls slow again. */
TEST(what_follows_a_rest_is_not_recorded)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "via=vdso");
    run.samples = 10 * SAMPLES;
    run.test->measure(&run);
    CHECK(run.rt_budget.rested_ns > run.rt_budget.rest_ns);
    CHECK_SAME(arena_record(run.arena, CALL)->count, 10 * SAMPLES);
    CHECK_SAME(arena_record(run.arena, CALL)->max, CALL_NS);
    end(&run);
}

TEST(the_time_of_the_worst)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "via=vdso");
    call_blocked = 20000;
    run.test->measure(&run);
    int64_t at_ns = arena_record(run.arena, CALL)->worst[0].at_ns;
    CHECK_SAME(at_ns, SLOW_CALLS * SLOW_NS + (call_blocked - SLOW_CALLS) * CALL_NS + BLOCKING_NS);
    CHECK_SAME(arena_record(run.arena, BLOCKING)->worst[0].at_ns, at_ns);
    end(&run);
}

/* The port cannot force a system call. */
TEST(a_via_that_is_not_there)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "via=syscall,vdso");
    run.test->measure(&run);
    CHECK_SAME(run.test->judge(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK_SAME(arena_count(run.arena, CALL), 0);
    CHECK_SAME(arena_count(run.arena, SERIES), SAMPLES);
    end(&run);
    start(&run, &request, "via=syscall");
    run.test->measure(&run);
    CHECK_SAME(run.test->judge(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_UNSUPPORTED);
    end(&run);
}

/* The last one: it asks the process to end. */
TEST(time_that_was_taken_is_no_blocking)
{
    static struct run run;
    static struct request request;
    start(&run, &request, "via=vdso");
    call_taken = 20000;
    run.test->measure(&run);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the CPU was not given to the test");
    CHECK_TEXT(run.arena->events[0].name, "throttled");
    CHECK_SAME(arena_count(run.arena, BLOCKING), 0);
    end(&run);
}
