/* The fate of each interrupt of a long series, in constant memory: gaps are given as they end, and
 * sends when they have returned, each in the order of time. Knows no thread and no clock.
 *
 *   seen    a gap begins in the send's window, from the send to its return
 *   merged  the CPU was gone already when it was sent, and no gap begins in the window: part of
 *           another interruption, as of the tick
 *   lost    neither
 *
 * Late, counted apart: the gap ends after the next interrupt was due. A send that itself began
 * after the next one was due counts as late by the source instead. */
#ifndef HS_FAMILY_INTERRUPT_SUSTAINED_MATCH_H
#define HS_FAMILY_INTERRUPT_SUSTAINED_MATCH_H

#include "family/shared/gap_log.h"

#include <stdint.h>

enum { SUSTAINED_GAPS = 64 }; /* kept at once: those since the last send that was given */

struct sustained_counts {
    uint64_t interrupts; /* the sum of the next four */
    uint64_t seen, merged, lost;
    uint64_t unwatched; /* timer only: came while the watching thread served the one before */
    uint64_t late, source_late;
};

/* Readings of the clock. */
struct sustained_send {
    uint64_t at, after; /* right before the call and after it */
    uint64_t next_due;
};

struct sustained_match {
    uint64_t skew;       /* by which the clocks of the two CPUs may differ */
    uint64_t first, end; /* numbers of the gaps that are kept */
    uint64_t free;       /* the first one that is no interrupt sent yet */
    struct gap gaps[SUSTAINED_GAPS];
    struct sustained_counts counts;
};

/* Begins with no gap and no count. */
void sustained_match_open(struct sustained_match *match, uint64_t skew);

/* A gap that has ended; where there is no room the oldest one is dropped. */
void sustained_match_gap(struct sustained_match *match, uint64_t begin, uint64_t end);

/* A send that returned, when all gaps that began until then have been given. */
void sustained_match_send(struct sustained_match *match, const struct sustained_send *send);

#endif
