#include "base/posix_source.h"

#include "run/supervise.h"

#include "base/console.h"
#include "load/load.h"
#include "run/request.h"
#include "run/scheduling.h"
#include "run/shield_run.h"
#include "run/trace_ring.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#define GRACE_NS INT64_C(3000000000)          /* time for a test to stop on request */
#define ALONE_NS INT64_C(500000000)           /* the same when a process that it needs has died */
#define CPU_TIME_MARGIN_NS INT64_C(250000000) /* CPU time to end the test and send the results */
#define CPU_TIME_LOOK_NS INT64_C(20000000)
#define MOST_CPU_S 4000000000U
#define LAST_NS INT64_C(60000000000) /* time after that to send the results */
#define LEAST_DEADLINE_NS INT64_C(30000000000)

#define LATE_NOTE_NS INT64_C(20000000) /* of a stop: record/arena.c */

#ifdef SIGVTALRM
enum { LAST_SIGNAL = SIGVTALRM };
#else
enum { LAST_SIGNAL = SIGTRAP };
#endif
enum { CALIBRATION_TRIES = 3 };

/* SIGCHLD interrupts the wait; the others end the run. */
static const int watched[RUN_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

static void on_signal(int number)
{
    (void)number;
    stop_from_outside();
}

/* No-op: SIGCHLD only has to interrupt pselect (see needed_has_died). */
static void on_child(int number)
{
    (void)number;
}

int supervise_ended_early(struct run *run, const char *party)
{
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "run the test again, and find out what kills processes",
                       "the process of the %s ended early", party);
}

/* Whether the process that the test depends on has ended other than by returning 0. */
static bool needed_has_died(struct run *run)
{
    bool is_well = true;
    pid_t needed = atomic_load(&run->needed);
    return needed > 0 && port_has_ended(needed, &is_well) && !is_well;
}

/* The same, remembered: a test that is told to stop no longer depends on the process. */
static bool is_alone(struct run *run)
{
    if (!run->lost_party && needed_has_died(run))
        run->lost_party = run->needed_party;
    return run->lost_party != NULL;
}

void supervise_process(struct run *run, pid_t process, const char *party)
{
    if (process > 0)
        run->needed_party = party;
    atomic_store(&run->needed, process);
    if (needed_has_died(run)) /* SIGCHLD may have come before `needed` was set */
        kill(getpid(), SIGCHLD);
}

/* What a measuring thread tells the supervisor, one byte each: an enum look_word, or this. */
enum { DONE = LOOK_GOES_BACK + 1 };

static void send_word(const struct run *run, int word)
{
    char byte = (char)word;
    while (write(run->done_pipe[1], &byte, 1) < 0 && errno == EINTR)
        ;
}

static void send_done(const struct run *run)
{
    send_word(run, DONE);
}

/* Where all CPUs measure, or one is all there is, the supervisor stays asleep: on any CPU it would
 * be in the way of a thread that still measures. What that thread found is known at its end. */
static bool looks_by_itself(const struct run *run)
{
    return run->counter_watch && !counter_watch_has_looks(run->counter_watch);
}

static void look_here(struct run *run, enum look_word word)
{
    if (word == LOOK_BEGINS)
        counter_watch_begin(run->counter_watch);
    else if (word == LOOK_AT_THREADS)
        counter_watch_look_at_threads(run->counter_watch);
    else
        counter_watch_end(run->counter_watch, &run->counter_totals);
}

/* Has the supervisor look, and waits until it has: around the measurement, never within. */
static void ask_to_look(struct run *run, enum look_word word)
{
    static const struct timespec pause = {0, 200000};
    int before = atomic_load(&run->looks);
    outside_look_ask(run, word);
    if (!run->counter_watch)
        return;
    if (looks_by_itself(run)) {
        look_here(run, word);
        return;
    }
    send_word(run, word);
    while (atomic_load(&run->looks) == before)
        nanosleep(&pause, NULL);
}

void supervise_look_at_threads(struct run *run)
{
    ask_to_look(run, LOOK_AT_THREADS);
}

