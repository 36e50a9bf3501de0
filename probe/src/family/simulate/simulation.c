#include "base/posix_source.h"

#include "family/simulate/simulation.h"

#include "record/tables.h"
#include "run/scheduling.h"
#include "run/variant.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- blocks of each step ---- */

/* Read, compute, write, and the wait between them, for each thread: the table `blocks` of a result.
 * All times count from the start of the team, which is the first release. */
enum { STEP_BLOCKS_THREADS = 32 }; /* of a variant, at most, that have a table */

static int64_t with_table(int64_t threads)
{
    return threads < STEP_BLOCKS_THREADS ? threads : STEP_BLOCKS_THREADS;
}

/* Room for the tables of all variants of a run, where it keeps blocks. */
static void step_blocks_plan(struct run *run)
{
    const struct param_value *threads = run_param(run, "threads");
    int64_t steps = run_number(run, "block_steps"), tables = 0;
    int others = variant_count(run) / threads->count + 1; /* policies may be the same */
    for (int i = 0; i < threads->count && steps > 0; i++)
        tables += with_table(threads->number[i]) * others;
    run->plan.tables[TABLE_ROWS].heads += (uint32_t)tables;
    run->plan.tables[TABLE_ROWS].entries += (uint32_t)(tables * steps);
}

/* The number of the step last: a row without it is none (record/tables.h). */
static void keep_step(const struct team *team, int table, uint32_t step,
                      const struct step_block *block)
{
    struct arena *arena = team->run->arena;
    int64_t start_ns = team->start_ns;
    int64_t release_ns =
        team->ring ? (int64_t)step * team->ring->period_ns : block->begin_ns - start_ns;
    row_table_set(arena, table, step, 1, release_ns);
    row_table_set(arena, table, step, 2, block->begin_ns - start_ns);
    row_table_set(arena, table, step, 3, block->read_ns - start_ns);
    row_table_set(arena, table, step, 4, block->compute_ns - start_ns);
    row_table_set(arena, table, step, 5, block->write_ns - start_ns);
    row_table_set(arena, table, step, 0, (int64_t)step + 1);
}

static void step_blocks_keep(const struct team *team, int64_t masses, const char *solver,
                             const char *policy)
{
    static const char *const columns[] = {"step",       "release_ns", "begin_ns", "read_ns",
                                          "compute_ns", "write_ns",   NULL};
    for (int i = 0; i < with_table(team->threads) && team->block_steps > 0; i++) {
        const struct team_member *member = &team->members[i];
        uint64_t steps = member->done < team->block_steps ? member->done : team->block_steps;
        if (steps == 0)
            continue;
        const struct datum data[] = {data_integer("masses_count", masses),
                                     data_integer("threads_count", team->threads),
                                     data_integer("thread", i),
                                     data_integer("cpu", member->cpu),
                                     data_text("solver", solver),
                                     data_text("policy", policy),
                                     {.key = NULL}};
        int table = row_table_add(team->run->arena, "blocks", data, columns, (uint32_t)steps);
        for (uint32_t step = 0; step < steps; step++)
            keep_step(team, table, step, &member->blocks[step]);
    }
}

enum { LINE = 64, FREE_PART = 4 /* of the available memory stays free */ };

const char *const simulation_solvers[] = {"semaphore", "barrier", NULL};

/* ---- check ---- */

static int refuse_masses(struct run *run, int64_t masses)
{
    int64_t less = masses / 4 * 4;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose a multiple of 4",
                       "masses=%lld is not a multiple of 4, as %lld and %lld are",
                       (long long)masses, (long long)(less > 0 ? less : 4), (long long)less + 4);
}

static int64_t least_of(const struct param_value *value)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < value->count; i++)
        least = value->number[i] < least ? value->number[i] : least;
    return least;
}

static int64_t most_of(const struct param_value *value)
{
    int64_t most = 0;
    for (int i = 0; i < value->count; i++)
        most = value->number[i] > most ? value->number[i] : most;
    return most;
}

