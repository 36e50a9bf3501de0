/* Going back to what is right: records that are torn (record_recover), arenas that a probe left
 * (arena_open, in arena.h), and an arena of which later values may not be used (checkpoint).
 *
 * Repairs records of a probe that was killed, or of a copy that was made while values were
 * recorded.
 *
 * Both may be torn. A kill ends the writer between two stores. A copy is read from its first byte
 * to its last (head, worst, histogram, maxima) while the writer records thousands of values. The
 * histogram is the reference; other parts are kept if they agree with it:
 * - the maximum is exact: the maxima are read last, so they include all values of the histogram;
 * - a minimum that only the histogram has is the lower edge of its bucket;
 * - mean and deviation are exact, except for one value, if the count agrees with the histogram and
 *   both are possible for values in these buckets; else they are computed from the middles of the
 *   buckets (each value is off by 2^-11 at most; of the values above the last bucket only the
 *   largest is known);
 * - the worst values are kept if the list is complete and has every value that the histogram has
 *   above its last one;
 * - maxima whose halving was interrupted become one maximum for the whole time. */
#ifndef HS_RECORD_RECOVERY_H
#define HS_RECORD_RECOVERY_H

#include "record/arena.h"
#include "record/record.h"

#include <stdbool.h>

/* ---- records that are torn ---- */

struct recovered {
    uint64_t later_count;   /* values in the histogram that came after the count */
    bool has_other_moments; /* mean and deviation of the histogram */
    bool lost_worst;        /* values that were there and cannot be trusted */
    bool lost_maxima;       /* all but the largest */
};

/* More than a copy can last: above it the histogram is damaged. */
#define RECORD_LATER_MOST UINT64_C(1000000000)

/* Makes the parts of a record consistent. Leaves a record unchanged that is consistent already, or
 * whose count and histogram differ by more than a kill (one value) or a copy can explain: its
 * reader sees that difference. */
struct recovered record_recover(struct record *record);

/* Whether anything that a reader must know was done. */
static inline bool record_was_recovered(const struct recovered *recovered)
{
    return recovered->later_count > 1 || recovered->has_other_moments || recovered->lost_worst ||
           recovered->lost_maxima;
}

/* ---- checkpoints ---- */

/* ---- checkpoints ---- */

/* What a measurement has recorded until a moment, to go back to where what came later may not be
 * used: a CPU was taken away (run/scheduling.h). The thread or process that looks each second
 * copies the records while the test goes on, then judges, and confirms the copy or lets it be
 * replaced.
 *
 * Two copies in turn, so that the one that is good stays until the next one is. What is only
 * appended (compact forms, gaps) is not copied: its end is noted. */

struct checkpoint;

/* Memory for both copies, touched, and not locked. To be called by who looks. NULL where there is
 * none, or where the records are too large to be copied each second. */
struct checkpoint *checkpoint_open(struct arena *arena);

/* Copies the records. Values that come meanwhile may be in the copy. */
void checkpoint_take(struct checkpoint *checkpoint);

/* The latest copy is good: what is in it may be used. Takes the counters of each second. */
void checkpoint_confirm(struct checkpoint *checkpoint);

/* Makes the arena what it was at the copy that was confirmed last, and that the end of the
 * measurement. Verdicts, tables, later events and traces of later values are left out. False, and
 * nothing is done, where no copy was confirmed or it has no value. To be called when nothing
 * records any more. */
bool checkpoint_restore(const struct checkpoint *checkpoint);

/* NULL does nothing. */
void checkpoint_close(struct checkpoint *checkpoint);

#endif
