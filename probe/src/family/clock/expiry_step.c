/* The smallest step of expiries, which HP calls alarm resolution: timers of a system that counts
 * ticks of 10 ms expire on ticks, so two expiries are equal or at least 10 ms apart.
 *
 * One thread, the measuring thread, at the run's priority on the run's CPU. It asks for a one-shot
 * and waits for it; when it has expired, it asks for a second one, as soon as possible after that.
 * begin = the moment for which the first was asked, end = the first clock reading after the second
 * one's wait. The second is asked for a moment after the first has expired, so these are two
 * expiries, and begin and end lie outside them: whatever the latency, a step is never taken for
 * smaller than it is. It comes close to the true one where the first request lies just before an
 * expiry. Where that is, is known from the pair before; the distance varies, irregularly, over
 * powers of two. A value is the longest of GROUP pairs in a row, so that one accident makes no
 * step.
 *
 * How it could be wrong: a request for a moment that has passed expires at once, which is no step.
 * So the clock is read after arming, and a pair that came too late is left out; the next request is
 * for a moment further ahead. nanosleep cannot be looked at between arming and wait: it must be
 * called earlier by the longest of some calls that return at once, and GROUP stands for a call that
 * takes longer still. A timer that expires early breaks the bound: it is reported and left out. A
 * system that adds a tick to each request shows two or three ticks.
 *
 * Latency and the time to arm are in each value. A step shows where the second expiry was waited
 * for during three quarters of the smallest value, since latency alone would delay both alike. Else
 * the event expiry_step_bounded says that the timer's own step may be smaller. */
#include "base/posix_source.h"

#include "family/clock/expiry_step.h"

#include "family/shared/timer_mechanism.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 2 /* pairs in a value */, VALUES = 100, DISTANCES = 11, CALLS = 16 };

#define GIVE_UP_NS INT64_C(2000000000)
#define LEAD_LEAST_NS INT64_C(1000)
#define LEAD_MOST_NS INT64_C(10000000)

/* Of one mechanism: the values of all distances, unless that takes too long. */
#define ENOUGH_NS INT64_C(300000000)
#define LIMIT_NS INT64_C(1000000000)

/* A one-shot that has expired. */
struct expiry {
    int64_t asked_ns, seen_ns;
};

/* From the first request to the second expiry, and the lateness of the latter. */
struct pair {
    int64_t ns, late_ns;
};

struct look {
    enum timer_kind kind;
    int64_t lead_ns; /* a request is so far ahead, at least */
    int64_t call_ns; /* nanosleep: bound of the time from the call to its look at the clock */
    int64_t step_ns, last_ns; /* previous pair: time between its expiries; its end */
    int early_count, error;
    unsigned short random[3];
};

/* Requests an expiry at `at_ns` and waits for it. False if it does not count. */
static bool expire(struct look *look, int64_t at_ns, struct expiry *expiry)
{
    struct timer_armed timer;
    look->error = mechanism_arm(&timer, look->kind, at_ns, 0);
    if (look->error)
        return false;
    int64_t armed_ns = clock_monotonic_ns();
    int64_t count = mechanism_wait(&timer, GIVE_UP_NS, &expiry->seen_ns);
    look->error = count > 0 ? 0 : count == 0 ? ETIMEDOUT : errno;
    expiry->asked_ns = timer.base_ns;
    mechanism_release(&timer);
    bool is_early = count > 0 && expiry->seen_ns < expiry->asked_ns;
    bool is_too_late = armed_ns + look->call_ns >= expiry->asked_ns;
    look->early_count += is_early ? 1 : 0;
    look->lead_ns *= is_too_late ? 2 : 1;
    return count > 0 && !is_early && !is_too_late;
}