/* Of the calling thread, the measuring one. */
static void check_place(struct run *run)
{
    if (placement_held(run) == WATCH_HOLDS_ALL)
        run_check_place(run, run->setup.cpu);
}

/* Rests at the end: the measurement has the whole real-time budget. */
static void calibrate(void *argument)
{
    struct run *run = argument;
    rt_budget_init(&run->rt_budget);
    if (run->test->calibrate(run) == 0 && !run_should_stop())
        rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
    check_place(run);
    send_done(run);
}

/* ---- what a stop of the program spoils before the measurement is made again ---- */

static void report_repeated(struct run *run, const char *what)
{
    arena_event_once(run->arena, "calibration_repeated", DATA(data_text("what", what)),
                     "the program was stopped before it measured (SIGSTOP, a debugger, the "
                     "freezer of its control group): the calibration of the %s was repeated",
                     what);
}

static void make_scratch_empty(struct run *run)
{
    const struct record_shape same = {run->scratch->limit, run->scratch->sub_bits};
    record_move_begin(run->scratch, &same);
    record_move_end(run->scratch, 0);
    run->scratch->owner = 0;
}

/* A pair of stamps with a stop between them is no cost of a stamp. Who notes a stop may be late. */
static void measure_instrument(struct run *run)
{
    static const struct timespec pause = {0, LATE_NOTE_NS};
    for (int i = 1;; i++) {
        instrument_measure(&run->instrument, &run->clock, run->scratch);
        if (run->instrument.pair_max_ns >= LATE_NOTE_NS)
            nanosleep(&pause, NULL);
        if (atomic_load(&run->arena->stop_count) == 0 || i == CALIBRATION_TRIES)
            return;
        stops_forget(run->arena);
        make_scratch_empty(run);
        report_repeated(run, "instrument");
    }
}

static void measure(void *argument)
{
    struct run *run = argument;
    rt_budget_init(&run->rt_budget);
    measure_instrument(run);
    port_usage(&run->usage_before);
    load_begin(run->load);
    ask_to_look(run, LOOK_BEGINS);
    run->start_ns = clock_monotonic_ns();
    run->arena->started_ns = run->start_ns;
    run->arena->started_uptime_ns = port_uptime_ns();
    check_place(run);
    run->test->measure ? run->test->measure(run) : variants_measure(run);
    check_place(run);
    run->arena->ended_ns = clock_monotonic_ns();
    load_end(run->load);
    port_usage(&run->usage_after);
    ask_to_look(run, LOOK_ENDS);
    send_done(run);
}

