/* Each read and write of a mass by the solver `semaphore` is within its semaphore, in the order of
 * the paper. While a semaphore is held here, the mass has another value. */
#include "base/posix_source.h"

#include "family/simulate/solver.h"
#include "tap.h"

enum { MASSES = 12, THREADS = 3, EVENTS = 4 * MASSES, STEP_NS = 10000000 };

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
    for (int64_t i = 0; i < MASSES; i++)
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
    return (i + MASSES) % MASSES;
}

/* Masses that move, so that a write changes them. */
static void open_solver(struct solver_semaphore *solver, const struct tire *tire, void *memory)
{
    memset(&watch, 0, sizeof watch);
    CHECK_SAME(solver_semaphore_open(solver, tire, THREADS, memory), 0);
    watch.masses = solver->masses;
    for (int64_t i = 0; i < MASSES; i++)
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
        CHECK_SAME(order[2], around(i + MASSES / 2));
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
    tire_init(&tire, MASSES, STEP_NS, 0);
    void *memory = aligned_alloc(64, (solver_semaphore_bytes(MASSES, THREADS) + 63) / 64 * 64);
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

TEST(within_semaphores)
{
    for (int thread = 0; thread < THREADS && tap_is_wrapped(); thread++)
        check_thread(thread, false);
}

/* Each is counted once as blocked. */
TEST(taken_semaphores)
{
    for (int thread = 0; thread < THREADS && tap_is_wrapped(); thread++)
        check_thread(thread, true);
}
