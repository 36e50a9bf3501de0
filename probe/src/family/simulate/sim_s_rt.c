/* SIM-S-RT: missed deadlines of a simulation in real time (Garre et al. 2014, section 4).
 *
 * What: the tire (tire.h), one step a period. Step k is released at start + k period_ns, its
 *   deadline is the next release. It is missed, and counted once (team.h), if any thread ends
 *   it late, or if it was not done although its deadline had passed when the variant ended.
 * Begin, end: each thread sleeps until the release (absolute), reads the clock, does its part
 *   (solver.h; also passes the barrier), reads the clock: step_time is from the first begin to the
 *   last end, lateness from the deadline to the last end. CLOCK_MONOTONIC throughout: releases and
 *   other CPUs are compared.
 * Threads: `threads`, at the policy and priority of the measuring thread, which only waits; on the
 *   CPU of the run, or with `shared` bound to nothing. Policy `deadline`: SCHED_DEADLINE, a period
 *   of period_ns, nine tenths of the CPUs in equal parts. One that is behind goes on at once.
 * Wrong if: steps are counted wrongly: delay_step makes one late on purpose, which late_once has to
 *   find. Stamps and notes of a thread (200 ns a step) are outside of step_time, but not of the
 *   next release. Steps missed by throttling are the system's doing. A variant ends 1 s after its
 *   last deadline at the latest. With `semaphore`, threads that are behind work with another step.
 */
#include "base/posix_source.h"

#include "family/simulate/simulation.h"

#include <stdio.h>

enum { SAMPLES = 100 };

#define LONGEST_NS INT64_C(10000000000)

static const struct param_spec params[] = {
    SIMULATION_PARAMS,
    {"period_ns", PARAM_NS, false, "0", 0, LONGEST_NS, NULL, "time between releases; 0: step_ns",
     NULL},
    {"simulated_s", PARAM_COUNT, false, "0", 0, 86400, NULL,
     "simulated time; 0: as many steps as samples", NULL},
    SIMULATION_MORE_PARAMS,
    {"delay_step", PARAM_COUNT, false, "0", 0, INT64_C(1000000000), NULL,
     "step, from 1, that is made late on purpose; 0: none", NULL},
    {"delay_ns", PARAM_NS, false, "0", 0, LONGEST_NS, NULL,
     "by how much; 0: one and a half periods", NULL},
    {"costs_only", PARAM_COUNT, false, "0", 0, 1, NULL,
     "1: time the parts of a step (event tire_costs) and simulate none", NULL},
    {0},
};

#define LABELS "masses,threads,solver,policy"

static const struct series_spec series[] = {
    {"missed", "count", LABELS, "steps that missed their deadline, one value for each variant",
     NULL, NULL, RECORD_SHAPE_COUNT},
    {"lateness", "ns", LABELS, "deadline of a step that missed it",
     "clock reading of its last thread at its end", .may_be_empty = true},
    {"step_time", "ns", LABELS, "clock reading of the first thread at the start of a step",
     "clock reading of its last thread at its end"},
    {"dispatch", "ns", LABELS, "release of a step",
     "clock reading of the first thread at its start"},
    {"idle", "ns", LABELS, "clock reading of the last thread at the end of a step",
     "release of the next one; 0 for a step that missed it"},
    {0},
};
enum { MISSED, LATENESS, STEP_TIME, DISPATCH, IDLE, SERIES };

static bool has_costs_only(const struct run *run)
{
    return run_number(run, "costs_only") > 0;
}

static const struct verdict_spec verdicts[] = {
    {"late_once", "a step that was made late on purpose is counted as missed, once and only once"},
    {0},
};

static int64_t period_of(const struct run *run)
{
    int64_t period_ns = run_number(run, "period_ns");
    return period_ns > 0 ? period_ns : run_number(run, "step_ns");
}

