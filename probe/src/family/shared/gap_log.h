/* Gaps in a loop that does nothing but read the counter: the loop's thread did not run.
 *
 * A gap lasts from the last reading before it to the first one after it, so it holds one turn of
 * the loop (turn_ns) more than what took the CPU. A difference counts as a gap from the threshold
 * on, which is 10 times the loop's own median, at least 300 ns (docs/method.md) and at least two
 * steps of a coarse clock. The note of a gap takes some ns of the turn that follows. A clock that
 * steps back makes no gap.
 *
 * How it could be wrong: what takes less than the threshold is not seen, and two interruptions
 * without a turn between them are one gap. */
#ifndef HS_FAMILY_SHARED_GAP_LOG_H
#define HS_FAMILY_SHARED_GAP_LOG_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Readings of the clock. */
struct gap {
    uint64_t begin, end;
};

struct gap_log {
    uint64_t turn, threshold; /* ticks: the loop's median, and what is no gap yet */
    uint32_t count, size;
    uint64_t dropped_count; /* gaps that found no room */
    struct gap *gaps;       /* `size` of them, of the caller, touched */
};

/* Measures the loop on the calling thread and sets turn and threshold; empties the log. Takes less
 * than 1 ms, or one step of a clock whose step is longer. */
void gap_log_open(struct gap_log *gap_log, const struct clock *clock, struct gap *gaps,
                  uint32_t size);

/* Reads the clock until it has reached `until` or `is_over` (NULL: none) is set, and notes each
 * gap. Returns the last reading. */
uint64_t gap_log_watch(struct gap_log *gap_log, const struct clock *clock, uint64_t until,
                       const atomic_bool *is_over);

#endif
