/* Of IRQ-P-LAT and IRQ-P-DLT: which gap of a watching thread is the interrupt that was sent. Knows
 * no thread and no clock: it is given the gaps (family/shared/gap_log.h) and the moments of the
 * sends.
 *
 * Each interrupt sent has one fate, so that the fates add up to what was sent:
 *
 *   seen         one gap begins in the send's window, and none that began before covers the send
 *   in_other     the CPU was gone already when it was sent, and no gap begins in the window: the
 *                interrupt is part of another interruption, as of the tick
 *   ambiguous    several gaps can be it
 *   not_seen     no gap: it took less than the threshold of a gap, or did not come to this CPU
 *   not_watched  nobody watched for the whole window
 *
 * How it could be wrong: another interruption that begins in the window of an interrupt that is
 * itself not seen counts as it. */
#ifndef HS_FAMILY_INTERRUPT_INTERRUPT_LATENCY_H
#define HS_FAMILY_INTERRUPT_INTERRUPT_LATENCY_H

#include "family/shared/gap_log.h"

#include <stdint.h>

/* Readings of the clock. `at`: the send, or the programmed expiry. The interrupt's gap begins from
 * `from` (not after `at`) to `to`. */
struct sent {
    uint64_t from, at, to;
};

enum sent_fate {
    SENT_SEEN,
    SENT_IN_OTHER,
    SENT_AMBIGUOUS,
    SENT_NOT_SEEN,
    SENT_NOT_WATCHED,
    SENT_FATES
};

/* `gap`: index of the gap that is the interrupt (seen), or that covers the send (in_other). */
struct sent_result {
    enum sent_fate fate;
    uint32_t gap;
};

/* The time in which all gaps were noted. */
struct sent_watch {
    uint64_t from, until;
};

struct sent_counts {
    uint64_t sent;
    uint64_t of[SENT_FATES]; /* their sum is `sent` */
};

/* Gives each of `sent_count` sends its fate and adds them to `counts`. Gaps and sends are in the
 * order of time, and the windows of two sends have no moment in common. */
void sent_match(const struct gap *gaps, uint32_t gap_count, const struct sent_watch *watch,
                const struct sent *sends, uint32_t sent_count, struct sent_result *results,
                struct sent_counts *counts);

/* One that has fate `from` has fate `to`, as was found out since. */
void sent_counts_move(struct sent_counts *counts, enum sent_fate from, enum sent_fate to);

#endif
