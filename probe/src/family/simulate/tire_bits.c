#include "base/posix_source.h"

#include "family/simulate/tire_bits.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "family/simulate/solver_barrier.h"

#include <string.h>

/* MASSES: not a multiple of TIRE_PAD, with more blocks than threads. The numbers of steps are even:
 * the first state of the two has the result. */
enum { MASSES = TIRE_TRIAL_MASSES, TURN_STEPS = 300, THREAD_STEPS = 120, MOST_THREADS = 7 };

#define THREADS_NS INT64_C(1000000000) /* that all steps of some threads may take */

/* ---- blocks in turn ---- */

/* Ends of blocks are multiples of TIRE_PAD, and the last one. */
static int64_t block_begin(int64_t masses, int block, int blocks)
{
    int64_t lines = (masses + TIRE_PAD - 1) / TIRE_PAD, at = lines * block / blocks * TIRE_PAD;
    return at < masses ? at : masses;
}

static void advance_blocks(const struct tire_trial *trial, const struct tire_state *now,
                           const struct tire_state *next, int blocks, enum tire_code code)
{
    const struct tire *tire = &trial->tire;
    for (int block = 0; block < blocks; block++)
        trial->advance(tire, now, next, block_begin(tire->masses, block, blocks),
                       block_begin(tire->masses, block + 1, blocks), code);
}

/* Into `states`, of which the first holds the result: the number of steps is even. */
static void simulate(const struct tire_trial *trial, const struct tire_state *states, int blocks,
                     enum tire_code code, int64_t steps)
{
    tire_trial_start(trial, &states[0]);
    for (int64_t step = 0; step < steps; step++)
        advance_blocks(trial, &states[step % 2], &states[(step + 1) % 2], blocks, code);
}

static bool is_same(const double *one, const double *other)
{
    uint64_t bits, other_bits;
    memcpy(&bits, one, sizeof bits);
    memcpy(&other_bits, other, sizeof other_bits);
    return bits == other_bits;
}

static int64_t different_masses(const struct tire_state *one, const struct tire_state *other)
{
    int64_t count = 0;
    for (int64_t i = 0; i < MASSES; i++)
        count += !is_same(&one->x[i], &other->x[i]) || !is_same(&one->y[i], &other->y[i]) ||
                 !is_same(&one->vx[i], &other->vx[i]) || !is_same(&one->vy[i], &other->vy[i]);
    return count;
}

static int64_t masses_on_floor(const struct tire_state *state)
{
    int64_t count = 0;
    for (int64_t i = 0; i < MASSES; i++)
        count += state->y[i] <= 0.0;
    return count;
}

static const int block_counts[] = {1, 2, 3, MOST_THREADS};
enum { BLOCK_COUNTS = sizeof block_counts / sizeof block_counts[0] };

/* Masses that differ from those of the first state; the plain code in one piece. */
static int64_t try_in_turn(const struct tire_trial *trial, int blocks, enum tire_code code)
{
    simulate(trial, &trial->states[2], blocks, code, TURN_STEPS);
    return different_masses(&trial->states[0], &trial->states[2]);
}

static bool are_same_in_turn(const struct tire_trial *trial, struct tire_finding *found)
{
    simulate(trial, &trial->states[0], 1, TIRE_PLAIN, TURN_STEPS);
    for (enum tire_code code = TIRE_PLAIN; code <= trial->code; code++)
        for (int i = 0; i < BLOCK_COUNTS; i++) {
            int64_t differ = try_in_turn(trial, block_counts[i], code);
            if (differ == 0)
                continue;
            tire_say(found, false,
                     "%d blocks in turn by the code %s: %lld of %d masses differ from one block by "
                     "plain C after %d steps",
                     block_counts[i], tire_code_name(code), (long long)differ, MASSES, TURN_STEPS);
            return false;
        }
    return true;
}

/* ---- threads ---- */

struct crew {
    struct solver_barrier solver;
    int64_t end_ns;
    atomic_bool is_late;
};

struct worker {
    struct rt_thread rt_thread;
    struct crew *crew;
    struct barrier_part part;
};

