#include "posix_source.h"

#include "run.h"

#include "plain.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

#define GRACE_NS INT64_C(3000000000) /* for a test that was asked to stop */
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

const struct param_value *run_param(const struct run *run, const char *name)
{
    const struct param_spec *specs = run->test->params;
    int i = 0;
    while (strcmp(specs[i].name, name) != 0)
        i++;
    return &run->request->params[i];
}

int64_t run_number(const struct run *run, const char *name)
{
    return run_param(run, name)->number[0];
}

struct run_budget run_budget(const struct run *run, int cells)
{
    struct run_budget budget = {run->samples, INT64_MAX};
    if (run->duration_ns > 0)
        budget.end_ns = clock_monotonic_ns() + run->duration_ns / cells;
    return budget;
}

int run_add_series(struct run *run, const char *name, const char *unit, const char *label,
                   const char *value)
{
    int series = arena_plan_series(&run->plan, name, unit);
    if (series < 0)
        return outcome_set(&run->outcome, STATUS_FAILED, "ask for fewer kinds or periods",
                           "more than %d series", ARENA_SERIES);
    if (label)
        arena_plan_label_text(&run->plan, series, label, value);
    return series;
}

void *run_own(struct run *run, size_t bytes)
{
    run->own = calloc(1, bytes);
    if (!run->own) {
        outcome_set_errno(&run->outcome, ENOMEM, "memory for the test", "free memory");
        return NULL;
    }
    memset(run->own, 0, bytes);
    return run->own;
}

/* ---- the steps of the life cycle, in their order ---- */

static int choose_limits(struct run *run)
{
    const struct request *request = run->request;
    run->samples = request->has_counts ? request->samples : run->test->default_samples;
    run->duration_ns = request->has_counts ? request->duration_ns : run->test->default_duration_ns;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    run->started_utc_ns = clock_timespec_ns(&now);
    return 0;
}

static int choose_cpu(struct run *run)
{
    bool allowed[PORT_CPUS] = {false};
    int count = port_allowed_cpus(allowed);
    int wanted = run->request->cpu;
    run->setup.cpu = -1;
    if (count < 0 && wanted >= 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "leave --cpu out",
                           "this port cannot choose a CPU");
    if (wanted >= PORT_CPUS || (wanted >= 0 && !allowed[wanted]))
        return outcome_set(&run->outcome, STATUS_DENIED,
                           "choose one of cpu.allowed in hardstone-probe facts",
                           "CPU %d does not exist or is not allowed to this process", wanted);
    if (count >= 0 && count < 2 && run->test->needs & TEST_NEEDS_TWO_CPUS)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "allow this process a second CPU",
                           "the test needs two CPUs");
    run->setup.cpu = wanted;
    for (int cpu = PORT_CPUS - 1; count > 0 && run->setup.cpu < 0; cpu--)
        if (allowed[cpu])
            run->setup.cpu = cpu;
    return 0;
}

static int size_records(struct run *run)
{
    run->plan.duration_ns = run->test->expected_ns(run);
    if (run->test->size && run->test->size(run) != 0)
        return -1;
    run->arena = arena_create(&run->plan, run->request->backing, &run->outcome);
    return run->arena ? 0 : -1;
}

static void free_records(struct run *run)
{
    arena_free(run->arena);
    free(run->own);
}

static int open_clock(struct run *run)
{
    clock_open(&run->clock, run->request->want_counter, run->request->counter_hz);
    if (!run->clock.use_counter && run->request->want_counter)
        arena_event(run->arena, "counter_not_used", -1, "%s; CLOCK_MONOTONIC is used instead",
                    run->clock.reason);
    return 0;
}

static int deny_realtime(struct run *run, int error)
{
    char remedy[STATUS_TEXT_BYTES];
    port_realtime_remedy(remedy, sizeof remedy);
    return outcome_set(&run->outcome, STATUS_DENIED, remedy, "priority %d under %s was refused: %s",
                       run->setup.priority,
                       run->setup.policy == SCHED_RR ? "SCHED_RR" : "SCHED_FIFO", strerror(error));
}

/* The highest priority below the wanted one that is granted (RLIMIT_RTPRIO). */
static bool lower_priority(struct run *run)
{
    int least = sched_get_priority_min(run->setup.policy);
    for (int priority = run->setup.priority - 1; priority >= least; priority--) {
        struct actor_setup setup = {run->setup.policy, priority, -1};
        if (actor_try(&setup) != 0)
            continue;
        arena_event(run->arena, "priority_lowered", -1,
                    "priority %d was refused; %d is the highest that is granted",
                    run->setup.priority, priority);
        run->setup.priority = priority;
        return true;
    }
    return false;
}

