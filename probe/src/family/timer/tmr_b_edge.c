/* TMR-B-EDGE: whether timers are never early, keep their exact interval and count overruns (HP
 * 1987; Obenland 2000).
 *
 * What: for every mechanism to which it applies:
 *       never_early     no wait ends before the requested time; random delays
 *       overrun_count   after a deliberate stall as many expirations as the clock says
 *       interval_exact  of 1000 the smallest lateness of every hundred is that of the first:
 *                       no drift. Each is compared: a drift of whole periods may end in none.
 *                       Where timers expire on ticks, which clock_getres tells, the lateness may
 *                       change by one, as the calls move against the ticks
 *       one_shot_once   a one-shot timer fires once, and not again
 *       disarm_works    no expiration comes after disarming
 * Begin, end: CLOCK_MONOTONIC, on which the timers are armed, read after each wait. With
 *     timer-handler the time of an expiration is that of its handler.
 * Threads: the measuring thread, at the run's priority.
 * Wrong if: a disturbance lasts for a hundred periods: up to EXACT_TRIES tries, since it does not
 *     recur, and a timer that drifts does so each time. A mechanism that the system lacks or
 *     refuses has no verdict (mechanism_unsupported).
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/shared/timer_mechanism.h"

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DELAYS = 200, STALLS = 10, PERIODS = 1000, WINDOW = 100, EXACT_TRIES = 3, SHOTS = 5 };

#define AHEAD_NS INT64_C(3000000)
#define STALL_PERIOD_NS INT64_C(2000000)
#define STALL_NS INT64_C(21000000)
#define EXACT_PERIOD_NS INT64_C(1000000)
#define EXACT_TOLERANCE_NS (EXACT_PERIOD_NS / 10)
#define COARSEST_NS INT64_C(20000000) /* that POSIX allows (_POSIX_CLOCKRES_MIN) */
#define QUIET_NS INT64_C(60000000)
#define GIVE_UP_NS INT64_C(2000000000)

static const struct param_spec params[] = {
    {"mechanisms", PARAM_NAME, true, MECHANISM_ALL, 0, 0, mechanism_names, MECHANISM_ABOUT,
     "mechanism"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"never_early", "no wait ends before the requested time"},
    {"never_early_relative", "nanosleep takes at least the requested length"},
    {"overrun_count", "after a stall the overrun count equals the number of missed expirations"},
    {"interval_exact", "1000 periods take 1000 times the period: no drift"},
    {"one_shot_once", "a one-shot timer fires once"},
    {"disarm_works", "a disarmed timer does not fire"},
    {0},
};

static const char *verdict_name(char *text, size_t bytes, const char *claim, enum timer_kind kind)
{
    snprintf(text, bytes, "%s/%s", claim, mechanism_names[kind]);
    return text;
}

static void report_claim(struct run *run, bool pass, const char *claim, enum timer_kind kind,
                         const char *evidence)
{
    char name[ARENA_NAME_BYTES];
    arena_verdict(run->arena, pass, 1, verdict_name(name, sizeof name, claim, kind), "%s",
                  evidence);
}

static void report_error(struct run *run, const char *claim, enum timer_kind kind, int error)
{
    char evidence[ARENA_TEXT_BYTES];
    snprintf(evidence, sizeof evidence, "the call failed: %s", strerror(error));
    report_claim(run, false, claim, kind, evidence);
}

static int64_t random_delay_ns(struct random *random)
{
    return 50000 + random_below(random, 2950000);
}

/* Waits once for `delay_ns`. Returns the lateness in ns (negative: early), or INT64_MIN with errno
 * if the wait failed or did not end. */
static int64_t wait_once(enum timer_kind kind, int64_t delay_ns)
{
    struct timer_armed timer;
    int64_t now_ns;
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + delay_ns, 0);
    if (error) {
        errno = error;
        return INT64_MIN;
    }
    int64_t count = mechanism_wait(&timer, GIVE_UP_NS, &now_ns);
    error = count == 0 ? ETIMEDOUT : errno;
    mechanism_release(&timer);
    errno = error;
    return count <= 0 ? INT64_MIN : now_ns - timer.base_ns;
}

