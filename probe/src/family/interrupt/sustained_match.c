#include "base/posix_source.h"

#include "family/interrupt/sustained_match.h"

#include <stdbool.h>
#include <string.h>

void sustained_match_open(struct sustained_match *match, uint64_t skew)
{
    memset(match, 0, sizeof *match);
    match->skew = skew;
}

void sustained_match_gap(struct sustained_match *match, uint64_t begin, uint64_t end)
{
    match->gaps[match->end++ % SUSTAINED_GAPS] = (struct gap){begin, end};
    if (match->end - match->first > SUSTAINED_GAPS)
        match->first++;
}

static const struct gap *gap_at(const struct sustained_match *match, uint64_t number)
{
    return &match->gaps[number % SUSTAINED_GAPS];
}

static bool is_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

/* Drops the gaps that ended before `from`: no later send has to do with them. */
static void drop_until(struct sustained_match *match, uint64_t from)
{
    while (match->first < match->end && is_before(gap_at(match, match->first)->end, from))
        match->first++;
}

static void count_lateness(struct sustained_counts *counts, const struct sustained_send *send,
                           uint64_t served)
{
    if (is_before(send->next_due, send->at))
        counts->source_late++;
    else if (is_before(send->next_due, served))
        counts->late++;
}

void sustained_match_send(struct sustained_match *match, const struct sustained_send *send)
{
    uint64_t from = send->at - match->skew, to = send->after + match->skew;
    const struct gap *covering = NULL;
    match->counts.interrupts++;
    drop_until(match, from);
    for (uint64_t i = match->first; i < match->end; i++) {
        const struct gap *gap = gap_at(match, i);
        if (is_before(to, gap->begin))
            break;
        if (i < match->free || is_before(gap->begin, from)) {
            covering = gap;
            continue;
        }
        match->free = i + 1;
        match->counts.seen++;
        count_lateness(&match->counts, send, gap->end);
        return;
    }
    match->counts.merged += covering ? 1 : 0;
    match->counts.lost += covering ? 0 : 1;
    count_lateness(&match->counts, send, covering ? covering->end : send->next_due);
}

/* Those due after the first and while the CPU was gone. */
static uint64_t lost_in_gap(const struct sustained_grid *grid,
                            const struct sustained_expiries *expiries)
{
    uint64_t lost = 0;
    while (expiries->gap && lost + 1 < expiries->count &&
           is_before(sustained_due(grid, expiries->first + lost + 1), expiries->gap->end))
        lost++;
    return lost;
}

void sustained_match_expiries(struct sustained_match *match, const struct sustained_grid *grid,
                              const struct sustained_expiries *expiries, uint64_t early)
{
    struct sustained_counts *counts = &match->counts;
    uint64_t due = sustained_due(grid, expiries->first), lost = lost_in_gap(grid, expiries);
    const struct gap *gap = expiries->gap;
    counts->interrupts += 1 + lost;
    counts->lost += lost;
    counts->late += lost > 0 ? 1 : 0;
    counts->not_armed += expiries->count - 1 - lost;
    if (!gap || !is_before(due, gap->end))
        counts->unwatched++;
    else if (is_before(gap->begin + early, due))
        counts->merged++;
    else
        counts->seen++;
}
