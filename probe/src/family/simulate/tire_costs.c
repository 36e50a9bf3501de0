#include "base/posix_source.h"

#include "family/simulate/tire_costs.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { PASSES = 8 /* between two stamps, of which some are coarse */, DECILE = 10 };

#define APART_M 0.01

/* ---- ranges ---- */

static void sort(double *values, int count)
{
    for (int i = 1; i < count; i++) {
        double value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* Sorts `values`. */
static struct cost_range range_of(double *values, int count)
{
    int left_out = count / DECILE;
    double sum = 0;
    sort(values, count);
    for (int i = left_out; i < count - left_out; i++)
        sum += values[i];
    return (struct cost_range){values[left_out], sum / (count - 2 * left_out),
                               values[count - 1 - left_out]};
}

/* ---- arithmetic ---- */

static __attribute__((noinline)) void do_springs(struct thread_costs *costs)
{
    for (int i = 0; i < COST_MASSES; i++)
        costs->forces[i] = tire_spring(&costs->tire, &costs->ring[i], &costs->ring[i + 1],
                                       costs->tire.rest_ring_m);
}

static void do_loop_alone(struct thread_costs *costs)
{
    struct solver_semaphore solver = {
        .tire = &costs->tire, .threads = 1, .masses = costs->masses, .across = costs->forces};
    solver_semaphore_compute(&solver, &(struct semaphore_part){0});
}

static void do_loop_of_block(struct thread_costs *costs)
{
    struct solver_semaphore solver = {.tire = &costs->tire, .threads = 2};
    struct semaphore_part part = {
        .end = COST_MASSES, .ring = costs->ring, .opposite = costs->opposite};
    solver_semaphore_compute(&solver, &part);
}

static __attribute__((noinline)) void do_semaphores(struct thread_costs *costs)
{
    for (int i = 0; i < COST_MASSES; i++)
        if (sem_trywait(&costs->masses[0].gate) == 0)
            sem_post(&costs->masses[0].gate);
}

/* Masses apart from each other, so that no spring has the length 0. */
static struct tire_mass mass_of(int i)
{
    return (struct tire_mass){APART_M * i, 1.0 + 0.001 * (i % 7), 0.1, -0.1};
}

/* Before each try, since the loops move the masses. */
static void fill(struct thread_costs *costs)
{
    for (int i = 0; i < COST_MASSES; i++) {
        costs->masses[i].mass = mass_of(i);
        costs->opposite[i] = mass_of(i + COST_MASSES / 2);
    }
    for (int i = 0; i < COST_MASSES + 2; i++)
        costs->ring[i] = mass_of(i);
}

static struct cost_range time_of(struct thread_costs *costs, const struct clock *clock,
                                 void (*act)(struct thread_costs *costs))
{
    for (int i = 0; i < COST_TRIES; i++) {
        fill(costs);
        act(costs); /* into the cache */
        uint64_t begin = clock_begin(clock);
        for (int pass = 0; pass < PASSES; pass++)
            act(costs);
        int64_t ns = clock_ns(clock, clock_end(clock) - begin);
        costs->tries_ns[i] = (double)ns / (COST_MASSES * PASSES);
    }
    return range_of(costs->tries_ns, COST_TRIES);
}

static void do_touches(struct thread_costs *costs)
{
    struct solver_semaphore solver = {
        .tire = &costs->tire, .threads = 1, .masses = costs->masses, .across = costs->forces};
    solver_semaphore_touch(&solver, costs->ring);
}

int thread_costs_time(struct thread_costs *costs, const struct clock *clock,
                      const struct tire *tire, bool is_alone)
{
    struct arithmetic_costs *arithmetic = &costs->arithmetic[costs->times];
    costs->tire = *tire;
    costs->tire.masses = COST_MASSES;
    if (sem_init(&costs->masses[0].gate, 0, 1) != 0)
        return errno;
    arithmetic->spring = time_of(costs, clock, do_springs);
    arithmetic->loop = time_of(costs, clock, is_alone ? do_loop_alone : do_loop_of_block);
    arithmetic->semaphore = time_of(costs, clock, do_semaphores);
    arithmetic->touch = time_of(costs, clock, do_touches);
    sem_destroy(&costs->masses[0].gate);
    costs->times++;
    return 0;
}

/* ---- of all threads ---- */

static double without(double ns, double known_ns)
{
    return ns > known_ns ? ns - known_ns : 0;
}

static double mean_of(const struct thread_costs *costs, size_t offset)
{
    double sum = 0;
    for (int i = 0; i < costs->times; i++)
        sum += ((const struct cost_range *)((const char *)&costs->arithmetic[i] + offset))->mean_ns;
    return sum / costs->times;
}

/* `slowest`: the thread whose mean it is. */
static struct cost_range join_ranges(const struct thread_costs *threads, int count,
                                     const struct thread_costs *slowest, size_t offset)
{
    struct cost_range joined = {INFINITY, mean_of(slowest, offset), 0};
    for (int i = 0; i < count; i++)
        for (int time = 0; time < threads[i].times; time++) {
            const char *place = (const char *)&threads[i].arithmetic[time] + offset;
            const struct cost_range *one = (const struct cost_range *)place;
            joined.low_ns = one->low_ns < joined.low_ns ? one->low_ns : joined.low_ns;
            joined.high_ns = one->high_ns > joined.high_ns ? one->high_ns : joined.high_ns;
        }
    return joined;
}

/* The thread whose loop takes longest. */
static const struct thread_costs *slowest_of(const struct thread_costs *threads, int count)
{
    const struct thread_costs *slowest = threads;
    size_t loop = offsetof(struct arithmetic_costs, loop);
    for (int i = 1; i < count; i++)
        if (mean_of(&threads[i], loop) > mean_of(slowest, loop))
            slowest = &threads[i];
    return slowest;
}

static void join_arithmetic(struct step_costs *joined, const struct thread_costs *threads,
                            int count)
{
    const struct thread_costs *slowest = slowest_of(threads, count);
    joined->spring =
        join_ranges(threads, count, slowest, offsetof(struct arithmetic_costs, spring));
    joined->loop = join_ranges(threads, count, slowest, offsetof(struct arithmetic_costs, loop));
    joined->semaphore =
        join_ranges(threads, count, slowest, offsetof(struct arithmetic_costs, semaphore));
}

/* What one thread takes for its accesses in the cache is part of its loop. */
static void subtract_touches(struct step_costs *joined, const struct thread_costs *one,
                             int64_t masses)
{
    double known_ns = (double)masses * mean_of(one, offsetof(struct arithmetic_costs, touch));
    joined->access = (struct cost_range){without(joined->access.low_ns, known_ns),
                                         without(joined->access.mean_ns, known_ns),
                                         without(joined->access.high_ns, known_ns)};
}

static int common_times(const struct thread_costs *threads, int count)
{
    int times = COST_TIMES;
    for (int i = 0; i < count; i++)
        times = threads[i].times < times ? threads[i].times : times;
    return times;
}

static int common_steps(const struct thread_costs *threads, int count, int time)
{
    int steps = COST_STEPS;
    for (int i = 0; i < count; i++)
        steps = threads[i].access[time].steps < steps ? threads[i].access[time].steps : steps;
    return steps;
}

/* Values of both times. */
struct steps_taken {
    int count;
    double access_ns[COST_TIMES * COST_STEPS], dispatch_ns[COST_TIMES * COST_STEPS];
};

static void take_released(struct steps_taken *taken, const struct thread_costs *threads, int count,
                          int time, const struct cost_releases *releases)
{
    int steps = common_steps(threads, count, time);
    for (int step = 0; step < steps; step++) {
        int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN, pause_ns = 0;
        for (int i = 0; i < count; i++) {
            const struct access_times *one = &threads[i].access[time];
            begin_ns = one->begin_ns[step] < begin_ns ? one->begin_ns[step] : begin_ns;
            end_ns = one->end_ns[step] > end_ns ? one->end_ns[step] : end_ns;
            pause_ns = one->pause_ns > pause_ns ? one->pause_ns : pause_ns;
        }
        int64_t release_ns = releases->start_ns[time] + step * releases->period_ns;
        taken->access_ns[taken->count] = without((double)(end_ns - begin_ns), (double)pause_ns);
        taken->dispatch_ns[taken->count++] = (double)(begin_ns - release_ns);
    }
}

static int64_t length_of(const struct access_times *one, int steps)
{
    return one->end_ns[steps - 1] - one->begin_ns[0];
}

static void take_at_once(struct steps_taken *taken, const struct thread_costs *threads, int count,
                         int time)
{
    int steps = common_steps(threads, count, time);
    const struct access_times *slowest = &threads[0].access[time];
    if (steps == 0)
        return;
    for (int i = 1; i < count; i++)
        if (length_of(&threads[i].access[time], steps) > length_of(slowest, steps))
            slowest = &threads[i].access[time];
    for (int step = 0; step < steps; step++) {
        double ns = (double)(slowest->end_ns[step] - slowest->begin_ns[step]);
        taken->access_ns[taken->count++] =
            without(ns / (double)slowest->each, (double)slowest->pause_ns);
    }
}

void step_costs_join(struct step_costs *joined, const struct thread_costs *threads, int count,
                     int64_t masses, const struct cost_releases *releases)
{
    struct steps_taken taken = {0};
    int times = common_times(threads, count);
    memset(joined, 0, sizeof *joined);
    joined->springs_each = count == 1 ? 1.5 : 2.0;
    for (int time = 0; time < times; time++)
        if (releases->period_ns > 0)
            take_released(&taken, threads, count, time, releases);
        else
            take_at_once(&taken, threads, count, time);
    joined->steps = taken.count;
    if (taken.count == 0)
        return;
    join_arithmetic(joined, threads, count);
    joined->access = range_of(taken.access_ns, taken.count);
    if (releases->period_ns > 0)
        joined->dispatch = range_of(taken.dispatch_ns, taken.count);
    if (count == 1)
        subtract_touches(joined, threads, masses);
}
