/* What the parts of a step cost: from made-up stamps of threads, and timed with a clock of which
 * each reading takes the same time. */
#include "base/posix_source.h"

#include "family/simulate/team.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t now_ns, reading_ns;

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    now_ns += reading_ns;
    *time = clock_ns_timespec(now_ns);
    return 0;
}

enum { MASSES = 400, PERIOD_NS = 1000 };

static struct thread_costs threads[2];
static struct step_costs joined;
static struct cost_releases releases;

static bool is_near(double one, double other)
{
    return fabs(one - other) < 1e-6;
}

static struct cost_range flat(double ns)
{
    return (struct cost_range){ns - 1, ns, ns + 1};
}

/* Loops of 10 and 20 ns, springs of half of that; two times. Steps of both times begin 100 ns after
 * their releases, and take 300 ns with a pause of 50 ns; the second thread ends 30 ns later. */
static void make_threads(int64_t period_ns)
{
    memset(threads, 0, sizeof threads);
    releases = (struct cost_releases){.start_ns = {0, 100000}, .period_ns = period_ns};
    for (int i = 0; i < 2; i++) {
        threads[i].times = COST_TIMES;
        for (int time = 0; time < COST_TIMES; time++) {
            struct access_times *access = &threads[i].access[time];
            double loop_ns = 10.0 * (i + 1) + 2 * time;
            threads[i].arithmetic[time] =
                (struct arithmetic_costs){flat(loop_ns / 2), flat(loop_ns), flat(5), flat(0.5)};
            access->steps = 4 - i;
            access->each = 1;
            access->pause_ns = 50;
            for (int step = 0; step < access->steps; step++) {
                int64_t due_ns = releases.start_ns[time] + step * PERIOD_NS;
                access->begin_ns[step] = due_ns + 100 + 10 * i;
                access->end_ns[step] = due_ns + 400 + 30 * i;
            }
        }
    }
}

/* The thread that takes longest gives the arithmetic; a step is from the first begin to the last
 * end, without the pause; only steps count that all threads have done. */
TEST(threads_together)
{
    make_threads(PERIOD_NS);
    step_costs_join(&joined, threads, 2, MASSES, &releases);
    CHECK_SAME(joined.steps, 6);
    CHECK(is_near(joined.loop.mean_ns, 21) && is_near(joined.spring.mean_ns, 10.5));
    CHECK(is_near(joined.loop.low_ns, 9) && is_near(joined.loop.high_ns, 23));
    CHECK(is_near(joined.springs_each, 2));
    CHECK(is_near(joined.access.mean_ns, 430 - 100 - 50));
    CHECK(is_near(joined.dispatch.mean_ns, 100));
}

/* What one thread takes for its accesses in the cache is subtracted, and no time is below 0. */
TEST(one_thread)
{
    make_threads(PERIOD_NS);
    step_costs_join(&joined, threads, 1, MASSES, &releases);
    CHECK(is_near(joined.springs_each, 1.5));
    CHECK(is_near(joined.access.mean_ns, 300 - 50 - 0.5 * MASSES));
    step_costs_join(&joined, threads, 1, 10 * MASSES, &releases);
    CHECK(is_near(joined.access.mean_ns, 0));
}

/* As fast as possible: the thread that took longest, over the steps of each round. */
TEST(without_releases)
{
    make_threads(0);
    for (int time = 0; time < COST_TIMES; time++)
        threads[0].access[time].each = threads[1].access[time].each = 2;
    step_costs_join(&joined, threads, 2, MASSES, &releases);
    CHECK(is_near(joined.access.mean_ns, 320.0 / 2 - 50));
    CHECK(is_near(joined.dispatch.mean_ns, 0));
}

/* A repeat in ten on either side is left out of the mean. */
TEST(deciles)
{
    make_threads(PERIOD_NS);
    for (int i = 0; i < 2; i++)
        for (int time = 0; time < COST_TIMES; time++) {
            struct access_times *access = &threads[i].access[time];
            access->steps = 5;
            for (int step = 0; step < 5; step++) {
                access->begin_ns[step] = step * PERIOD_NS;
                access->end_ns[step] = step * PERIOD_NS + 150;
            }
        }
    releases.start_ns[COST_AFTER] = 0;
    threads[0].access[COST_BEFORE].end_ns[2] += 1000000; /* somebody else had the CPU */
    step_costs_join(&joined, threads, 2, MASSES, &releases);
    CHECK_SAME(joined.steps, 10);
    CHECK(is_near(joined.access.mean_ns, 100) && is_near(joined.access.high_ns, 100));
}

/* A team that was stopped has timed nothing, or only before its first step. */
TEST(stopped)
{
    make_threads(PERIOD_NS);
    threads[1].times = 1;
    step_costs_join(&joined, threads, 2, MASSES, &releases);
    CHECK_SAME(joined.steps, 3);
    threads[1].times = 0;
    step_costs_join(&joined, threads, 2, MASSES, &releases);
    CHECK_SAME(joined.steps, 0);
}

/* By a clock that goes on with each reading only: one reading for each of 128 masses and 8 passes.
 */
TEST(arithmetic)
{
    struct clock clock;
    struct tire tire;
    tire_init(&tire, MASSES, 10000000, 0);
    memset(threads, 0, sizeof threads);
    clock_open(&clock, false, 0);
    reading_ns = COST_MASSES * 8 * 3;
    for (int alone = 0; alone < COST_TIMES; alone++)
        CHECK_SAME(thread_costs_time(&threads[0], &clock, &tire, alone == 1), 0);
    reading_ns = 0;
    CHECK_SAME(threads[0].times, COST_TIMES);
    for (int time = 0; time < COST_TIMES; time++) {
        const struct arithmetic_costs *one = &threads[0].arithmetic[time];
        CHECK(is_near(one->spring.mean_ns, 3) && is_near(one->loop.mean_ns, 3));
        CHECK(is_near(one->semaphore.mean_ns, 3) && is_near(one->touch.mean_ns, 3));
    }
}

/* Nothing that is timed on the memory of a simulation changes it. */
TEST(simulation_stays)
{
    struct tire tire;
    struct solver_semaphore solver;
    struct tire_mass before[MASSES];
    size_t bytes = (solver_semaphore_bytes(MASSES, 1) + 63) / 64 * 64;
    char *memory = aligned_alloc(64, bytes);
    tire_init(&tire, MASSES, 10000000, 0);
    memset(memory, 0, bytes);
    CHECK_SAME(solver_semaphore_open(&solver, &tire, 1, memory), 0);
    for (int i = 0; i < MASSES; i++)
        before[i] = solver.masses[i].mass;
    solver_semaphore_touch(&solver, threads[0].ring);
    for (int i = 0; i < MASSES; i++)
        CHECK(memcmp(&before[i], &solver.masses[i].mass, sizeof before[i]) == 0);
    solver_semaphore_close(&solver);
    free(memory);
}
