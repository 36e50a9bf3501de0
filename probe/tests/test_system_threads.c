/* THR-B-PRI beside processes of the system, on a made-up kernel: what proves that one was ready,
 * what that it ran, and what a round beside a process inside system calls proves. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "tap.h"

enum { PROCESSES = 2, FIRST_CLOCK = 100, KIND = 1 };

#define MS INT64_C(1000000)
#define SPUN_NS (20 * MS)

/* The port's process 1 waits, process 2 does not. */
static struct {
    int64_t now_ns;
    int64_t cpu_ns[PROCESSES + 1]; /* by process */
    int64_t settle_waits_ns;       /* added to the run delay of process 1 after the burst */
    bool has_ended[PROCESSES + 1];
    struct arena *notes_stop; /* in a sleep, a stop is noted there; NULL: none is */
    int lowered_count; /* how often the caller has lowered itself, less how often it is back */
} kernel;

int clock_gettime(clockid_t id, struct timespec *time)
{
    int process = (int)id - FIRST_CLOCK;
    bool is_cpu_time = process >= 1 && process <= PROCESSES;
    if (is_cpu_time && kernel.has_ended[process])
        return tap_fail(EINVAL);
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
    CHECK(kernel.lowered_count == 1 || kernel.notes_stop); /* or nobody could run */
    if (kernel.notes_stop)
        stops_add(kernel.notes_stop, kernel.now_ns);
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

#include "family/thread/system_calls.c"

#define scheduling_step_down step_down
#define scheduling_step_up step_up
#include "family/thread/thr_b_pri.c"

#include "made_up_run.h" /* behind functions whose parameter is named `run` */

static struct system_threads threads;
static struct system_calls calls;
static struct call_party party;

static void begin(int processes)
{
    memset(&kernel, 0, sizeof kernel);
    run_of(NULL);
    memset(&threads, 0, sizeof threads);
    memset(&calls, 0, sizeof calls);
    memset(&party, 0, sizeof party);
    kernel.now_ns = 1000 * MS;
    fake_port = (struct fake_port){.bound_count = processes,
                                   .counts_waits = true,
                                   .has_budget = true,
                                   .runtime_ns = 950 * MS,
                                   .period_ns = 1000 * MS};
    run_make_arena();
    rt_budget_init(&run.rt_budget);
    threads.run = calls.run = &run;
    system_threads_open(&threads);
    calls.party = &party;
    party.kind = KIND;
    cpu_loss_open(&calls.cpu_loss, &run);
}

static void end(void)
{
    run_free();
}

#define RUN_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), true), end(), what)

static void check_verdict(const char *name, bool pass, const char *evidence)
{
    if (CHECK_SAME(run.arena->verdict_count, 1)) {
        CHECK_TEXT(run.arena->verdicts[0].name, name);
        CHECK_SAME(run.arena->verdicts[0].pass, pass);
        CHECK_HOLDS(run.arena->verdicts[0].evidence, evidence);
    }
}

static void check_not_seen(const char *reason)
{
    CHECK_SAME(run.arena->verdict_count, 0);
    if (CHECK_SAME(run.arena->event_count, 1)) {
        CHECK_TEXT(run.arena->events[0].name, "not_seen");
        CHECK_HOLDS(run.arena->events[0].text, reason);
    }
}

/* ---- processes that may become ready ---- */

/* A burst in which process `process` runs for `ran_ns` while the real-time thread is ready, and the
 * first one waits for `waited_ns` in all. */
static void play_burst(int process, int64_t ran_ns, int64_t waited_ns, bool is_doubtful)
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

static void judge_and_check(bool pass, const char *evidence)
{
    system_threads_judge(&threads);
    check_verdict("system_processes", pass, evidence);
}

RUN_TEST(one_was_ready_and_did_not_run, PROCESSES)
{
    play_burst(1, 0, SPUN_NS, false);
    play_burst(1, 0, 0, false);
    judge_and_check(true, "1 times one was ready");
}

TEST(one_ran)
{
    for (int process = 1; process <= PROCESSES; process++) {
        begin(PROCESSES);
        play_burst(process, 0, SPUN_NS, false);
        play_burst(process, 3 * MS, 0, false);
        judge_and_check(false, "for up to 3000 us");
        end();
    }
}

/* One burst proves nothing: */
TEST(nothing_is_seen)
{
    static const struct {
        const char *name;
        int processes;
        bool counts_no_waits;
        int64_t ran_ns, waited_ns;
        bool is_doubtful;
        const char *reason;
    } rows[] = {
        /* what is never ready is never refused the CPU */
        {"none was ready", PROCESSES, false, 0, 0, false, "none of 2 time-shared processes"},
        /* 6 ms pass beside the spinning: a wait as long may have been there */
        {"a wait beside it", PROCESSES, false, 0, 6 * MS, false, "none of 2 time-shared processes"},
        {"a burst that was cut", PROCESSES, false, 3 * MS, SPUN_NS, true,
         "none of 2 time-shared processes"},
        {"run delay not counted", PROCESSES, true, 0, SPUN_NS, false,
         "none of 2 time-shared processes"},
        {"a system that does not tell", -1, false, 0, SPUN_NS, false,
         "does not report which processes"},
    };
    foreach (row, rows, row->name) {
        begin(row->processes);
        fake_port.counts_waits = !row->counts_no_waits;
        play_burst(1, row->ran_ns, row->waited_ns, row->is_doubtful);
        system_threads_judge(&threads);
        check_not_seen(row->reason);
        end();
    }
}

/* ---- a process inside system calls ---- */

/* The party makes so many steps and runs for `cpu_ns` while the real-time thread, which runs after
 * `delay_ns`, is ready or has the CPU. */
static void play_calls(bool is_inside, uint64_t steps, int64_t cpu_ns, int64_t delay_ns)
{
    calls.before = (struct call_progress){7, 3 * MS, 100 * MS};
    calls.first = calls.before;
    calls.first.at_ns += delay_ns;
    calls.last = calls.first;
    calls.last.step_count += steps;
    calls.last.cpu_ns += cpu_ns;
    judge_round(&calls, is_inside);
}

static void judge_calls(bool pass, const char *evidence)
{
    report_kind(&calls);
    check_verdict("system_calls/map", pass, evidence);
}

RUN_TEST(it_stood_still, PROCESSES)
{
    play_calls(true, 0, 0, 2 * MS);
    play_calls(true, 0, 0, 0);
    judge_calls(true, "2 times a real-time thread became ready");
}

/* It returned from its call, and the system counts no CPU time. */
RUN_TEST(a_step_is_a_delay, PROCESSES)
{
    play_calls(true, 0, 0, 0);
    play_calls(true, 1, 0, 2 * MS);
    judge_calls(false, "1 times that continued before the thread had run and blocked, for up to "
                       "2000");
}

/* It went on inside its call. */
RUN_TEST(cpu_time_is_a_delay, PROCESSES)
{
    play_calls(true, 0, MS / 2, 2 * MS);
    judge_calls(false, "1 times that continued before the thread had run and blocked, for up to "
                       "500");
}

RUN_TEST(outside_a_call_nothing_is_proved, PROCESSES)
{
    play_calls(false, 0, 0, 0);
    report_kind(&calls);
    check_not_seen("was never inside: mmap");
    end();
    begin(PROCESSES);
    play_calls(true, 0, 0, 0);
    play_calls(false, 1, MS, 0);
    judge_calls(true, "1 times a real-time thread became ready");
}

/* Throttling lets time-shared processes run: the result fails for that reason. */
RUN_TEST(a_round_that_was_cut_is_not_judged, PROCESSES)
{
    run.rt_budget.has_limit = true;
    run.rt_budget.limit = (struct port_realtime_budget){950 * MS, 1000 * MS};
    play_calls(true, 1, 50 * MS, 50 * MS);
    CHECK_SAME(calls.inside_count, 0);
    CHECK_SAME(calls.delayed_count, 0);
    CHECK_SAME(cpu_loss_judge(&calls.cpu_loss, &run), -1);
    CHECK_HOLDS(run.outcome.remedy, "or lift the limit on real-time threads");
}

/* Throttling takes 50 ms of a second here. */
RUN_TEST(a_pause_that_throttling_does_not_make, PROCESSES)
{
    run.rt_budget.has_limit = true;
    run.rt_budget.limit = (struct port_realtime_budget){950 * MS, 1000 * MS};
    play_calls(true, 1, 600 * MS, 600 * MS);
    CHECK_SAME(cpu_loss_judge(&calls.cpu_loss, &run), -1);
    CHECK_HOLDS(run.outcome.remedy, "longer than the pauses of real-time throttling here");
    CHECK_SAME(run.outcome.command[0], '\0');
}

/* Who notes a stop of the program may come second. */
RUN_TEST(a_stop_is_no_pause, PROCESSES)
{
    run.stopped_watch.is_there = true;
    kernel.notes_stop = run.arena;
    play_calls(true, 1, 600 * MS, 600 * MS);
    kernel.notes_stop = NULL;
    run.stopped_watch.is_there = false;
    CHECK_SAME(cpu_loss_judge(&calls.cpu_loss, &run), 0);
}

RUN_TEST(a_call_that_fails_is_told, PROCESSES)
{
    atomic_store(&party.error, ENOMEM);
    play_calls(true, 0, 0, 0);
    report_kind(&calls);
    check_not_seen("mmap, page faults, munmap failed: ");
}