static int check_timer(struct run *run)
{
    struct timespec resolution;
    int64_t period_ns = period_of(run);
    if (clock_getres(CLOCK_MONOTONIC, &resolution) != 0 ||
        clock_timespec_ns(&resolution) <= period_ns)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose a longer period_ns",
                       "a period of %lld ns is shorter than a step of the clock, %lld ns",
                       (long long)period_ns, (long long)clock_timespec_ns(&resolution));
}

static int check(struct run *run)
{
    int64_t delay_step = run_number(run, "delay_step");
    if (simulation_check(run) != 0 || check_timer(run) != 0)
        return -1;
    if (run_number(run, "simulated_s") > 0)
        run->samples = simulation_steps(run);
    if (run->samples == 0 || delay_step <= (int64_t)run->samples)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose one of them",
                       "delay_step=%lld is not among the %llu steps", (long long)delay_step,
                       (unsigned long long)run->samples);
}

enum { COSTS_REPEATS = 3 };
enum { COSTS_NS = 500000000 }; /* of a variant, with the start of its threads */

/* With what each variant may take beyond its last deadline, and rests. */
static int declare(struct run *run)
{
    int count = variant_count(run);
    double steps_ns = (double)run->samples * (double)period_of(run) * count;
    double planned_ns = run->samples > 0 ? steps_ns : (double)RUN_LONGEST_NS;
    if (run->duration_ns > 0 && (double)run->duration_ns < planned_ns)
        planned_ns = (double)run->duration_ns;
    double ns = planned_ns + (double)count * 2e9;
    if (has_costs_only(run)) {
        run->series_left_out = SERIES;
        ns = (double)((int64_t)count * COSTS_NS * COSTS_REPEATS);
    }
    return simulation_declare(run, ns < (double)RUN_LONGEST_NS ? (int64_t)ns : RUN_LONGEST_NS);
}

/* Late because the program was stopped, or because steps before it were and none was in time since.
 */
static bool is_behind_stop(struct run *run, const struct step_end *end, int64_t at_ns)
{
    struct simulation *simulation = run->own;
    simulation->is_behind_stop = end->is_late && (simulation->is_behind_stop ||
                                                  stops_touch(run->arena, end->late_ns, at_ns));
    return simulation->is_behind_stop;
}

static void take_step(struct team *team, const struct step_end *end)
{
    struct run *run = team->run;
    int64_t at_ns = run_at_ns(run, end->end_ns);
    int64_t dispatch_ns = end->begin_ns - step_release_ns(team->ring, end->step);
    record_value(run_record(run, STEP_TIME), end->end_ns - end->begin_ns, at_ns);
    record_value(run_record(run, DISPATCH), dispatch_ns, at_ns);
    record_value(run_record(run, IDLE), end->is_late ? 0 : -end->late_ns, at_ns);
    if (is_behind_stop(run, end, at_ns)) {
        record_count_stopped(run_record(run, LATENESS), 1, end->late_ns);
        step_ring_forgive(team->ring, end->step + 1);
    } else if (end->is_late) {
        record_value(run_record(run, LATENESS), end->late_ns, at_ns);
    }
}

static uint64_t planned_steps(const struct run *run, int64_t period_ns)
{
    struct run_budget budget = run_budget(run, variant_count(run));
    int64_t left_ns =
        budget.end_ns < INT64_MAX ? budget.end_ns - clock_monotonic_ns() : RUN_LONGEST_NS;
    uint64_t most = left_ns > period_ns ? (uint64_t)(left_ns / period_ns) : 1;
    return budget.samples > 0 && budget.samples < most ? budget.samples : most;
}

/* ---- a step that is made late ---- */

static void plan_delay(struct run *run, int64_t period_ns)
{
    struct simulation *simulation = run->own;
    int64_t delay_ns = run_number(run, "delay_ns");
    simulation->team.delay_step = (uint64_t)run_number(run, "delay_step");
    simulation->team.delay_ns = delay_ns > 0 ? delay_ns : period_ns / 2 * 3;
}

