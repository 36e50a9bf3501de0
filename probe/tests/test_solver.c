/* The parallel solvers of the tire: the barrier's result has the same bits for every number of
 * threads; the semaphores' does where threads do their parts in turn, and stays within bounds where
 * they run freely, each access within its semaphore. Ordinary threads. */
#include "base/posix_source.h"

#include "family/simulate/solver.h"
#include "tap.h"

#include <math.h>
#include <pthread.h>

enum { STEPS = 90, MOST_THREADS = 16, STEP_NS = 10000000 };

static void *aligned(size_t bytes)
{
    static char memory[1 << 20];
    char *place = memory + (64 - (uintptr_t)memory % 64) % 64;
    if (bytes + 64 > sizeof memory)
        abort();
    memset(memory, 0xa5, sizeof memory); /* nothing relies on zeros */
    return place;
}

/* ---- barrier ---- */

struct crew {
    struct solver_barrier solver;
    struct solver_semaphore semaphore;
    struct barrier_part parts[MOST_THREADS];
    struct semaphore_part masses[MOST_THREADS];
};

struct worker {
    struct crew *crew;
    int place;
};

/* `workers`: of so many bytes each. */
static void run_threads(void *workers, size_t bytes, int count, void *(*body)(void *))
{
    pthread_t threads[MOST_THREADS];
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, body, (char *)workers + (size_t)i * bytes) != 0)
            abort();
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void *advance(void *argument)
{
    struct worker *worker = argument;
    struct barrier_part *part = &worker->crew->parts[worker->place];
    for (int step = 0; step < STEPS; step++) {
        solver_barrier_compute(&worker->crew->solver, part);
        solver_barrier_pass(&worker->crew->solver, part);
    }
    return NULL;
}

static void *advance_freely(void *argument)
{
    struct worker *worker = argument;
    struct solver_semaphore *solver = &worker->crew->semaphore;
    struct semaphore_part *part = &worker->crew->masses[worker->place];
    for (int step = 0; step < STEPS; step++) {
        solver_semaphore_read(solver, part);
        solver_semaphore_compute(solver, part);
        solver_semaphore_write(solver, part);
    }
    return NULL;
}

static void run_crew(struct crew *crew, int count, void *(*body)(void *))
{
    struct worker workers[MOST_THREADS];
    for (int i = 0; i < count; i++)
        workers[i] = (struct worker){crew, i};
    run_threads(workers, sizeof workers[0], count, body);
}

static void keep(const struct tire_state *state, int64_t masses, double *result)
{
    for (int64_t i = 0; i < masses; i++) {
        result[4 * i] = state->x[i];
        result[4 * i + 1] = state->y[i];
        result[4 * i + 2] = state->vx[i];
        result[4 * i + 3] = state->vy[i];
    }
}

static void run_barrier(const struct tire *tire, int threads, int cpus, enum tire_code code,
                        double *result)
{
    static struct crew crew;
    void *memory = aligned(solver_barrier_bytes(tire->masses));
    CHECK_SAME(solver_barrier_open(&crew.solver, tire, threads, cpus, code, memory), 0);
    for (int i = 0; i < threads; i++)
        solver_barrier_part(&crew.solver, i, &crew.parts[i]);
    run_crew(&crew, threads, advance);
    keep(&crew.solver.states[STEPS % 2], tire->masses, result);
    solver_barrier_close(&crew.solver);
}

static void check_bits(const double *got, const double *wanted, int64_t masses)
{
    CHECK(memcmp(got, wanted, (size_t)masses * 4 * sizeof *got) == 0);
}

/* Sizes whose half is no multiple of a cache line, and with more threads than lines. */
TEST(same_bits)
{
    static const int64_t sizes[] = {4, 8, 44, 100, 404};
    static const int threads[] = {1, 2, 3, 7, 16};
    double wanted[4 * 404], got[4 * 404];
    for (int i = 0; i < 5; i++) {
        struct tire tire;
        tire_init(&tire, sizes[i], STEP_NS, 0);
        run_barrier(&tire, 1, 1, TIRE_PLAIN, wanted);
        for (int j = 0; j < 10; j++) {
            run_barrier(&tire, threads[j / 2], j % 3, j % 2 ? TIRE_PLAIN : tire_best_code(), got);
            check_bits(got, wanted, sizes[i]);
        }
    }
}