static void add_counter(int64_t *sum, int64_t value)
{
    *sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

/* Sums the counters of all CPUs that the test uses; where that is not known, the port's answer for
 * the machine. */
static void read_environment(const struct run *run, struct port_environment *sum)
{
    struct cpus used = run->uses_cpu;
    cpus_add(&used, run->setup.cpu);
    int cpu = cpus_first(&used);
    port_environment(cpu, sum);
    while (cpu >= 0 && (cpu = cpus_next(&used, cpu)) >= 0) {
        struct port_environment one;
        port_environment(cpu, &one);
        add_counter(&sum->steal_ns, one.steal_ns);
        add_counter(&sum->interrupts, one.interrupts);
        add_counter(&sum->timer_interrupts, one.timer_interrupts);
        add_counter(&sum->thermal_throttles, one.thermal_throttles);
    }
}

/* Blocks all signals but the last resort's. Those in `watched` are delivered only while this
 * thread waits; all others belong to the tests. */
static void watch_signals(struct run_watch *watch, sigset_t *while_waiting)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, LAST_SIGNAL);
    *while_waiting = blocked;
    for (int i = 0; i < RUN_SIGNALS; i++) {
        action.sa_handler = watched[i] == SIGCHLD ? on_child : on_signal;
        sigaction(watched[i], &action, &watch->actions[i]);
        sigdelset(while_waiting, watched[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &watch->mask);
    watch->has_signals = true;
}

/* Discards pending signals that `mask` does not block: they were meant for the finished run. */
static void drop_pending(const sigset_t *mask)
{
    static const struct timespec at_once = {0, 0};
    sigset_t pending;
    sigpending(&pending);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (sigismember(mask, number) == 1)
            sigdelset(&pending, number);
    while (sigtimedwait(&pending, NULL, &at_once) > 0)
        ;
}

static void restore_signals(const struct run_watch *watch)
{
    drop_pending(&watch->mask);
    pthread_sigmask(SIG_SETMASK, &watch->mask, NULL);
    for (int i = 0; i < RUN_SIGNALS; i++)
        sigaction(watched[i], &watch->actions[i], NULL);
}

static void set_last_resort(const struct run_watch *watch, int64_t after_ns)
{
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    when.it_value = clock_ns_timespec(after_ns);
    if (watch->has_last_resort)
        timer_settime(watch->last_resort, 0, &when, NULL);
}

/* The time may have passed while the program was stopped: so the first signal grants the supervisor
 * some time to move its deadline, and the second one ends the process. */
static void on_last_resort(int number, siginfo_t *info, void *context)
{
    (void)context;
    signal(number, SIG_DFL);
    if (info->si_code == SI_TIMER)
        set_last_resort(info->si_value.sival_ptr, GRACE_NS);
    else
        raise(number);
}

static void catch_last_resort(struct sigaction *before)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_last_resort;
    sigaction(LAST_SIGNAL, &action, before);
}

/* A kernel timer whose signal ends the process, whatever else is stuck. */
static void arm_last_resort(struct run_watch *watch, int64_t after_ns)
{
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = LAST_SIGNAL;
    event.sigev_value.sival_ptr = watch;
    if (timer_create(CLOCK_MONOTONIC, &event, &watch->last_resort) != 0)
        return;
    catch_last_resort(&watch->last_action);
    watch->has_last_resort = true;
    set_last_resort(watch, after_ns);
}

