#include "family/timer/part_match.h"

#include <string.h>

/* ---- by tracepoints ---- */

static void see_event(struct part_match *match, int64_t at_ns)
{
    if (at_ns > match->latest_ns)
        match->latest_ns = at_ns;
}

void part_match_interrupt(struct part_match *match, int64_t at_ns, bool is_entry)
{
    see_event(match, at_ns);
    match->is_inside = is_entry;
    if (!is_entry)
        return;
    match->before_ns = match->interrupt_ns;
    match->interrupt_ns = at_ns;
}

void part_match_waking(struct part_match *match, int64_t at_ns, bool is_in_interrupt)
{
    see_event(match, at_ns);
    memset(&match->waking, 0, sizeof match->waking);
    match->waking.is_there = true;
    match->waking.is_certain = is_in_interrupt && match->is_inside;
    /* woken by the handler of another interrupt: its entry is not among the events */
    if (!is_in_interrupt || match->is_inside) {
        match->waking.interrupt_ns = match->interrupt_ns;
        match->waking.before_ns = match->before_ns;
    }
    match->waking.waking_ns = at_ns;
}

void part_match_switch(struct part_match *match, int64_t at_ns, int64_t before_thread,
                       const char *before, size_t bytes)
{
    see_event(match, at_ns);
    if (!match->waking.is_there)
        return;
    if (match->waking.switch_ns == 0) /* a later one, after it was preempted, is of its return */
        match->waking.switch_ns = at_ns;
    match->waking.last_switch_ns = at_ns;
    match->split.before_thread = before_thread;
    size_t kept = bytes < PART_NAME_BYTES ? bytes : PART_NAME_BYTES - 1;
    memset(match->split.before, 0, sizeof match->split.before);
    if (kept > 0)
        memcpy(match->split.before, before, kept);
    match->split.before[PART_NAME_BYTES - 1] = '\0';
}

void part_match_lost(struct part_match *match, int64_t at_ns)
{
    see_event(match, at_ns);
    match->gap_ns = match->latest_ns;
    match->interrupt_ns = match->before_ns = 0;
    match->is_inside = false;
    memset(&match->waking, 0, sizeof match->waking);
}

/* Whether the interrupt of the wake-up is known. A wake-up after the handler (in a softirq, or by a
 * thread for softirqs) may be of any interrupt since the release: it has to be the only one. */
static bool has_interrupt(const struct part_match *match, const struct part_sample *sample)
{
    if (match->waking.interrupt_ns == 0)
        return false;
    if (match->waking.is_certain)
        return true;
    return match->waking.interrupt_ns >= sample->release_ns &&
           match->waking.before_ns < sample->release_ns;
}

static bool is_in_order(const struct part_match *match, const struct part_sample *sample)
{
    return match->waking.waking_ns >= sample->release_ns &&
           match->waking.waking_ns >= match->waking.interrupt_ns &&
           match->waking.switch_ns >= match->waking.waking_ns &&
           match->waking.switch_ns <= sample->user_ns;
}

/* The counter of a sample that has no parts; NULL: it has. */
static uint64_t *count_without(struct part_match *match, const struct part_sample *sample)
{
    bool is_lost = match->gap_ns > sample->release_ns;
    if (is_lost && (!match->waking.is_there || match->waking.switch_ns == 0))
        return &match->counts.lost;
    if (!match->waking.is_there)
        return &match->counts.not_slept;
    if (match->waking.switch_ns == 0)
        return &match->counts.not_switched;
    if (!is_in_order(match, sample))
        return &match->counts.out_of_order;
    if (!has_interrupt(match, sample))
        return is_lost ? &match->counts.lost : &match->counts.unmatched;
    return NULL;
}

static void fill(struct part_match *match, const struct part_sample *sample,
                 struct part_split *split)
{
    int64_t interrupt_ns = match->waking.interrupt_ns;
    if (interrupt_ns < sample->release_ns) {
        interrupt_ns = sample->release_ns;
        match->counts.begun_early++;
    }
    split->ns[PART_INTERRUPT] = interrupt_ns - sample->release_ns;
    split->ns[PART_DISPATCH] = match->waking.switch_ns - interrupt_ns;
    split->ns[PART_RETURN] = sample->user_ns - match->waking.switch_ns;
    match->counts.matched++;
}

/* A switch after the sample ended has the name of what ran then. */
static void give_before(const struct part_match *match, const struct part_sample *sample,
                        struct part_split *split)
{
    bool is_known =
        match->waking.is_there && match->waking.switch_ns > 0 && is_in_order(match, sample);
    *split = match->split;
    if (is_known && match->waking.last_switch_ns <= sample->user_ns)
        return;
    split->before_thread = -1;
    split->before[0] = '\0';
}

bool part_match_take(struct part_match *match, const struct part_sample *sample,
                     struct part_split *split)
{
    uint64_t *without = count_without(match, sample);
    give_before(match, sample, split);
    if (without)
        (*without)++;
    else
        fill(match, sample, split);
    /* a wake-up after this stamp is of the next sample */
    if (match->waking.waking_ns <= sample->user_ns)
        memset(&match->waking, 0, sizeof match->waking);
    return !without;
}