/* Lines of masses that the thread has in the first half. */
static int64_t lines_of(const struct barrier_part *part)
{
    return (part->blocks[0].end - part->blocks[0].begin + TIRE_PAD - 1) / TIRE_PAD;
}

TEST(parts_are_alike_and_cover_all_masses)
{
    static struct solver_barrier solver;
    for (int64_t masses = 4; masses <= 404; masses += 4)
        for (int threads = 1; threads <= 16; threads++) {
            struct tire tire;
            struct barrier_part part;
            int owners[404] = {0};
            int64_t first = 0;
            tire_init(&tire, masses, STEP_NS, 0);
            solver.tire = &tire;
            solver.threads = threads;
            for (int i = 0; i < threads; i++) {
                solver_barrier_part(&solver, i, &part);
                first = i == 0 ? lines_of(&part) : first;
                CHECK(first - lines_of(&part) == 0 || first - lines_of(&part) == 1);
                for (int b = 0; b < 2; b++) {
                    CHECK(part.blocks[b].begin % TIRE_PAD == 0 || part.blocks[b].begin == masses);
                    for (int64_t m = part.blocks[b].begin; m < part.blocks[b].end; m++)
                        owners[m]++;
                }
            }
            for (int64_t m = 0; m < masses; m++)
                CHECK_SAME(owners[m], 1);
        }
}

/* ---- semaphore ---- */

static void open_semaphore(struct crew *crew, const struct tire *tire, int threads)
{
    void *memory = aligned(solver_semaphore_bytes(tire->masses, threads));
    CHECK_SAME(solver_semaphore_open(&crew->semaphore, tire, threads, memory), 0);
    for (int i = 0; i < threads; i++)
        solver_semaphore_part(&crew->semaphore, i, &crew->masses[i]);
}

static void keep_masses(const struct solver_semaphore *solver, double *result)
{
    for (int64_t i = 0; i < solver->tire->masses; i++)
        memcpy(result + 4 * i, &solver->masses[i].mass, 4 * sizeof *result);
}

/* Each part of a step by one thread after another: no mass is read too early or too late. */
static void run_in_turn(const struct tire *tire, int threads, double *result)
{
    static struct crew crew;
    open_semaphore(&crew, tire, threads);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < threads; i++)
            solver_semaphore_read(&crew.semaphore, &crew.masses[i]);
        for (int i = 0; i < threads; i++)
            solver_semaphore_compute(&crew.semaphore, &crew.masses[i]);
        for (int i = 0; i < threads; i++)
            solver_semaphore_write(&crew.semaphore, &crew.masses[i]);
    }
    keep_masses(&crew.semaphore, result);
    solver_semaphore_close(&crew.semaphore);
}

TEST(semaphores_in_turn)
{
    static const int64_t sizes[] = {4, 8, 44, 100};
    static const int threads[] = {1, 2, 3, 4};
    double wanted[400], got[400];
    for (int i = 0; i < 4; i++) {
        struct tire tire;
        tire_init(&tire, sizes[i], STEP_NS, 0);
        run_barrier(&tire, 1, 1, TIRE_PLAIN, wanted);
        for (int j = 0; j < 4; j++) {
            run_in_turn(&tire, threads[j], got);
            check_bits(got, wanted, sizes[i]);
        }
    }
}

/* Threads that run apart see masses of other steps: the tire stays a tire, and every semaphore is
 * free again. */
TEST(semaphores_freely)
{
    static struct crew crew;
    struct tire tire;
    tire_init(&tire, 44, STEP_NS, 0);
    open_semaphore(&crew, &tire, 7);
    run_crew(&crew, 7, advance_freely);
    for (int i = 0; i < 44; i++) {
        const struct gated_mass *mass = &crew.semaphore.masses[i];
        int value = -1;
        CHECK(fabs(mass->mass.x) < 5 && mass->mass.y >= 0 && mass->mass.y < 5);
        CHECK(isfinite(mass->mass.vx) && isfinite(mass->mass.vy));
        CHECK_SAME(sem_getvalue((sem_t *)&mass->gate, &value), 0);
        CHECK_SAME(value, 1);
    }
    solver_semaphore_close(&crew.semaphore);
}