static void work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    for (int step = 0; step < THREAD_STEPS; step++) {
        if (clock_monotonic_ns() >= crew->end_ns) {
            atomic_store(&crew->is_late, true);
            step_barrier_break(&crew->solver.barrier);
        }
        solver_barrier_compute(&crew->solver, &worker->part);
        if (!solver_barrier_pass(&crew->solver, &worker->part))
            return;
    }
}

/* Those that started wait at their gates until all have; where one could not, they end at once. */
static int run_workers(struct crew *crew, struct worker *workers, int threads)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    int error = 0, started = 0;
    while (started < threads && !error) {
        struct worker *worker = &workers[started];
        worker->crew = crew;
        solver_barrier_part(&crew->solver, started, &worker->part);
        error = rt_thread_start_with_stack(&worker->rt_thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           work, worker);
        started += error ? 0 : 1;
    }
    if (error)
        step_barrier_break(&crew->solver.barrier);
    for (int i = 0; i < started; i++)
        rt_thread_go(&workers[i].rt_thread);
    for (int i = 0; i < started; i++)
        rt_thread_join(&workers[i].rt_thread);
    return error;
}

/* The masses that differ; -1: the threads did not run to the end, `why` says why. */
static int64_t try_threads(const struct tire_trial *trial, int threads, enum tire_code code,
                           const char **why)
{
    struct crew crew = {.end_ns = clock_monotonic_ns() + THREADS_NS};
    struct worker workers[MOST_THREADS];
    void *memory = trial->states[2].x - TIRE_PAD;
    int error = solver_barrier_open(&crew.solver, &trial->tire, threads, 0, code, memory);
    if (!error) {
        tire_trial_start(trial, &crew.solver.states[0]);
        error = run_workers(&crew, workers, threads);
        solver_barrier_close(&crew.solver);
    }
    *why = error ? strerror(error) : "they took more than a second";
    return error || atomic_load(&crew.is_late)
               ? -1
               : different_masses(&trial->states[0], &trial->states[2]);
}

/* One of these: all threads had the same bits (`said` says so), some had others (`found`), or they
 * could not run, which `said` tells. */
static bool are_same_by_threads(const struct tire_trial *trial, struct tire_finding *found,
                                struct tire_finding *said)
{
    simulate(trial, &trial->states[0], 1, TIRE_PLAIN, THREAD_STEPS);
    for (enum tire_code code = TIRE_PLAIN; code <= trial->code; code++)
        for (int i = 0; i < BLOCK_COUNTS; i++) {
            const char *why;
            int64_t differ = try_threads(trial, block_counts[i], code, &why);
            if (differ == 0)
                continue;
            if (differ < 0) {
                tire_say(said, true, "%d threads of barrier were not compared: %s", block_counts[i],
                         why);
                return true;
            }
            tire_say(found, false,
                     "barrier with %d threads by the code %s: %lld of %d masses differ from one "
                     "thread by plain C after %d steps",
                     block_counts[i], tire_code_name(code), (long long)differ, MASSES,
                     THREAD_STEPS);
            return false;
        }
    tire_say(said, true, "and barrier with 1, 2, 3 and %d threads after %d", MOST_THREADS,
             THREAD_STEPS);
    return true;
}

void tire_find_same_bits(struct tire_trial *trial, struct tire_finding *found)
{
    struct tire_finding said;
    tire_trial_place(trial, MASSES);
    if (!are_same_in_turn(trial, found))
        return;
    int64_t on_floor = masses_on_floor(&trial->states[0]);
    if (!are_same_by_threads(trial, found, &said))
        return;
    bool has_both = trial->code == TIRE_VECTOR;
    tire_say(found, true,
             "%d masses, code %s%s%s: the same bits as one thread by plain C have 1, 2, 3 and %d "
             "blocks, advanced in turn, after %d steps (%lld masses on the floor), %s",
             MASSES, tire_code_name(TIRE_PLAIN), has_both ? " and " : "",
             has_both ? tire_code_name(TIRE_VECTOR)
                      : " alone, which is all that this processor has",
             MOST_THREADS, TURN_STEPS, (long long)on_floor, said.evidence);
}
