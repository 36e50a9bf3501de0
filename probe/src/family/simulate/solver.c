#include "base/posix_source.h"

#include "family/simulate/solver.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* ---- the barrier ---- */

/* Some 20 us: the time that a thread takes to fall asleep and to wake up, on a CPU that sleeps
 * too. */
enum { SPINS = 20000 };

int step_barrier_open(struct step_barrier *barrier, int threads, int cpus)
{
    memset(barrier, 0, sizeof *barrier);
    barrier->threads = threads;
    barrier->spins = threads <= cpus ? SPINS : 0;
    int error = pthread_mutex_init(&barrier->mutex, NULL);
    if (error)
        return error;
    error = pthread_cond_init(&barrier->passed, NULL);
    if (error)
        pthread_mutex_destroy(&barrier->mutex);
    return error;
}

void step_barrier_close(struct step_barrier *barrier)
{
    pthread_cond_destroy(&barrier->passed);
    pthread_mutex_destroy(&barrier->mutex);
}

/* A thread counts as a sleeper before it looks at the turn for the last time, and the turn changes
 * before the sleepers are counted: one of the two sees the other. */
static void wake_sleepers(struct step_barrier *barrier)
{
    if (atomic_load(&barrier->sleepers) == 0)
        return;
    pthread_mutex_lock(&barrier->mutex);
    pthread_cond_broadcast(&barrier->passed);
    pthread_mutex_unlock(&barrier->mutex);
}

static bool is_passed(struct step_barrier *barrier, unsigned turn)
{
    return atomic_load(&barrier->turn) != turn || atomic_load(&barrier->is_broken);
}

static void sleep_until_passed(struct step_barrier *barrier, unsigned turn)
{
    pthread_mutex_lock(&barrier->mutex);
    atomic_fetch_add(&barrier->sleepers, 1);
    while (!is_passed(barrier, turn))
        pthread_cond_wait(&barrier->passed, &barrier->mutex);
    atomic_fetch_sub(&barrier->sleepers, 1);
    pthread_mutex_unlock(&barrier->mutex);
}

static void await(struct step_barrier *barrier, unsigned turn)
{
    for (int i = 0; i < barrier->spins; i++)
        if (is_passed(barrier, turn))
            return;
    sleep_until_passed(barrier, turn);
}

bool step_barrier_wait(struct step_barrier *barrier)
{
    unsigned turn = atomic_load(&barrier->turn);
    if (atomic_load(&barrier->is_broken))
        return false;
    if (atomic_fetch_add(&barrier->arrived, 1) + 1 < barrier->threads) {
        await(barrier, turn);
        return atomic_load(&barrier->turn) != turn;
    }
    atomic_store(&barrier->arrived, 0);
    atomic_store(&barrier->turn, turn + 1);
    wake_sleepers(barrier);
    return true;
}

void step_barrier_break(struct step_barrier *barrier)
{
    atomic_store(&barrier->is_broken, true);
    wake_sleepers(barrier);
}

/* ---- barrier ---- */

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

/* ---- semaphore ---- */

enum { LINE = 64 };

