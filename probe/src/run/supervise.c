#include "base/posix_source.h"

#include "run/supervise.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS INT64_C(3000000000) /* for a test that was asked to stop */
#define ALONE_NS INT64_C(500000000)  /* for one that sees by itself what it waits for */
#define LAST_NS INT64_C(60000000000) /* after the deadline, for sending the results */
#define LEAST_DEADLINE_NS INT64_C(30000000000)

enum { LAST_SIGNAL = SIGVTALRM };

static atomic_int stop_flag;

bool run_should_stop(void)
{
    return atomic_load_explicit(&stop_flag, memory_order_relaxed) != 0;
}

void run_request_stop(void)
{
    atomic_store_explicit(&stop_flag, 1, memory_order_relaxed);
}

static void on_signal(int number)
{
    (void)number;
    run_request_stop();
}

/* It only ends the wait: see is_alone. */
static void on_child(int number)
{
    (void)number;
}

int supervise_ended_early(struct run *run, const char *party)
{
    return outcome_set(&run->outcome, STATUS_FAILED, "run it again and look who kills processes",
                       "the process of the %s ended before its time", party);
}

/* Whether the test waits for a process that has ended otherwise than by returning. */
static bool is_alone(struct run *run)
{
    siginfo_t end = {0};
    pid_t needed = atomic_load(&run->needed);
    return needed > 0 && waitid(P_PID, (id_t)needed, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           end.si_pid == needed && (end.si_code != CLD_EXITED || end.si_status != 0);
}

void supervise_process(struct run *run, pid_t process, const char *party)
{
    run->needed_party = party;
    atomic_store(&run->needed, process);
    if (is_alone(run)) /* the signal may have come before */
        kill(getpid(), SIGCHLD);
}

static void direct(void *argument)
{
    struct run *run = argument;
    char done = 1;
    breath_init(&run->breath);
    instrument_measure(&run->instrument, &run->clock, run->scratch);
    getrusage(RUSAGE_SELF, &run->usage_before);
    load_begin(&run->load);
    run->start_ns = clock_monotonic_ns();
    run->arena->started_ns = run->start_ns;
    run->test->measure(run);
    run->arena->ended_ns = clock_monotonic_ns();
    load_end(&run->load);
    getrusage(RUSAGE_SELF, &run->usage_after);
    while (write(run->done_pipe[1], &done, 1) < 0 && errno == EINTR)
        ;
}

static void add_counter(int64_t *sum, int64_t value)
{
    *sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

/* The counters of all CPUs that the test uses, added up. */
static void read_environment(const struct run *run, struct port_environment *sum)
{
    port_environment(run->setup.cpu, sum);
    for (int cpu = 0; cpu < PORT_CPUS; cpu++) {
        if (!run->uses_cpu[cpu] || cpu == run->setup.cpu)
            continue;
        struct port_environment one;
        port_environment(cpu, &one);
        add_counter(&sum->steal_ns, one.steal_ns);
        add_counter(&sum->interrupts, one.interrupts);
        add_counter(&sum->timer_interrupts, one.timer_interrupts);
        add_counter(&sum->thermal_throttles, one.thermal_throttles);
    }
}

/* Signals reach this thread only while it waits: those that end a run, and the last
 * resort. All others are the tests'. */
static void watch_signals(sigset_t *while_waiting)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, LAST_SIGNAL);
    *while_waiting = blocked;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
        sigdelset(while_waiting, numbers[i]);
    }
    action.sa_handler = on_child;
    sigaction(SIGCHLD, &action, NULL);
    sigdelset(while_waiting, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

/* What ends the process whatever else is stuck; the kernel holds it. */
static void arm_last_resort(int64_t after_ns)
{
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = LAST_SIGNAL;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return;
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    when.it_value = clock_ns_timespec(after_ns);
    timer_settime(timer, 0, &when, NULL);
}

/* True when standard input ended or broke; what it says is not read further. */
static bool input_ended(void)
{
    char ignored[256];
    ssize_t got = read(STDIN_FILENO, ignored, sizeof ignored);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

/* Sleeps until the test is done (true), or something asks for its end, or what it needs has gone,
 * or `until_ns`. */
static bool wait_for_done(struct run *run, const sigset_t *mask, bool watch_input, int64_t until_ns)
{
    for (;;) {
        int64_t left_ns = until_ns - clock_monotonic_ns();
        if (left_ns <= 0)
            return false;
        struct timespec left = clock_ns_timespec(left_ns);
        fd_set descriptors;
        FD_ZERO(&descriptors);
        FD_SET(run->done_pipe[0], &descriptors);
        if (watch_input)
            FD_SET(STDIN_FILENO, &descriptors);
        int ready = pselect(run->done_pipe[0] + 1, &descriptors, NULL, NULL, &left, mask);
        if (ready > 0 && FD_ISSET(run->done_pipe[0], &descriptors))
            return true;
        if (ready > 0 && watch_input && input_ended())
            run_request_stop();
        if (run_should_stop() || is_alone(run))
            return false;
    }
}

static int64_t deadline_ns(const struct run *run)
{
    if (run->request->deadline_ns > 0)
        return run->request->deadline_ns;
    int64_t generous_ns = run->plan.duration_ns * 3;
    return generous_ns > LEAST_DEADLINE_NS ? generous_ns : LEAST_DEADLINE_NS;
}

int64_t supervise_limit_ns(const struct run *run)
{
    return deadline_ns(run) + GRACE_NS + LAST_NS;
}

/* Why the wait ended early, as the outcome; then the grace time. */
static bool stop_test(struct run *run, const sigset_t *mask)
{
    bool has_lost = is_alone(run);
    run->is_interrupted = run_should_stop();
    run_request_stop();
    if (!run->is_interrupted && !has_lost)
        outcome_set(&run->outcome, STATUS_TIMEOUT,
                    "allow more time (--deadline-ns) or ask for fewer samples",
                    "not done after %.1f s; what was measured until then is kept",
                    (double)deadline_ns(run) / 1e9);
    sigset_t none = *mask;
    int64_t until_ns = clock_monotonic_ns() + (has_lost ? ALONE_NS : GRACE_NS);
    char done;
    while (clock_monotonic_ns() < until_ns) {
        struct timespec left = clock_ns_timespec(until_ns - clock_monotonic_ns() + 1);
        fd_set descriptors;
        FD_ZERO(&descriptors);
        FD_SET(run->done_pipe[0], &descriptors);
        if (pselect(run->done_pipe[0] + 1, &descriptors, NULL, NULL, &left, &none) > 0)
            return read(run->done_pipe[0], &done, 1) == 1;
    }
    return false;
}

static void note_stuck(struct run *run)
{
    run->is_stuck = true;
    run->arena->ended_ns = clock_monotonic_ns();
    load_end(&run->load);
    run->load_average_milli = port_load_average_milli();
    if (is_alone(run))
        supervise_ended_early(run, run->needed_party);
    outcome_set(&run->outcome, STATUS_TIMEOUT, "tell the authors: the test ignored its end",
                "the test did not end when it was asked to; what was measured is kept");
}

static void supervise(struct run *run, struct actor *director)
{
    sigset_t mask;
    watch_signals(&mask);
    int64_t limit_ns = deadline_ns(run);
    arm_last_resort(supervise_limit_ns(run));
    if (run->is_realtime)
        actor_set_self(SCHED_FIFO, sched_get_priority_max(SCHED_FIFO));
    read_environment(run, &run->before);
    actor_go(director);
    int64_t until_ns = clock_monotonic_ns() + limit_ns;
    bool is_done = wait_for_done(run, &mask, run->request->until_eof, until_ns);
    if (!is_done && !stop_test(run, &mask))
        note_stuck(run);
    else
        actor_join(director);
    if (run->is_stuck)
        return;
    read_environment(run, &run->after);
    run->load_average_milli = port_load_average_milli();
    if (run->is_realtime)
        actor_set_self(SCHED_OTHER, 0);
}

int supervise_measure(struct run *run)
{
    struct actor director;
    if (pipe(run->done_pipe) != 0)
        return outcome_set_errno(&run->outcome, errno, "a pipe", "raise ulimit -n");
    int error = actor_start(&director, &run->setup, direct, run);
    if (error)
        outcome_set_errno(&run->outcome, error, "starting the measuring thread", NULL);
    else
        supervise(run, &director);
    run->is_observed = !error && !run->is_stuck;
    return error || run->is_stuck ? -1 : 0;
}