static int check_sizes(struct run *run)
{
    const struct param_value *masses = run_param(run, "masses");
    int64_t threads = most_of(run_param(run, "threads")), least = least_of(masses);
    for (int i = 0; i < masses->count; i++)
        if (masses->number[i] % 4 != 0)
            return refuse_masses(run, masses->number[i]);
    if (threads <= least)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "choose at most as many threads as masses",
                       "%lld threads for %lld masses: each thread owns one at least",
                       (long long)threads, (long long)least);
}

static int check_step(struct run *run)
{
    int64_t stiffness = run_number(run, "stiffness_per_s2"), step_ns = run_number(run, "step_ns");
    int64_t longest_ns = tire_longest_step_ns(stiffness);
    if (stiffness == 0 || step_ns <= longest_ns)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "choose a shorter step_ns, or less stiffness_per_s2",
                       "steps of %lld ns are unstable with a stiffness of %lld per s^2: at most "
                       "%lld ns are stable",
                       (long long)step_ns, (long long)stiffness, (long long)longest_ns);
}

/* What a step takes is mostly that of its semaphores. */
static int check_solver(struct run *run)
{
    const struct param_value *solvers = run_param(run, "solver");
    for (int i = 0; i < solvers->count; i++)
        if (!HS_HAS_UNNAMED_SEMAPHORES && solvers->number[i] == SOLVER_SEMAPHORE)
            return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "measure -p solver=barrier",
                               LACKS_UNNAMED_SEMAPHORES);
    return 0;
}

int simulation_check(struct run *run)
{
    return check_solver(run) != 0 || check_sizes(run) != 0 || check_step(run) != 0 ? -1 : 0;
}

/* ---- variants ---- */

static bool lists_policy(const struct run *run, enum policy policy)
{
    const struct param_value *policies = run_param(run, "policy");
    for (int i = 0; i < policies->count; i++)
        if (policies->number[i] == (int64_t)policy)
            return true;
    return false;
}

/* "run" has the name of the policy that it stands for; asked for both, that is measured once. */
bool simulation_has_variant(const struct run *run, struct variant *variant)
{
    int place = variant_place(run, "policy");
    if (!lists_policy(run, POLICY_RUN))
        return true;
    enum policy of_run = policy_of_run(run);
    if (variant->number[place] != POLICY_RUN)
        return variant->number[place] != (int64_t)of_run;
    variant->text[place] = policy_names[of_run];
    return true;
}

uint64_t simulation_steps(const struct run *run)
{
    int64_t simulated_s = run_number(run, "simulated_s"), step_ns = run_number(run, "step_ns");
    if (simulated_s == 0)
        return 0;
    int64_t steps = simulated_s * CLOCK_NS_PER_S / step_ns;
    return steps > 0 ? (uint64_t)steps : 1;
}

int simulation_declare(struct run *run, int64_t expected_ns)
{
    run->plan.duration_ns = expected_ns < RUN_LONGEST_NS ? expected_ns : RUN_LONGEST_NS;
    run->plan.more_events = (uint32_t)variant_count(run) * 4; /* costs up to three times */
    step_blocks_plan(run);
    tire_plan_frames(run);
    return variant_declare(run);
}

int simulation_cpus(const struct run *run)
{
    return run->setup.cpu >= 0 ? 1 : cpus_count(&run->uses_cpu);
}

/* ---- memory ---- */