/* The same for nanosleep, whose argument is relative. */
static int64_t sleep_once(enum timer_kind kind, int64_t delay_ns)
{
    (void)kind;
    struct timespec delay = clock_ns_timespec(delay_ns);
    int64_t from_ns = clock_monotonic_ns();
    if (nanosleep(&delay, NULL) != 0)
        return INT64_MIN;
    return clock_monotonic_ns() - from_ns - delay_ns;
}

static void try_never_early(struct run *run, enum timer_kind kind, const char *claim,
                            int64_t (*wait)(enum timer_kind kind, int64_t delay_ns))
{
    struct random random;
    char evidence[ARENA_TEXT_BYTES];
    int64_t earliest_ns = INT64_MAX;
    int early_count = 0;
    random_start(&random, run->seed);
    for (int i = 0; i < DELAYS; i++) {
        if (run_should_stop())
            return;
        int64_t late_ns = wait(kind, random_delay_ns(&random));
        if (late_ns == INT64_MIN) {
            report_error(run, claim, kind, errno);
            return;
        }
        early_count += late_ns < 0 ? 1 : 0;
        if (late_ns < earliest_ns)
            earliest_ns = late_ns;
    }
    snprintf(evidence, sizeof evidence, "%d of %d waits ended early; the earliest %lld ns %s",
             early_count, DELAYS, (long long)llabs(earliest_ns),
             earliest_ns < 0 ? "before its time" : "after its time");
    report_claim(run, early_count == 0, claim, kind, evidence);
}

static void spin_until(int64_t until_ns)
{
    while (clock_monotonic_ns() < until_ns)
        ;
}

static int64_t passed(const struct timer_armed *timer, int64_t at_ns)
{
    return at_ns < timer->base_ns ? 0 : (at_ns - timer->base_ns) / timer->period_ns + 1;
}

/* One stall: whether the count is between those by the clock before and after the call. If not,
 * `evidence` says so. */
static bool count_one_stall(struct timer_armed *timer, char *evidence, size_t bytes)
{
    int64_t now_ns, served = (int64_t)timer->served;
    spin_until(clock_monotonic_ns() + STALL_NS);
    int64_t before_ns = clock_monotonic_ns();
    int64_t told = mechanism_wait(timer, GIVE_UP_NS, &now_ns);
    int64_t least = passed(timer, before_ns) - served, most = passed(timer, now_ns) - served;
    if (told >= least && told <= most)
        return true;
    snprintf(
        evidence, bytes,
        "after a stall of %lld ms with a period of %lld ms the timer reported %lld expirations; "
        "the clock says %lld to %lld",
        (long long)(STALL_NS / 1000000), (long long)(STALL_PERIOD_NS / 1000000), (long long)told,
        (long long)least, (long long)most);
    return false;
}

static void try_overrun_count(struct run *run, enum timer_kind kind)
{
    struct timer_armed timer;
    char evidence[ARENA_TEXT_BYTES];
    int64_t now_ns;
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + AHEAD_NS, STALL_PERIOD_NS);
    if (error) {
        report_error(run, "overrun_count", kind, error);
        return;
    }
    bool is_right = mechanism_wait(&timer, GIVE_UP_NS, &now_ns) > 0;
    snprintf(evidence, sizeof evidence, "the periodic timer did not fire");
    int stalls = 0;
    for (; stalls < STALLS && is_right && !run_should_stop(); stalls++)
        is_right = count_one_stall(&timer, evidence, sizeof evidence);
    if (is_right)
        snprintf(evidence, sizeof evidence,
                 "%d stalls, %llu expirations in all, none lost or made up", stalls,
                 (unsigned long long)timer.served);
    mechanism_release(&timer);
    if (!run_should_stop())
        report_claim(run, is_right, "overrun_count", kind, evidence);
}

/* Smallest lateness, in ns, of the expirations from the next one up to `end`; INT64_MIN if the
 * timer failed, INT64_MAX if they were all served before, by a wait that ended late. */
