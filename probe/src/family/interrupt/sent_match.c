#include "family/interrupt/sent_match.h"

#include <stdbool.h>

/* Readings may wrap. */
static bool is_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

struct candidates {
    bool is_covered; /* `first` began before the window and lasts beyond the send */
    uint32_t first, inside_count;
};

/* `*next`: the first gap that an earlier send has not put behind it. */
static struct candidates find(const struct gap *gaps, uint32_t gap_count, const struct sent *sent,
                              uint32_t *next)
{
    while (*next < gap_count && is_before(gaps[*next].begin, sent->from) &&
           !is_before(sent->at, gaps[*next].end))
        ++*next;
    struct candidates found = {.first = *next};
    found.is_covered = *next < gap_count && is_before(gaps[*next].begin, sent->from);
    for (uint32_t i = *next + found.is_covered;
         i < gap_count && !is_before(sent->to, gaps[i].begin); i++)
        found.inside_count++;
    return found;
}

static bool is_watched(const struct sent_watch *watch, const struct sent *sent)
{
    return !is_before(sent->from, watch->from) && !is_before(watch->until, sent->to);
}

static enum sent_fate fate_of(const struct candidates *found)
{
    if (found->inside_count == 0)
        return found->is_covered ? SENT_IN_OTHER : SENT_NOT_SEEN;
    return found->is_covered || found->inside_count > 1 ? SENT_AMBIGUOUS : SENT_SEEN;
}

void sent_match(const struct gap *gaps, uint32_t gap_count, const struct sent_watch *watch,
                const struct sent *sends, uint32_t sent_count, struct sent_result *results,
                struct sent_counts *counts)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        struct candidates found = find(gaps, gap_count, &sends[i], &next);
        results[i].gap = found.first;
        results[i].fate = is_watched(watch, &sends[i]) ? fate_of(&found) : SENT_NOT_WATCHED;
        counts->of[results[i].fate]++;
        counts->sent++;
    }
}

void sent_counts_move(struct sent_counts *counts, enum sent_fate from, enum sent_fate to)
{
    counts->of[from]--;
    counts->of[to]++;
}

const char *sent_fate_name(enum sent_fate fate)
{
    static const char *const names[] = {[SENT_SEEN] = "seen",
                                        [SENT_IN_OTHER] = "in_other",
                                        [SENT_AMBIGUOUS] = "ambiguous",
                                        [SENT_NOT_SEEN] = "not_seen",
                                        [SENT_NOT_WATCHED] = "not_watched"};
    return names[fate];
}
