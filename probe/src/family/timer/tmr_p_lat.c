/* TMR-P-LAT: wake-up latency, "latstat" (Solaris for Realtime, 2007).
 *
 * A thread sleeps until release r (clock_nanosleep, absolute, CLOCK_MONOTONIC) and then, as the
 * first thing it does, reads CLOCK_MONOTONIC. begin = the programmed expiry r, end = that reading
 * by the thread in user space. Releases are r0 + k x T. By default it is the measuring thread, on
 * the run's CPU; with the parameter `cpus` there is one thread on each of these CPUs, all at the
 * same time, at the run's priority. There is no warm-up: every wake-up is recorded.
 *
 * A wake-up late by L >= T has missed the releases r + jT, j = 1 .. floor(L / T). The next sleep is
 * until the first release that is still ahead. Two views:
 *   wakeup   one value per wake-up, L (what cyclictest shows)
 *   release  one value per release: L, and L - jT for each missed one. Avoids coordinated omission;
 *            exact, nothing is assumed
 * The values of missed releases are recorded a few at a time after later wake-ups, so that
 * recording them makes no wake-up late.
 *
 * How it could be wrong: the clock reading itself is in each value (tens of ns, see the
 * instrument's figures). A CPU that enters a deep idle state or lowers its frequency between
 * releases is part of what is measured, and of the conditions.
 */
#include "base/posix_source.h"

#include "port/port.h"
#include "run/run.h"
#include "run/shield_run.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BACKLOG = 2048, EXPAND_STEPS = 128 };

#define START_AHEAD_NS INT64_C(10000000)

static const struct param_spec params[] = {
    {"interval_ns", PARAM_NS, false, "1ms", 10000, INT64_C(10000000000), NULL,
     "time between two releases"},
    {"threshold_ns", PARAM_NS, false, "0", 0, INT64_C(3600000000000), NULL,
     "end with status failed at the first latency above this threshold (0: never)"},
    {"cpus", PARAM_CPU, true, "", 0, PORT_CPUS - 1, NULL,
     "CPUs to measure at the same time, a thread on each (default: the one of --cpu)", "cpu"},
    {0},
};

#define WITHIN_8_S                                                                                 \
    {                                                                                              \
        .most = (INT64_C(1) << 33) - 1                                                             \
    }

static const struct series_spec series[] = {
    {"wakeup", "ns", "part=total,cpu", "the programmed expiry (release)",
     "first clock reading of the woken thread in user land, one value a wake-up", NULL, WITHIN_8_S},
    {"release", "ns", "part=total,cpu", "each release, also one missed by a late wake-up",
     "first clock reading of the woken thread in user land, one value a release", NULL, WITHIN_8_S},
    {"missed",
     "count",
     "cpu",
     "releases missed by a late wake-up; one value for each wake-up that missed any",
     NULL,
     NULL,
     {.most = (INT64_C(1) << 33) - 1, .sub_bits = 7}},
    {0},
};
enum { WAKEUP, RELEASE, MISSED };

/* A late wake-up whose missed releases are still to be recorded. */
struct late {
    int64_t next_ns; /* lateness of the next missed release */
    int64_t at_ns;
};

struct sleeper {
    struct run *run;
    struct record *wakeup, *release, *missed;
    int64_t interval_ns, threshold_ns;
    int64_t crossed_ns;    /* a latency above the threshold; 0: none */
    uint32_t first, count; /* ring of late wake-ups */
    struct late backlog[BACKLOG];
    struct rt_thread rt_thread;
    int cpu;
};

struct own {
    int sleeper_count;
    struct sleeper sleepers[];
};

static int check(struct run *run)
{
    const struct param_value *cpus = run_param(run, "cpus");
    struct cpus allowed;
    int allowed_count = shield_run_allowed_cpus(run, &allowed);
    for (int i = 0; i < cpus->count; i++) {
        int cpu = (int)cpus->number[i];
        if (shield_run_excludes(run, cpu))
            return -1;
        if (allowed_count < 0 || !cpus_has(&allowed, cpu))
            return shield_run_deny(run, cpu);
        cpus_add(&run->uses_cpu, cpu);
        run->is_measured_elsewhere = true;
    }
    return 0;
}

static int prepare(struct run *run)
{
    int count = variant_count(run);
    struct own *own = run_own(run, sizeof *own + (size_t)count * sizeof own->sleepers[0]);
    if (!own)
        return -1;
    own->sleeper_count = count;
    for (int i = 0; i < count; i++) {
        struct sleeper *sleeper = &own->sleepers[i];
        sleeper->run = run;
        variant_begin(run, i);
        sleeper->wakeup = run_record(run, WAKEUP);
        sleeper->release = run_record(run, RELEASE);
        sleeper->missed = run_record(run, MISSED);
        sleeper->cpu = (int)variant_number(run, "cpus");
        sleeper->interval_ns = run_number(run, "interval_ns");
        sleeper->threshold_ns = run_number(run, "threshold_ns");
    }
    return 0;
}

/* Records up to `steps` missed releases, oldest first. */
static void expand(struct sleeper *sleeper, uint64_t steps)
{
    while (sleeper->count > 0 && steps-- > 0) {
        struct late *late = &sleeper->backlog[sleeper->first];
        record_value(sleeper->release, late->next_ns, late->at_ns);
        late->next_ns -= sleeper->interval_ns;
        if (late->next_ns >= 0)
            continue;
        sleeper->first = (sleeper->first + 1) % BACKLOG;
        sleeper->count--;
    }
}