/* ---- by timerlat ---- */

/* Of a period: a stamp earlier than that was delayed by most of it; one later is an outlier. */
enum { EARLY_SHARE = 8, FAR_SHARE = 16 };

void timerlat_match_open(struct timerlat_match *match, int64_t period_ns, int64_t limit_ns)
{
    memset(match, 0, sizeof *match);
    match->period_ns = period_ns;
    match->limit_ns = limit_ns;
    match->phase_ns = -1;
}

static void see_timerlat(struct timerlat_match *match, int64_t at_ns)
{
    if (at_ns > match->latest_ns)
        match->latest_ns = at_ns;
}

void timerlat_match_event(struct timerlat_match *match, int64_t at_ns, int64_t sequence,
                          int64_t context, int64_t latency_ns)
{
    struct timerlat_cycle *cycle = &match->cycle;
    see_timerlat(match, at_ns);
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
    see_timerlat(match, at_ns);
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

static int64_t above(const struct timerlat_match *match, int64_t seen_ns, int64_t phase_ns)
{
    int64_t after = (seen_ns - phase_ns) % match->period_ns;
    return after < 0 ? after + match->period_ns : after;
}

/* Distance of what was seen to the release: it is seen later, by as long as its stamp was delayed.
 * A little earlier only where the phase is still too high. */
static int64_t distance(const struct timerlat_match *match, int64_t seen_ns)
{
    int64_t after_ns = above(match, seen_ns, match->phase_ns);
    int64_t most_ns = match->period_ns - match->period_ns / EARLY_SHARE;
    return after_ns > most_ns ? after_ns - match->period_ns : after_ns;
}

/* Both stamps of a cycle say that its release was earlier: one alone may have been delayed for
 * nearly a period. */
static void lower_phase(struct timerlat_match *match, const struct timerlat_cycle *cycle)
{
    int64_t interrupt_ns = distance(match, release_by(cycle, TIMERLAT_INTERRUPT));
    int64_t thread_ns = distance(match, release_by(cycle, TIMERLAT_THREAD));
    int64_t least_ns = interrupt_ns > thread_ns ? interrupt_ns : thread_ns;
    if (least_ns < 0)
        match->phase_ns = (match->phase_ns + least_ns + match->period_ns) % match->period_ns;
}

static int64_t at_most(int64_t ns, int64_t most_ns)
{
    return ns < most_ns ? ns : most_ns;
}

/* Of the releases that were seen in the waiting cycles the one that most others are just above:
 * those that were delayed for long count no more than a part of a period. */
static void find_phase(struct timerlat_match *match)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 2 * match->waiting_count; i++) {
        int64_t sum_ns = 0, most_ns = match->period_ns / FAR_SHARE,
                tried_ns = release_by(&match->waiting[i / 2], i % 2);
        for (int j = 0; j < 2 * match->waiting_count; j++)
            sum_ns +=
                at_most(above(match, release_by(&match->waiting[j / 2], j % 2), tried_ns), most_ns);
        if (sum_ns >= least_ns)
            continue;
        least_ns = sum_ns;
        match->phase_ns = tried_ns % match->period_ns;
    }
}

static int64_t size(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* By the stamp that is nearer to the grid. */
static int64_t release_of(const struct timerlat_match *match, const struct timerlat_cycle *cycle)
{
    int64_t by_interrupt_ns = release_by(cycle, TIMERLAT_INTERRUPT);
    int64_t by_thread_ns = release_by(cycle, TIMERLAT_THREAD);
    int64_t interrupt_ns = distance(match, by_interrupt_ns);
    int64_t thread_ns = distance(match, by_thread_ns);
    return size(interrupt_ns) <= size(thread_ns) ? by_interrupt_ns - interrupt_ns
                                                 : by_thread_ns - thread_ns;
}

static bool is_cycle_in_order(const struct timerlat_cycle *cycle, int64_t release_ns)
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
    struct timerlat_wakeup wakeup = {.user_ns = cycle->user_ns};
    wakeup.release_ns = release_of(match, cycle);
    if (!is_cycle_in_order(cycle, wakeup.release_ns)) {
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
    if (match->waiting_count > 0)
        find_phase(match);
    for (int i = 0; i < match->waiting_count; i++)
        deliver(match, &match->waiting[i], visit, context);
    match->waiting_count = 0;
}

/* The counter of a sample whose cycle is not whole; NULL: it is. */
static uint64_t *count_without_cycle(struct timerlat_match *match, const struct part_sample *sample)
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
    uint64_t *without = count_without_cycle(match, sample);
    if (without) {
        (*without)++;
        return;
    }
    match->cycle.user_ns = sample->user_ns;
    if (match->phase_ns >= 0) {
        lower_phase(match, &match->cycle);
        deliver(match, &match->cycle, visit, context);
    } else
        match->waiting[match->waiting_count++] = match->cycle;
    memset(&match->cycle, 0, sizeof match->cycle);
    match->cycle.sequence = -1;
    if (match->waiting_count == TIMERLAT_LOCATE)
        timerlat_match_close(match, visit, context);
}
