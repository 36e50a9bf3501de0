/* Each is the least of several tries of PASSES loops over MASSES masses, so that no disturbance and
 * no cold cache counts. Nothing else is in the loops; their results are used. A semaphore is one
 * wait and post by the only thread, as the solver does them: it does not block. */
#include "base/posix_source.h"

#include "family/simulate/tire_costs.h"

#include "family/simulate/tire.h"

#include <semaphore.h>
#include <string.h>

enum { MASSES = 128, TRIES = 15, PASSES = 8 /* between two stamps, of which some are coarse */ };

struct bench {
    struct tire tire;
    struct tire_mass masses[MASSES + 1];
    struct tire_force forces[MASSES + 1];
    sem_t gate;
};

static __attribute__((noinline)) void do_springs(struct bench *bench)
{
    for (int i = 0; i < MASSES; i++)
        bench->forces[i] = tire_spring(&bench->tire, &bench->masses[i], &bench->masses[i + 1],
                                       bench->tire.rest_ring_m);
}

static __attribute__((noinline)) void do_masses(struct bench *bench)
{
    for (int i = 0; i < MASSES; i++)
        tire_integrate(&bench->tire, &bench->masses[i], bench->forces[i], bench->forces[i + 1],
                       bench->forces[i]);
}

static __attribute__((noinline)) void do_semaphores(struct bench *bench)
{
    for (int i = 0; i < MASSES; i++) {
        if (sem_trywait(&bench->gate) == 0)
            sem_post(&bench->gate);
    }
}

static double least_ns(struct run *run, struct bench *bench, void (*act)(struct bench *bench))
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = clock_begin(&run->clock);
        for (int pass = 0; pass < PASSES; pass++)
            act(bench);
        int64_t ns = clock_ns(&run->clock, clock_end(&run->clock) - begin);
        least = ns < least ? ns : least;
    }
    return (double)least / (MASSES * PASSES);
}

/* Masses apart from each other, so that no spring has the length 0. */
static void fill(struct bench *bench, int64_t step_ns, int64_t stiffness_per_s2)
{
    memset(bench, 0, sizeof *bench);
    tire_init(&bench->tire, MASSES, step_ns, stiffness_per_s2);
    for (int i = 0; i <= MASSES; i++)
        bench->masses[i] = (struct tire_mass){0.01 * i, 1.0 + 0.001 * (i % 7), 0.1, -0.1};
}

void tire_costs_tell(struct run *run, int64_t step_ns, int64_t stiffness_per_s2)
{
    struct bench bench;
    fill(&bench, step_ns, stiffness_per_s2);
    if (sem_init(&bench.gate, 0, 1) != 0)
        return;
    double spring_ns = least_ns(run, &bench, do_springs);
    double mass_ns = least_ns(run, &bench, do_masses);
    double semaphore_ns = least_ns(run, &bench, do_semaphores);
    sem_destroy(&bench.gate);
    arena_event(run->arena, "tire_costs", -1,
                DATA(data_number("spring_ns", spring_ns), data_number("mass_ns", mass_ns),
                     data_number("semaphore_ns", semaphore_ns),
                     data_integer("masses_count", MASSES)),
                "on one thread a spring takes %.1f ns, a mass %.1f ns, a semaphore %.1f ns",
                spring_ns, mass_ns, semaphore_ns);
}