static size_t round_up(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* ---- memory ---- */

static int64_t block_begin(int64_t masses, int threads, int thread)
{
    int64_t each = masses / threads, more = masses % threads;
    return thread * each + (thread < more ? thread : more);
}

/* Copies of one thread, so that no two threads write to a cache line. */
static size_t ring_bytes(int64_t count)
{
    return round_up((size_t)(count + 2) * sizeof(struct tire_mass));
}

static size_t opposite_bytes(int64_t count)
{
    return round_up((size_t)count * sizeof(struct tire_mass));
}

/* One thread has no copies, but the forces across on one half. */
static size_t copies_bytes(int64_t masses, int threads)
{
    size_t bytes = 0;
    if (threads == 1)
        return (size_t)masses / 2 * sizeof(struct tire_force);
    for (int i = 0; i < threads; i++) {
        int64_t count = block_begin(masses, threads, i + 1) - block_begin(masses, threads, i);
        bytes += ring_bytes(count) + opposite_bytes(count);
    }
    return bytes;
}

/* The start is made as arrays, in the room of the copies or, for one thread, behind it. */
static size_t start_offset(int64_t masses, int threads)
{
    return round_up((size_t)masses * sizeof(struct gated_mass)) +
           (threads == 1 ? round_up(copies_bytes(masses, threads)) : 0);
}

size_t solver_semaphore_bytes(int64_t masses, int threads)
{
    size_t shared = round_up((size_t)masses * sizeof(struct gated_mass));
    size_t with_copies = shared + copies_bytes(masses, threads);
    size_t with_start = start_offset(masses, threads) + tire_state_bytes(masses);
    return with_copies > with_start ? with_copies : with_start;
}

static int make_gates(struct solver_semaphore *solver)
{
    for (int64_t i = 0; i < solver->tire->masses; i++)
        if (sem_init(&solver->masses[i].gate, 0, 1) != 0) {
            int error = errno;
            while (i-- > 0)
                sem_destroy(&solver->masses[i].gate);
            return error;
        }
    return 0;
}

int solver_semaphore_open(struct solver_semaphore *solver, const struct tire *tire, int threads,
                          void *memory)
{
    struct tire_state start;
    size_t shared = round_up((size_t)tire->masses * sizeof(struct gated_mass));
    solver->tire = tire;
    solver->threads = threads;
    solver->masses = memory;
    solver->copies = (char *)memory + shared;
    solver->across = (struct tire_force *)solver->copies;
    tire_state_place(&start, (char *)memory + start_offset(tire->masses, threads), tire->masses);
    tire_start(tire, &start);
    for (int64_t i = 0; i < tire->masses; i++)
        solver->masses[i].mass =
            (struct tire_mass){start.x[i], start.y[i], start.vx[i], start.vy[i]};
    return make_gates(solver);
}

void solver_semaphore_close(struct solver_semaphore *solver)
{
    for (int64_t i = 0; i < solver->tire->masses; i++)
        sem_destroy(&solver->masses[i].gate);
}

void solver_semaphore_part(const struct solver_semaphore *solver, int thread,
                           struct semaphore_part *part)
{
    int64_t masses = solver->tire->masses;
    char *copies = solver->copies;
    *part = (struct semaphore_part){0};
    for (int i = 0; i <= thread; i++) {
        part->begin = block_begin(masses, solver->threads, i);
        part->end = block_begin(masses, solver->threads, i + 1);
        part->ring = (struct tire_mass *)copies;
        copies += ring_bytes(part->end - part->begin);
        part->opposite = (struct tire_mass *)copies;
        copies += opposite_bytes(part->end - part->begin);
    }
    for (int64_t i = part->begin; i < part->end && solver->threads > 1; i++)
        part->ring[i - part->begin + 1] = solver->masses[i].mass;
}

/* ---- a step ---- */

static void enter(struct gated_mass *mass, struct semaphore_part *part)
{
    if (sem_trywait(&mass->gate) == 0)
        return;
    part->blocked++;
    while (sem_wait(&mass->gate) != 0)
        ;
}

static void read_mass(struct gated_mass *mass, struct semaphore_part *part, struct tire_mass *copy)
{
    enter(mass, part);
    *copy = mass->mass;
    sem_post(&mass->gate);
}

void solver_semaphore_read(struct solver_semaphore *solver, struct semaphore_part *part)
{
    int64_t masses = solver->tire->masses, half = masses / 2;
    if (solver->threads == 1)
        return;
    for (int64_t i = part->begin; i < part->end; i++) {
        struct tire_mass *own = &part->ring[i - part->begin + 1];
        int64_t previous = i > 0 ? i - 1 : masses - 1, next = i + 1 < masses ? i + 1 : 0;
        read_mass(&solver->masses[previous], part, own - 1);
        read_mass(&solver->masses[next], part, own + 1);
        read_mass(&solver->masses[i < half ? i + half : i - half], part,
                  &part->opposite[i - part->begin]);
    }
    part->operations += 3 * (uint64_t)(part->end - part->begin);
}

static struct tire_force negative(struct tire_force force)
{
    return (struct tire_force){-force.x, -force.y};
}

/* The force of the spring between a mass and the next one is computed once, before either moves. */
static void compute_block(const struct tire *tire, struct semaphore_part *part)
{
    struct tire_mass *ring = part->ring;
    int64_t count = part->end - part->begin;
    struct tire_force previous = tire_spring(tire, &ring[1], &ring[0], tire->rest_ring_m);
    for (int64_t i = 1; i <= count; i++) {
        struct tire_force next = tire_spring(tire, &ring[i], &ring[i + 1], tire->rest_ring_m);
        struct tire_force across =
            tire_spring(tire, &ring[i], &part->opposite[i - 1], tire->rest_across_m);
        tire_integrate(tire, &ring[i], previous, next, across);
        previous = negative(next);
    }
}

static struct tire_mass *mass_at(struct solver_semaphore *solver, int64_t i)
{
    return &solver->masses[i].mass;
}

/* Springs across first, since they tie masses of which the loop moves one long before the other. */
static void compute_all(struct solver_semaphore *solver)
{
    const struct tire *tire = solver->tire;
    int64_t masses = tire->masses, half = masses / 2;
    for (int64_t i = 0; i < half; i++)
        solver->across[i] =
            tire_spring(tire, mass_at(solver, i), mass_at(solver, i + half), tire->rest_across_m);
    const struct tire_mass first = *mass_at(solver, 0);
    struct tire_force last =
        tire_spring(tire, &first, mass_at(solver, masses - 1), tire->rest_ring_m);
    struct tire_force previous = last;
    for (int64_t i = 0; i < masses; i++) {
        struct tire_force next =
            i + 1 < masses
                ? tire_spring(tire, mass_at(solver, i), mass_at(solver, i + 1), tire->rest_ring_m)
                : negative(last);
        struct tire_force across =
            i < half ? solver->across[i] : negative(solver->across[i - half]);
        tire_integrate(tire, mass_at(solver, i), previous, next, across);
        previous = negative(next);
    }
}

void solver_semaphore_compute(struct solver_semaphore *solver, struct semaphore_part *part)
{
    if (solver->threads == 1)
        compute_all(solver);
    else
        compute_block(solver->tire, part);
}

void solver_semaphore_write(struct solver_semaphore *solver, struct semaphore_part *part)
{
    if (solver->threads == 1)
        return;
    for (int64_t i = part->begin; i < part->end; i++) {
        enter(&solver->masses[i], part);
        *mass_at(solver, i) = part->ring[i - part->begin + 1];
        sem_post(&solver->masses[i].gate);
    }
    part->operations += (uint64_t)(part->end - part->begin);
}

/* As compute_all. The compiler may leave out no access. */
void solver_semaphore_touch(struct solver_semaphore *solver, const struct tire_mass *cached)
{
    const struct tire *tire = solver->tire;
    int64_t masses = tire->masses, half = masses / 2;
    volatile double *touched;
    double sum = 0;
    for (int64_t i = 0; i < half; i++) {
        const struct tire_mass *one = &cached[i % TOUCH_CACHED];
        touched = &mass_at(solver, i)->x;
        sum += *touched;
        touched = &mass_at(solver, i + half)->x;
        sum += *touched;
        solver->across[i] = tire_spring(tire, one, one + 1, tire->rest_across_m);
    }
    struct tire_force previous = {0, 0};
    for (int64_t i = 0; i < masses; i++) {
        const struct tire_mass *one = &cached[i % TOUCH_CACHED];
        struct tire_mass moved = *one;
        struct tire_force next = tire_spring(tire, one, one + 1, tire->rest_ring_m);
        struct tire_force across =
            i < half ? solver->across[i] : negative(solver->across[i - half]);
        tire_integrate(tire, &moved, previous, next, across);
        previous = negative(next);
        touched = &mass_at(solver, i)->x;
        *touched = *touched;
        sum += moved.x + moved.y + moved.vx + moved.vy;
    }
    solver->across[0].x = sum;
}
