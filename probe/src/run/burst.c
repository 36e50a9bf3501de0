#include "base/posix_source.h"

#include "run/run.h"

#include "base/clock.h"
#include "base/options.h"

#include <stdio.h>
#include <string.h>

enum { TOLD = 3 }; /* of events of a kind */

/* ---- budget ---- */

/* Whether a shell takes `path` as one word, as it is. */
static bool is_plain_word(const char *path)
{
    return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "/._,:@%+=-")] == '\0';
}

/* In a group: as much as those above it allow, if no other group uses it. */
static void choose_command(struct rt_budget *rt_budget)
{
    const struct port_realtime_budget *limit = &rt_budget->limit;
    char *command = rt_budget->lift_command;
    size_t bytes = sizeof rt_budget->lift_command;
    if (!limit->group[0]) {
        snprintf(command, bytes, "%s", port_hint(PORT_HINT_LIFT_BUDGET));
        return;
    }
    int length =
        snprintf(command, bytes, "echo %lld | sudo tee %s/%s", (long long)(limit->most_ns / 1000),
                 limit->group, port_hint(PORT_HINT_BUDGET_FILE));
    if (length < 0 || (size_t)length >= bytes || !is_plain_word(limit->group))
        snprintf(command, bytes, "hardstone doctor");
}

const char *rt_budget_lift_command(const struct rt_budget *rt_budget)
{
    return rt_budget->has_limit ? rt_budget->lift_command : NULL;
}

void rt_budget_init(struct rt_budget *rt_budget)
{
    const struct port_realtime_budget *limit = &rt_budget->limit;
    rt_budget->has_limit = port_realtime_budget(&rt_budget->limit);
    if (rt_budget->has_limit) {
        rt_budget->burst_ns = limit->runtime_ns / 5 * 4;
        rt_budget->rest_ns = limit->period_ns - rt_budget->burst_ns;
        choose_command(rt_budget);
    } else {
        rt_budget->burst_ns = CLOCK_NS_PER_S / 10 * 9;
        rt_budget->rest_ns = CLOCK_NS_PER_S / 10;
    }
    rt_budget->started_ns = clock_monotonic_ns();
    rt_budget->rested_ns = 0;
}

int64_t rt_budget_pause_ns(const struct rt_budget *rt_budget)
{
    return rt_budget->has_limit ? rt_budget->limit.period_ns - rt_budget->limit.runtime_ns : 0;
}

int64_t rt_budget_rest(struct rt_budget *rt_budget)
{
    return rt_budget_rest_ahead(rt_budget, 0);
}

int64_t rt_budget_rest_ahead(struct rt_budget *rt_budget, int64_t ahead_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    bool is_left = now_ns - rt_budget->started_ns + ahead_ns < rt_budget->burst_ns;
    return is_left ? now_ns : rt_budget_rest_now(rt_budget);
}

int64_t rt_budget_rest_now(struct rt_budget *rt_budget)
{
    int64_t now_ns = clock_monotonic_ns();
    struct timespec rest = clock_ns_timespec(rt_budget->rest_ns);
    nanosleep(&rest, NULL);
    rt_budget->started_ns = clock_monotonic_ns();
    rt_budget->rested_ns += rt_budget->started_ns - now_ns;
    return rt_budget->started_ns;
}

/* ---- lost CPU time ---- */

/* The default of Linux. What else takes the CPU does not take longer where a control group's budget
 * is small. */
#define MOST_PAUSE_NS INT64_C(50000000)

/* Whether `lost_ns` in one burst may be due to throttling: at least half of its pause. */
static bool cpu_loss_is_cut(const struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    return lost_ns >= cpu_loss->pause_ns / 2;
}

static int64_t cpu_of_ns(clockid_t id)
{
    struct timespec used;
    bool is_known = HS_HAS_RUNNING_CPU_CLOCKS && clock_gettime(id, &used) == 0;
    return is_known ? clock_timespec_ns(&used) : -1;
}

/* CPU time of all processes of the test; -1 if unknown. */
static int64_t used_cpu_ns(const struct cpu_loss *cpu_loss)
{
    int64_t own_ns = cpu_of_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t peer_ns = cpu_loss->has_peer ? cpu_of_ns(cpu_loss->peer) : 0;
    return own_ns < 0 || peer_ns < 0 ? -1 : own_ns + peer_ns;
}

void cpu_loss_open(struct cpu_loss *cpu_loss, const struct run *run)
{
    int64_t pause_ns = rt_budget_pause_ns(&run->rt_budget);
    memset(cpu_loss, 0, sizeof *cpu_loss);
    cpu_loss->run = run;
    cpu_loss->rested_ns = cpu_loss->steal_ns = -1;
    cpu_loss->is_limited = pause_ns > 0;
    cpu_loss->pause_ns = pause_ns > 0 && pause_ns < MOST_PAUSE_NS ? pause_ns : MOST_PAUSE_NS;
}