/* The paper's 3e reads and e writes. */
TEST(operations)
{
    static struct crew crew;
    struct tire tire;
    uint64_t sum = 0;
    tire_init(&tire, 44, STEP_NS, 0);
    open_semaphore(&crew, &tire, 3);
    for (int i = 0; i < 3; i++) {
        struct semaphore_part *part = &crew.masses[i];
        CHECK(part->end - part->begin == 14 || part->end - part->begin == 15);
        solver_semaphore_read(&crew.semaphore, part);
        CHECK_SAME(part->operations, 3 * (part->end - part->begin));
        solver_semaphore_compute(&crew.semaphore, part);
        solver_semaphore_write(&crew.semaphore, part);
        CHECK_SAME(part->operations, 4 * (part->end - part->begin));
        CHECK_SAME(part->blocked, 0);
        sum += part->operations;
    }
    CHECK_SAME(sum, 4 * 44);
    solver_semaphore_close(&crew.semaphore);
    open_semaphore(&crew, &tire, 1);
    solver_semaphore_read(&crew.semaphore, &crew.masses[0]);
    solver_semaphore_write(&crew.semaphore, &crew.masses[0]);
    CHECK_SAME(crew.masses[0].operations, 0);
    solver_semaphore_close(&crew.semaphore);
}

TEST(memory)
{
    int64_t masses = 100000;
    size_t most = (size_t)masses * (100 + sizeof(sem_t));
    CHECK(solver_barrier_bytes(masses) <= (size_t)masses * 100);
    for (int threads = 1; threads <= 256; threads *= 2)
        CHECK(solver_semaphore_bytes(masses, threads) <= most);
}

/* ---- the barrier itself ---- */

enum { TURNS = 300 };

struct walker {
    struct step_barrier *barrier;
    atomic_int *turns; /* of all */
    int place, count;
    bool is_apart; /* somebody was not in the same turn */
};

static void *walk(void *argument)
{
    struct walker *walker = argument;
    for (int turn = 1; turn <= TURNS; turn++) {
        atomic_store_explicit(&walker->turns[walker->place], turn, memory_order_relaxed);
        if (!step_barrier_wait(walker->barrier))
            walker->is_apart = true;
        for (int i = 0; i < walker->count; i++) {
            int other = atomic_load_explicit(&walker->turns[i], memory_order_relaxed);
            walker->is_apart |= other != turn && other != turn + 1;
        }
    }
    return NULL;
}

static void walk_together(int count, int cpus)
{
    struct walker walkers[MOST_THREADS];
    atomic_int turns[MOST_THREADS] = {0};
    struct step_barrier barrier;
    CHECK_SAME(step_barrier_open(&barrier, count, cpus), 0);
    for (int i = 0; i < count; i++)
        walkers[i] = (struct walker){&barrier, turns, i, count, false};
    run_threads(walkers, sizeof walkers[0], count, walk);
    for (int i = 0; i < count; i++)
        CHECK(!walkers[i].is_apart);
    step_barrier_close(&barrier);
}

TEST(barrier)
{
    walk_together(16, 2); /* all sleep */
    walk_together(2, 2);  /* they spin, where there are two CPUs */
    walk_together(3, 0);
}

static void *wait_once(void *argument)
{
    struct step_barrier *barrier = argument;
    return step_barrier_wait(barrier) ? barrier : NULL;
}

TEST(broken_barrier)
{
    struct step_barrier barrier;
    pthread_t threads[3];
    void *passed = NULL;
    CHECK_SAME(step_barrier_open(&barrier, 4, 1), 0);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, wait_once, &barrier) != 0)
            abort();
    step_barrier_break(&barrier); /* before or after they wait */
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &passed);
        CHECK(passed == NULL);
    }
    CHECK(!step_barrier_wait(&barrier));
    step_barrier_close(&barrier);
}

/* ---- semaphores around each mass ---- */

/* Each read and write of a mass by the solver `semaphore` is within its semaphore, in the order of
 * the paper. While a semaphore is held here, the mass has another value. */
enum { GATED_MASSES = 12, GATED_THREADS = 3, EVENTS = 4 * GATED_MASSES };

#define HELD_M 100.0 /* x and vx of a mass whose semaphore is held */

static struct {
    struct gated_mass *masses;
    bool is_watched, is_writing, is_taken; /* taken: the first look at a semaphore finds it so */
    int held, events, wrong;
    int64_t order[EVENTS];
    double before_m;
} watch;

static int64_t mass_of(const sem_t *gate)
{
    for (int64_t i = 0; i < GATED_MASSES; i++)
        if (gate == &watch.masses[i].gate)
            return i;
    watch.wrong++;
    return 0;
}