static int64_t least_lateness(struct timer_armed *timer, uint64_t end)
{
    int64_t least_ns = INT64_MAX, now_ns;
    while (timer->served < end) {
        if (run_should_stop() || mechanism_wait(timer, GIVE_UP_NS, &now_ns) <= 0)
            return INT64_MIN;
        int64_t due_ns = timer->base_ns + (int64_t)(timer->served - 1) * timer->period_ns;
        if (now_ns - due_ns < least_ns)
            least_ns = now_ns - due_ns;
    }
    return least_ns;
}

/* Largest change, in ns, of the smallest lateness of a hundred periods from that of the first
 * hundred; INT64_MAX if the timer stopped firing; 0 with *error set if it could not be armed. */
static int64_t measure_drift(enum timer_kind kind, int64_t *first_ns, int *error)
{
    struct timer_armed timer;
    int64_t drift_ns = 0;
    *error = mechanism_arm(&timer, kind, clock_monotonic_ns() + AHEAD_NS, EXACT_PERIOD_NS);
    if (*error)
        return 0;
    *first_ns = least_lateness(&timer, WINDOW);
    bool is_firing = *first_ns != INT64_MIN;
    uint64_t end = WINDOW;
    for (int compared = 1; compared < PERIODS / WINDOW && is_firing;) {
        end += WINDOW;
        int64_t least_ns = least_lateness(&timer, end);
        is_firing = least_ns != INT64_MIN;
        if (!is_firing || least_ns == INT64_MAX)
            continue;
        compared++;
        if (llabs(least_ns - *first_ns) > llabs(drift_ns))
            drift_ns = least_ns - *first_ns;
    }
    mechanism_release(&timer);
    return is_firing ? drift_ns : INT64_MAX;
}

static int64_t exact_tolerance_ns(void)
{
    struct timespec step;
    int64_t step_ns = clock_getres(CLOCK_MONOTONIC, &step) == 0 ? clock_timespec_ns(&step) : 0;
    if (step_ns > COARSEST_NS)
        step_ns = COARSEST_NS;
    return step_ns > EXACT_TOLERANCE_NS ? step_ns : EXACT_TOLERANCE_NS;
}

/* Up to EXACT_TRIES tries: a timer that drifts does so each time, a disturbance of a hundred
 * periods does not recur. */
static void try_interval_exact(struct run *run, enum timer_kind kind)
{
    char evidence[ARENA_TEXT_BYTES];
    int64_t first_ns = 0, drift_ns = INT64_MAX, allowed_ns = exact_tolerance_ns();
    int tries = 0, error = 0;
    for (; tries < EXACT_TRIES && llabs(drift_ns) > allowed_ns && !error; tries++)
        drift_ns = measure_drift(kind, &first_ns, &error);
    if (run_should_stop())
        return;
    if (error) {
        report_error(run, "interval_exact", kind, error);
        return;
    }
    if (drift_ns == INT64_MAX) {
        report_claim(run, false, "interval_exact", kind, "the periodic timer stopped firing");
        return;
    }
    int64_t last_ns = first_ns + drift_ns;
    snprintf(evidence, sizeof evidence,
             "try %d: over %d periods of %lld us the smallest lateness moved by %lld ns, from %lld "
             "to %lld (allowed: %lld)",
             tries, PERIODS, (long long)(EXACT_PERIOD_NS / 1000), (long long)drift_ns,
             (long long)first_ns, (long long)last_ns, (long long)allowed_ns);
    report_claim(run, llabs(drift_ns) <= allowed_ns, "interval_exact", kind, evidence);
}

/* Expirations of a one-shot until none has come for QUIET_NS; -1 with errno. */
static int64_t count_shots(enum timer_kind kind)
{
    struct timer_armed timer;
    int64_t now_ns, shots = 0, count;
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + AHEAD_NS, 0);
    if (error) {
        errno = error;
        return -1;
    }
    while (shots < SHOTS && (count = mechanism_wait(&timer, QUIET_NS, &now_ns)) > 0)
        shots += count;
    mechanism_release(&timer);
    return shots;
}