static int fall_back(struct run *run, int error)
{
    bool was_asked = run->request->priority >= 0;
    if (error != EPERM || was_asked || run->test->needs & TEST_NEEDS_REALTIME)
        return deny_realtime(run, error);
    if (lower_priority(run)) {
        run->is_realtime = true;
        return 0;
    }
    char remedy[STATUS_TEXT_BYTES];
    port_realtime_remedy(remedy, sizeof remedy);
    arena_event(run->arena, "not_realtime", -1,
                "not scheduled as real-time: real-time scheduling was refused (%s); %s",
                strerror(error), remedy);
    run->setup.policy = SCHED_OTHER;
    run->setup.priority = 0;
    return 0;
}

static int choose_scheduling(struct run *run)
{
    static const int policies[] = {
        [ARGS_FIFO] = SCHED_FIFO, [ARGS_RR] = SCHED_RR, [ARGS_OTHER] = SCHED_OTHER};
    run->setup.policy = policies[run->request->policy];
    if (run->setup.policy == SCHED_OTHER) {
        if (run->test->needs & TEST_NEEDS_REALTIME)
            return outcome_set(&run->outcome, STATUS_DENIED, "use --policy fifo or rr",
                               "the test is one of real-time scheduling");
        return 0;
    }
    int least = sched_get_priority_min(run->setup.policy);
    int most = sched_get_priority_max(run->setup.policy);
    run->setup.priority = run->request->priority >= 0 ? run->request->priority : most - 1;
    if (run->setup.priority < least || run->setup.priority > most)
        return outcome_set(&run->outcome, STATUS_DENIED, "choose a priority in these limits",
                           "priority %d is outside %d to %d", run->setup.priority, least, most);
    struct actor_setup setup = {run->setup.policy, run->setup.priority, -1};
    int error = actor_try(&setup);
    run->is_realtime = error == 0;
    return error ? fall_back(run, error) : 0;
}

static int lock_memory(struct run *run)
{
    run->is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!run->is_locked)
        arena_event(run->arena, "memory_not_locked", -1,
                    "memory could not be locked (%s): page faults may add to the figures; raise "
                    "ulimit -l or grant CAP_IPC_LOCK",
                    strerror(errno));
    stream_compose_conditions(run);
    return 0;
}

static void unlock_memory(struct run *run)
{
    if (run->is_locked)
        munlockall();
}

static int prepare(struct run *run)
{
    return run->test->prepare ? run->test->prepare(run) : 0;
}

static void finish(struct run *run)
{
    if (run->test->finish && !run->is_stuck)
        run->test->finish(run);
}

/* ---- measuring: the director thread and its supervisor ---- */

