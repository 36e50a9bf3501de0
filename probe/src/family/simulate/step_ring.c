#include "base/posix_source.h"

#include "family/simulate/team.h"

#include <string.h>

static void clear(struct step_slot *slot)
{
    atomic_store_explicit(&slot->begin_ns, INT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&slot->end_ns, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&slot->ended, 0, memory_order_relaxed);
}

void step_ring_open(struct step_ring *ring, int threads, int64_t start_ns, int64_t period_ns)
{
    memset(ring, 0, sizeof *ring);
    ring->threads = threads;
    ring->start_ns = start_ns;
    ring->period_ns = period_ns;
    for (int i = 0; i < STEP_SLOTS; i++)
        clear(&ring->slots[i]);
}

static void lower(_Atomic int64_t *least, int64_t value)
{
    int64_t now = atomic_load_explicit(least, memory_order_relaxed);
    while (value < now && !atomic_compare_exchange_weak(least, &now, value))
        ;
}

static void raise_to(_Atomic int64_t *most, int64_t value)
{
    int64_t now = atomic_load_explicit(most, memory_order_relaxed);
    while (value > now && !atomic_compare_exchange_weak(most, &now, value))
        ;
}

static void miss(struct step_ring *ring, uint64_t number)
{
    struct step_counts *counts = &ring->counts;
    counts->missed++;
    if (counts->first_missed == 0)
        counts->first_missed = number;
    if (number == ring->watched)
        counts->watched_missed++;
}

void step_ring_forgive(struct step_ring *ring, uint64_t number)
{
    struct step_counts *counts = &ring->counts;
    counts->missed--;
    if (counts->first_missed == number)
        counts->first_missed = 0;
    if (number == ring->watched)
        counts->watched_missed--;
}

static void count(struct step_ring *ring, struct step_slot *slot, uint64_t step,
                  struct step_end *end)
{
    end->step = step;
    end->begin_ns = atomic_load(&slot->begin_ns);
    end->end_ns = atomic_load(&slot->end_ns);
    end->late_ns = end->end_ns - step_release_ns(ring, step + 1);
    end->is_late = end->late_ns > 0;
    ring->counts.finished++;
    if (end->is_late)
        miss(ring, step + 1);
}

enum step_state step_ring_end(struct step_ring *ring, uint64_t step, int64_t begin_ns,
                              int64_t end_ns, struct step_end *end)
{
    struct step_slot *slot = &ring->slots[step % STEP_SLOTS];
    if (atomic_load(&slot->turn) != step / STEP_SLOTS)
        return STEP_AHEAD;
    lower(&slot->begin_ns, begin_ns);
    raise_to(&slot->end_ns, end_ns);
    if (atomic_fetch_add(&slot->ended, 1) + 1 < ring->threads)
        return STEP_OPEN;
    count(ring, slot, step, end);
    clear(slot);
    atomic_fetch_add(&slot->turn, 1);
    return STEP_LAST;
}

void step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns)
{
    struct step_counts *counts = &ring->counts;
    int64_t passed_ns = now_ns - ring->start_ns;
    uint64_t due = passed_ns > 0 ? (uint64_t)(passed_ns / ring->period_ns) : 0;
    due = due < planned ? due : planned;
    counts->released = due > counts->finished ? due : counts->finished;
    for (uint64_t step = counts->finished; step < counts->released; step++)
        miss(ring, step + 1);
}