/* True at the end of standard input or after an error; its contents are ignored. */
static bool input_ended(void)
{
    char ignored[256];
    ssize_t got = read(STDIN_FILENO, ignored, sizeof ignored);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

/* A console is watched for its letter, without --until-eof too. */
static bool watches_input(const struct run *run)
{
    const struct console *console = run->request->console;
    return console ? console_listens(console) : run->request->until_eof;
}

static bool input_asks_to_stop(const struct run *run)
{
    struct console *console = run->request->console;
    return console ? console_is_asked_to_stop(console) : input_ended();
}

/* Does what a measuring thread asks for. True: it is done; after LOOK_ENDS it only says so again.
 */
static bool take_word(struct run *run)
{
    char word = 0;
    if (read(run->done_pipe[0], &word, 1) != 1)
        return false;
    if (word == LOOK_BEGINS)
        counter_watch_begin(run->counter_watch);
    if (word == LOOK_AT_THREADS)
        counter_watch_look_at_threads(run->counter_watch);
    if (word == LOOK_ENDS)
        counter_watch_end(run->counter_watch, &run->counter_totals);
    if (word != DONE)
        atomic_fetch_add(&run->looks, 1);
    return word == DONE || word == LOOK_ENDS;
}

/* Once a second, on a CPU that does not measure. Whatever else is looked at each second has its
 * place here: it may take milliseconds, since only a signal or the test's end would wait for it. */
static void look_each_second(struct run *run)
{
    if (clock_monotonic_ns() < counter_watch_due_ns(run->counter_watch))
        return;
    counter_watch_look(run->counter_watch);
    if (run->trace_ring)
        trace_ring_look(run->trace_ring, run->arena);
}

static bool has_lost_cpu(struct run *run)
{
    struct cpu_taken *taken = &run->placement.taken;
    if (!taken->is_found)
        *taken = counter_watch_taken(run->counter_watch);
    if (!taken->is_found)
        *taken = outside_look_taken(run);
    return taken->is_found;
}

/* CPU time until the kernel kills this process without a word (RLIMIT_CPU); INT64_MAX: no limit. */
static int64_t cpu_time_left_ns(void)
{
#ifdef RLIMIT_CPU
    struct rlimit limit;
    struct timespec used;
    /* A system that has no such limits may answer 0, soft and hard. */
    bool is_none = getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur >= MOST_CPU_S ||
                   (limit.rlim_cur == 0 && limit.rlim_max == 0);
    if (is_none || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return INT64_MAX;
    return (int64_t)limit.rlim_cur * CLOCK_NS_PER_S - clock_timespec_ns(&used);
#else
    return INT64_MAX;
#endif
}

static bool has_no_cpu_time(struct run *run)
{
    run->is_out_of_cpu_time = cpu_time_left_ns() < CPU_TIME_MARGIN_NS;
    return run->is_out_of_cpu_time;
}

/* All CPUs together use up what is left of the CPU time no earlier than this. */
static int64_t cpu_time_due_ns(int64_t now_ns)
{
    int64_t left_ns = cpu_time_left_ns();
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (left_ns == INT64_MAX)
        return INT64_MAX;
    int64_t wait_ns = left_ns / (cpus > 0 ? cpus : 1) - CPU_TIME_MARGIN_NS / 2;
    return now_ns + (wait_ns > CPU_TIME_LOOK_NS ? wait_ns : CPU_TIME_LOOK_NS);
}

static int64_t next_ns(const struct run *run, int64_t until_ns)
{
    int64_t due_ns = counter_watch_due_ns(run->counter_watch);
    int64_t limit_ns = cpu_time_due_ns(clock_monotonic_ns());
    due_ns = limit_ns < due_ns ? limit_ns : due_ns;
    return due_ns < until_ns ? due_ns : until_ns;
}

/* A time in which the program was stopped does not count for the deadline: it moves by the time
 * since the supervisor was awake last, which is that long or a little longer. Here, because the
 * thread that notes a stop may come second. */
static bool moves_deadline(struct run *run, uint64_t *stops, int64_t awake_ns, int64_t *until_ns)
{
    static const struct timespec pause = {0, 20000000};
    int64_t now_ns = clock_monotonic_ns();
    if (run->stopped_watch.is_there && now_ns >= *until_ns &&
        atomic_load(&run->arena->stop_count) == *stops)
        nanosleep(&pause, NULL);
    uint64_t count = atomic_load(&run->arena->stop_count);
    if (count == *stops)
        return false;
    *stops = count;
    *until_ns += now_ns - awake_ns;
    catch_last_resort(NULL);
    set_last_resort(&run->watch, *until_ns - now_ns + GRACE_NS + LAST_NS);
    return true;
}

/* Sleeps until the test is done (true), or until `until_ns`, a stop request from outside, or the
 * death of the process or CPU that the test depends on (false). */
static bool wait_for_done(struct run *run, const sigset_t *mask, int64_t until_ns)
{
    uint64_t stops = atomic_load(&run->arena->stop_count);
    int64_t awake_ns = clock_monotonic_ns();
    for (;;) {
        bool is_moved = moves_deadline(run, &stops, awake_ns, &until_ns);
        int64_t now_ns = clock_monotonic_ns(), left_ns = next_ns(run, until_ns) - now_ns;
        if (!is_moved && now_ns >= until_ns)
            return false;
        awake_ns = now_ns;
        struct timespec left = clock_ns_timespec(left_ns > 0 ? left_ns : 0);
        bool watch_input = watches_input(run);
        fd_set descriptors;
        FD_ZERO(&descriptors);
        FD_SET(run->done_pipe[0], &descriptors);
        if (watch_input)
            FD_SET(STDIN_FILENO, &descriptors);
        int ready = pselect(run->done_pipe[0] + 1, &descriptors, NULL, NULL, &left, mask);
        if (ready > 0 && FD_ISSET(run->done_pipe[0], &descriptors) && take_word(run))
            return true;
        if (ready < 0 && errno != EINTR && run->request->console && watch_input)
            console_stop_listening(run->request->console, errno);
        if (ready > 0 && watch_input && FD_ISSET(STDIN_FILENO, &descriptors) &&
            input_asks_to_stop(run))
            stop_from_outside();
        look_each_second(run);
        if (stop_came_from_outside() || is_alone(run) || has_no_cpu_time(run) ||
            (!looks_by_itself(run) && has_lost_cpu(run)))
            return false;
    }
}

static int64_t deadline_ns(const struct run *run)
{
    if (run->deadline_ns > 0)
        return run->deadline_ns;
    int64_t generous_ns = run->plan.duration_ns * 3;
    return generous_ns > LEAST_DEADLINE_NS ? generous_ns : LEAST_DEADLINE_NS;
}

int64_t supervise_limit_ns(const struct run *run)
{
    return deadline_ns(run) + GRACE_NS + LAST_NS;
}

/* Requests a stop, sets the outcome, and waits for the grace time. True if the test ended. */
static bool stop_test(struct run *run, const sigset_t *mask)
{
    bool has_lost = is_alone(run);
    run->is_interrupted = stop_came_from_outside();
    run_request_stop();
    if (run->is_out_of_cpu_time)
        outcome_set(&run->outcome, STATUS_TIMEOUT,
                    "raise the limit where it is set (ulimit -t unlimited, LimitCPU= of a service)",
                    "stopped before the limit on CPU time (RLIMIT_CPU, ulimit -t) would have "
                    "killed the probe; results so far are kept");
    if (!run->is_interrupted && !has_lost && !run->placement.taken.is_found)
        outcome_set(&run->outcome, STATUS_TIMEOUT,
                    "allow more time (--deadline-ns) or ask for fewer samples",
                    "not finished after %.1f s; results so far are kept",
                    (double)deadline_ns(run) / 1e9);
    sigset_t none = *mask;
    int64_t until_ns = clock_monotonic_ns() + (has_lost ? ALONE_NS : GRACE_NS);
    while (clock_monotonic_ns() < until_ns) {
        struct timespec left = clock_ns_timespec(until_ns - clock_monotonic_ns() + 1);
        fd_set descriptors;
        FD_ZERO(&descriptors);
        FD_SET(run->done_pipe[0], &descriptors);
        if (pselect(run->done_pipe[0] + 1, &descriptors, NULL, NULL, &left, &none) > 0 &&
            take_word(run))
            return true;
    }
    return false;
}

static void note_stuck(struct run *run)
{
    run->is_stuck = true;
    run->arena->ended_ns = clock_monotonic_ns();
    load_end(run->load);
    run->load_average_milli = port_load_average_milli();
    if (is_alone(run))
        supervise_ended_early(run, run->lost_party);
    placement_report(run, NULL);
    outcome_set(
        &run->outcome, STATUS_TIMEOUT,
        "a call of the test did not return. Run TMR-B-EDGE to see whether timers expire; if they "
        "do, please report it with the output of hardstone-probe facts",
        "the test did not end on request; results so far are kept");
}

/* Raises this thread to the highest priority granted, at least the test's own, and returns it; -1
 * if all are refused. `error`: errno value of the last refusal. */
static int highest_priority(const struct run *run, int *error)
{
    for (int priority = sched_get_priority_max(SCHED_FIFO); priority >= run->setup.priority;
         priority--) {
        int refusal = rt_thread_set_self(SCHED_FIFO, priority);
        if (refusal == 0)
            return priority;
        *error = refusal;
    }
    return -1;
}

static void report_not_above(struct run *run, int priority, int error)
{
    char own[64] = "is not scheduled as real-time";
    if (priority >= 0)
        snprintf(own, sizeof own, "has priority %d too", priority);
    arena_event(run->arena, "supervisor_not_above", -1,
                DATA(data_integer("priority", priority),
                     data_integer("test_priority", run->setup.priority),
                     data_text("error", error ? strerror(error) : "")),
                "the thread that supervises the test %s: no priority above the test's %d could "
                "be obtained (%s). While the test computes, it may react late to the deadline, "
                "Ctrl-C and the end of its input; allow a higher one (ulimit -r), or ask for a "
                "lower --priority",
                own, run->setup.priority, error ? strerror(error) : "it is the highest");
}

/* Raises the supervisor above the test, so that it can preempt it. */
static void raise_supervisor(struct run *run)
{
    struct sched_param own;
    int error = pthread_getschedparam(pthread_self(), &run->watch.policy, &own);
    if (error || !run->is_realtime)
        return;
    int refusal = 0;
    int priority = highest_priority(run, &refusal);
    run->watch.priority = own.sched_priority;
    run->watch.has_priority = priority >= 0;
    if (priority <= run->setup.priority)
        report_not_above(run, priority, refusal);
}

/* All values are recorded by now: a refusal is only an event. */
static void lower_supervisor(struct run *run)
{
    if (!run->watch.has_priority)
        return;
    int error = rt_thread_set_self(run->watch.policy, run->watch.priority);
    run->watch.has_priority = false;
    if (error)
        arena_event(run->arena, "supervisor_stays_above", -1,
                    DATA(data_text("error", strerror(error))),
                    "the priority of the supervising thread could not be restored (%s): this "
                    "process continues at a real-time priority",
                    strerror(error));
}

static bool go_back(struct run *run)
{
    return outside_look_is_there(run) ? outside_look_go_back(run)
                                      : counter_watch_go_back(run->counter_watch);
}

static void supervise(struct run *run, struct rt_thread *measuring_thread)
{
    sigset_t mask;
    watch_signals(&run->watch, &mask);
    int64_t limit_ns = deadline_ns(run) - run->calibration_ns;
    arm_last_resort(&run->watch, supervise_limit_ns(run));
    raise_supervisor(run);
    read_environment(run, &run->before);
    rt_thread_go(measuring_thread);
    int64_t until_ns = clock_monotonic_ns() + limit_ns;
    bool is_done = wait_for_done(run, &mask, until_ns);
    if (!is_done && !stop_test(run, &mask))
        note_stuck(run);
    else
        rt_thread_join(measuring_thread);
    if (run->is_stuck)
        return;
    if (run->lost_party)
        supervise_ended_early(run, run->lost_party);
    if (!has_lost_cpu(run) && (!run->counter_watch || looks_by_itself(run)))
        run->placement.taken = placement_lost(run);
    placement_report(run, go_back);
    read_environment(run, &run->after);
    run->load_average_milli = port_load_average_milli();
    lower_supervisor(run);
}

static void refuse_measuring_thread(struct run *run, int error)
{
    struct port_refusal refusal;
    rt_thread_refusal(error, &run->setup, &refusal);
    if (error == EPERM || refusal.is_any_thread)
        scheduling_deny(run, "starting the measuring thread", &refusal);
    else
        outcome_set_errno(&run->outcome, error, "starting the measuring thread", NULL);
}

/* With mlockall the stack is faulted in at creation, on the NUMA node of the creating thread: so
 * this thread visits the CPU under test. */
static int start_measuring_thread(struct run *run, struct rt_thread *measuring_thread,
                                  void (*body)(void *))
{
    struct scheduling_visit visit;
    scheduling_visit_cpu(run, &visit);
    int error = rt_thread_start(measuring_thread, &run->setup, body, run);
    if (error)
        refuse_measuring_thread(run, error);
    if (scheduling_leave_cpu(run, &visit) == 0 || error)
        return error ? -1 : 0;
    measuring_thread->body = NULL;
    rt_thread_go(measuring_thread);
    rt_thread_join(measuring_thread);
    return -1;
}

/* Runs `body` on a measuring thread. As supervise_measure. */
static int supervise_thread(struct run *run, void (*body)(void *))
{
    struct rt_thread measuring_thread;
    if (pipe(run->done_pipe) != 0)
        return outcome_set_errno(&run->outcome, errno, "a pipe", "raise ulimit -n");
    run->watch.has_pipe = true;
    int error = start_measuring_thread(run, &measuring_thread, body);
    if (error == 0)
        supervise(run, &measuring_thread);
    return error || run->is_stuck ? -1 : 0;
}

/* Handle signals that came after the last wait; supervise_end would drop them. */
static void take_late_signals(struct run *run)
{
    sigset_t late;
    sigemptyset(&late);
    for (int i = 0; i < RUN_SIGNALS; i++)
        sigaddset(&late, watched[i]);
    pthread_sigmask(SIG_UNBLOCK, &late, NULL);
    run->is_interrupted = stop_came_from_outside();
}

/* 0, or -1 where it cannot go on. */
static int calibrate_once(struct run *run)
{
    run->calibration_ns = 0;
    int64_t begin_ns = clock_monotonic_ns();
    stopped_watch_start(&run->stopped_watch, run->arena);
    int error = supervise_thread(run, calibrate);
    if (run->is_stuck)
        return -1;
    stopped_watch_end(&run->stopped_watch);
    if (error)
        return -1;
    take_late_signals(run);
    supervise_end(run);
    run->calibration_ns = clock_monotonic_ns() - begin_ns;
    return 0;
}

/* Not where the run ends anyway: on request, at its deadline, by the loss of its CPU. */
static bool is_spoilt(const struct run *run)
{
    return atomic_load(&run->arena->stop_count) > 0 && !run_should_stop() && !run->is_interrupted &&
           !run->placement.taken.is_found;
}

/* What the stopped one has found, and what it said, is dropped. */
int supervise_calibrate(struct run *run)
{
    static const struct outcome none;
    uint32_t event_count = run->arena->event_count;
    for (int i = 1; calibrate_once(run) == 0; i++) {
        if (!is_spoilt(run)) {
            stops_forget(run->arena);
            return 0;
        }
        stops_forget(run->arena);
        run->outcome = none;
        if (i == CALIBRATION_TRIES)
            return outcome_set(&run->outcome, STATUS_FAILED, "run the test again without stops",
                               "the program was stopped during each of %d calibrations", i);
        run->arena->calibrated_count = 0;
        run->arena->event_count = event_count;
        report_repeated(run, "work");
    }
    return -1;
}

int supervise_measure(struct run *run)
{
    struct counter_watch_setup setup = {.arena = run->arena,
                                        .measured = run_measured_cpus(run),
                                        .second = &run->needed,
                                        .held = placement_held(run),
                                        .left = placement_left(run),
                                        .config = run->request->cpu_config,
                                        .waits = &run->stopped_watch.id};
    run->counter_totals = (struct counter_totals){-1, -1, -1, -1};
    placement_begin(run);
    if (run->trace_ring && trace_ring_start(run->trace_ring, &run->outcome) != 0)
        return -1;
    if (!outside_look_is_there(run))
        run->counter_watch = counter_watch_open(&setup);
    stopped_watch_start(&run->stopped_watch, run->arena);
    int error = supervise_thread(run, measure);
    run->is_observed = !error;
    if (run->is_stuck)
        return error;
    stopped_watch_end(&run->stopped_watch);
    if (run->trace_ring && !outside_look_is_there(run))
        trace_ring_end(run->trace_ring, run->arena);
    counter_watch_close(run->counter_watch);
    run->counter_watch = NULL;
    return error;
}

/* The signals of a stuck test would end the program. */
void supervise_stand_down(struct run *run)
{
    struct run_watch *watch = &run->watch;
    if (watch->has_last_resort) {
        timer_delete(watch->last_resort);
        sigaction(LAST_SIGNAL, &watch->last_action, NULL);
    }
    if (watch->has_signals && !run->is_stuck)
        restore_signals(watch);
    watch->has_last_resort = false;
    watch->has_signals = false;
}

void supervise_end(struct run *run)
{
    struct run_watch *watch = &run->watch;
    supervise_stand_down(run);
    if (watch->has_pipe) {
        close(run->done_pipe[0]);
        close(run->done_pipe[1]);
    }
    memset(watch, 0, sizeof *watch);
}