static void direct(void *argument)
{
    struct run *run = argument;
    char done = 1;
    breath_init(&run->breath);
    if (run->arena->series_count > 0) {
        struct record *scratch = arena_record(run->arena, 0);
        instrument_measure(&run->instrument, &run->clock, scratch);
        record_init(scratch, run->plan.duration_ns);
    }
    port_environment(run->setup.cpu, &run->before);
    getrusage(RUSAGE_SELF, &run->usage_before);
    run->start_ns = clock_monotonic_ns();
    run->arena->started_ns = run->start_ns;
    run->test->measure(run);
    run->arena->ended_ns = clock_monotonic_ns();
    getrusage(RUSAGE_SELF, &run->usage_after);
    port_environment(run->setup.cpu, &run->after);
    while (write(run->done_pipe[1], &done, 1) < 0 && errno == EINTR)
        ;
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

/* Sleeps until the test is done (true), or something asks for its end, or `until_ns`. */
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
        if (run_should_stop())
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

/* Why the wait ended early, as the outcome; then the grace time. */
static bool stop_test(struct run *run, const sigset_t *mask)
{
    run->is_interrupted = run_should_stop();
    run_request_stop();
    if (!run->is_interrupted)
        outcome_set(&run->outcome, STATUS_TIMEOUT,
                    "allow more time (--deadline-ns) or ask for fewer samples",
                    "not done after %.1f s; what was measured until then is kept",
                    (double)deadline_ns(run) / 1e9);
    sigset_t none = *mask;
    int64_t until_ns = clock_monotonic_ns() + GRACE_NS;
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
    run->after = run->before;
    run->usage_after = run->usage_before;
    outcome_set(&run->outcome, STATUS_TIMEOUT, "tell the authors: the test ignored its end",
                "the test did not end when it was asked to; what was measured is kept");
}

static void supervise(struct run *run, struct actor *director)
{
    sigset_t mask;
    watch_signals(&mask);
    int64_t limit_ns = deadline_ns(run);
    arm_last_resort(limit_ns + GRACE_NS + LAST_NS);
    if (run->is_realtime)
        actor_set_self(SCHED_FIFO, sched_get_priority_max(SCHED_FIFO));
    actor_go(director);
    int64_t until_ns = clock_monotonic_ns() + limit_ns;
    bool is_done = wait_for_done(run, &mask, run->request->until_eof, until_ns);
    if (!is_done && !stop_test(run, &mask))
        note_stuck(run);
    else
        actor_join(director);
    if (run->is_realtime && !run->is_stuck)
        actor_set_self(SCHED_OTHER, 0);
}

static int measure(struct run *run)
{
    struct actor director;
    if (pipe(run->done_pipe) != 0)
        return outcome_set_errno(&run->outcome, errno, "a pipe", "raise ulimit -n");
    int error = actor_start(&director, &run->setup, direct, run);
    if (error)
        outcome_set_errno(&run->outcome, error, "starting the measuring thread",
                          "raise the limits on threads and locked memory (ulimit -u, ulimit -l)");
    else
        supervise(run, &director);
    return error || run->is_stuck ? -1 : 0;
}

static bool has_samples(const struct run *run)
{
    for (uint32_t i = 0; i < run->arena->series_count; i++)
        if (arena_record_view(run->arena, i)->count > 0)
            return true;
    return false;
}

/* An early end that was asked for leaves a result that says so. */
static void tell_interruption(struct run *run)
{
    if (!has_samples(run) && run->arena->verdict_count == 0)
        outcome_set(&run->outcome, STATUS_SKIPPED, NULL, "stopped before anything was measured");
    else if (run->outcome.reason[0] == '\0')
        snprintf(run->outcome.reason, sizeof run->outcome.reason,
                 "stopped early, after %.1f s; what was measured is kept",
                 (double)(run->arena->ended_ns - run->arena->started_ns) / 1e9);
}

static int judge(struct run *run)
{
    if (run->is_interrupted)
        tell_interruption(run);
    if (run->outcome.status == STATUS_MEASURED && !run->is_interrupted && run->test->judge)
        run->test->judge(run);
    return 0;
}

static int check_clock(struct run *run)
{
    clock_check_drift(&run->clock);
    return 0;
}

struct step {
    int (*act)(struct run *run);
    void (*undo)(struct run *run);
};

static const struct step steps[] = {
    {choose_limits, NULL}, {choose_cpu, NULL},        {size_records, free_records},
    {open_clock, NULL},    {choose_scheduling, NULL}, {lock_memory, unlock_memory},
    {prepare, finish},     {measure, NULL},           {judge, NULL},
    {check_clock, NULL},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

static int send_header(struct run *run, struct emit *emit)
{
    stream_compose_header(run);
    if (!run->request->json)
        return 0;
    stream_header(emit, run->arena);
    return emit_flush(emit);
}

static int send_rest(struct run *run, struct emit *emit)
{
    if (!run->request->json)
        plain_result(emit, run);
    else if (run->arena)
        stream_rest(emit, run);
    else
        stream_without_arena(emit, run);
    return emit_flush(emit);
}

int run_test(const struct request *request)
{
    struct run run;
    struct emit emit;
    int done = 0, error = 0;
    memset(&run, 0, sizeof run);
    run.request = request;
    run.test = request->test;
    emit_open(&emit, STDOUT_FILENO);
    for (; done < STEPS && steps[done].act(&run) == 0; done++)
        if (steps[done].act == size_records)
            error = send_header(&run, &emit);
    int sent = send_rest(&run, &emit);
    if (run.is_stuck)
        _exit(error || sent ? 70 : 0);
    for (int i = done < STEPS ? done : STEPS - 1; i >= 0; i--)
        if (steps[i].undo)
            steps[i].undo(&run);
    return error || sent ? 70 : 0;
}
