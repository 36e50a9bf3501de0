/* Which events of timerlat belong to which return of its read, on one CPU. As part_match.h.
 *
 * timerlat's releases lie one period apart, at a phase that it does not tell. Each event says how
 * late it is (latency), and its stamp was taken just after that: stamp - latency is the release or
 * a little later, or much later where something came between. The phase is the lowest of most of
 * these in the first LOCATE cycles, which wait until then, and it is lowered by a cycle whose two
 * stamps agree on it.
 *
 * What can fail: the release by the interrupt's event and by the thread's are two readings of two
 * clocks; timerlat's own stamp at the next read must not be before ours. */
#ifndef HS_FAMILY_TIMER_TIMERLAT_MATCH_H
#define HS_FAMILY_TIMER_TIMERLAT_MATCH_H

#include "family/timer/part_match.h"

enum { TIMERLAT_LOCATE = 16 };

/* Context of an event, as the kernel numbers it. */
enum timerlat_context { TIMERLAT_INTERRUPT, TIMERLAT_THREAD, TIMERLAT_USER, TIMERLAT_CONTEXTS };

struct timerlat_cycle {
    int64_t sequence;
    bool has[TIMERLAT_CONTEXTS];
    int64_t at_ns[TIMERLAT_CONTEXTS], latency_ns[TIMERLAT_CONTEXTS];
    int64_t user_ns; /* our stamp */
};

/* How far two figures for the same were apart. */
struct timerlat_gap {
    uint64_t count, beyond; /* beyond: above the limit */
    int64_t least_ns, most_ns;
};

struct timerlat_match {
    struct part_counts counts;
    int64_t period_ns, limit_ns;
    int64_t latest_ns, gap_ns;
    int64_t phase_ns; /* release modulo the period; -1: not known yet */
    struct timerlat_cycle cycle;
    struct timerlat_cycle waiting[TIMERLAT_LOCATE];
    int waiting_count;
    struct timerlat_gap grid;  /* release by an event, minus the release */
    struct timerlat_gap total; /* timerlat's sum of the parts, minus ours */
};

/* A cycle with its release. */
struct timerlat_wakeup {
    int64_t release_ns, user_ns;
    struct part_split split;
};

typedef void (*timerlat_visit)(const struct timerlat_wakeup *wakeup, void *context);

void timerlat_match_open(struct timerlat_match *match, int64_t period_ns, int64_t limit_ns);

/* An event. An interrupt's begins a cycle: the samples that ended before it have to be taken first.
 */
void timerlat_match_event(struct timerlat_match *match, int64_t at_ns, int64_t sequence,
                          int64_t context, int64_t latency_ns);

void timerlat_match_lost(struct timerlat_match *match, int64_t at_ns);

/* Ends the cycle with a sample (its release is not known and not looked at); delivers the cycles
 * whose release is known. */
void timerlat_match_take(struct timerlat_match *match, const struct part_sample *sample,
                         timerlat_visit visit, void *context);

/* Delivers those that still wait. */
void timerlat_match_close(struct timerlat_match *match, timerlat_visit visit, void *context);

#endif