static size_t round_up(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t solver_bytes(enum solver solver, int64_t masses, int threads)
{
    return round_up(solver == SOLVER_SEMAPHORE ? solver_semaphore_bytes(masses, threads)
                                               : solver_barrier_bytes(masses));
}

/* Of the variant that takes most. */
static size_t most_solver_bytes(const struct run *run)
{
    const struct param_value *solvers = run_param(run, "solver"),
                             *threads = run_param(run, "threads");
    int64_t masses = most_of(run_param(run, "masses"));
    size_t most = 0;
    for (int i = 0; i < solvers->count; i++)
        for (int j = 0; j < threads->count; j++) {
            size_t bytes =
                solver_bytes((enum solver)solvers->number[i], masses, (int)threads->number[j]);
            most = bytes > most ? bytes : most;
        }
    return most;
}

static int refuse_size(struct run *run, size_t bytes, int64_t available)
{
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose fewer masses, or free memory",
                       "%lld masses need %lld MiB of memory; %lld MiB are available, of which a "
                       "quarter must stay free",
                       (long long)most_of(run_param(run, "masses")), (long long)(bytes >> 20) + 1,
                       (long long)(available >> 20));
}

static int deny_lock(struct run *run, size_t bytes, int error)
{
    char words[STATUS_TEXT_BYTES];
    snprintf(words, sizeof words,
             "raise the limit on locked memory (ulimit -l) by more than %lld KiB, grant "
             "CAP_IPC_LOCK, or choose fewer masses",
             (long long)(bytes >> 10) + 1);
    return outcome_set(&run->outcome, STATUS_DENIED, words,
                       "the simulation needs %lld KiB of memory, which cannot be locked: %s",
                       (long long)(bytes >> 10) + 1, strerror(error));
}

/* Whether a limit on locked memory may be why there is none. */
static bool is_lock_limited(const struct run *run)
{
#ifdef RLIMIT_MEMLOCK
    struct rlimit limit;
    return run->is_locked && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
#else
    (void)run;
    return false;
#endif
}

/* Where the process could not lock all its memory, this block may still be. */
static int lock_block(struct run *run, void *block, size_t bytes)
{
#if HS_HAS_MEMLOCK_RANGE
    if (!run->is_locked && mlock(block, bytes) != 0 && errno != ENOSYS)
        return deny_lock(run, bytes, errno);
#else
    (void)run, (void)block, (void)bytes;
#endif
    return 0;
}

static int allocate(struct simulation *simulation)
{
    struct run *run = simulation->run;
    size_t bytes = simulation->bytes;
    int64_t available = port_available_bytes(NULL);
    if (available >= 0 && (int64_t)bytes > available - available / FREE_PART)
        return refuse_size(run, bytes, available);
    simulation->block = malloc(bytes);
    if (!simulation->block && is_lock_limited(run))
        return deny_lock(run, bytes, EAGAIN);
    if (!simulation->block)
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the simulation",
                                 "choose fewer masses, or free memory");
    memset(simulation->block, 0, bytes);
    return lock_block(run, simulation->block, bytes);
}

static int64_t threads_with_blocks(const struct run *run)
{
    return run_number(run, "block_steps") > 0 ? most_of(run_param(run, "threads")) : 0;
}

/* Costs are those of the solver `semaphore`. */
static int64_t threads_with_costs(const struct run *run)
{
    const struct param_value *solvers = run_param(run, "solver");
    for (int i = 0; i < solvers->count; i++)
        if (solvers->number[i] == SOLVER_SEMAPHORE)
            return most_of(run_param(run, "threads"));
    return 0;
}

enum { PARTS = 5 };

/* The parts of the block, each at a cache line of its own. */
static void place_parts(struct simulation *simulation, const size_t sizes[PARTS])
{
    char *place = simulation->block;
    place += (LINE - (uintptr_t)place % LINE) % LINE;
    simulation->team.members = (struct team_member *)place;
    place += sizes[0];
    simulation->ring = (struct step_ring *)place;
    place += sizes[1];
    simulation->blocks = (struct step_block *)place;
    place += sizes[2];
    simulation->costs = (struct thread_costs *)place;
    simulation->solver_memory = place + sizes[3];
}

