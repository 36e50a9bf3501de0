#include "base/posix_source.h"

#include "family/simulate/solver_barrier.h"

size_t solver_barrier_bytes(int64_t masses)
{
    return 2 * tire_state_bytes(masses);
}

int solver_barrier_open(struct solver_barrier *solver, const struct tire *tire, int threads,
                        int cpus, enum tire_code code, void *memory)
{
    size_t bytes = tire_state_bytes(tire->masses);
    solver->tire = tire;
    solver->code = code;
    solver->threads = threads;
    for (int i = 0; i < 2; i++) {
        tire_state_place(&solver->states[i], (char *)memory + (size_t)i * bytes, tire->masses);
        tire_start(tire, &solver->states[i]);
    }
    return step_barrier_open(&solver->barrier, threads, cpus);
}

void solver_barrier_close(struct solver_barrier *solver)
{
    step_barrier_close(&solver->barrier);
}

/* Blocks of whole cache lines, the first of them one line longer where the division leaves some. */
static int64_t block_begin(const struct solver_barrier *solver, int thread)
{
    int64_t masses = solver->tire->masses, lines = (masses + TIRE_PAD - 1) / TIRE_PAD;
    int64_t each = lines / solver->threads, more = lines % solver->threads;
    int64_t line = thread * each + (thread < more ? thread : more);
    return line * TIRE_PAD < masses ? line * TIRE_PAD : masses;
}

void solver_barrier_part(const struct solver_barrier *solver, int thread, struct barrier_part *part)
{
    part->begin = block_begin(solver, thread);
    part->end = block_begin(solver, thread + 1);
    part->step = 0;
}
