/* TMR-P-JIT: periodic timer jitter (Obenland 2000, timer jitter test).
 *
 * What: how late each expiration base + k x period of a periodic timer is served. A late one does
 *     not move the next; a wake-up that serves several gives a value for each. There is no warm-up.
 * Begin, end: the time at which expiration k was due, and the thread's first reading of
 *     CLOCK_MONOTONIC after the wait; with timer-handler, the paper's mechanism, the first act of
 *     the signal's handler, which runs on the measuring thread in sigsuspend.
 * Threads: the measuring thread, at the run's priority on the run's CPU if it has one.
 * Wrong if: setitimer cannot be armed for an absolute time: its base is uncertain by the length of
 *     the arming call (event base_uncertain). Mechanisms that use a signal include its delivery.
 *     The signal is directed at the process: all other threads block it. Outside of the wait it is
 *     blocked here too, so an expiration between two waits is served late, and that lateness is in
 *     the figure.
 */
#include "base/posix_source.h"

#include "family/shared/timer_mechanism.h"

#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define START_AHEAD_NS INT64_C(5000000)
#define PATIENCE_NS INT64_C(1000000000)
#define DEFAULT_VARIANT_NS INT64_C(1000000000)

static const struct param_spec params[] = {
    {"periods_ns", PARAM_NS, true, "1ms,10ms,100ms", 10000, INT64_C(10000000000), NULL,
     "periods of the timer", "period_ns"},
    {"mechanisms", PARAM_NAME, true, MECHANISM_ALL, 0, 0, mechanism_names, MECHANISM_ABOUT,
     "mechanism"},
    {0},
};

static const struct series_spec series[] = {
    {"jitter", "ns", "period_ns,mechanism", "the requested expiry (start + k x period)",
     "first clock reading of the thread after the wait, or first action of the signal handler"},
    {"overrun",
     "count",
     "period_ns,mechanism",
     "expirations missed before a late wake-up; one value per wake-up that missed any",
     NULL,
     NULL,
     RECORD_SHAPE_COUNT,
     {.least = 1},
     true},
    {0},
};
enum { JITTER, OVERRUN };

/* Fewer have a place each among the worst values, and are taken out of them. */
enum { MANY_SERVED = 8 };

/* Records a value for each of the `count` expirations that this wake-up serves, unless the program
 * was stopped. */
static void record_served(const struct run *run, const struct timer_armed *timer, int64_t count,
                          int64_t now_ns)
{
    int64_t due_ns = timer->base_ns + (int64_t)(timer->served - (uint64_t)count) * timer->period_ns;
    if (count > MANY_SERVED && stops_touch(run->arena, now_ns - due_ns, run_at_ns(run, now_ns))) {
        record_count_stopped(run_record(run, JITTER), (uint64_t)count, now_ns - due_ns);
        record_count_stopped(run_record(run, OVERRUN), 1, count - 1);
        return;
    }
    for (int64_t i = 0; i < count; i++, due_ns += timer->period_ns)
        record_value(run_record(run, JITTER), now_ns - due_ns, run_at_ns(run, now_ns));
    if (count > 1)
        record_value(run_record(run, OVERRUN), count - 1, run_at_ns(run, now_ns));
}

/* A correct timer is never early: none of its values is negative. */
static void report_early(const struct run *run, int64_t period_ns, enum timer_kind kind)
{
    const struct record *jitter = run_record(run, JITTER);
    if (jitter->underflow > 0)
        arena_event(run->arena, "early_expirations", -1,
                    DATA(data_text("mechanism", mechanism_names[kind]),
                         data_integer("period_ns", period_ns),
                         data_integer("early_count", (int64_t)jitter->underflow),
                         data_integer("value_count", (int64_t)jitter->count),
                         data_integer("earliest_ns", -jitter->min)),
                    "%s, period %lld ns: %llu of %llu expirations came early, by up to %lld ns",
                    mechanism_names[kind], (long long)period_ns,
                    (unsigned long long)jitter->underflow, (unsigned long long)jitter->count,
                    (long long)-jitter->min);
}

/* Whether a timer of this kind, set once, does not expire: the test would wait for it until its
 * deadline, and keep the others waiting. */
static bool never_expires(enum timer_kind kind)
{
    struct timer_armed timer;
    int64_t now_ns = clock_monotonic_ns();
    if (!mechanism_is_object(kind) || mechanism_arm(&timer, kind, now_ns + START_AHEAD_NS, 0) != 0)
        return false;
    int64_t count = mechanism_wait(&timer, PATIENCE_NS, &now_ns);
    mechanism_release(&timer);
    return count == 0;
}

static void report_unsupported(struct run *run, enum timer_kind kind, int64_t period_ns,
                               const char *why)
{
    arena_event(run->arena, "mechanism_unsupported", -1,
                DATA(data_text("mechanism", mechanism_names[kind]),
                     data_integer("period_ns", period_ns), data_text("error", why)),
                "%s with a period of %lld ns: %s", mechanism_names[kind], (long long)period_ns,
                why);
}

static int measure_variant(struct run *run)
{
    struct timer_armed timer;
    enum timer_kind kind = (enum timer_kind)variant_number(run, "mechanisms");
    int64_t period_ns = variant_number(run, "periods_ns");
    if (never_expires(kind)) {
        report_unsupported(run, kind, period_ns, "it is set without an error, and never expires");
        return 0;
    }
    int64_t now_ns = clock_monotonic_ns();
    int error = mechanism_arm(&timer, kind, now_ns + START_AHEAD_NS, period_ns);
    if (error) {
        report_unsupported(run, kind, period_ns, strerror(error));
        return 0;
    }
    if (timer.uncertainty_ns > 0)
        arena_event(run->arena, "base_uncertain", run_at_ns(run, now_ns),
                    DATA(data_text("mechanism", mechanism_names[kind]),
                         data_integer("period_ns", period_ns),
                         data_integer("uncertainty_ns", timer.uncertainty_ns)),
                    "%s, period %lld ns: the time of the first expiry is uncertain by %lld ns",
                    mechanism_names[kind], (long long)period_ns, (long long)timer.uncertainty_ns);
    struct run_budget budget = run_budget(run, variant_count(run));
    int64_t count = 0;
    while (run_budget_left(&budget, run_record(run, JITTER)->count, now_ns) &&
           (count = mechanism_wait(&timer, -1, &now_ns)) >= 0)
        record_served(run, &timer, count, now_ns);
    if (count < 0)
        outcome_set_errno(&run->outcome, errno, mechanism_names[kind], NULL);
    mechanism_release(&timer);
    report_early(run, period_ns, kind);
    return count < 0 ? -1 : 0;
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other mechanisms",
                       "this system supports none of the requested mechanisms");
}

const struct test tmr_p_jit = {
    .id = "TMR-P-JIT",
    .title = "Periodic timer jitter",
    .source = "[O] Obenland 2000, timer jitter; setitimer: [H] HP 1987",
    .params = params,
    .series = series,
    .default_duration_ns = 3 * TIMER_KINDS * DEFAULT_VARIANT_NS,
    .setup_ns = 500000000,
    .sample_param = "periods_ns",
    .measure_variant = measure_variant,
    .judge = judge,
};