static void report_delay(struct run *run)
{
    const struct team *team = &((struct simulation *)run->own)->team;
    if (team->delay_step > 0)
        arena_event(run->arena, "delayed_on_purpose", -1,
                    DATA(data_integer("step_count", (int64_t)team->delay_step),
                         data_integer("delay_ns", team->delay_ns)),
                    "step %llu of each simulation was made late on purpose, by %lld us",
                    (unsigned long long)team->delay_step, (long long)(team->delay_ns / 1000));
}

/* The lateness of the delayed thread is known from its own stamp, apart from the count. A step that
 * is late for no other reason is missed if it is; others may have been late too. */
static bool was_counted_right(const struct step_counts *counts, bool is_late, uint64_t step)
{
    if (is_late && counts->missed == 1 && counts->first_missed != step)
        return false;
    return is_late ? counts->watched_missed == 1 : counts->watched_missed <= 1;
}

static void look_at_delay(struct run *run, const struct step_counts *counts)
{
    struct simulation *simulation = run->own;
    const struct team *team = &simulation->team;
    int64_t end_ns = team->members[0].delayed_end_ns;
    if (end_ns == 0 || (simulation->has_looked_late && !simulation->was_late_once))
        return;
    int64_t late_ns = end_ns - step_release_ns(team->ring, team->delay_step);
    simulation->has_looked_late = true;
    simulation->was_late_once = was_counted_right(counts, late_ns > 0, team->delay_step);
    snprintf(simulation->late_evidence, sizeof simulation->late_evidence,
             "step %llu ended %lld us after its deadline and was counted %llu times; %llu of %llu "
             "steps missed",
             (unsigned long long)team->delay_step, (long long)(late_ns / 1000),
             (unsigned long long)counts->watched_missed, (unsigned long long)counts->missed,
             (unsigned long long)counts->released);
}

/* ---- measuring ---- */

static int measure_variant(struct run *run)
{
    struct simulation *simulation = run->own;
    int64_t period_ns = period_of(run);
    plan_delay(run, period_ns);
    simulation->team.take_step = take_step;
    simulation->is_behind_stop = false;
    simulation_begin_variant(simulation);
    if (has_costs_only(run)) {
        run->observed_count++;
        return simulation_run(simulation, 0, period_ns, INT64_MAX);
    }
    if (simulation_run(simulation, planned_steps(run, period_ns), period_ns, INT64_MAX) != 0)
        return -1;
    int64_t now_ns = clock_monotonic_ns();
    struct step_counts *counts = &simulation->ring->counts;
    step_ring_close(simulation->ring, simulation->team.steps, team_over_ns(&simulation->team));
    record_value(run_record(run, MISSED), (int64_t)counts->missed, run_at_ns(run, now_ns));
    look_at_delay(run, counts);
    simulation_report(simulation, counts);
    simulation_keep_blocks(simulation);
    return 0;
}

/* In turn, each time with new threads: whether threads meet at a mass may differ from start to
 * start. */
static int measure_costs(struct run *run)
{
    for (int i = 0; i < COSTS_REPEATS; i++)
        if (variants_measure(run) != 0)
            return -1;
    return 0;
}

static int measure(struct run *run)
{
    if (has_costs_only(run))
        return measure_costs(run);
    plan_delay(run, period_of(run));
    report_delay(run);
    return variants_measure(run);
}

static int judge(struct run *run)
{
    const struct simulation *simulation = run->own;
    if (simulation->has_looked_late)
        arena_verdict(run->arena, simulation->was_late_once, 1, "late_once", "%s",
                      simulation->late_evidence);
    return has_costs_only(run) ? 0 : simulation_judge(run);
}

const struct test sim_s_rt = {
    .id = "SIM-S-RT",
    .title = "Missed deadlines of a simulation in real time",
    .source = "[G] Garre et al. 2014, section 4",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .default_samples = SAMPLES,
    .setup_ns = 50000000,
    .sample_param = "step_ns",
    .check = check,
    .has_variant = simulation_has_variant,
    .declare = declare,
    .prepare = simulation_prepare,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = simulation_finish,
};
