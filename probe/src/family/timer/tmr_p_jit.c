/* TMR-P-JIT: periodic timer jitter (Obenland 2000, timer jitter test).
 *
 * The thread arms a periodic timer with expirations base + k x period and waits for
 * them one by one. A value is the time at which it ran again minus the time at which
 * expiration k was due, so a late one does not move the next. A wake-up that serves
 * several expirations gives a value for each of them.
 *
 * How it could be wrong: setitimer cannot be armed for an absolute time, so its base is
 * uncertain by the length of the arming call (noted as an event); a signal mechanism
 * includes taking the signal.
 */
#include "base/posix_source.h"

#include "family/timer/mechanism.h"

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define START_AHEAD_NS INT64_C(5000000)
#define DEFAULT_CELL_NS INT64_C(1000000000)

static const struct param_spec params[] = {
    {"periods_ns", PARAM_NS, true, "1ms,10ms,100ms", 10000, INT64_C(10000000000), NULL,
     "periods of the timer"},
    {"mechanisms", PARAM_NAME, true, "timer,nanosleep,timerfd,setitimer", 0, 0, timer_kind_names,
     "POSIX timer with real-time signal, clock_nanosleep absolute, timerfd, setitimer"},
    {0},
};

static const struct series_spec series[] = {
    {"jitter", "ns", "period_ns,mechanism", "the expiry that was asked for (start + k x period)",
     "first clock reading of the thread after the wait"},
    {"overrun", "count", "period_ns,mechanism",
     "expirations missed before a late wake-up; one value for each wake-up that missed any", NULL},
    {0},
};

static int cell_count(const struct run *run)
{
    return run_param(run, "periods_ns")->count * run_param(run, "mechanisms")->count;
}

static int64_t expected_ns(const struct run *run)
{
    const struct param_value *periods = run_param(run, "periods_ns");
    int64_t all_periods_ns = 0;
    for (int i = 0; i < periods->count; i++)
        all_periods_ns += periods->number[i];
    return run_expected_ns(run, all_periods_ns * run_param(run, "mechanisms")->count) +
           cell_count(run) * START_AHEAD_NS;
}

static int add_series(struct run *run, const char *name, const char *unit, int64_t period_ns,
                      int64_t kind)
{
    int index = run_add_series(run, name, unit, NULL, NULL);
    arena_plan_label_number(&run->plan, index, "period_ns", period_ns);
    arena_plan_label_text(&run->plan, index, "mechanism", timer_kind_names[kind]);
    return index < 0 ? -1 : 0;
}

static int size(struct run *run)
{
    const struct param_value *periods = run_param(run, "periods_ns");
    const struct param_value *kinds = run_param(run, "mechanisms");
    for (int p = 0; p < periods->count; p++)
        for (int k = 0; k < kinds->count; k++)
            if (add_series(run, "jitter", "ns", periods->number[p], kinds->number[k]) != 0 ||
                add_series(run, "overrun", "count", periods->number[p], kinds->number[k]) != 0)
                return -1;
    return 0;
}

/* A value for each of the `count` expirations that this wake-up serves. */
static void record_served(const struct run *run, struct record *jitter, struct record *overrun,
                          const struct timer_armed *timer, int64_t count, int64_t now_ns)
{
    int64_t due_ns = timer->base_ns + (int64_t)(timer->served - (uint64_t)count) * timer->period_ns;
    for (int64_t i = 0; i < count; i++, due_ns += timer->period_ns)
        record_value(jitter, now_ns - due_ns, run_at_ns(run, now_ns));
    if (count > 1)
        record_value(overrun, count - 1, run_at_ns(run, now_ns));
}

/* A system that keeps its word wakes nobody early: its values would all be positive. */
static void tell_early(const struct run *run, const struct record *jitter, int64_t period_ns,
                       enum timer_kind kind)
{
    if (jitter->underflow > 0)
        arena_event(run->arena, "early_expirations", -1,
                    "%s, period %lld ns: %llu of %llu came before they were due, up to %lld ns",
                    timer_kind_names[kind], (long long)period_ns,
                    (unsigned long long)jitter->underflow, (unsigned long long)jitter->count,
                    (long long)-jitter->min);
}

static int measure_cell(struct run *run, int64_t period_ns, enum timer_kind kind, int index)
{
    struct timer_armed timer;
    struct record *jitter = arena_record(run->arena, index);
    struct record *overrun = arena_record(run->arena, index + 1);
    int64_t now_ns = clock_monotonic_ns();
    int error = timer_arm(&timer, kind, now_ns + START_AHEAD_NS, period_ns);
    if (error) {
        arena_event(run->arena, "mechanism_unsupported", -1, "%s with a period of %lld ns: %s",
                    timer_kind_names[kind], (long long)period_ns, strerror(error));
        return 0;
    }
    if (timer.uncertainty_ns > 0)
        arena_event(run->arena, "base_uncertain", run_at_ns(run, now_ns),
                    "%s, period %lld ns: the first expiry is known within %lld ns",
                    timer_kind_names[kind], (long long)period_ns, (long long)timer.uncertainty_ns);
    struct run_budget budget = run_budget(run, cell_count(run));
    int64_t count = 0;
    while (run_budget_left(&budget, jitter->count, now_ns) &&
           (count = timer_wait(&timer, -1, &now_ns)) >= 0)
        record_served(run, jitter, overrun, &timer, count, now_ns);
    if (count < 0)
        outcome_set_errno(&run->outcome, errno, timer_kind_names[kind], NULL);
    timer_release(&timer);
    tell_early(run, jitter, period_ns, kind);
    return count < 0 ? -1 : 0;
}

static int measure(struct run *run)
{
    const struct param_value *periods = run_param(run, "periods_ns");
    const struct param_value *kinds = run_param(run, "mechanisms");
    int index = 0;
    for (int p = 0; p < periods->count; p++)
        for (int k = 0; k < kinds->count && !run_should_stop(); k++, index += 2)
            if (measure_cell(run, periods->number[p], (enum timer_kind)kinds->number[k], index) !=
                0)
                return -1;
    return 0;
}

static int judge(struct run *run)
{
    for (uint32_t i = 0; i < run->arena->series_count; i += 2)
        if (arena_record_view(run->arena, i)->count > 0)
            return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other mechanisms",
                       "none of the mechanisms works here");
}

const struct test tmr_p_jit = {
    .id = "TMR-P-JIT",
    .title = "Periodic timer jitter",
    .source = "[O] Obenland 2000, timer jitter; setitimer: [H] HP 1987",
    .params = params,
    .series = series,
    .default_duration_ns = 12 * DEFAULT_CELL_NS,
    .expected_ns = expected_ns,
    .size = size,
    .measure = measure,
    .judge = judge,
};