/* Notes a wake-up late by `late_ns` >= interval; returns the number of releases it missed. */
static int64_t note_late(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns)
{
    int64_t swallowed = late_ns / sleeper->interval_ns;
    record_value(sleeper->missed, swallowed, at_ns);
    if (sleeper->count == BACKLOG)
        expand(sleeper, UINT64_MAX);
    uint32_t place = (sleeper->first + sleeper->count++) % BACKLOG;
    sleeper->backlog[place] = (struct late){late_ns - sleeper->interval_ns, at_ns};
    return swallowed;
}

/* The measuring thread sets the outcome later, since several threads may cross at once. */
static void cross_threshold(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns)
{
    sleeper->crossed_ns = late_ns;
    arena_event(sleeper->run->arena, "threshold_crossed", at_ns,
                DATA(data_integer("value_ns", late_ns),
                     data_integer("threshold_ns", sleeper->threshold_ns),
                     data_integer("cpu", port_current_cpu())),
                "%lld ns is above the threshold of %lld ns", (long long)late_ns,
                (long long)sleeper->threshold_ns);
    run_request_stop();
}

static void tell_crossed(struct run *run, const struct sleeper *sleeper)
{
    if (sleeper->crossed_ns > 0)
        outcome_set(&run->outcome, STATUS_FAILED, "see the times of the worst values",
                    "threshold crossed: a latency of %lld ns is above %lld ns",
                    (long long)sleeper->crossed_ns, (long long)sleeper->threshold_ns);
}

static void sleep_until(int64_t release_ns)
{
    struct timespec release = clock_ns_timespec(release_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL) == EINTR)
        ;
}

static void tell_missed(const struct sleeper *sleeper)
{
    const struct record *missed = sleeper->missed;
    if (missed->count > 0)
        arena_event(sleeper->run->arena, "missed_periods", -1,
                    DATA(data_integer("missed_count",
                                      (int64_t)(record_mean(missed) * (double)missed->count + 0.5)),
                         data_integer("late_count", (int64_t)missed->count),
                         data_integer("cpu", port_current_cpu())),
                    "%.0f releases were missed by %llu late wake-ups on CPU %d",
                    record_mean(missed) * (double)missed->count, (unsigned long long)missed->count,
                    port_current_cpu());
}

static void sleep_and_measure(void *argument)
{
    struct sleeper *sleeper = argument;
    struct run *run = sleeper->run;
    int64_t now_ns = clock_monotonic_ns();
    int64_t release_ns = now_ns + START_AHEAD_NS;
    struct run_budget budget = run_budget(run, 1);
    while (run_budget_left(&budget, sleeper->wakeup->count, now_ns)) {
        sleep_until(release_ns);
        now_ns = clock_monotonic_ns();
        int64_t late_ns = now_ns - release_ns, at_ns = run_at_ns(run, now_ns);
        record_value(sleeper->wakeup, late_ns, at_ns);
        record_value(sleeper->release, late_ns, at_ns);
        release_ns += sleeper->interval_ns;
        if (late_ns >= sleeper->interval_ns)
            release_ns += note_late(sleeper, late_ns, at_ns) * sleeper->interval_ns;
        if (sleeper->threshold_ns > 0 && late_ns > sleeper->threshold_ns)
            cross_threshold(sleeper, late_ns, at_ns);
        if (sleeper->count > 0)
            expand(sleeper, EXPAND_STEPS);
    }
    expand(sleeper, UINT64_MAX);
    tell_missed(sleeper);
}

static void be_sleeper(void *argument)
{
    struct sleeper *sleeper = argument;
    sleep_and_measure(sleeper);
    supervise_look_at_threads(sleeper->run);
}

/* Called on the sleeper's CPU: mapping a locked stack also touches it, which places its pages near
 * that CPU. */
static int start_sleeper(struct run *run, struct sleeper *sleeper)
{
    struct rt_thread_setup setup = run->setup;
    struct cpus before;
    setup.cpu = sleeper->cpu;
    bool is_there = port_pin_for_now(setup.cpu, &before) == 0;
    int error = rt_thread_start(&sleeper->rt_thread, &setup, be_sleeper, sleeper);
    int not_back = is_there ? port_pin_back(&before) : 0;
    if (error || !not_back)
        return error;
    run_request_stop();
    rt_thread_go(&sleeper->rt_thread);
    rt_thread_join(&sleeper->rt_thread);
    return not_back;
}

/* The measuring thread measures itself, unless the parameter `cpus` asks for other threads. */
static int measure(struct run *run)
{
    struct own *own = run->own;
    if (run_param(run, "cpus")->count == 0) {
        sleep_and_measure(&own->sleepers[0]);
        tell_crossed(run, &own->sleepers[0]);
        return 0;
    }
    int started = 0, error = 0;
    for (; started < own->sleeper_count; started++)
        if ((error = start_sleeper(run, &own->sleepers[started])) != 0)
            break;
    if (error) {
        outcome_set_errno(&run->outcome, error, "starting a thread on each CPU",
                          "ask for fewer CPUs, or raise ulimit -u and -l");
        run_request_stop();
    }
    supervise_look_at_threads(run);
    for (int i = 0; i < started; i++)
        rt_thread_go(&own->sleepers[i].rt_thread);
    for (int i = 0; i < started; i++) {
        rt_thread_join(&own->sleepers[i].rt_thread);
        tell_crossed(run, &own->sleepers[i]);
    }
    return error ? -1 : 0;
}

const struct test tmr_p_lat = {
    .id = "TMR-P-LAT",
    .title = "Wake-up latency (latstat)",
    .source = "[L] latstat, Solaris for Realtime, 2007",
    .params = params,
    .series = series,
    .default_duration_ns = INT64_C(10000000000),
    .needs = TEST_NEEDS_A_CPU,
    .is_concurrent = true,
    .setup_ns = 500000000,
    .sample_param = "interval_ns",
    .check = check,
    .prepare = prepare,
    .measure = measure,
};
