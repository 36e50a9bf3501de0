/* Records of a probe that was killed, or of a copy that was made while values were recorded.
 *
 * Both hold parts of several moments: a kill ends the writer between two stores; a copy is read
 * from its first byte to its last (head, worst, histogram, maxima) while thousands of values come.
 * What is in the histogram counts; the rest is kept where the histogram confirms it:
 * - the largest value is exact: the maxima, read last, have all that the histogram has;
 * - a minimum that only the histogram has is the lower edge of its bucket;
 * - mean and deviation are exact, but for one value, where the count fits and both are possible for
 *   values in these buckets; else they are those of the middles of the buckets (a value is off by
 * 2^-11 at most; above the last bucket only the largest one is known);
 * - worst values are kept where the list is whole and the histogram has none that it lacks;
 * - maxima that were being halved become one, over all the time. */
#ifndef HS_RECORD_RECOVER_H
#define HS_RECORD_RECOVER_H

#include "record/record.h"

#include <stdbool.h>

struct recovered {
    uint64_t later_count;   /* values in the histogram that came after the count */
    bool has_other_moments; /* mean and deviation of the histogram */
    bool lost_worst;        /* values that were there and cannot be trusted */
    bool lost_maxima;       /* all but the largest */
};

/* More than a copy can last: above it the histogram is damaged. */
#define RECORD_LATER_MOST UINT64_C(1000000000)

/* Makes the parts of a record fit each other; a whole one stays as it is. So does one whose count
 * and histogram are too far apart for a kill (more than one value missing) or a copy: its reader
 * sees that they differ. */
struct recovered record_recover(struct record *record);

/* Whether anything that a reader must know was done. */
static inline bool record_was_recovered(const struct recovered *recovered)
{
    return recovered->later_count > 1 || recovered->has_other_moments || recovered->lost_worst ||
           recovered->lost_maxima;
}

#endif
