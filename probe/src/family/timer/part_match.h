/* Which events of the kernel belong to which wake-up, on one CPU. Knows no tracing: it is given
 * stamps, in the order of the kernel's ring.
 *
 * A wake-up begins at its release r and ends at the stamp u of the woken thread, both of
 * CLOCK_MONOTONIC. Its timer expires in a handler of the timer interrupt; there the thread is
 * woken, then switched to. The interrupt that is ours is the one in whose handler the thread was
 * woken. What is not certain is counted, never guessed. */
#ifndef HS_FAMILY_TIMER_PART_MATCH_H
#define HS_FAMILY_TIMER_PART_MATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum part { PART_INTERRUPT, PART_DISPATCH, PART_RETURN, PARTS };
enum { PART_NAME_BYTES = 16, PART_RING = 8192 };

struct part_sample {
    int64_t release_ns, user_ns;
};

/* Samples on their way from the thread that measures to the one that reads events. One writer, one
 * reader; what does not fit is counted. */
struct part_ring {
    _Atomic uint64_t written, taken;
    _Atomic uint64_t dropped;
    struct part_sample samples[PART_RING];
};

static inline void part_ring_put(struct part_ring *ring, int64_t release_ns, int64_t user_ns)
{
    uint64_t place = atomic_load_explicit(&ring->written, memory_order_relaxed);
    if (place - atomic_load_explicit(&ring->taken, memory_order_acquire) >= PART_RING) {
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
        return;
    }
    ring->samples[place % PART_RING] = (struct part_sample){release_ns, user_ns};
    atomic_store_explicit(&ring->written, place + 1, memory_order_release);
}

/* The oldest sample, which stays until part_ring_drop; NULL: none. */
static inline const struct part_sample *part_ring_first(const struct part_ring *ring)
{
    uint64_t place = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    bool is_empty = place == atomic_load_explicit(&ring->written, memory_order_acquire);
    return is_empty ? NULL : &ring->samples[place % PART_RING];
}

static inline void part_ring_drop(struct part_ring *ring)
{
    uint64_t place = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    atomic_store_explicit(&ring->taken, place + 1, memory_order_release);
}

struct part_counts {
    uint64_t matched;
    uint64_t lost;      /* events of it were overwritten */
    uint64_t not_slept; /* no switch to the thread: its release had passed before it slept */
    uint64_t
        not_switched; /* it was woken, and no switch to it was seen: it may not have left the CPU */
    uint64_t unmatched;    /* several interrupts, or none, may be the one */
    uint64_t out_of_order; /* events that do not lie between release and stamp */
    uint64_t begun_early;  /* matched: at the release the handler already ran, for another timer */
};

/* The parts of one sample add up to user_ns - release_ns. */
struct part_split {
    int64_t ns[PARTS];
    int64_t before_thread; /* that had the CPU last before the thread; -1: not known */
    char before[PART_NAME_BYTES];
};

/* ---- by tracepoints ---- */

struct part_match {
    struct part_counts counts;
    int64_t latest_ns, gap_ns;       /* stamp of the latest event; events before gap_ns were lost */
    int64_t interrupt_ns, before_ns; /* entries of the latest handler and the one before; 0: none */
    bool is_inside;                  /* of a handler */
    struct {                         /* the wake-up of the thread that is not given away yet */
        bool is_there, is_certain;   /* certain: woken inside the handler */
        int64_t interrupt_ns, before_ns, waking_ns, switch_ns; /* 0: none */
        int64_t last_switch_ns; /* a later one, after it was preempted, or the same */
    } waking;
    struct part_split split; /* with what ran before the last switch */
};

void part_match_interrupt(struct part_match *match, int64_t at_ns, bool is_entry);

/* The thread is woken; is_in_interrupt: by the handler of an interrupt, not later. Samples that
 * ended before `at_ns` have to be taken first. */
void part_match_waking(struct part_match *match, int64_t at_ns, bool is_in_interrupt);

/* The CPU goes to the thread; `before` (`bytes`, not terminated) names the one that had it. Samples
 * that ended before `at_ns` have to be taken first. */
void part_match_switch(struct part_match *match, int64_t at_ns, int64_t before_thread,
                       const char *before, size_t bytes);

/* Events before `at_ns` were lost. */
void part_match_lost(struct part_match *match, int64_t at_ns);

/* Splits a sample; the samples come in their order. False: it has no parts, and is counted. `split`
 * says what ran before in both cases, where that is certain. */
bool part_match_take(struct part_match *match, const struct part_sample *sample,
                     struct part_split *split);

/* ---- by timerlat ---- */

/* Which events of timerlat belong to which return of its read, on one CPU.
 *
 * timerlat's releases lie one period apart, at a phase that it does not tell. Each event says how
 * late it is (latency), and its stamp was taken just after that: stamp - latency is the release or
 * a little later, or much later where something came between. The phase is the lowest of most of
 * these in the first LOCATE cycles, which wait until then, and it is lowered by a cycle whose two
 * stamps agree on it.
 *
 * What can fail: the release by the interrupt's event and by the thread's are two readings of two
 * clocks; timerlat's own stamp at the next read must not be before ours. */

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