int simulation_prepare(struct run *run)
{
    struct simulation *simulation = run_own(run, sizeof *simulation);
    if (!simulation)
        return -1;
    const size_t sizes[PARTS] = {
        (size_t)most_of(run_param(run, "threads")) * sizeof(struct team_member),
        round_up(sizeof(struct step_ring)),
        round_up((size_t)(threads_with_blocks(run) * run_number(run, "block_steps")) *
                 sizeof(struct step_block)),
        round_up((size_t)threads_with_costs(run) * sizeof(struct thread_costs)),
        most_solver_bytes(run),
    };
    struct scheduling_visit visit;
    simulation->run = run;
    simulation->team.run = run;
    simulation->bytes = LINE;
    for (int i = 0; i < PARTS; i++)
        simulation->bytes += sizes[i];
    scheduling_visit_cpu(run, &visit);
    int error = allocate(simulation);
    if (scheduling_leave_cpu(run, &visit) != 0 || error)
        return -1;
    place_parts(simulation, sizes);
    return 0;
}

void simulation_finish(struct run *run)
{
    struct simulation *simulation = run->own;
    if (simulation)
        free(simulation->block);
}

/* ---- one simulation ---- */

static int open_semaphore(struct simulation *simulation)
{
    struct team *team = &simulation->team;
    int error = solver_semaphore_open(&team->semaphore, &simulation->tire, team->threads,
                                      simulation->solver_memory);
    for (int i = 0; i < team->threads && !error; i++)
        solver_semaphore_part(&team->semaphore, i, &team->members[i].semaphore);
    return error;
}

static int open_barrier(struct simulation *simulation)
{
    struct team *team = &simulation->team;
    int error = solver_barrier_open(&team->barrier, &simulation->tire, team->threads, team->cpus,
                                    tire_best_code(), simulation->solver_memory);
    for (int i = 0; i < team->threads && !error; i++)
        solver_barrier_part(&team->barrier, i, &team->members[i].barrier);
    return error;
}

static int open_solver(struct simulation *simulation)
{
    int error = simulation->solver == SOLVER_SEMAPHORE ? open_semaphore(simulation)
                                                       : open_barrier(simulation);
    return error ? outcome_set_errno(&simulation->run->outcome, error, "the solver", NULL) : 0;
}

static void close_solver(struct simulation *simulation)
{
    if (simulation->solver == SOLVER_SEMAPHORE)
        solver_semaphore_close(&simulation->team.semaphore);
    else
        solver_barrier_close(&simulation->team.barrier);
}

/* As variants differ: sizes, threads, policy. */
static void read_variant(struct simulation *simulation)
{
    struct run *run = simulation->run;
    struct team *team = &simulation->team;
    enum policy policy = (enum policy)variant_number(run, "policy");
    simulation->policy = policy == POLICY_RUN ? policy_of_run(run) : policy;
    simulation->solver = team->solver = (enum solver)variant_number(run, "solver");
    team->threads = (int)variant_number(run, "threads");
    team->cpus = simulation_cpus(run);
    team->block_steps = (uint64_t)run_number(run, "block_steps");
    team->costs =
        team->solver == SOLVER_SEMAPHORE && !simulation->has_costs ? simulation->costs : NULL;
    for (int i = 0; i < team->threads; i++) {
        memset(&team->members[i].semaphore, 0, sizeof team->members[i].semaphore);
        team->members[i].blocks = simulation->blocks + (uint64_t)i * team->block_steps;
    }
    tire_init(&simulation->tire, variant_number(run, "masses"), run_number(run, "step_ns"),
              run_number(run, "stiffness_per_s2"));
}

static void plan_deadline(struct simulation *simulation, int64_t period_ns)
{
    struct team *team = &simulation->team;
    team->deadline_period_ns = simulation->policy == POLICY_DEADLINE ? period_ns : 0;
    team->deadline_runtime_ns = policy_runtime_ns(period_ns, team->threads, team->cpus);
}

static int64_t last_end_ns(const struct team *team)
{
    int64_t last = 0;
    for (int i = 0; i < team->threads; i++)
        last = team->members[i].end_ns > last ? team->members[i].end_ns : last;
    return last;
}