/* Includes the CPU time of `process`: 0, or an errno value if it cannot be read. */
static int cpu_loss_add_process(struct cpu_loss *cpu_loss, pid_t process)
{
    int error = clock_getcpuclockid(process, &cpu_loss->peer);
    cpu_loss->has_peer = error == 0;
    return error;
}

/* The test's CPU; that of the caller where the test is not bound. -1: unknown. */
static int test_cpu(const struct run *run)
{
    return run->setup.cpu >= 0 ? run->setup.cpu : port_current_cpu();
}

/* Steal time of `cpu` since boot; -1: unknown. */
static int64_t steal_ns(int cpu)
{
    struct port_environment now;
    port_environment(cpu, &now);
    return now.steal_ns;
}

void cpu_loss_begin(struct cpu_loss *cpu_loss)
{
    int cpu = test_cpu(cpu_loss->run);
    if (cpu_loss->rested_ns != cpu_loss->run->rt_budget.rested_ns || cpu_loss->cpu != cpu)
        cpu_loss->steal_ns = steal_ns(cpu);
    cpu_loss->cpu = cpu;
    cpu_loss->rested_ns = cpu_loss->run->rt_budget.rested_ns;
    cpu_loss->begin_wall_ns = clock_monotonic_ns();
    cpu_loss->begin_cpu_ns = used_cpu_ns(cpu_loss);
}

/* Whether steal time explains the loss, apart from a rest too small to count as a cut. Steal time
 * has steps of 10 ms, and each part of it explains one loss only. For a thread that changed its CPU
 * the steal time is not known. */
static bool was_stolen(struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    bool is_known = cpu_loss->steal_ns >= 0 && test_cpu(cpu_loss->run) == cpu_loss->cpu;
    int64_t now_ns = is_known ? steal_ns(cpu_loss->cpu) : -1;
    int64_t stolen_ns = now_ns < 0 ? 0 : now_ns - cpu_loss->steal_ns;
    stolen_ns = stolen_ns < lost_ns ? stolen_ns : lost_ns;
    if (cpu_loss_is_cut(cpu_loss, lost_ns - stolen_ns))
        return false;
    cpu_loss->steal_ns += stolen_ns;
    return true;
}

/* Whether somebody stopped the program meanwhile. The thread that notes it may come second. */
static bool was_stopped(const struct cpu_loss *cpu_loss)
{
    static const struct timespec pause = {0, 20000000};
    const struct run *run = cpu_loss->run;
    if (stops_since(run->arena, cpu_loss->begin_wall_ns))
        return true;
    if (!run->stopped_watch.is_there)
        return false;
    nanosleep(&pause, NULL);
    return stops_since(run->arena, cpu_loss->begin_wall_ns);
}

/* Counts a loss that is no stop. Returns whether to report it: the first TOLD cuts are
 * reported. */
static bool note_loss(struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    if (!cpu_loss_is_cut(cpu_loss, lost_ns) || was_stopped(cpu_loss))
        return false;
    if (!was_stolen(cpu_loss, lost_ns)) {
        cpu_loss->unexplained_count++;
        if (lost_ns > cpu_loss->most_unexplained_ns)
            cpu_loss->most_unexplained_ns = lost_ns;
    }
    return cpu_loss->cut_count++ < TOLD;
}

/* CPU time that the test has lost since the burst began, ns; 0 if unknown. */
static int64_t cpu_loss_lost_ns(const struct cpu_loss *cpu_loss, int64_t now_ns)
{
    int64_t cpu_ns = used_cpu_ns(cpu_loss);
    if (cpu_loss->begin_cpu_ns < 0 || cpu_ns < 0)
        return 0;
    return now_ns - cpu_loss->begin_wall_ns - (cpu_ns - cpu_loss->begin_cpu_ns);
}

static const char *possible_causes(const struct cpu_loss *cpu_loss)
{
    return cpu_loss->is_limited ? "a task of higher priority had the CPU, or real-time throttling "
                                  "or the fair server gave ordinary programs their share"
                                : "a task of higher priority had the CPU, or the fair server of "
                                  "Linux 6.12 and later gave ordinary programs their share";
}

