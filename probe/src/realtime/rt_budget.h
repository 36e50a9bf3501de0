/* Rests for threads that never block. A real-time thread that spins for longer than
 * the system's real-time budget is cut off by the throttling, and the cut would stand
 * in the results as if it were a latency of the kernel. Between two samples such a
 * thread calls breathe, which rests often enough that no window of the budget's period
 * is used up, and that the rest of the system lives. */
#ifndef HS_BREATH_H
#define HS_BREATH_H

#include <stdint.h>

struct breath {
    int64_t burst_ns;   /* spin at most so long ... */
    int64_t rest_ns;    /* ... then sleep so long */
    int64_t started_ns; /* of this burst */
    int64_t rested_ns;  /* in all */
};

/* Reads the system's budget: four fifths of it are used; without one, nine tenths of
 * each second. */
void breath_init(struct breath *breath);

/* Sleeps when the burst is over. Returns the time now, CLOCK_MONOTONIC. */
int64_t breathe(struct breath *breath);

/* The same for a thread that is about to let others spin for `ahead_ns` without a rest:
 * sleeps when less than that is left of the burst. */
int64_t breathe_ahead(struct breath *breath, int64_t ahead_ns);

#endif
