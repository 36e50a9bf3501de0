/* TMR-P-LAT: wake-up latency, "latstat" (Solaris for Realtime, 2007).
 *
 * What: a thread sleeps until release r (clock_nanosleep, absolute, CLOCK_MONOTONIC). Releases are
 *     r0 + k x T; every wake-up is recorded. A wake-up late by L >= T has missed the releases r +
 *     jT, j = 1 .. floor(L / T); the next sleep is until the first release that is still ahead.
 * Begin, end: the programmed expiry r, and the thread's first reading of CLOCK_MONOTONIC, the first
 *     thing it does in user space (sleep_and_take).
 *       wakeup   one value a wake-up, L (what cyclictest shows)
 *       release  one value a release: L, and L - jT for each missed one: no coordinated omission
 * Threads: the measuring thread, on the run's CPU; with the parameter `cpus` one thread on each of
 *     these at the same time, at the run's priority.
 * Wrong if: the clock reading is long: it is in each value (tens of ns, see the instrument's
 *     figures). Deep idle states and low frequencies between releases are part of what is measured.
 *     Missed releases are recorded a few at a time after later wake-ups, so that this makes none
 *     late.
 */
#include "base/posix_source.h"

#include "family/timer/sleeper.h"
#include "family/timer/wakeup_parts.h"
#include "port/port.h"
#include "port/tracing.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "run/shield_run.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_AHEAD_NS INT64_C(10000000)

static const struct param_spec params[] = {
    {"interval_ns", PARAM_NS, false, "1ms", 10000, INT64_C(10000000000), NULL,
     "time between two releases"},
    {"threshold_ns", PARAM_NS, false, "0", 0, INT64_C(3600000000000), NULL,
     "end with status failed at the first latency above this threshold (0: never)"},
    {"cpus", PARAM_CPU, true, "", 0, PORT_CPUS - 1, NULL,
     "CPUs to measure at the same time, a thread on each (default: the one of --cpu)", "cpu"},
    {"parts", PARAM_NAME, false, "none", 0, 0, parts_wishes,
     "which kernel facility shows the parts of a wake-up; auto: the first available"},
    {0},
};

#define WITHIN_8_S                                                                                 \
    {                                                                                              \
        .most = (INT64_C(1) << 33) - 1                                                             \
    }

static const struct series_spec series[] = {
    {"wakeup", "ns", "part=total,cpu", "the programmed expiry (release)",
     "first clock reading of the woken thread in user space, one value a wake-up", NULL,
     WITHIN_8_S},
    {"release", "ns", "part=total,cpu", "each release, also one missed by a late wake-up",
     "first clock reading of the woken thread in user space, one value a release", NULL,
     WITHIN_8_S},
    {"missed",
     "count",
     "cpu",
     "releases missed by a late wake-up; one value per wake-up that missed any",
     NULL,
     NULL,
     {.most = (INT64_C(1) << 33) - 1, .sub_bits = 7},
     {.least = 1},
     true},
    {"wakeup", "ns", "part=interrupt,cpu", "the programmed expiry (release)",
     "entry of the handler of the timer interrupt that wakes the thread", NULL, WITHIN_8_S},
    {"wakeup", "ns", "part=dispatch,cpu",
     "the same entry, or the release where the handler ran then",
     "the thread has the CPU, in the kernel", NULL, WITHIN_8_S},
    {"wakeup", "ns", "part=return,cpu", "the same moment",
     "first clock reading of the woken thread in user space", NULL, WITHIN_8_S},
    {0},
};
enum { WAKEUP, RELEASE, MISSED, FIRST_PART };

struct own {
    int sleeper_count;
    struct wakeup_parts *parts; /* NULL: totals only */
    atomic_int wait_error;      /* of a read of timerlat's file */
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
        if (allowed_count < 0 || (!cpus_has(&allowed, cpu) && !scheduling_has_isolated(cpu)))
            return shield_run_deny(run, cpu);
        cpus_add(&run->uses_cpu, cpu);
        run->is_measured_elsewhere = true;
    }
    if (!HS_HAS_CLOCK_NANOSLEEP)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, LACKS_CLOCK_NANOSLEEP);
    return wakeup_parts_check(run);
}

static void prepare_sleeper(struct run *run, struct sleeper *sleeper)
{
    sleeper->run = run;
    sleeper->wakeup = run_record(run, WAKEUP);
    sleeper->release = run_record(run, RELEASE);
    sleeper->missed = run_record(run, MISSED);
    for (int i = 0; i < PARTS && !run->series_left_out; i++)
        sleeper->parts[i] = run_record(run, FIRST_PART + i);
    sleeper->cpu = (int)variant_number(run, "cpus");
    sleeper->interval_ns = run_number(run, "interval_ns");
    sleeper->threshold_ns = run_number(run, "threshold_ns");
}

