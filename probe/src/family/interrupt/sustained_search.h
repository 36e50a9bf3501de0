/* The smallest period that is sustained, by trying few of them: from the shortest one up in
 * doublings until one is sustained, then by halving what lies between on a logarithmic scale. So
 * long periods are tried only where they are needed: a step takes interrupts x period.
 *
 * A longer period counts as sustained where a shorter one was. */
#ifndef HS_FAMILY_INTERRUPT_SUSTAINED_SEARCH_H
#define HS_FAMILY_INTERRUPT_SUSTAINED_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

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
