/* SIM-P-RF: the simulation of SIM-S-RT in real-fast mode (Garre et al. 2014, section 4).
 *
 * What: simulated_s of the tire, as fast as possible. Nothing waits between steps but for the
 *   semaphores or the barrier of the solver.
 * Begin, end: begin = the moment (CLOCK_MONOTONIC) at which all threads are released together,
 *   chosen when each has been set up and sleeps until it; end = the clock reading of the thread
 *   that ends last, after its last step. No clock is read between but to see whether the run should
 *   end, once in some hundred microseconds.
 * Threads: those of SIM-S-RT. Under `deadline` there is no period: step_ns is asked for, with nine
 *   tenths of the CPUs, so the kernel throttles them for a tenth of the time or more.
 * Wrong if: real-time throttling, or the fair server of newer kernels, takes some of each second:
 *   that is in total_time, and the event real_fast_paused has how long. The wake-up of the threads
 *   is in it too. With the solver `semaphore` threads may run apart: what they compute then is not
 *   the tire; it takes as long.
 */
#include "base/posix_source.h"

#include "family/simulate/simulation.h"

static const struct param_spec params[] = {
    SIMULATION_PARAMS,
    {"simulated_s", PARAM_COUNT, false, "60", 1, 86400, NULL, "simulated time", NULL},
    SIMULATION_MORE_PARAMS,
    {0},
};

static const struct series_spec series[] = {
    {"total_time", "ns", "masses,threads,solver,policy", "release of all threads at once",
     "clock reading of the last thread, after its last step"},
    {0},
};
enum { TOTAL_TIME };

/* For deadlines: more than any solver takes on a slow CPU. */
#define MASS_STEP_NS 1000.0
#define STEP_NS 20000.0

static int check(struct run *run)
{
    return simulation_check(run);
}

static int declare(struct run *run)
{
    const struct param_value *masses = run_param(run, "masses");
    double sum = 0, repeats = run->samples > 0 ? (double)run->samples : 1;
    for (int i = 0; i < masses->count; i++)
        sum += (double)masses->number[i] / masses->count;
    double ns = (sum * MASS_STEP_NS + STEP_NS) * (double)simulation_steps(run) * repeats *
                variant_count(run);
    if (run->duration_ns > 0 && (double)run->duration_ns < ns)
        ns = (double)run->duration_ns;
    return simulation_declare(run, ns < (double)RUN_LONGEST_NS ? (int64_t)ns : RUN_LONGEST_NS);
}

/* What the CPUs that the threads could use did not do for them, in a simulation whose threads
 * always compute: not told for a barrier or semaphores, where they may wait for each other. */
static void report_paused(struct run *run, const struct simulation *simulation)
{
    const struct team *team = &simulation->team;
    const struct rt_budget *rt_budget = &run->rt_budget;
    int64_t cpu_ns = team->members[0].cpu_ns;
    bool is_realtime = simulation->policy != POLICY_OTHER;
    if (!is_realtime || team->threads != 1 || cpu_ns < 0 || !rt_budget->has_limit ||
        simulation->wall_ns - cpu_ns < rt_budget_pause_ns(rt_budget) / 2)
        return;
    int64_t runtime_ns = rt_budget->limit.runtime_ns, period_ns = rt_budget->limit.period_ns;
    arena_event(run->arena, "real_fast_paused", run_at_ns(run, clock_monotonic_ns()),
                DATA(data_integer("masses_count", simulation->tire.masses),
                     data_text("policy", policy_names[simulation->policy]),
                     data_integer("total_ns", simulation->wall_ns),
                     data_integer("lost_ns", simulation->wall_ns - cpu_ns),
                     data_integer("runtime_ns", runtime_ns), data_integer("period_ns", period_ns)),
                "%lld masses, 1 thread, %s: it did not have the CPU for %lld ms of %lld ms; "
                "real-time throttling is on (%lld ms of each %lld ms)",
                (long long)simulation->tire.masses, policy_names[simulation->policy],
                (long long)((simulation->wall_ns - cpu_ns) / 1000000),
                (long long)(simulation->wall_ns / 1000000), (long long)(runtime_ns / 1000000),
                (long long)(period_ns / 1000000));
}

/* A simulation that was stopped has no total. */
static int measure_once(struct run *run, int64_t limit_ns)
{
    struct simulation *simulation = run->own;
    uint64_t steps = simulation_steps(run);
    if (simulation_run(simulation, steps, 0, limit_ns) != 0)
        return -1;
    if (simulation_finished(simulation) < steps)
        return 0;
    struct record *record = run_record(run, TOTAL_TIME);
    int64_t end_ns = simulation->team.start_ns + simulation->wall_ns;
    record_value(record, simulation->wall_ns, run_at_ns(run, end_ns));
    if (record->count == 1)
        simulation_keep_blocks(simulation);
    return 0;
}

/* Until one is stopped. The last one is told. */
static int measure_variant(struct run *run)
{
    struct simulation *simulation = run->own;
    struct run_budget budget = run_budget(run, variant_count(run));
    const struct record *record = run_record(run, TOTAL_TIME);
    uint64_t before;
    simulation_begin_variant(simulation);
    do {
        before = record->count;
        if (measure_once(run, budget.end_ns) != 0)
            return -1;
    } while (record->count > before &&
             run_budget_left(&budget, record->count, clock_monotonic_ns()));
    simulation_report(simulation, NULL);
    report_paused(run, simulation);
    return 0;
}

const struct test sim_p_rf = {
    .id = "SIM-P-RF",
    .title = "Total time of a simulation in real-fast mode",
    .source = "[G] Garre et al. 2014, section 4",
    .params = params,
    .series = series,
    .default_samples = 1,
    .setup_ns = 50000000,
    .sample_param = "masses",
    .sample_percent = 90000000, /* 0.9 ms a mass: 6000 steps of 150 ns */
    .check = check,
    .has_variant = simulation_has_variant,
    .declare = declare,
    .prepare = simulation_prepare,
    .measure_variant = measure_variant,
    .judge = simulation_judge,
    .finish = simulation_finish,
};
