/* Of IRQ-S-SUS what knows no thread and no clock: the fate of each interrupt, and the search for
 * the shortest period. */
#ifndef HS_FAMILY_INTERRUPT_IRQ_S_SUS_H
#define HS_FAMILY_INTERRUPT_IRQ_S_SUS_H

#include "family/shared/gap_log.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the fate of each interrupt ---- */

/* The fate of each interrupt of a long series, in constant memory: gaps are given as they end, and
 * sends when they have returned, each in the order of time.
 *
 *   seen    a gap begins in the send's window, from the send to its return
 *   merged  the CPU was gone already when it was sent, and no gap begins in the window: part of
 *           another interruption, as of the tick
 *   lost    neither
 *
 * Expiries of a timer are taken with the gap that one of them made, if one did:
 *
 *   seen       the first of them, which the gap is from
 *   merged     the first, if the gap had begun before it was due
 *   unwatched  the first, without a gap: it came while the watching thread took the one before
 *   lost       another one, due while the CPU was gone: the kernel served them together
 *   not armed  another one, due while the CPU was the thread's: there was no interrupt to lose,
 *              since the timer expires again only when the thread has taken what it gave before.
 *              The instrument's, so it is no interrupt and fails no step
 *
 * Late, counted apart: the gap ends after the next interrupt was due. A send that itself began
 * after the next one was due counts as late by the source instead. */

enum { SUSTAINED_GAPS = 64 }; /* kept at once: those since the last send that was given */

struct sustained_counts {
    uint64_t interrupts; /* the sum of the next four */
    uint64_t seen, merged, lost;
    uint64_t unwatched; /* timer only: came while the watching thread served the one before */
    uint64_t late, source_late;
    uint64_t not_armed; /* timer only: no interrupts, due before the thread had armed the timer */
};

/* Due times: start + k x period, in ticks of the run's clock. At most a second of them. */
struct sustained_grid {
    uint64_t start, period_16; /* the period in 1/65536 ticks */
};

static inline uint64_t sustained_due(const struct sustained_grid *grid, uint64_t k)
{
    return grid->start + ((k * grid->period_16) >> 16);
}

/* What a timer gave at once: `count` (> 0) expiries, the first of them the one of that number. */
struct sustained_expiries {
    uint64_t first, count;
    const struct gap *gap; /* that ended right before they were taken; NULL: none was seen */
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

/* A gap that began more than `early` ticks before the first expiry is another interruption's. */
void sustained_match_expiries(struct sustained_match *match, const struct sustained_grid *grid,
                              const struct sustained_expiries *expiries, uint64_t early);

/* ---- the search ---- */

/* The smallest period that is sustained, by trying few of them: from the shortest one up in
 * doublings until one is sustained, then by halving what lies between on a logarithmic scale. So
 * long periods are tried only where they are needed: a step takes interrupts x period.
 *
 * A longer period counts as sustained where a shorter one was. */

enum {
    SUSTAINED_GRID_NS = 100, /* periods are multiples of it, but for the two limits */
    SUSTAINED_PERCENT = 2,   /* the search ends where the two periods differ by less */
};

struct sustained_search {
    int64_t least_ns, most_ns; /* periods to try */
    int64_t passed_ns;         /* the shortest that was sustained; 0: none yet */
    int64_t failed_ns;         /* the longest below it that was not; 0: none yet */
};

/* The period to try next; 0: the search has ended. passed_ns is its result, 0 that none is
 * sustained. Where failed_ns is 0 then, the shortest one to try is. */
int64_t sustained_search_next(const struct sustained_search *search);

/* Takes what a step has shown. */
void sustained_search_take(struct sustained_search *search, int64_t period_ns, bool is_sustained);

#endif
