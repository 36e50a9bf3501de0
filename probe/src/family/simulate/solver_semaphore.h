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
#ifndef HS_FAMILY_SIMULATE_SOLVER_SEMAPHORE_H
#define HS_FAMILY_SIMULATE_SOLVER_SEMAPHORE_H

#include "base/posix_source.h"

#include "family/simulate/tire.h"

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