static int prepare(struct run *run)
{
    int count = variant_count(run);
    size_t bytes = sizeof(struct own) + (size_t)count * sizeof(struct sleeper);
    bytes = (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
    struct own *own = run_own(run, bytes + wakeup_parts_bytes(run, count));
    if (!own)
        return -1;
    own->sleeper_count = count;
    for (int i = 0; i < count; i++) {
        variant_begin(run, i);
        prepare_sleeper(run, &own->sleepers[i]);
    }
    return wakeup_parts_open(run, (char *)own + bytes, own->sleepers, count, &own->parts);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        wakeup_parts_end(own->parts);
}

static void report_crossed(struct run *run, const struct sleeper *sleeper)
{
    if (sleeper->crossed_ns > 0)
        outcome_set(&run->outcome, STATUS_FAILED, "see the times of the worst values",
                    "threshold crossed: a latency of %lld ns is above %lld ns",
                    (long long)sleeper->crossed_ns, (long long)sleeper->threshold_ns);
}

/* The first release ahead: those until now are not missed, since the thread did something else. */
static int64_t next_release(const struct sleeper *sleeper, int64_t release_ns)
{
    int64_t passed_ns = clock_monotonic_ns() - release_ns;
    if (passed_ns < 0)
        return release_ns;
    return release_ns + (passed_ns / sleeper->interval_ns + 1) * sleeper->interval_ns;
}

/* `ring` NULL: totals only. A constant for each caller, so that those pay nothing for the parts. */
static inline __attribute__((always_inline)) void sleep_and_take(struct sleeper *sleeper,
                                                                 struct part_ring *ring)
{
    struct run *run = sleeper->run;
    int64_t now_ns = clock_monotonic_ns();
    int64_t release_ns = now_ns + START_AHEAD_NS;
    struct run_budget budget = run_budget(run, 1);
    while (run_budget_left(&budget, sleeper->wakeup->count, now_ns)) {
        clock_sleep_until(release_ns);
        now_ns = clock_monotonic_ns();
        int64_t late_ns = now_ns - release_ns, at_ns = run_at_ns(run, now_ns);
        record_value(sleeper->wakeup, late_ns, at_ns);
        record_value(sleeper->release, late_ns, at_ns);
        if (ring)
            part_ring_put(ring, release_ns, now_ns);
        release_ns += sleeper->interval_ns;
        if (late_ns >= sleeper->interval_ns)
            release_ns += sleeper_note_late(sleeper, late_ns, at_ns) * sleeper->interval_ns;
        if (sleeper->threshold_ns > 0 && late_ns > sleeper->threshold_ns &&
            !sleeper_cross(sleeper, late_ns, at_ns, port_current_cpu()))
            release_ns = next_release(sleeper, release_ns);
        if (sleeper->count > 0)
            sleeper_expand(sleeper, at_ns, SLEEPER_STEPS);
    }
    sleeper_end(sleeper);
    sleeper_report_missed(sleeper, port_current_cpu());
}

/* timerlat's file: a read waits for the next release and gives nothing. The loop is as empty as it
 * can be, since the next read ends timerlat's own figure. */
static void wait_and_stamp(struct own *own, struct sleeper *sleeper, struct part_ring *ring)
{
    char nothing;
    uint64_t taken = 0;
    int file = port_timerlat_open(sleeper->cpu);
    struct run_budget budget = run_budget(sleeper->run, 1);
    int64_t now_ns = clock_monotonic_ns();
    while (file >= 0 && run_budget_left(&budget, taken, now_ns)) {
        if (read(file, &nothing, 1) < 0)
            break;
        now_ns = clock_monotonic_ns();
        part_ring_put(ring, 0, now_ns);
        taken++;
    }
    if (file < 0 || run_budget_left(&budget, taken, now_ns)) {
        atomic_store(&own->wait_error, errno);
        run_request_stop();
    }
    if (file >= 0)
        close(file);
}

static void sleep_and_measure(struct sleeper *sleeper)
{
    struct own *own = sleeper->run->own;
    if (!own->parts) {
        sleep_and_take(sleeper, NULL);
        return;
    }
    struct part_ring *ring = wakeup_parts_ring(own->parts, sleeper);
    bool has_events = wakeup_parts_enter(own->parts, sleeper);
    if (!wakeup_parts_is_timerlat(own->parts))
        sleep_and_take(sleeper, ring);
    else if (has_events)
        wait_and_stamp(own, sleeper, ring);
}

/* The kernel unbinds the threads of a CPU that goes offline, and they stay so when it is back. */
static void sleep_and_measure_there(struct sleeper *sleeper)
{
    sleep_and_measure(sleeper);
    run_check_place(sleeper->run, sleeper->cpu);
}

static void be_sleeper(void *argument)
{
    struct sleeper *sleeper = argument;
    sleep_and_measure_there(sleeper);
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

/* After the parts have ended: with timerlat the reader has recorded, and crossed the threshold. */
static void report_ended(struct run *run, struct sleeper *sleeper)
{
    const struct own *own = run->own;
    if (own->parts && wakeup_parts_is_timerlat(own->parts)) {
        sleeper_end(sleeper);
        sleeper_report_missed(sleeper, sleeper->cpu);
    }
    report_crossed(run, sleeper);
}

static int measure_on_each(struct run *run, struct own *own)
{
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
    for (int i = 0; i < started; i++)
        rt_thread_join(&own->sleepers[i].rt_thread);
    return error;
}

/* The measuring thread measures itself, unless the parameter `cpus` asks for other threads. */
static int measure(struct run *run)
{
    struct own *own = run->own;
    int error = 0;
    if (own->parts)
        wakeup_parts_start(own->parts);
    if (run_param(run, "cpus")->count == 0)
        sleep_and_measure_there(&own->sleepers[0]);
    else
        error = measure_on_each(run, own);
    wakeup_parts_end(own->parts);
    if (atomic_load(&own->wait_error) != 0)
        outcome_set_errno(&run->outcome, atomic_load(&own->wait_error),
                          "waiting with timerlat's file", NULL);
    for (int i = 0; i < own->sleeper_count; i++)
        report_ended(run, &own->sleepers[i]);
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
    .finish = finish,
};