void cpu_loss_end(struct cpu_loss *cpu_loss, struct run *run)
{
    int64_t now_ns = clock_monotonic_ns(), wall_ns = now_ns - cpu_loss->begin_wall_ns;
    int64_t lost_ns = cpu_loss_lost_ns(cpu_loss, now_ns);
    if (note_loss(cpu_loss, lost_ns))
        arena_event(run->arena, "throttled", run_event_at_ns(run, now_ns),
                    DATA(data_integer("burst_ns", wall_ns), data_integer("lost_ns", lost_ns),
                         data_bool("is_limited", cpu_loss->is_limited)),
                    "in a burst of %lld us the test's threads had the CPU for only %lld us: %s",
                    (long long)(wall_ns / 1000), (long long)((wall_ns - lost_ns) / 1000),
                    possible_causes(cpu_loss));
}

void cpu_loss_note_pause(struct cpu_loss *cpu_loss, struct run *run, int64_t pause_ns,
                         const char *what)
{
    if (note_loss(cpu_loss, pause_ns))
        arena_event(run->arena, "throttled", run_event_at_ns(run, clock_monotonic_ns()),
                    DATA(data_text("waiting", what), data_integer("lost_ns", pause_ns),
                         data_bool("is_limited", cpu_loss->is_limited)),
                    "%s was ready and did not run for %lld us: %s", what,
                    (long long)(pause_ns / 1000), possible_causes(cpu_loss));
}

int cpu_loss_judge(const struct cpu_loss *cpu_loss, struct run *run)
{
    if (cpu_loss->unexplained_count == 0)
        return 0;
    struct remedy remedy = {
        "end what runs at a higher priority, or lift the limit on real-time threads",
        rt_budget_lift_command(&run->rt_budget)};
    if (cpu_loss->most_unexplained_ns > 2 * rt_budget_pause_ns(&run->rt_budget))
        remedy = (struct remedy){"it is longer than the pauses of real-time throttling here: end "
                                 "what runs at a higher priority; for a virtual machine ask for "
                                 "a dedicated CPU",
                                 NULL};
    return outcome_set_remedy(
        &run->outcome, STATUS_FAILED, remedy,
        "the test did not get the CPU in %d bursts, for up to %lld us: the figures include "
        "pauses that the tested system did not cause",
        cpu_loss->unexplained_count, (long long)(cpu_loss->most_unexplained_ns / 1000));
}

/* ---- run delay ---- */

static void list(struct run_delay *run_delay, pid_t process)
{
    pid_t threads[RUN_DELAY_THREADS];
    int most = RUN_DELAY_THREADS - run_delay->count;
    int count = port_threads(process, threads, most);
    if (count < 0 || count >= most) {
        run_delay->is_known = false;
        return;
    }
    for (int i = 0; i < count; i++) {
        run_delay->threads[run_delay->count].process = process;
        run_delay->threads[run_delay->count++].thread = threads[i];
    }
}

/* Lists the current threads of this process, and of `peer` if it is not 0. */
static void run_delay_open(struct run_delay *run_delay, pid_t peer)
{
    run_delay->is_known = true;
    run_delay->count = 0;
    list(run_delay, 0);
    if (peer > 0 && run_delay->is_known)
        list(run_delay, peer);
}

/* Takes the values from which run_delay_kept_ns counts. */
static void run_delay_begin(struct run_delay *run_delay)
{
    run_delay->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < run_delay->count && run_delay->is_known; i++)
        run_delay->is_known =
            port_thread_times(run_delay->threads[i].process, run_delay->threads[i].thread,
                              &run_delay->threads[i].begin);
}

/* Times of thread `i` since run_delay_begin. */
static bool times_of(const struct run_delay *run_delay, int i, struct port_thread_times *times)
{
    const struct port_thread_times *begin = &run_delay->threads[i].begin;
    if (!port_thread_times(run_delay->threads[i].process, run_delay->threads[i].thread, times))
        return false;
    times->ran_ns -= begin->ran_ns;
    times->waited_ns -= begin->waited_ns;
    return true;
}

/* Lower bound of the time since run_delay_begin in which threads were runnable and no thread of
 * the test ran, ns; two threads at once count twice. -1 if unknown. */
static int64_t run_delay_kept_ns(const struct run_delay *run_delay)
{
    struct port_thread_times times[RUN_DELAY_THREADS];
    int64_t ran_ns = 0, kept_ns = 0;
    if (!run_delay->is_known)
        return -1;
    for (int i = 0; i < run_delay->count; i++) {
        if (!times_of(run_delay, i, &times[i]))
            return -1;
        ran_ns += times[i].ran_ns;
    }
    for (int i = 0; i < run_delay->count; i++) {
        int64_t behind_ns = ran_ns - times[i].ran_ns;
        if (times[i].waited_ns > behind_ns)
            kept_ns += times[i].waited_ns - behind_ns;
    }
    return kept_ns;
}

/* ---- bursts ---- */

#define DISTURBED_NS INT64_C(1000000)

