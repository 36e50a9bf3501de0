/* The better solver: two states, of which each step reads one and writes the other, and one barrier
 * a step. A mass is computed by one thread from the state before, so the result has the same bits
 * for every number of threads.
 *
 * Each thread has a contiguous block of the first half of the circle and the one opposite to it:
 * only the neighbours at their ends come from the caches of other CPUs. (With one block each, all
 * masses opposite would: on CPUs without a common cache two threads took three times as long as
 * one.) The ends of blocks are multiples of a cache line, so that no two threads write to one. */
#ifndef HS_FAMILY_SIMULATE_SOLVER_BARRIER_H
#define HS_FAMILY_SIMULATE_SOLVER_BARRIER_H

#include "family/simulate/step_barrier.h"
#include "family/simulate/tire.h"

struct solver_barrier {
    const struct tire *tire;
    struct tire_state states[2];
    enum tire_code code;
    int threads;
    struct step_barrier barrier;
};

/* What one thread does: masses begin to end - 1 of two blocks; none where there are more threads
 * than blocks. */
struct barrier_block {
    int64_t begin, end;
};

struct barrier_part {
    struct barrier_block blocks[2];
    uint64_t step;
};

/* Memory of a simulation, 64 bytes a mass, aligned to 64. */
size_t solver_barrier_bytes(int64_t masses);

/* Places the simulation at its start in `memory`, and the part of each thread. `tire` must live as
 * long. 0, or an errno value. */
int solver_barrier_open(struct solver_barrier *solver, const struct tire *tire, int threads,
                        int cpus, enum tire_code code, void *memory);
void solver_barrier_close(struct solver_barrier *solver);
void solver_barrier_part(const struct solver_barrier *solver, int thread,
                         struct barrier_part *part);

/* One step of the thread's masses, and the wait for the others, which is false where the barrier
 * was broken (step_barrier.h): the state then is of no use. */
static inline void solver_barrier_compute(const struct solver_barrier *solver,
                                          const struct barrier_part *part)
{
    const struct tire_state *now = &solver->states[part->step & 1];
    const struct tire_state *next = &solver->states[~part->step & 1];
    for (int i = 0; i < 2; i++)
        if (part->blocks[i].begin < part->blocks[i].end)
            tire_advance(solver->tire, now, next, part->blocks[i].begin, part->blocks[i].end,
                         solver->code);
}

static inline bool solver_barrier_pass(struct solver_barrier *solver, struct barrier_part *part)
{
    part->step++;
    return solver->threads == 1 || step_barrier_wait(&solver->barrier);
}

#endif
