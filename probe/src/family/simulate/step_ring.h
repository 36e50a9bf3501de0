/* Counts the steps of a simulation in real time, each once, however many threads do it.
 *
 * Step k (from 0) is released at start + k periods; its deadline is the next release. It has ended
 * when its last thread has; one that ends after its deadline has missed it. Each thread does the
 * steps in their order, so steps end in their order, and the thread that is the last of one has
 * noted it before it goes on: no lock is needed, and any duration takes the same memory. */
#ifndef HS_FAMILY_SIMULATE_STEP_RING_H
#define HS_FAMILY_SIMULATE_STEP_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STEP_SLOTS = 4096 }; /* a thread may be as many steps ahead of another one */

struct step_slot {
    _Atomic int64_t begin_ns, end_ns; /* of the first thread to begin, and the last to end */
    _Atomic uint64_t turn;            /* how often the slot has been used */
    atomic_int ended;                 /* threads that have ended the step */
};

struct step_counts {
    uint64_t finished; /* by all threads */
    uint64_t released; /* finished, or their deadline has passed */
    uint64_t missed;
    uint64_t first_missed;   /* its number from 1; 0: none */
    uint64_t watched_missed; /* how often step `watched` was counted as missed */
};

struct step_ring {
    int threads;
    int64_t start_ns, period_ns; /* CLOCK_MONOTONIC */
    uint64_t watched;            /* a step, from 1; 0: none */
    struct step_counts counts;
    struct step_slot slots[STEP_SLOTS];
};

/* A step that has ended. */
struct step_end {
    uint64_t step; /* from 0 */
    int64_t begin_ns, end_ns;
    int64_t late_ns; /* after its deadline; 0 or less: in time */
    bool is_late;
};

void step_ring_open(struct step_ring *ring, int threads, int64_t start_ns, int64_t period_ns);

/* The release of a step, and its deadline. */
static inline int64_t step_release_ns(const struct step_ring *ring, uint64_t step)
{
    return ring->start_ns + (int64_t)step * ring->period_ns;
}

/* A thread has ended `step`, which it began at `begin_ns`. STEP_LAST: it is the last one, and the
 * step is counted; `end` describes it. STEP_AHEAD: nothing is noted, because the thread is
 * STEP_SLOTS ahead of another one. */
enum step_state { STEP_OPEN, STEP_LAST, STEP_AHEAD };
enum step_state step_ring_end(struct step_ring *ring, uint64_t step, int64_t begin_ns,
                              int64_t end_ns, struct step_end *end);

/* Takes back that step `number`, from 1, which ended last, was missed. */
void step_ring_forgive(struct step_ring *ring, uint64_t number);

/* When no thread works any more: of `planned` steps, those that have not ended although their
 * deadline was before `now_ns` have missed it. */
void step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns);

#endif