/* Whether a thread has computed for more than half of a burst that the real-time budget allows, and
 * for more than half of the time: throttling would meet the next variant. */
static bool has_used_budget(const struct simulation *simulation)
{
    const struct team *team = &simulation->team;
    int64_t most_ns = 0;
    for (int i = 0; i < team->threads; i++)
        most_ns = team->members[i].cpu_ns > most_ns ? team->members[i].cpu_ns : most_ns;
    return simulation->policy != POLICY_OTHER && most_ns > simulation->wall_ns / 2 &&
           most_ns > simulation->run->rt_budget.burst_ns / 2;
}

static int run_team(struct simulation *simulation, int64_t period_ns)
{
    struct run *run = simulation->run;
    struct team *team = &simulation->team;
    if (policy_take(run, simulation->policy, &team->setup) != 0)
        return -1;
    int result = team_run(team, period_ns);
    return policy_leave(run) == 0 ? result : -1;
}

static void report_costs(struct simulation *simulation)
{
    const struct team *team = &simulation->team;
    struct run *run = simulation->run;
    struct step_costs costs;
    step_costs_join(&costs, team->costs, team->threads, simulation->tire.masses,
                    &team->costs_releases);
    if (costs.steps == 0) /* it was stopped */
        return;
    bool has_releases = team->costs_releases.period_ns > 0;
    double mass_ns = costs.loop.mean_ns - costs.springs_each * costs.spring.mean_ns;
    arena_event(
        run->arena, "tire_costs", -1,
        DATA(data_integer("masses_count", simulation->tire.masses),
             data_integer("threads_count", team->threads),
             data_text("policy", policy_names[simulation->policy]),
             data_number("spring_ns", costs.spring.mean_ns), data_number("mass_ns", mass_ns),
             data_number("loop_ns", costs.loop.mean_ns),
             data_number("loop_low_ns", costs.loop.low_ns),
             data_number("loop_high_ns", costs.loop.high_ns),
             data_number("semaphore_ns", costs.semaphore.mean_ns),
             data_number("access_ns", costs.access.mean_ns),
             data_number("access_low_ns", costs.access.low_ns),
             data_number("access_high_ns", costs.access.high_ns),
             has_releases ? data_number("dispatch_ns", costs.dispatch.mean_ns) : data_none(),
             has_releases ? data_number("dispatch_high_ns", costs.dispatch.high_ns) : data_none(),
             data_integer("steps_count", costs.steps),
             team->cpus > 0 ? data_integer("cpus_count", team->cpus) : data_none()),
        "%lld masses, %d threads, %s: a spring takes %.1f ns, a mass %.1f ns, the reads and writes "
        "of a step without its arithmetic %.1f us",
        (long long)simulation->tire.masses, team->threads, policy_names[simulation->policy],
        costs.spring.mean_ns, mass_ns, costs.access.mean_ns / 1000);
}

int simulation_run(struct simulation *simulation, uint64_t steps, int64_t period_ns,
                   int64_t limit_ns)
{
    struct team *team = &simulation->team;
    if (simulation->is_busy)
        rt_budget_rest_now(&simulation->run->rt_budget);
    read_variant(simulation);
    plan_deadline(simulation, period_ns > 0 ? period_ns : run_number(simulation->run, "step_ns"));
    team->steps = steps;
    team->ring = period_ns > 0 ? simulation->ring : NULL;
    team->limit_ns = limit_ns;
    if (open_solver(simulation) != 0)
        return -1;
    int result = run_team(simulation, period_ns);
    close_solver(simulation);
    if (team->costs && result == 0)
        report_costs(simulation);
    simulation->has_costs = true;
    simulation->wall_ns = last_end_ns(team) - team->start_ns;
    simulation->is_busy = has_used_budget(simulation);
    return result;
}

