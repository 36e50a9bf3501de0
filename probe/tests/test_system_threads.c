/* Processes of the system beside a real-time thread, on a made-up kernel: what proves that one was
 * ready, and what that it ran. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "realtime/scheduling.h"
#include "run/run.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

enum { PROCESSES = 2, FIRST_CLOCK = 100 };

#define MS INT64_C(1000000)
#define SPUN_NS (20 * MS)

/* The port's process 1 waits, process 2 does not. */
static struct {
    int64_t now_ns;
    int64_t cpu_ns[PROCESSES + 1]; /* by process */
    int64_t settle_waits_ns;       /* added to the run delay of process 1 after the burst */
    bool has_ended[PROCESSES + 1];
    int lowered_count; /* how often the caller has lowered itself, less how often it is back */
} kernel;

int clock_gettime(clockid_t id, struct timespec *time)
{
    int process = (int)id - FIRST_CLOCK;
    bool is_cpu_time = process >= 1 && process <= PROCESSES;
    if (is_cpu_time && kernel.has_ended[process]) {
        errno = EINVAL;
        return -1;
    }
    *time = clock_ns_timespec(is_cpu_time ? kernel.cpu_ns[process] : kernel.now_ns);
    return 0;
}

int clock_getcpuclockid(pid_t process, clockid_t *id)
{
    *id = (clockid_t)(FIRST_CLOCK + process);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    CHECK(kernel.lowered_count == 1); /* or nobody could run */
    kernel.now_ns += clock_timespec_ns(wanted);
    fake_port.waited_ns += kernel.settle_waits_ns;
    return 0;
}

static int step_down(struct run *run, int below)
{
    (void)run, (void)below;
    kernel.lowered_count++;
    return 0;
}

static int step_up(struct run *run)
{
    (void)run;
    kernel.lowered_count--;
    return 0;
}

#define scheduling_step_down step_down
#define scheduling_step_up step_up
#include "family/thread/system_threads.c"

static struct run run;
static struct system_threads threads;

static void begin(int processes)
{
    memset(&kernel, 0, sizeof kernel);
    memset(&run, 0, sizeof run);
    memset(&threads, 0, sizeof threads);
    kernel.now_ns = 1000 * MS;
    fake_port = (struct fake_port){.bound_count = processes, .counts_waits = true};
    run.arena = arena_create(&run.plan, NULL, &run.outcome);
    threads.run = &run;
    system_threads_open(&threads);
}

/* A burst in which process `process` runs for `ran_ns` while the real-time thread is ready, and the
 * first one waits for `waited_ns` in all. */
static void play(int process, int64_t ran_ns, int64_t waited_ns, bool is_doubtful)
{
    CHECK_SAME(system_threads_begin(&threads), 0);
    kernel.now_ns += MS;
    system_threads_read(&threads, MADE_READY);
    kernel.cpu_ns[process] += ran_ns;
    system_threads_read(&threads, HAS_RUN);
    kernel.now_ns += SPUN_NS;
    system_threads_read(&threads, HAS_SPUN);
    kernel.settle_waits_ns = waited_ns;
    CHECK_SAME(system_threads_end(&threads, is_doubtful), 0);
    CHECK_SAME(kernel.lowered_count, 0);
}

static void judge(void)
{
    system_threads_judge(&threads);
}

static void end(void)
{
    arena_free(run.arena);
    arena_plan_free(&run.plan);
}

static void check_verdict(bool pass, const char *evidence)
{
    if (!CHECK_SAME(run.arena->verdict_count, 1))
        return;
    CHECK_SAME(run.arena->verdicts[0].pass, pass);
    CHECK_TEXT(run.arena->verdicts[0].name, "system_processes");
    CHECK_HOLDS(run.arena->verdicts[0].evidence, evidence);
}

static void check_not_seen(const char *reason)
{
    CHECK_SAME(run.arena->verdict_count, 0);
    if (!CHECK_SAME(run.arena->event_count, 1))
        return;
    CHECK_TEXT(run.arena->events[0].name, "not_seen");
    CHECK_HOLDS(run.arena->events[0].text, reason);
}

#define RUN_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), true), end(), what)

RUN_TEST(one_was_ready_and_did_not_run, PROCESSES)
{
    play(1, 0, SPUN_NS, false);
    play(1, 0, 0, false);
    judge();
    check_verdict(true, "1 times one was ready");
}

TEST(one_ran)
{
    for (int process = 1; process <= PROCESSES; process++) {
        begin(PROCESSES);
        play(process, 0, SPUN_NS, false);
        play(process, 3 * MS, 0, false);
        judge();
        check_verdict(false, "for up to 3000 us");
        end();
    }
}

/* What is never ready is never refused the CPU. */
RUN_TEST(none_was_ready, PROCESSES)
{
    play(1, 0, 0, false);
    judge();
    check_not_seen("none of 2 time-shared processes");
}

/* 6 ms pass beside the spinning: a wait as long may have been there. */
TEST(a_wait_beside_the_spinning_proves_nothing)
{
    begin(PROCESSES);
    play(1, 0, 6 * MS, false);
    judge();
    check_not_seen("none of 2 time-shared processes");
    end();
    begin(PROCESSES);
    play(1, 0, 6 * MS + 1, false);
    judge();
    check_verdict(true, "1 times one was ready");
    end();
}

RUN_TEST(one_that_ended_is_not_judged, PROCESSES)
{
    kernel.cpu_ns[2] = 5 * MS;
    kernel.has_ended[2] = true;
    play(1, 0, SPUN_NS, false);
    judge();
    check_verdict(true, "0 times one ran");
}

RUN_TEST(a_burst_that_was_cut_is_not_judged, PROCESSES)
{
    play(1, 3 * MS, SPUN_NS, true);
    judge();
    check_not_seen("none of 2 time-shared processes");
}

RUN_TEST(a_system_that_does_not_tell, -1)
{
    play(1, 0, SPUN_NS, false);
    judge();
    check_not_seen("does not tell which processes");
}

RUN_TEST(run_delay_that_is_not_counted, PROCESSES)
{
    fake_port.counts_waits = false;
    play(1, 0, SPUN_NS, false);
    judge();
    check_not_seen("none of 2 time-shared processes");
}
