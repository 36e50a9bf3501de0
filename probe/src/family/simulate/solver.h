/* The two solvers of a tire: with a semaphore for each mass, as published, and with one barrier a
 * step. */
#ifndef HS_FAMILY_SIMULATE_SOLVER_H
#define HS_FAMILY_SIMULATE_SOLVER_H

#include "base/posix_source.h"

#include "family/simulate/tire.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the barrier ---- */

/* A barrier that all threads of a simulation pass at the end of each step. Threads wait on a
 * counter for a moment, if each has a CPU of its own, then sleep: with FIFO threads that share a
 * CPU a thread that only spun would keep the one that it waits for from running. */

/* Those that arrive write the first cache line, those that wait read the second. */
struct step_barrier {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint turn;
    atomic_bool is_broken;
    atomic_int sleepers;
    int threads, spins;
    pthread_mutex_t mutex;
    pthread_cond_t passed;
};

/* For `threads` threads on `cpus` CPUs (0: not known). 0, or an errno value. */
int step_barrier_open(struct step_barrier *barrier, int threads, int cpus);
void step_barrier_close(struct step_barrier *barrier);

/* Waits until all threads are here. What each wrote before is then seen by all. False: the barrier
 * was broken; not all of them need have come. */
bool step_barrier_wait(struct step_barrier *barrier);

/* Lets all threads go, now and at each later call. */
void step_barrier_break(struct step_barrier *barrier);

/* ---- barrier ---- */

/* The better solver: two states, of which each step reads one and writes the other, and one barrier
 * a step. A mass is computed by one thread from the state before, so the result has the same bits
 * for every number of threads.
 *
 * Each thread has a contiguous block of the first half of the circle and the one opposite to it:
 * only the neighbours at their ends come from the caches of other CPUs. (With one block each, all
 * masses opposite would: on CPUs without a common cache two threads took three times as long as
 * one.) The ends of blocks are multiples of a cache line, so that no two threads write to one. */

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
 * was broken: the state then is of no use. */
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

/* ---- semaphore ---- */

/* The solver of Garre et al. (2014, section 4): one binary semaphore (sem_t) for each mass, no
 * barrier. Thread t owns floor(n / i) contiguous masses, the first n mod i threads one more.
 *
 *   read     the previous, the next and the opposite mass of each own one, each within its
 *            semaphore: 3e of them for e own masses
 *   compute  the springs of the own masses, also those that another thread computes too: e + 1
 *            along the ring (the force on one end is the negative of that on the other) and e
 *            across; then one step of explicit Euler for each
 *   write    the own masses, each within its semaphore: e
 *
 * One thread takes no semaphore: it computes n + n/2 springs on the masses themselves. Its result
 * has the bits of the barrier solver. That of several threads has not: a thread may read a mass of
 * this step or of the one before (in real-fast mode, of any step), which is the paper's algorithm.
 *
 * A mass and its semaphore are one cache line where sem_t has 32 bytes. Each thread has copies of
 * the ring around its block and of the masses opposite: 96 bytes a mass in all, beside the
 * semaphore and the two neighbours of each block. */

struct gated_mass {
    struct tire_mass mass;
    sem_t gate;
};

struct solver_semaphore {
    const struct tire *tire;
    int threads;
    struct gated_mass *masses;
    char *copies;              /* of all threads, one after another */
    struct tire_force *across; /* of one thread: forces on the first half */
};

/* What one thread has. An operation is a wait with its post: 4e in a step. One that found the
 * semaphore taken (sem_trywait, then sem_wait) is blocked. */
struct semaphore_part {
    int64_t begin, end;
    struct tire_mass *ring;     /* own masses at 1 to end - begin, and their neighbours */
    struct tire_mass *opposite; /* of each own mass */
    uint64_t operations, blocked;
};

/* Memory of a simulation, aligned to 64. */
size_t solver_semaphore_bytes(int64_t masses, int threads);

/* Places the simulation at its start in `memory`. `tire` must live as long. 0, or an errno value.
 */
int solver_semaphore_open(struct solver_semaphore *solver, const struct tire *tire, int threads,
                          void *memory);
void solver_semaphore_close(struct solver_semaphore *solver);
void solver_semaphore_part(const struct solver_semaphore *solver, int thread,
                           struct semaphore_part *part);

/* The three parts of a step. */
void solver_semaphore_read(struct solver_semaphore *solver, struct semaphore_part *part);
void solver_semaphore_compute(struct solver_semaphore *solver, struct semaphore_part *part);
void solver_semaphore_write(struct solver_semaphore *solver, struct semaphore_part *part);

enum { TOUCH_CACHED = 128 };

/* For one thread: reads and writes each cache line that a step does, in its order, with the
 * arithmetic of as many masses, which is that of `cached`: TOUCH_CACHED masses and one more. What
 * it takes beyond the same in the cache is memory that the arithmetic does not hide. Changes no
 * mass. */
void solver_semaphore_touch(struct solver_semaphore *solver, const struct tire_mass *cached);

#endif
