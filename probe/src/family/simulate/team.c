#include "base/posix_source.h"

#include "family/simulate/team.h"

#include "port/port.h"
#include "run/scheduling.h"
#include "run/supervise.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- policy ---- */

const char *const policy_names[] = {"run", "fifo", "rr", "other", "deadline", NULL};

/* Whether the run falls back to time sharing: no priority at all is granted, and none was asked
 * for. */
static bool will_fall_back(const struct run *run, int policy)
{
    struct rt_thread_setup least = {policy, sched_get_priority_min(policy), -1};
    return run->asked_priority < 0 && rt_thread_try(&least) != 0;
}

enum policy policy_of_run(const struct run *run)
{
    if (run->arena)
        return run->setup.policy == SCHED_FIFO ? POLICY_FIFO
               : run->setup.policy == SCHED_RR ? POLICY_RR
                                               : POLICY_OTHER;
    if (run->asked_policy == SCHED_OTHER)
        return POLICY_OTHER;
    bool is_rr = run->asked_policy == SCHED_RR;
    if (will_fall_back(run, is_rr ? SCHED_RR : SCHED_FIFO))
        return POLICY_OTHER;
    return is_rr ? POLICY_RR : POLICY_FIFO;
}

static int refuse_realtime(struct run *run, enum policy policy)
{
    struct port_refusal refusal;
    struct rt_thread_setup setup = {policy == POLICY_RR ? SCHED_RR : SCHED_FIFO,
                                    run->setup.priority, -1};
    if (run->asked_policy == SCHED_OTHER)
        return outcome_set(&run->outcome, STATUS_DENIED, "use --policy fifo",
                           "threads under SCHED_%s need a supervisor above them, which a run with "
                           "--policy other has not",
                           policy == POLICY_RR ? "RR" : "FIFO");
    rt_thread_refusal(EPERM, &setup, &refusal);
    return scheduling_deny(run,
                           policy == POLICY_RR
                               ? "SCHED_RR was refused for the threads of the simulation"
                               : "SCHED_FIFO was refused for the threads of the simulation",
                           &refusal);
}

int policy_take(struct run *run, enum policy policy, struct rt_thread_setup *setup)
{
    *setup = run->setup;
    if (policy == POLICY_RUN || policy == POLICY_DEADLINE)
        return 0;
    if (policy == POLICY_OTHER) {
        setup->policy = SCHED_OTHER;
        setup->priority = rt_thread_ordinary_priority();
    } else {
        setup->policy = policy == POLICY_RR ? SCHED_RR : SCHED_FIFO;
        if (!run->is_realtime)
            return refuse_realtime(run, policy);
    }
    int error = rt_thread_set_self(setup->policy, setup->priority);
    return error ? outcome_set_errno(&run->outcome, error, "the policy of the threads", NULL) : 0;
}

int policy_leave(struct run *run)
{
    return scheduling_step_up(run);
}

int64_t policy_runtime_ns(int64_t period_ns, int threads, int cpus)
{
    int64_t most_ns = period_ns / 10 * 9;
    return threads <= cpus ? most_ns : most_ns / threads * (cpus > 0 ? cpus : 1);
}

static const char *deadline_remedy(int error)
{
    if (error == EBUSY)
        return port_hint(PORT_HINT_DEADLINE_BUDGET);
    if (error == EPERM)
        return "run as root or with CAP_SYS_NICE, and let the threads use all CPUs "
               "(--cpu-config shared, without --cpu)";
    if (error == EINVAL)
        return port_hint(PORT_HINT_DEADLINE_PERIOD);
    return "choose another policy";
}

int policy_refuse_deadline(struct run *run, int error, int64_t runtime_ns, int64_t period_ns,
                           int threads)
{
    bool is_denied = error == EBUSY || error == EPERM;
    return outcome_set(
        &run->outcome, is_denied ? STATUS_DENIED : STATUS_UNSUPPORTED, deadline_remedy(error),
        "SCHED_DEADLINE with %lld us of each %lld us for %d threads was refused: %s",
        (long long)(runtime_ns / 1000), (long long)(period_ns / 1000), threads,
        error == EBUSY ? "admission control: the CPUs have not that much left" : strerror(error));
}

#define NAP_NS INT64_C(300000000) /* longest sleep until a look whether the run should stop */
#define LEAD_NS INT64_C(5000000)  /* from the start of the threads to the first release */
#define LEAD_EACH_NS INT64_C(20000)

enum { LOOK_MASSES = 20000 /* computed between two looks at the clock */, DEADLINE_TRIES = 8 };

void team_end(struct team *team)
{
    int64_t never = 0;
    atomic_compare_exchange_strong(&team->over_ns, &never, clock_monotonic_ns());
    atomic_store(&team->is_over, true);
    if (team->solver == SOLVER_BARRIER)
        step_barrier_break(&team->barrier.barrier);
}

