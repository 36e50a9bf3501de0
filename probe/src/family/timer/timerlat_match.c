#include "family/timer/timerlat_match.h"

#include <string.h>

void timerlat_match_open(struct timerlat_match *match, int64_t period_ns, int64_t limit_ns)
{
    memset(match, 0, sizeof *match);
    match->period_ns = period_ns;
    match->limit_ns = limit_ns;
    match->phase_ns = -1;
}

static void see(struct timerlat_match *match, int64_t at_ns)
{
    if (at_ns > match->latest_ns)
        match->latest_ns = at_ns;
}

void timerlat_match_event(struct timerlat_match *match, int64_t at_ns, int64_t sequence,
                          int64_t context, int64_t latency_ns)
{
    struct timerlat_cycle *cycle = &match->cycle;
    see(match, at_ns);
    if (context < 0 || context >= TIMERLAT_CONTEXTS)
        return;
    if (context == TIMERLAT_INTERRUPT) {
        memset(cycle, 0, sizeof *cycle);
        cycle->sequence = sequence;
    }
    if (cycle->sequence != sequence)
        return;
    cycle->has[context] = true;
    cycle->at_ns[context] = at_ns;
    cycle->latency_ns[context] = latency_ns;
}

void timerlat_match_lost(struct timerlat_match *match, int64_t at_ns)
{
    see(match, at_ns);
    match->gap_ns = match->latest_ns;
    memset(&match->cycle, 0, sizeof match->cycle);
    match->cycle.sequence = -1;
}

static void compare(struct timerlat_gap *gap, int64_t ns, int64_t limit_ns)
{
    if (gap->count == 0 || ns < gap->least_ns)
        gap->least_ns = ns;
    if (gap->count == 0 || ns > gap->most_ns)
        gap->most_ns = ns;
    gap->count++;
    gap->beyond += ns > limit_ns || ns < -limit_ns ? 1 : 0;
}

static int64_t release_by(const struct timerlat_cycle *cycle, enum timerlat_context context)
{
    return cycle->at_ns[context] - cycle->latency_ns[context];
}

/* A release seen at `seen_ns` may lower the phase: what was seen is never before the release.
 * Signed distance to the phase, in half a period to either side. */
static int64_t distance(const struct timerlat_match *match, int64_t seen_ns)
{
    int64_t after = (seen_ns - match->phase_ns) % match->period_ns;
    if (after < 0)
        after += match->period_ns;
    return after > match->period_ns / 2 ? after - match->period_ns : after;
}

static void lower_phase(struct timerlat_match *match, int64_t seen_ns)
{
    if (match->phase_ns < 0) {
        match->phase_ns = seen_ns % match->period_ns;
        return;
    }
    int64_t after = distance(match, seen_ns);
    if (after < 0)
        match->phase_ns = (match->phase_ns + after + match->period_ns) % match->period_ns;
}

static bool is_in_order(const struct timerlat_cycle *cycle, int64_t release_ns)
{
    return cycle->latency_ns[TIMERLAT_INTERRUPT] >= 0 &&
           cycle->latency_ns[TIMERLAT_THREAD] >= cycle->latency_ns[TIMERLAT_INTERRUPT] &&
           cycle->user_ns >= release_ns + cycle->latency_ns[TIMERLAT_THREAD];
}

static void check(struct timerlat_match *match, const struct timerlat_cycle *cycle,
                  int64_t release_ns)
{
    compare(&match->grid, distance(match, release_by(cycle, TIMERLAT_INTERRUPT)), match->limit_ns);
    compare(&match->grid, distance(match, release_by(cycle, TIMERLAT_THREAD)), match->limit_ns);
    if (cycle->has[TIMERLAT_USER])
        compare(&match->total, cycle->latency_ns[TIMERLAT_USER] - (cycle->user_ns - release_ns),
                match->limit_ns);
}

static void deliver(struct timerlat_match *match, const struct timerlat_cycle *cycle,
                    timerlat_visit visit, void *context)
{
    int64_t seen_ns = release_by(cycle, TIMERLAT_INTERRUPT);
    struct timerlat_wakeup wakeup = {.user_ns = cycle->user_ns};
    wakeup.release_ns = seen_ns - distance(match, seen_ns);
    if (!is_in_order(cycle, wakeup.release_ns)) {
        match->counts.out_of_order++;
        return;
    }
    check(match, cycle, wakeup.release_ns);
    wakeup.split.before_thread = -1;
    wakeup.split.ns[PART_INTERRUPT] = cycle->latency_ns[TIMERLAT_INTERRUPT];
    wakeup.split.ns[PART_DISPATCH] =
        cycle->latency_ns[TIMERLAT_THREAD] - cycle->latency_ns[TIMERLAT_INTERRUPT];
    wakeup.split.ns[PART_RETURN] =
        cycle->user_ns - wakeup.release_ns - cycle->latency_ns[TIMERLAT_THREAD];
    match->counts.matched++;
    visit(&wakeup, context);
}

void timerlat_match_close(struct timerlat_match *match, timerlat_visit visit, void *context)
{
    for (int i = 0; i < match->waiting_count; i++)
        deliver(match, &match->waiting[i], visit, context);
    match->waiting_count = 0;
}

/* The counter of a sample whose cycle is not whole; NULL: it is. */
static uint64_t *count_without(struct timerlat_match *match, const struct part_sample *sample)
{
    const struct timerlat_cycle *cycle = &match->cycle;
    if (cycle->has[TIMERLAT_INTERRUPT] && cycle->has[TIMERLAT_THREAD])
        return cycle->at_ns[TIMERLAT_INTERRUPT] <= sample->user_ns ? NULL
                                                                   : &match->counts.unmatched;
    return match->gap_ns > 0 && match->gap_ns + match->period_ns >= sample->user_ns
               ? &match->counts.lost
               : &match->counts.unmatched;
}

void timerlat_match_take(struct timerlat_match *match, const struct part_sample *sample,
                         timerlat_visit visit, void *context)
{
    uint64_t *without = count_without(match, sample);
    if (without) {
        (*without)++;
        return;
    }
    match->cycle.user_ns = sample->user_ns;
    lower_phase(match, release_by(&match->cycle, TIMERLAT_INTERRUPT));
    lower_phase(match, release_by(&match->cycle, TIMERLAT_THREAD));
    bool is_located = match->counts.matched + match->counts.out_of_order > 0;
    if (is_located)
        deliver(match, &match->cycle, visit, context);
    else
        match->waiting[match->waiting_count++] = match->cycle;
    memset(&match->cycle, 0, sizeof match->cycle);
    match->cycle.sequence = -1;
    if (match->waiting_count == TIMERLAT_LOCATE)
        timerlat_match_close(match, visit, context);
}