enum { SMALL_PART = 4 /* a wait below 1/4 of the loss is small */ };

/* Reading run delays is slow: not before every burst. */
static void begin_burst(struct burst *burst)
{
    int64_t age_ns = clock_monotonic_ns() - burst->run_delay.begin_ns;
    if (burst->is_watched && age_ns > burst->cpu_loss.pause_ns / 4)
        run_delay_begin(&burst->run_delay);
    cpu_loss_begin(&burst->cpu_loss);
}

void burst_begin(struct run *run, pid_t peer)
{
    struct burst *burst = &run->burst;
    burst->ahead_ns = 0;
    burst->gap_count = 0;
    cpu_loss_open(&burst->cpu_loss, run);
    bool is_counted = peer <= 0 || cpu_loss_add_process(&burst->cpu_loss, peer) == 0;
    burst->is_watched = run->is_realtime && is_counted;
    run_delay_open(&burst->run_delay, peer);
    burst->run_delay.begin_ns = 0;
    rt_budget_rest(&run->rt_budget);
    begin_burst(burst);
}

void burst_ignore_sleep(struct run *run)
{
    run->burst.run_delay.is_known = false;
}

void burst_plan(struct run *run, int64_t ahead_ns)
{
    run->burst.ahead_ns = ahead_ns;
}

bool burst_was_disturbed(const struct run *run)
{
    return cpu_loss_lost_ns(&run->burst.cpu_loss, clock_monotonic_ns()) > DISTURBED_NS;
}

/* Whether the threads were runnable for only a small part of `lost_ns`, and slept for the rest. */
static bool was_asleep(const struct burst *burst, int64_t lost_ns)
{
    int64_t kept_ns = run_delay_kept_ns(&burst->run_delay);
    return kept_ns >= 0 && kept_ns < lost_ns / SMALL_PART;
}

static void report_gap(struct run *run, int64_t lost_ns)
{
    if (run->burst.gap_count++ < TOLD)
        arena_event(run->arena, "idle_gap", run_event_at_ns(run, clock_monotonic_ns()),
                    DATA(data_integer("gap_ns", lost_ns)),
                    "for %lld us no thread of the test ran and none was ready: the system woke "
                    "threads slowly, and the figures include it",
                    (long long)(lost_ns / 1000));
}

static void judge_burst(struct run *run)
{
    struct cpu_loss *loss = &run->burst.cpu_loss;
    int64_t lost_ns = cpu_loss_lost_ns(loss, clock_monotonic_ns());
    if (cpu_loss_is_cut(loss, lost_ns) && !stops_since(run->arena, loss->begin_wall_ns) &&
        was_asleep(&run->burst, lost_ns)) {
        report_gap(run, lost_ns);
        return;
    }
    cpu_loss_end(loss, run);
    if (cpu_loss_judge(loss, run) != 0)
        run_request_stop();
}

int64_t burst_next(struct run *run)
{
    struct burst *burst = &run->burst;
    const struct cpu_loss *loss = &burst->cpu_loss;
    if (burst->is_watched && clock_monotonic_ns() - loss->begin_wall_ns > loss->pause_ns / 2)
        judge_burst(run);
    rt_budget_rest_ahead(&run->rt_budget, burst->ahead_ns);
    begin_burst(burst);
    return run_anchor(run);
}

/* ---- pauses of the threads on the CPU under test ---- */

static int64_t threads_cpu_ns(const struct pause_watch *watch)
{
    int64_t own_ns = cpu_of_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t other_ns = watch->has_other ? cpu_of_ns(watch->other) : 0;
    return own_ns < 0 || other_ns < 0 ? -1 : own_ns + other_ns;
}

void pause_watch_open(struct pause_watch *watch, struct run *run, const pthread_t *other)
{
    *watch = (struct pause_watch){.run = run};
    watch->has_other = other && pthread_getcpuclockid(*other, &watch->other) == 0;
}

void pause_watch_begin(struct pause_watch *watch)
{
    watch->cpu_ns = threads_cpu_ns(watch);
    watch->wall_ns = clock_monotonic_ns();
}

void pause_watch_end(struct pause_watch *watch, int64_t idle_ns)
{
    int64_t wall_ns = clock_monotonic_ns() - watch->wall_ns, now_ns = threads_cpu_ns(watch);
    if (watch->cpu_ns < 0 || now_ns < 0 || !watch->run->burst.is_watched)
        return;
    cpu_loss_note_pause(&watch->run->burst.cpu_loss, watch->run,
                        wall_ns - (now_ns - watch->cpu_ns) - idle_ns,
                        "the thread on the CPU under test");
    if (cpu_loss_judge(&watch->run->burst.cpu_loss, watch->run) != 0)
        run_request_stop();
}