uint64_t simulation_finished(const struct simulation *simulation)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < simulation->team.threads; i++)
        if (simulation->team.members[i].done < least)
            least = simulation->team.members[i].done;
    return least;
}

/* ---- what is reported ---- */

struct totals {
    int64_t cpu_ns, voluntary, involuntary, operations, blocked;
};

static void add(int64_t *sum, int64_t value)
{
    *sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

static struct totals total(const struct team *team)
{
    struct totals totals = {0};
    for (int i = 0; i < team->threads; i++) {
        const struct team_member *member = &team->members[i];
        add(&totals.cpu_ns, member->cpu_ns);
        add(&totals.voluntary, member->voluntary);
        add(&totals.involuntary, member->involuntary);
        add(&totals.operations, (int64_t)member->semaphore.operations);
        add(&totals.blocked, (int64_t)member->semaphore.blocked);
    }
    return totals;
}

static const char *code_name(const struct simulation *simulation)
{
    bool is_barrier = simulation->solver == SOLVER_BARRIER;
    return tire_code_name(is_barrier ? tire_best_code() : TIRE_PLAIN);
}

void simulation_report(struct simulation *simulation, const struct step_counts *counts)
{
    const struct team *team = &simulation->team;
    struct run *run = simulation->run;
    struct totals totals = total(team);
    uint64_t finished = counts ? counts->finished : simulation_finished(simulation);
    int64_t missed = counts ? (int64_t)counts->missed : -1;
    const char *solver = simulation_solvers[simulation->solver];
    const char *policy = policy_names[simulation->policy];
    char words[96];
    snprintf(words, sizeof words,
             counts ? "%llu of %llu steps missed their deadline" : "%llu of %llu steps done",
             (unsigned long long)(counts ? counts->missed : finished),
             (unsigned long long)(counts ? counts->released : team->steps));
    arena_event(
        run->arena, "simulation", run_at_ns(run, clock_monotonic_ns()),
        DATA(data_integer("masses_count", simulation->tire.masses),
             data_integer("threads_count", team->threads), data_text("solver", solver),
             data_text("policy", policy), data_text("code", code_name(simulation)),
             data_integer("steps_count", (int64_t)finished),
             counts ? data_integer("released_count", (int64_t)counts->released) : data_none(),
             counts ? data_integer("missed_count", missed) : data_none(),
             missed > 0 ? data_integer("first_missed_count", (int64_t)counts->first_missed)
                        : data_none(),
             totals.cpu_ns >= 0 ? data_integer("cpu_ns", totals.cpu_ns) : data_none(),
             totals.voluntary >= 0 ? data_integer("voluntary_count", totals.voluntary)
                                   : data_none(),
             totals.involuntary >= 0 ? data_integer("involuntary_count", totals.involuntary)
                                     : data_none(),
             data_integer("semaphore_operations_count", totals.operations),
             data_integer("semaphore_blocked_count", totals.blocked),
             team->cpus > 0 ? data_integer("cpus_count", team->cpus) : data_none()),
        "%lld masses, %d threads, %s, %s: %s", (long long)simulation->tire.masses, team->threads,
        solver, policy, words);
    if (atomic_load(&team->is_ahead))
        arena_event(run->arena, "simulation_out_of_step", run_at_ns(run, clock_monotonic_ns()),
                    DATA(data_integer("masses_count", simulation->tire.masses),
                         data_integer("threads_count", team->threads),
                         data_integer("steps_count", STEP_SLOTS)),
                    "%lld masses, %d threads, %s, %s: one thread was %d steps ahead of another "
                    "one, which ended this simulation",
                    (long long)simulation->tire.masses, team->threads, solver, policy, STEP_SLOTS);
}

void simulation_keep_blocks(const struct simulation *simulation)
{
    step_blocks_keep(&simulation->team, simulation->tire.masses,
                     simulation_solvers[simulation->solver], policy_names[simulation->policy]);
}

int simulation_judge(struct run *run)
{
    tire_keep_frames(run);
    return 0;
}
