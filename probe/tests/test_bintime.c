/* CLK-P-BIN on a made-up machine: each clock call takes CALL_NS, some longer, and the first ones
 * after a rest are slow. So the blocking is known. */
#include "base/posix_source.h"

#include "fake_run.h"

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

static void start(char *via)
{
    fake_now_ns = 1000 * CLOCK_NS_PER_S;
    calls = call_blocked = call_taken = 0;
    fake_run_parse((char *const[]){"CLK-P-BIN", "--clock", "monotonic", "-p", via, NULL}, SAMPLES);
    CHECK(fake_run_prepare());
    slow_calls = SLOW_CALLS;
}

#define VDSO_TEST(what) TEST_IN((start("via=vdso"), true), fake_run_end(), what)

VDSO_TEST(blocking)
{
    call_blocked = 20000;
    CHECK_SAME(run.test->measure(&run), 0);
    CHECK_SAME(run.test->judge(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    const struct record *call = arena_record(run.arena, CALL);
    const struct record *blocking = arena_record(run.arena, BLOCKING);
    int64_t at_ns = call->worst[0].at_ns;
    CHECK_SAME(at_ns, SLOW_CALLS * SLOW_NS + (call_blocked - SLOW_CALLS) * CALL_NS + BLOCKING_NS);
    CHECK_SAME(blocking->worst[0].at_ns, at_ns);
    CHECK_SAME(call->count, SAMPLES);
    CHECK_SAME(call->min, CALL_NS);
    CHECK_SAME(call->max, CALL_NS + BLOCKING_NS);
    CHECK_SAME(blocking->count, 1);
    CHECK_NEAR((double)blocking->max, (double)BLOCKING_NS,
               (double)BLOCKING_NS / (double)SAMPLES + 1);
}

/* Throughout: each rest makes the calls slow again. */
VDSO_TEST(what_follows_a_rest_is_not_recorded)
{
    run.samples = 10 * SAMPLES;
    run.test->measure(&run);
    CHECK(run.rt_budget.rested_ns > run.rt_budget.rest_ns);
    CHECK_SAME(arena_record(run.arena, CALL)->count, 10 * SAMPLES);
    CHECK_SAME(arena_record(run.arena, CALL)->max, CALL_NS);
}

/* The port cannot force a system call. */
TEST(a_via_that_is_not_there)
{
    start("via=syscall,vdso");
    run.test->measure(&run);
    CHECK_SAME(run.test->judge(&run), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK_SAME(arena_count(run.arena, CALL), 0);
    CHECK_SAME(arena_count(run.arena, SERIES), SAMPLES);
    fake_run_end();
    start("via=syscall");
    run.test->measure(&run);
    CHECK_SAME(run.test->judge(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_UNSUPPORTED);
    fake_run_end();
}

/* CLK-P-DUR's thread rests between two windows only: one fits into a burst of the budget. */
TEST(room_for_windows_of_gaps)
{
    static const struct {
        char *rest;
        uint32_t windows;
    } rows[] = {{"rest=yes", 100000 / (80 / 2) + 16}, {"rest=no", 100000 / (250 / 2) + 16}};
    foreach (row, rows, row->rest) {
        fake_run_parse((char *const[]){"CLK-P-DUR", "-p", row->rest, NULL}, 0);
        fake_port.runtime_ns = 100000000; /* four fifths are a burst */
        run.plan.duration_ns = 100 * CLOCK_NS_PER_S;
        CHECK_SAME(run.test->declare(&run), 0);
        CHECK_SAME(run.plan.tables[TABLE_GAPS].heads, row->windows);
        arena_plan_free(&run.plan);
    }
}

/* The last one: it asks the process to end. */
VDSO_TEST(time_that_was_taken_is_no_blocking)
{
    call_taken = 20000;
    run.test->measure(&run);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the test did not get the CPU");
    CHECK_TEXT(run.arena->events[0].name, "throttled");
    CHECK_SAME(arena_count(run.arena, BLOCKING), 0);
}
