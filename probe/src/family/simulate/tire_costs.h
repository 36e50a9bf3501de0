/* What the parts of a step cost with the solver `semaphore`, timed by the threads of a simulation
 * apart from its steps: on their CPUs, at their policy, all of them at once. No step of the
 * simulation is in it.
 *
 *   arithmetic  springs alone, then masses with their springs in the solver's own loop, over
 *               COST_MASSES masses that are in the cache and that no other thread has. A mass is
 *               what the loop takes beyond its springs: timed apart, both would overlap less.
 *   access      the reads and writes of a step on the memory of the simulation, released as its
 *               steps are: semaphores, cache lines that other threads have written, threads that
 *               meet at one mass. In place of the arithmetic each thread spins as long as that
 *               takes, since otherwise threads would meet more often; this is subtracted. One
 *               thread touches each cache line next to arithmetic on masses in the cache, which
 *               hides a part of it; what that takes with all lines in the cache is subtracted. The
 *               simulation stays as it is.
 *
 * Both are timed before the first step and after the last, since CPUs change their speed. In real
 * time the steps of `access` have releases of their own, so that they come after a sleep as those
 * of the simulation do. */
#ifndef HS_FAMILY_SIMULATE_TIRE_COSTS_H
#define HS_FAMILY_SIMULATE_TIRE_COSTS_H

#include "base/clock.h"
#include "family/simulate/solver.h"

/* At each time COST_LEAST_STEPS however long they take, COST_STEPS within COST_MOST_NS. As fast as
 * possible each is as many as take COST_ROUND_MASSES of a thread, so that threads that meet also
 * part. */
enum {
    COST_MASSES = 128,
    COST_TRIES = 31,
    COST_STEPS = 20,
    COST_LEAST_STEPS = 3,
    COST_ROUND_MASSES = 50000,
};

#define COST_MOST_NS INT64_C(150000000)
#define COST_PERIOD_NS INT64_C(10000000) /* between releases in real time, at most */

/* Of repeats: the mean of those between the first and the ninth decile, and these. Of fewer than
 * ten, of all of them. */
struct cost_range {
    double low_ns, mean_ns, high_ns;
};

enum cost_time { COST_BEFORE, COST_AFTER, COST_TIMES };

struct arithmetic_costs {
    struct cost_range spring, loop, semaphore, touch;
};

/* The access of one thread: `steps` rounds of `each` steps. */
struct access_times {
    int steps;
    int64_t each;
    int64_t pause_ns;                                 /* of each step, in place of its arithmetic */
    int64_t begin_ns[COST_STEPS], end_ns[COST_STEPS]; /* CLOCK_MONOTONIC */
};

/* What one thread times, in memory of its own. */
struct thread_costs {
    struct tire tire;
    struct gated_mass masses[COST_MASSES];
    struct tire_mass ring[COST_MASSES + 2], opposite[COST_MASSES];
    struct tire_force forces[COST_MASSES];
    double tries_ns[COST_TRIES];
    int times; /* 0, or COST_BEFORE + 1 .. COST_TIMES */
    struct arithmetic_costs arithmetic[COST_TIMES];
    struct access_times access[COST_TIMES];
};

/* When the releases of `access` began, and their distance; 0: as fast as possible. */
struct cost_releases {
    int64_t start_ns[COST_TIMES], period_ns;
};

/* Of all threads together. The arithmetic is that of the thread that takes longest, the mean of
 * both times; its `low` and `high` are those of all threads and times. `access`: of a step, from
 * its first begin to its last end; as fast as possible, of a step of the thread that took longest.
 * `dispatch`: from a release to the first begin; 0 without releases. `steps` 0: not measured. */
struct step_costs {
    int steps;
    double springs_each; /* in `loop`: of a mass, 1.5 where one thread has all, else 2 */
    struct cost_range spring, loop, semaphore, access, dispatch;
};

/* Times the arithmetic on the calling thread once more, for a tire with this step and these
 * springs. `is_alone`: as one thread does it. Takes about a millisecond. 0, or an errno value. */
int thread_costs_time(struct thread_costs *costs, const struct clock *clock,
                      const struct tire *tire, bool is_alone);

/* `masses`: of the simulation. */
void step_costs_join(struct step_costs *joined, const struct thread_costs *threads, int count,
                     int64_t masses, const struct cost_releases *releases);

#endif