static void take(const sem_t *gate)
{
    int64_t i = mass_of(gate);
    watch.wrong += watch.held++ != 0 || watch.events >= EVENTS;
    if (watch.events < EVENTS)
        watch.order[watch.events++] = i;
    if (!watch.is_writing)
        watch.masses[i].mass.x += HELD_M;
    watch.before_m = watch.masses[i].mass.x;
}

WRAP(int, sem_trywait, sem_t *gate)
{
    if (!watch.is_watched)
        return __real_sem_trywait(gate);
    if (watch.is_taken)
        return -1;
    take(gate);
    return __real_sem_trywait(gate);
}

WRAP(int, sem_wait, sem_t *gate)
{
    if (watch.is_watched)
        take(gate);
    return __real_sem_wait(gate);
}

WRAP(int, sem_post, sem_t *gate)
{
    if (watch.is_watched) {
        struct tire_mass *mass = &watch.masses[mass_of(gate)].mass;
        watch.wrong += --watch.held != 0 || (watch.is_writing && mass->x == watch.before_m);
        if (!watch.is_writing)
            mass->x -= HELD_M;
    }
    return __real_sem_post(gate);
}

static int64_t around(int64_t i)
{
    return (i + GATED_MASSES) % GATED_MASSES;
}

/* Masses that move, so that a write changes them. */
static void open_solver(struct solver_semaphore *solver, const struct tire *tire, void *memory)
{
    memset(&watch, 0, sizeof watch);
    CHECK_SAME(solver_semaphore_open(solver, tire, GATED_THREADS, memory), 0);
    watch.masses = solver->masses;
    for (int64_t i = 0; i < GATED_MASSES; i++)
        solver->masses[i].mass.vx = 1.0 + (double)i;
}

static void check_read(struct solver_semaphore *solver, struct semaphore_part *part)
{
    watch.is_watched = true;
    solver_semaphore_read(solver, part);
    watch.is_watched = false;
    CHECK_SAME(watch.events, 3 * (part->end - part->begin));
    for (int64_t i = part->begin; i < part->end; i++) {
        const int64_t *order = &watch.order[3 * (i - part->begin)];
        CHECK_SAME(order[0], around(i - 1));
        CHECK_SAME(order[1], around(i + 1));
        CHECK_SAME(order[2], around(i + GATED_MASSES / 2));
        CHECK(part->opposite[i - part->begin].x > HELD_M / 2);
        CHECK(part->ring[i - part->begin].x > HELD_M / 2);
        CHECK(part->ring[i - part->begin + 2].x > HELD_M / 2);
    }
}

static void check_write(struct solver_semaphore *solver, struct semaphore_part *part)
{
    watch.events = 0;
    watch.is_watched = watch.is_writing = true;
    solver_semaphore_write(solver, part);
    watch.is_watched = watch.is_writing = false;
    CHECK_SAME(watch.events, part->end - part->begin);
    for (int64_t i = part->begin; i < part->end; i++) {
        CHECK_SAME(watch.order[i - part->begin], i);
        CHECK(solver->masses[i].mass.x > HELD_M / 2);
    }
}

static void check_thread(int thread, bool is_taken)
{
    static struct solver_semaphore solver;
    struct tire tire;
    struct semaphore_part part;
    tire_init(&tire, GATED_MASSES, STEP_NS, 0);
    void *memory =
        aligned_alloc(64, (solver_semaphore_bytes(GATED_MASSES, GATED_THREADS) + 63) / 64 * 64);
    if (!CHECK(memory != NULL))
        return;
    open_solver(&solver, &tire, memory);
    solver_semaphore_part(&solver, thread, &part);
    watch.is_taken = is_taken;
    check_read(&solver, &part);
    CHECK_SAME(part.blocked, is_taken ? 3 * (part.end - part.begin) : 0);
    for (int64_t i = part.begin; i < part.end; i++)
        part.ring[i - part.begin + 1].x = HELD_M + (double)i; /* computed */
    check_write(&solver, &part);
    CHECK_SAME(part.blocked, is_taken ? part.operations : 0);
    CHECK_SAME(watch.wrong, 0);
    solver_semaphore_close(&solver);
    free(memory);
}

/* One that is taken is counted once as blocked. */
WRAP_TEST(within_semaphores)
{
    for (int i = 0; i < 2 * GATED_THREADS; i++)
        check_thread(i / 2, i % 2 == 1);
}