static int64_t most(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* The time of the next expiry minus a fraction of a step: by `place` 1/16 to 1/2048, then 1/2 to
 * 1/8. */
static int64_t just_before_the_next(struct look *look, int place)
{
    int64_t part_ns = look->step_ns >> (1 + (place + DISTANCES - 8) % DISTANCES);
    int64_t before_ns = part_ns / 2 + (int64_t)(erand48(look->random) * (double)part_ns / 2);
    return most(look->last_ns + look->step_ns - before_ns, clock_monotonic_ns() + look->lead_ns);
}

static bool take_pair(struct look *look, int place, struct pair *pair)
{
    struct expiry first, second;
    if (!expire(look, just_before_the_next(look, place), &first) ||
        !expire(look, clock_monotonic_ns() + look->lead_ns, &second))
        return false;
    look->step_ns = second.seen_ns - first.seen_ns;
    look->last_ns = second.seen_ns;
    pair->ns = second.seen_ns - first.asked_ns;
    pair->late_ns = second.seen_ns - second.asked_ns;
    return true;
}

static bool is_over(const struct look *look, int64_t until_ns)
{
    return look->error || look->lead_ns > LEAD_MOST_NS || run_should_stop() ||
           clock_monotonic_ns() >= until_ns;
}

/* The longest of GROUP pairs; false if there are fewer until `until_ns`. */
static bool take_group(struct look *look, int place, int64_t until_ns, struct pair *longest)
{
    *longest = (struct pair){0};
    for (int i = 0; i < GROUP;) {
        struct pair pair;
        if (is_over(look, until_ns))
            return false;
        if (!take_pair(look, place, &pair))
            continue;
        if (pair.ns > longest->ns)
            *longest = pair;
        i++;
    }
    return true;
}

/* The longest of some calls that return at once, after one with cold caches. */
static int64_t call_ns(void)
{
    int64_t longest_ns = 0;
    for (int i = 0; i <= CALLS; i++) {
        int64_t begin_ns = clock_monotonic_ns();
        struct timespec passed = clock_ns_timespec(begin_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &passed, NULL);
        longest_ns = i == 0 ? 0 : most(longest_ns, clock_monotonic_ns() - begin_ns);
    }
    return longest_ns;
}

/* Records the values; returns the smallest. */
static struct pair look_at(const struct run *run, struct look *look, struct record *record)
{
    int64_t begin_ns = clock_monotonic_ns();
    struct pair pair, smallest = {.ns = INT64_MAX};
    for (int i = 0; i < VALUES; i++) {
        bool is_enough = i >= DISTANCES && clock_monotonic_ns() >= begin_ns + ENOUGH_NS;
        if (is_enough || !take_group(look, i, begin_ns + LIMIT_NS, &pair))
            break;
        record_value(record, pair.ns, run_at_ns(run, look->last_ns));
        if (pair.ns < smallest.ns)
            smallest = pair;
    }
    return smallest;
}

static void tell(const struct run *run, const struct look *look, const struct record *record)
{
    const char *name = mechanism_names[look->kind];
    if (look->early_count > 0)
        arena_event(
            run->arena, "early_expirations", -1,
            DATA(data_text("mechanism", name), data_integer("early_count", look->early_count)),
            "%s: %d one-shots expired before they were due: not counted", name, look->early_count);
    if (look->error == ENOTSUP || look->error == ENOSYS)
        arena_event(run->arena, "mechanism_unsupported", -1,
                    DATA(data_text("mechanism", name), data_text("error", strerror(look->error))),
                    "%s: %s", name, strerror(look->error));
    else if (look->error)
        arena_event(run->arena, "expiry_step_cut", -1,
                    DATA(data_text("mechanism", name), data_text("error", strerror(look->error))),
                    "%s: %s", name, strerror(look->error));
    else if (record->count == 0 && !run_should_stop())
        arena_event(run->arena, "expiry_step_unseen", -1,
                    DATA(data_text("mechanism", name), data_integer("looking_ns", LIMIT_NS),
                         data_integer("lead_ns", look->lead_ns)),
                    "%s: no expiry step found in %lld ms; requests up to %lld ns ahead", name,
                    (long long)(LIMIT_NS / 1000000), (long long)look->lead_ns);
}

/* Returns whether no step shows in what was seen. */
static bool measure_one(const struct run *run, enum timer_kind kind, struct record *record)
{
    int64_t longest_call_ns = kind == TIMER_NANOSLEEP ? call_ns() : 0;
    struct look look = {.kind = kind,
                        .lead_ns = LEAD_LEAST_NS + longest_call_ns,
                        .call_ns = longest_call_ns,
                        .random = {0x330e, (unsigned short)run->seed, (unsigned short)kind}};
    struct pair smallest = look_at(run, &look, record);
    tell(run, &look, record);
    return record->count > 0 && smallest.late_ns < smallest.ns / 4 * 3;
}

int expiry_step_declare(struct arena_plan *plan, int share)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        int added = arena_plan_series(plan, "expiry_step", "ns", NULL);
        if (added < 0)
            return -1;
        arena_plan_label_text(plan, added, "mechanism", mechanism_names[kind]);
        arena_plan_share(plan, share);
    }
    return 0;
}

void expiry_step_measure(struct run *run, int series)
{
    char bounded[ARENA_TEXT_BYTES] = "";
    const char *mechanisms[TIMER_KINDS];
    size_t used = 0;
    int count = 0;
    for (int kind = 0; kind < TIMER_KINDS && !run_should_stop(); kind++)
        if (measure_one(run, (enum timer_kind)kind, arena_record(run->arena, series + kind)))
            mechanisms[count++] = mechanism_names[kind];
    for (int i = 0; i < count && used < sizeof bounded; i++)
        used += (size_t)snprintf(bounded + used, sizeof bounded - used, "%s%s", i > 0 ? ", " : "",
                                 mechanisms[i]);
    if (count > 0)
        arena_event(run->arena, "expiry_step_bounded", -1,
                    DATA(data_texts("mechanisms", mechanisms, count)),
                    "wake-up latency and arming time hide the expiry step of %s: it is at most the "
                    "smallest value",
                    bounded);
}