static void try_one_shot_once(struct run *run, enum timer_kind kind)
{
    char evidence[ARENA_TEXT_BYTES];
    int64_t shots = 1;
    int tries = 0;
    for (; tries < SHOTS && shots == 1 && !run_should_stop(); tries++)
        shots = count_shots(kind);
    if (run_should_stop())
        return;
    if (shots < 0) {
        report_error(run, "one_shot_once", kind, errno);
        return;
    }
    snprintf(evidence, sizeof evidence, "try %d: fired %lld times within %lld ms of its time",
             tries, (long long)shots, (long long)(QUIET_NS / 1000000));
    report_claim(run, shots == 1, "one_shot_once", kind, evidence);
}

/* Expirations in QUIET_NS after disarming; -1 with errno. */
static int64_t count_after_disarm(enum timer_kind kind)
{
    struct timer_armed timer;
    int64_t now_ns;
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + AHEAD_NS, STALL_PERIOD_NS);
    if (error) {
        errno = error;
        return -1;
    }
    int64_t count = mechanism_wait(&timer, GIVE_UP_NS, &now_ns);
    error = count <= 0 ? ETIMEDOUT : mechanism_disarm(&timer);
    count = error ? -1 : mechanism_wait(&timer, QUIET_NS, &now_ns);
    mechanism_release(&timer);
    errno = error;
    return count;
}

static void try_disarm_works(struct run *run, enum timer_kind kind)
{
    char evidence[ARENA_TEXT_BYTES];
    int64_t count = 0;
    int tries = 0;
    for (; tries < SHOTS && count == 0 && !run_should_stop(); tries++)
        count = count_after_disarm(kind);
    if (run_should_stop())
        return;
    if (count < 0) {
        report_error(run, "disarm_works", kind, errno);
        return;
    }
    snprintf(evidence, sizeof evidence, "try %d: %lld expirations in %lld ms after disarming",
             tries, (long long)count, (long long)(QUIET_NS / 1000000));
    report_claim(run, count == 0, "disarm_works", kind, evidence);
}

/* Whether this system has the mechanism, and allows it: a filter that refuses it says nothing of a
 * timer. If not, an event says so and there is no verdict. */
static bool is_there(struct run *run, enum timer_kind kind)
{
    struct timer_armed timer;
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + GIVE_UP_NS, STALL_PERIOD_NS);
    if (!error)
        mechanism_release(&timer);
    if (error == ENOTSUP || error == ENOSYS || error == EPERM || error == EACCES) {
        arena_event(run->arena, "mechanism_unsupported", -1,
                    DATA(data_text("mechanism", mechanism_names[kind]),
                         data_text("error", strerror(error))),
                    "%s: %s", mechanism_names[kind], strerror(error));
        return false;
    }
    return true;
}

static int measure(struct run *run)
{
    const struct param_value *kinds = run_param(run, "mechanisms");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++) {
        enum timer_kind kind = (enum timer_kind)kinds->number[i];
        if (!is_there(run, kind))
            continue;
        try_never_early(run, kind, "never_early", wait_once);
        if (kind == TIMER_NANOSLEEP)
            try_never_early(run, kind, "never_early_relative", sleep_once);
        try_interval_exact(run, kind);
        if (mechanism_counts_overruns(kind))
            try_overrun_count(run, kind);
        if (!mechanism_is_object(kind))
            continue;
        try_one_shot_once(run, kind);
        try_disarm_works(run, kind);
    }
    return 0;
}

static int judge(struct run *run)
{
    if (run->arena->verdict_count == 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other mechanisms",
                           "this system supports none of the requested mechanisms");
    return 0;
}

const struct test tmr_b_edge = {
    .id = "TMR-B-EDGE",
    .title = "Timers: never early, exact interval, overrun count",
    .source = "[H] HP 1987; [O] Obenland 2000",
    .params = params,
    .verdicts = verdicts,
    .setup_ns = INT64_C(10000000000),
    .sample_ns = 1,
    .measure = measure,
    .judge = judge,
};
