#include "family/timer/part_match.h"

#include <string.h>

static void see(struct part_match *match, int64_t at_ns)
{
    if (at_ns > match->latest_ns)
        match->latest_ns = at_ns;
}

void part_match_interrupt(struct part_match *match, int64_t at_ns, bool is_entry)
{
    see(match, at_ns);
    match->is_inside = is_entry;
    if (!is_entry)
        return;
    match->before_ns = match->interrupt_ns;
    match->interrupt_ns = at_ns;
}

void part_match_waking(struct part_match *match, int64_t at_ns, bool is_in_interrupt)
{
    see(match, at_ns);
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
    see(match, at_ns);
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
    see(match, at_ns);
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
static void tell_before(const struct part_match *match, const struct part_sample *sample,
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
    tell_before(match, sample, split);
    if (without)
        (*without)++;
    else
        fill(match, sample, split);
    /* a wake-up after this stamp is of the next sample */
    if (match->waking.waking_ns <= sample->user_ns)
        memset(&match->waking, 0, sizeof match->waking);
    return !without;
}
