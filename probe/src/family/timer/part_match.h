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

#endif
