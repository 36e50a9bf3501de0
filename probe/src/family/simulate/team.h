/* The threads of one simulation: set up, started together, each at its own steps, and ended
 * together.
 *
 * The measuring thread is their parent. It creates them with its own policy and priority, waits
 * until each is set up, gives all of them the same moment at which the first step is released, and
 * then waits for their end. Threads that come to their first release early sleep until it. */
#ifndef HS_FAMILY_SIMULATE_TEAM_H
#define HS_FAMILY_SIMULATE_TEAM_H

#include "base/posix_source.h"

#include "family/simulate/solver.h"
#include "family/simulate/tire_costs.h"
#include "run/run.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts the steps of a simulation in real time, each once, however many threads do it.
 *
 * Step k (from 0) is released at start + k periods; its deadline is the next release. It has ended
 * when its last thread has; one that ends after its deadline has missed it. Each thread does the
 * steps in their order, so steps end in their order, and the thread that is the last of one has
 * noted it before it goes on: no lock is needed, and any duration takes the same memory. */

enum { STEP_SLOTS = 4096 }; /* a thread may be as many steps ahead of another one */

struct step_slot {
    _Atomic int64_t begin_ns, end_ns; /* of the first thread to begin, and the last to end */
    _Atomic uint64_t turn;            /* how often the slot has been used */
    atomic_int ended;                 /* threads that have ended the step */
};

struct step_counts {
    uint64_t finished; /* by all threads */
    uint64_t released; /* finished, or their deadline has passed */
    uint64_t missed;
    uint64_t first_missed;   /* its number from 1; 0: none */
    uint64_t watched_missed; /* how often step `watched` was counted as missed */
};

struct step_ring {
    int threads;
    int64_t start_ns, period_ns; /* CLOCK_MONOTONIC */
    uint64_t watched;            /* a step, from 1; 0: none */
    struct step_counts counts;
    struct step_slot slots[STEP_SLOTS];
};

/* A step that has ended. */
struct step_end {
    uint64_t step; /* from 0 */
    int64_t begin_ns, end_ns;
    int64_t late_ns; /* after its deadline; 0 or less: in time */
    bool is_late;
};

void step_ring_open(struct step_ring *ring, int threads, int64_t start_ns, int64_t period_ns);

/* The release of a step, and its deadline. */
static inline int64_t step_release_ns(const struct step_ring *ring, uint64_t step)
{
    return ring->start_ns + (int64_t)step * ring->period_ns;
}

/* A thread has ended `step`, which it began at `begin_ns`. STEP_LAST: it is the last one, and the
 * step is counted; `end` describes it. STEP_AHEAD: nothing is noted, because the thread is
 * STEP_SLOTS ahead of another one. */
enum step_state { STEP_OPEN, STEP_LAST, STEP_AHEAD };
enum step_state step_ring_end(struct step_ring *ring, uint64_t step, int64_t begin_ns,
                              int64_t end_ns, struct step_end *end);

/* Takes back that step `number`, from 1, which ended last, was missed. */
void step_ring_forgive(struct step_ring *ring, uint64_t number);

/* When no thread works any more: of `planned` steps, those that have not ended although their
 * deadline was before `now_ns` have missed it. */
void step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns);

/* ---- policy ---- */

/* Scheduling policy of the threads of a simulation. */

enum policy { POLICY_RUN, POLICY_FIFO, POLICY_RR, POLICY_OTHER, POLICY_DEADLINE };

/* Choices of the parameter, NULL-terminated, in the order of enum policy. */
extern const char *const policy_names[];

/* The policy that the measuring thread has, or will have once it is chosen: one that is refused
 * falls back to POLICY_OTHER where the run does (run/scheduling.h). */
enum policy policy_of_run(const struct run *run);

/* Has the calling thread, the measuring one, take over `policy` with a priority, for threads that
 * are to inherit both; they are in `setup`, with the run's CPU. POLICY_DEADLINE is inherited by
 * nobody: each thread sets itself (policy_enter_deadline), and `setup` is the run's. 0, or -1 with
 * the outcome: denied. policy_leave puts the run's back. */
int policy_take(struct run *run, enum policy policy, struct rt_thread_setup *setup);
int policy_leave(struct run *run);

/* What SCHED_DEADLINE is asked for: nine tenths of the CPUs in equal parts, at most nine tenths of
 * one CPU for each thread, in each period. */
int64_t policy_runtime_ns(int64_t period_ns, int threads, int cpus);

/* Sets the outcome (denied, unsupported) because the kernel has refused that with `error`. -1. */
int policy_refuse_deadline(struct run *run, int error, int64_t runtime_ns, int64_t period_ns,
                           int threads);

/* ---- team ---- */

enum { TEAM_THREADS = 256 };

enum solver { SOLVER_SEMAPHORE, SOLVER_BARRIER };

/* Moments of a step that a thread keeps, CLOCK_MONOTONIC. */
struct step_block {
    int64_t begin_ns, read_ns, compute_ns, write_ns;
};

struct team;

/* What one thread writes is in cache lines of its own. */
struct team_member {
    _Alignas(64) struct team *team;
    int place;
    struct rt_thread rt_thread;
    sem_t go;  /* posted for the start, and for the end */
    int error; /* why SCHED_DEADLINE was refused */
    int cpu;   /* on which it began; -1: not known */
    struct semaphore_part semaphore;
    struct barrier_part barrier;
    struct thread_costs *costs; /* NULL: none of this team */
    struct step_block *blocks;
    uint64_t done;                          /* steps */
    int64_t end_ns;                         /* of its last step */
    int64_t cpu_ns, voluntary, involuntary; /* from start to end; -1: not known */
    int64_t delayed_end_ns;                 /* of the step that was made late; 0: none yet */
};

struct team {
    struct run *run;
    enum solver solver;
    int threads, cpus;
    struct rt_thread_setup setup;
    int64_t deadline_runtime_ns, deadline_period_ns; /* for SCHED_DEADLINE; 0: another policy */
    uint64_t steps;
    uint64_t block_steps; /* whose moments are kept */
    uint64_t delay_step;  /* of thread 0, from 1; 0: none */
    int64_t delay_ns;
    struct step_ring *ring; /* real time; NULL: as fast as possible */
    int64_t limit_ns;       /* CLOCK_MONOTONIC: when all end, whatever is left */
    /* For each step that has ended in real time, in their order. */
    void (*take_step)(struct team *team, const struct step_end *end);
    struct solver_semaphore semaphore;
    struct solver_barrier barrier;
    struct thread_costs *costs; /* of each member; NULL: nothing is timed before the first step */
    struct cost_releases costs_releases;
    enum cost_time cost_time;
    bool is_cost_due; /* for the threads that are let go next, while they time it */
    int64_t start_ns;
    atomic_bool is_over;
    _Atomic int64_t over_ns; /* CLOCK_MONOTONIC: when it was ended early; 0: it was not */
    atomic_bool is_ahead;    /* a thread was a whole ring ahead of another one */
    sem_t told;              /* posted by each thread that is set up, and that has ended */
    struct team_member *members;
};

/* Runs the simulation, whose solver is open: team->members have their parts. `period_ns`: between
 * releases, in real time. 0, or -1 with the run's outcome. */
int team_run(struct team *team, int64_t period_ns);

/* Has all threads end soon. */
void team_end(struct team *team);

/* The moment up to which deadlines count: that at which it was ended early, else now. What passes
 * while the threads end is not the simulation's. */
int64_t team_over_ns(const struct team *team);

#endif
