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

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* In lines of the half, which is rounded up: the first blocks have one more where the division
 * leaves some. */
static int64_t first_line(const struct solver_barrier *solver, int64_t lines, int thread)
{
    int64_t each = lines / solver->threads, more = lines % solver->threads;
    return thread * each + least(thread, more);
}

void solver_barrier_part(const struct solver_barrier *solver, int thread, struct barrier_part *part)
{
    int64_t masses = solver->tire->masses, lines = (masses / 2 + TIRE_PAD - 1) / TIRE_PAD;
    int64_t half = least(lines * TIRE_PAD, masses);
    int64_t begin = first_line(solver, lines, thread) * TIRE_PAD;
    int64_t end = first_line(solver, lines, thread + 1) * TIRE_PAD;
    part->blocks[0] = (struct barrier_block){least(begin, masses), least(end, masses)};
    part->blocks[1] =
        (struct barrier_block){least(half + begin, masses), least(half + end, masses)};
    part->step = 0;
}
