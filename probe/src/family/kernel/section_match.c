#include "family/kernel/section_match.h"

void section_match_restart(struct section_match *match)
{
    for (int i = 0; i < SECTION_KINDS; i++)
        match->states[i] = (struct section_state){.is_known = false};
}

void section_match_lost(struct section_match *match)
{
    match->lost_count++;
    section_match_restart(match);
}

static void open_one(struct section_state *state, int64_t at_ns, struct section_place place)
{
    *state = (struct section_state){
        .is_known = true, .is_open = true, .open = {.begin_ns = at_ns, .begin = place}};
}

static void close_one(struct section_match *match, enum section_kind kind, int64_t at_ns,
                      struct section_place place)
{
    struct section_state *state = &match->states[kind];
    struct section section = state->open;
    bool is_whole = state->is_open;
    *state = (struct section_state){.is_known = true};
    if (!is_whole)
        return;
    section.length_ns = at_ns - section.begin_ns;
    section.end = place;
    match->take(match->context, kind, &section);
}

static bool is_open(const struct section_match *match, enum section_kind kind)
{
    return match->states[kind].is_open;
}

/* Both have to be known before it begins; then it is known, too. */
static void follow_either(struct section_match *match, int64_t at_ns, struct section_place place)
{
    struct section_state *either = &match->states[SECTION_EITHER];
    const struct section_state *states = match->states;
    bool are_known = states[SECTION_PREEMPTION].is_known && states[SECTION_INTERRUPTS].is_known;
    bool is_off = is_open(match, SECTION_PREEMPTION) || is_open(match, SECTION_INTERRUPTS);
    if (!are_known)
        return;
    if (is_off && either->is_known && !either->is_open)
        open_one(either, at_ns, place);
    else if (!is_off)
        close_one(match, SECTION_EITHER, at_ns, place);
}

void section_match_event(struct section_match *match, enum section_kind kind, bool is_begin,
                         int64_t at_ns, struct section_place place)
{
    struct section_state *state = &match->states[kind];
    if (state->is_known && state->is_open == is_begin)
        match->unmatched_count++;
    if (is_begin)
        open_one(state, at_ns, place);
    else
        close_one(match, kind, at_ns, place);
    if (kind != SECTION_INTERRUPT)
        follow_either(match, at_ns, place);
}