int64_t team_over_ns(const struct team *team)
{
    int64_t over_ns = atomic_load(&team->over_ns);
    return over_ns > 0 ? over_ns : clock_monotonic_ns();
}

/* Also ends the team when the run should stop. */
static bool is_over(struct team *team)
{
    if (atomic_load_explicit(&team->is_over, memory_order_relaxed))
        return true;
    if (!run_should_stop())
        return false;
    team_end(team);
    return true;
}

/* Sleeps until `release_ns`; returns at once if it has passed, and early if the team is over. The
 * time at which it returned. */
static int64_t sleep_until(struct team *team, int64_t release_ns)
{
    int64_t now_ns;
    while ((now_ns = clock_monotonic_ns()) < release_ns && !is_over(team)) {
        bool is_long = release_ns - now_ns > NAP_NS;
        struct timespec until = clock_ns_timespec(is_long ? now_ns + NAP_NS : release_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return now_ns;
}

/* ---- a step ---- */

static void step_semaphore(struct team_member *member, struct step_block *block)
{
    struct solver_semaphore *solver = &member->team->semaphore;
    solver_semaphore_read(solver, &member->semaphore);
    if (block)
        block->read_ns = clock_monotonic_ns();
    solver_semaphore_compute(solver, &member->semaphore);
    if (block)
        block->compute_ns = clock_monotonic_ns();
    solver_semaphore_write(solver, &member->semaphore);
    if (block)
        block->write_ns = clock_monotonic_ns();
}

static bool step_barrier(struct team_member *member, struct step_block *block)
{
    struct solver_barrier *solver = &member->team->barrier;
    solver_barrier_compute(solver, &member->barrier);
    if (block)
        block->compute_ns = clock_monotonic_ns();
    bool is_whole = solver_barrier_pass(solver, &member->barrier);
    if (block)
        block->write_ns = clock_monotonic_ns();
    return is_whole;
}

/* `block` NULL: not kept. False: the barrier was broken. */
static bool do_step(struct team_member *member, struct step_block *block, int64_t begin_ns)
{
    if (block)
        block->begin_ns = block->read_ns = begin_ns;
    bool is_whole = true;
    if (member->team->solver == SOLVER_SEMAPHORE)
        step_semaphore(member, block);
    else
        is_whole = step_barrier(member, block);
    member->done += is_whole ? 1 : 0;
    return is_whole;
}

static struct step_block *block_of(struct team_member *member, uint64_t step)
{
    return step < member->team->block_steps ? &member->blocks[step] : NULL;
}

/* ---- real time ---- */

static bool is_delayed(const struct team_member *member, uint64_t step)
{
    return member->place == 0 && step + 1 == member->team->delay_step;
}

/* Outside of timed sections. False: the team ends. */
static bool note_step(struct team_member *member, uint64_t step, int64_t begin_ns, int64_t end_ns)
{
    struct team *team = member->team;
    struct step_end end;
    enum step_state state = step_ring_end(team->ring, step, begin_ns, end_ns, &end);
    member->end_ns = end_ns;
    if (is_delayed(member, step))
        member->delayed_end_ns = end_ns;
    if (state == STEP_LAST)
        team->take_step(team, &end);
    if (state == STEP_AHEAD)
        atomic_store(&team->is_ahead, true);
    return state != STEP_AHEAD && end_ns < team->limit_ns;
}

static void work_in_real_time(struct team_member *member)
{
    struct team *team = member->team;
    for (uint64_t step = 0; step < team->steps; step++) {
        int64_t begin_ns = sleep_until(team, step_release_ns(team->ring, step));
        if (is_over(team))
            return;
        if (is_delayed(member, step))
            sleep_until(team, begin_ns + team->delay_ns);
        if (!do_step(member, block_of(member, step), begin_ns))
            return;
        if (!note_step(member, step, begin_ns, clock_monotonic_ns())) {
            team_end(team);
            return;
        }
    }
}

/* ---- as fast as possible ---- */

static int64_t steps_between_looks(const struct team *team)
{
    int64_t masses =
        team->solver == SOLVER_BARRIER ? team->barrier.tire->masses : team->semaphore.tire->masses;
    int64_t steps = (int64_t)LOOK_MASSES * team->threads / masses;
    return steps > 0 ? steps : 1;
}

static void work_at_once(struct team_member *member)
{
    struct team *team = member->team;
    int64_t between = steps_between_looks(team), left = 1;
    sleep_until(team, team->start_ns);
    for (uint64_t step = 0; step < team->steps && !is_over(team); step++) {
        struct step_block *block = block_of(member, step);
        if (!do_step(member, block, block ? clock_monotonic_ns() : 0))
            break;
        if (--left > 0)
            continue;
        left = between;
        if (clock_monotonic_ns() >= team->limit_ns)
            team_end(team);
    }
    member->end_ns = clock_monotonic_ns();
}

/* ---- threads ---- */

static int64_t own_cpu_ns(void)
{
    struct timespec used;
    bool is_known = HS_HAS_RUNNING_CPU_CLOCKS && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0;
    return is_known ? clock_timespec_ns(&used) : -1;
}

static int64_t difference(int64_t before, int64_t after)
{
    return before < 0 || after < 0 ? -1 : after - before;
}

static void work(struct team_member *member)
{
    int64_t voluntary, involuntary, voluntary_after, involuntary_after;
    port_own_switches(&voluntary, &involuntary);
    int64_t cpu_ns = own_cpu_ns();
    member->cpu = port_current_cpu();
    member->team->ring ? work_in_real_time(member) : work_at_once(member);
    member->cpu_ns = difference(cpu_ns, own_cpu_ns());
    port_own_switches(&voluntary_after, &involuntary_after);
    member->voluntary = difference(voluntary, voluntary_after);
    member->involuntary = difference(involuntary, involuntary_after);
}

static void await(sem_t *gate)
{
    while (sem_wait(gate) != 0)
        ;
}

/* The kernel takes back the share of a thread that has ended when its deadline has passed, which
 * may be some periods away: until then it may refuse that of the next one. */
static int enter_deadline(const struct team *team)
{
    struct timespec rest =
        clock_ns_timespec(team->deadline_period_ns < NAP_NS ? team->deadline_period_ns : NAP_NS);
    int error = port_deadline_self(team->deadline_runtime_ns, team->deadline_period_ns);
    for (int i = 0; i < DEADLINE_TRIES && error == EBUSY && !run_should_stop(); i++) {
        nanosleep(&rest, NULL);
        error = port_deadline_self(team->deadline_runtime_ns, team->deadline_period_ns);
    }
    return error;
}

/* ---- costs ---- */

static void spin(int64_t ns)
{
    int64_t until_ns = clock_monotonic_ns() + ns;
    while (clock_monotonic_ns() < until_ns)
        ;
}

/* A step without its arithmetic: the masses stay as they are. */
static void access_masses(struct team *team, struct team_member *member, int64_t pause_ns)
{
    struct solver_semaphore *solver = &team->semaphore;
    if (team->threads == 1) {
        solver_semaphore_touch(solver, member->costs->ring);
        return;
    }
    solver_semaphore_read(solver, &member->semaphore);
    spin(pause_ns);
    solver_semaphore_write(solver, &member->semaphore);
}

static void time_access(struct team *team, struct team_member *member)
{
    struct access_times *times = &member->costs->access[team->cost_time];
    const struct cost_releases *releases = &team->costs_releases;
    int64_t own = member->semaphore.end - member->semaphore.begin;
    int64_t start_ns = releases->start_ns[team->cost_time], now_ns = start_ns;
    int64_t rounds = (int64_t)COST_ROUND_MASSES * team->threads / team->semaphore.tire->masses;
    double loop_ns = member->costs->arithmetic[team->cost_time].loop.mean_ns;
    times->each = releases->period_ns > 0 || rounds < 1 ? 1 : rounds;
    times->pause_ns = team->threads > 1 ? (int64_t)(loop_ns * (double)own) : 0;
    for (int step = 0; step < COST_STEPS && !is_over(team); step++) {
        if (step >= COST_LEAST_STEPS && now_ns - start_ns > COST_MOST_NS)
            return;
        times->begin_ns[step] = sleep_until(team, start_ns + step * releases->period_ns);
        for (int64_t i = 0; i < times->each; i++)
            access_masses(team, member, times->pause_ns);
        times->end_ns[step] = now_ns = clock_monotonic_ns();
        times->steps++;
    }
}

/* The operations that it counts are not the simulation's. */
static void time_costs(struct team_member *member)
{
    struct team *team = member->team;
    uint64_t operations = member->semaphore.operations, blocked = member->semaphore.blocked;
    member->costs->access[team->cost_time].steps = 0;
    if (thread_costs_time(member->costs, &team->run->clock, team->semaphore.tire,
                          team->threads == 1) == 0)
        time_access(team, member);
    member->semaphore.operations = operations;
    member->semaphore.blocked = blocked;
}

/* Times the costs first where they are due. */
static void await_start(struct team_member *member)
{
    struct team *team = member->team;
    await(&member->go);
    if (!team->is_cost_due)
        return;
    if (!atomic_load(&team->is_over))
        time_costs(member);
    sem_post(&team->told);
    await(&member->go);
}

static void be_member(void *argument)
{
    struct team_member *member = argument;
    struct team *team = member->team;
    if (team->deadline_period_ns > 0)
        member->error = enter_deadline(team);
    sem_post(&team->told);
    await_start(member);
    if (!atomic_load(&team->is_over))
        work(member);
    sem_post(&team->told);
    await_start(member);
}

static int start_member(struct team *team, int place)
{
    struct team_member *member = &team->members[place];
    member->team = team;
    member->place = place;
    member->error = 0;
    member->cpu = -1;
    member->costs = team->costs ? &team->costs[place] : NULL;
    member->done = 0;
    member->end_ns = member->delayed_end_ns = 0;
    member->cpu_ns = member->voluntary = member->involuntary = -1;
    if (sem_init(&member->go, 0, 0) != 0)
        return errno;
    int error = rt_thread_start_with_stack(&member->rt_thread, &team->setup,
                                           RT_THREAD_SMALL_STACK_BYTES, be_member, member);
    if (error)
        sem_destroy(&member->go);
    else
        rt_thread_go(&member->rt_thread);
    return error;
}

static int start_members(struct team *team, int *started)
{
    for (*started = 0; *started < team->threads; ++*started) {
        int error = start_member(team, *started);
        if (error)
            return error;
    }
    return 0;
}

static void await_all(struct team *team, int count)
{
    for (int i = 0; i < count; i++)
        await(&team->told);
}

static void let_all_go(struct team *team, int count)
{
    for (int i = 0; i < count; i++)
        sem_post(&team->members[i].go);
}

static int refused_deadline(const struct team *team)
{
    for (int i = 0; i < team->threads; i++)
        if (team->members[i].error)
            return team->members[i].error;
    return 0;
}

/* Not before all threads are set up. */
static void choose_start(struct team *team, int64_t period_ns)
{
    int64_t lead_ns = LEAD_NS + LEAD_EACH_NS * team->threads;
    team->start_ns = clock_monotonic_ns() + lead_ns;
    if (!team->ring)
        return;
    int64_t planned_ns = (int64_t)team->steps * period_ns;
    int64_t after_ns = planned_ns < CLOCK_NS_PER_S ? planned_ns : CLOCK_NS_PER_S;
    step_ring_open(team->ring, team->threads, team->start_ns, period_ns);
    team->ring->watched = team->delay_step;
    team->limit_ns = team->start_ns + planned_ns + after_ns;
}

/* The arithmetic is timed until the first release. Nothing is timed where the team is over. */
static void let_all_time_costs(struct team *team, int started, enum cost_time time,
                               int64_t period_ns)
{
    if (!team->costs)
        return;
    for (int i = 0; i < started && time == COST_BEFORE; i++)
        team->costs[i].times = 0;
    team->cost_time = time;
    team->costs_releases.period_ns = period_ns < COST_PERIOD_NS ? period_ns : COST_PERIOD_NS;
    team->costs_releases.start_ns[time] =
        clock_monotonic_ns() + LEAD_NS + LEAD_EACH_NS * team->threads;
    team->is_cost_due = true;
    let_all_go(team, started);
    await_all(team, started);
    team->is_cost_due = false;
}

static void end_members(struct team *team, int started)
{
    let_all_go(team, started);
    for (int i = 0; i < started; i++) {
        rt_thread_join(&team->members[i].rt_thread);
        sem_destroy(&team->members[i].go);
    }
}

static int run_members(struct team *team, int64_t period_ns)
{
    int started, error = start_members(team, &started);
    await_all(team, started);
    if (error)
        outcome_set_errno(&team->run->outcome, error, "starting the threads of the simulation",
                          NULL);
    int refused = error ? 0 : refused_deadline(team);
    if (refused)
        policy_refuse_deadline(team->run, refused, team->deadline_runtime_ns,
                               team->deadline_period_ns, team->threads);
    if (error || refused)
        team_end(team);
    else
        supervise_look_at_threads(team->run);
    let_all_time_costs(team, started, COST_BEFORE, period_ns);
    choose_start(team, period_ns);
    let_all_go(team, started);
    await_all(team, started);
    if (team->steps > 0)
        let_all_time_costs(team, started, COST_AFTER, period_ns);
    if (!error && !refused)
        supervise_look_at_threads(team->run);
    end_members(team, started);
    return error || refused ? -1 : 0;
}

int team_run(struct team *team, int64_t period_ns)
{
    atomic_store(&team->is_over, false);
    atomic_store(&team->over_ns, 0);
    atomic_store(&team->is_ahead, false);
    if (sem_init(&team->told, 0, 0) != 0)
        return outcome_set_errno(&team->run->outcome, errno, "a semaphore", NULL);
    int result = run_members(team, period_ns);
    sem_destroy(&team->told);
    return result;
}
