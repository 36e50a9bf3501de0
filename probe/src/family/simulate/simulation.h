/* What SIM-S-RT and SIM-P-RF share: parameters, memory, and one simulation with its threads. */
#ifndef HS_FAMILY_SIMULATE_SIMULATION_H
#define HS_FAMILY_SIMULATE_SIMULATION_H

#include "family/simulate/team.h"
#include "run/run.h"
#include "run/variant.h"

#define SIMULATION_MASSES INT64_C(4000000)

extern const char *const simulation_solvers[];

/* First parameters of both tests. */
#define SIMULATION_PARAMS                                                                          \
    {"masses",   PARAM_COUNT,       true, "400",                                                   \
     TIRE_LEAST, SIMULATION_MASSES, NULL, "masses of the tire, a multiple of 4",                   \
     "masses"},                                                                                    \
        {"threads", PARAM_COUNT, true, "1,2", 1, TEAM_THREADS, NULL, "threads that share it",      \
         "threads"},                                                                               \
        {"solver",                                                                                 \
         PARAM_NAME,                                                                               \
         true,                                                                                     \
         "semaphore",                                                                              \
         0,                                                                                        \
         0,                                                                                        \
         simulation_solvers,                                                                       \
         "semaphore: one for each mass, as published; barrier: one barrier per step",              \
         "solver"},                                                                                \
        {"policy", PARAM_NAME, true,         "run",                                                \
         0,        0,          policy_names, "scheduling of the threads; run: as --policy",        \
         "policy"},                                                                                \
    {                                                                                              \
        "step_ns", PARAM_NS, false, "10ms", 1000, INT64_C(10000000000), NULL,                      \
            "simulated time of a step", NULL                                                       \
    }

/* The rest of them, behind those of one test. */
#define SIMULATION_MORE_PARAMS                                                                     \
    {"stiffness_per_s2",                                                                           \
     PARAM_COUNT,                                                                                  \
     false,                                                                                        \
     "0",                                                                                          \
     0,                                                                                            \
     INT64_C(1000000000000),                                                                       \
     NULL,                                                                                         \
     "stiffness of a spring over the mass of one point; 0: a tenth of 1/step^2",                   \
     NULL},                                                                                        \
        {"frames", PARAM_COUNT, false, "0", 0, 64, NULL, "pictures of the tire to keep", NULL},    \
    {                                                                                              \
        "block_steps", PARAM_COUNT, false, "0", 0, 64, NULL,                                       \
            "number of first steps whose times are kept for each thread", NULL                     \
    }

/* run->own of both tests. */
struct simulation {
    struct run *run;
    struct tire tire;
    enum solver solver;
    enum policy policy; /* of this variant, never POLICY_RUN */
    struct team team;
    struct step_ring *ring;
    void *block; /* of the heap, that holds all that follows */
    size_t bytes;
    char *solver_memory;
    struct step_block *blocks;
    struct thread_costs *costs;
    bool has_costs;                      /* of the current variant */
    bool is_busy;                        /* the latest variant had used up real-time budget */
    int64_t wall_ns;                     /* from the first release to the end of the last thread */
    bool is_behind_stop;                 /* of SIM-S-RT: late since the program was stopped */
    bool has_looked_late, was_late_once; /* of SIM-S-RT: see its `late_once` */
    char late_evidence[200];
};

/* Steps of the life cycle. `steps`: of one simulation; 0: not known. */
int simulation_check(struct run *run);
bool simulation_has_variant(const struct run *run, struct variant *variant);
int simulation_declare(struct run *run, int64_t expected_ns);
int simulation_prepare(struct run *run);
void simulation_finish(struct run *run);
int simulation_judge(struct run *run);

/* Steps that parameter simulated_s stands for; 0: it is 0. */
uint64_t simulation_steps(const struct run *run);

/* CPUs that threads of the simulation may use; 0: not known. */
int simulation_cpus(const struct run *run);

/* Runs the current variant once: `steps` steps, in real time if `period_ns` is not 0, until
 * `limit_ns` at the latest (as fast as possible; INT64_MAX: no limit). 0, or -1 with the outcome.
 */
int simulation_run(struct simulation *simulation, uint64_t steps, int64_t period_ns,
                   int64_t limit_ns);

/* Steps that all threads have finished. */
uint64_t simulation_finished(const struct simulation *simulation);

/* Reports the variant that has run, as the event `simulation`. `counts`: of real time, else NULL.
 */
void simulation_report(struct simulation *simulation, const struct step_counts *counts);

/* Forgets that the costs of the current variant were timed: each variant has the event
 * `tire_costs` once, with its first simulation. */
static inline void simulation_begin_variant(struct simulation *simulation)
{
    simulation->has_costs = false;
}

/* Keeps its blocks as tables, where they were asked for: once a variant. */
void simulation_keep_blocks(const struct simulation *simulation);

/* Pictures of the tire: the table `frame` of a result, one for each moment. The tire of the run
 * (its first number of masses, its step and stiffness) is simulated again, on one thread, after
 * measuring: nothing of it is in what was measured. */

enum { TIRE_FRAME_ROWS = 512 }; /* of one picture, at most: each every_count-th mass is in it */

/* Room for the pictures that parameter `frames` asks for: to be called by `declare`. */
void tire_plan_frames(struct run *run);

/* Keeps them: evenly spaced over simulated_s, or 1.5 s where that is 0. Ends with the event
 * frames_cut after half a second, or where there is no memory. */
void tire_keep_frames(const struct run *run);

#endif
