/* IRQ-S-SUS: maximum sustained interrupt frequency (Dedicated Systems 2.9). Steps of `interrupts`
 * interrupts at a fixed period; the smallest period with none lost is searched
 * (sustained_search.h).
 *
 *   minimal_period  the shortest period of a step in which none was lost and which the source held;
 *                   one value a run and source
 *   loss            interrupts lost, one value for each step; label period_ns: the period tried
 *
 * The measuring thread spins on the CPU under test and reads the counter; a gap in its readings is
 * an interruption.
 *   ipi, external   a thread on another CPU, at the run's priority, raises interrupts on a grid
 *                   start + k x period. Each call returns when its interrupt was served, and the
 *                   interrupt's gap begins between the call and its return. One that has no such
 *                   gap is lost; one that came while the CPU was gone already is merged.
 *   timer           a periodic timer (timerfd) on the CPU under test. Linux arms it anew only when
 *                   its expiries are taken, which the measuring thread does after each gap. More
 *                   than one at a time: those that were due while the CPU was gone were served as
 *                   one, and all but the first are lost. Those that were due while the thread had
 *                   the CPU are the instrument's, for the timer was not armed: they are no
 *                   interrupts, neither lost nor of those wanted, and stand apart
 *                   (instrument_count). An expiry in a gap that had begun before it was due is
 *                   merged with another interruption; one that came while the thread took the one
 *                   before has no gap of its own and is unwatched. The thread looks for it at once
 *                   when one came due in a take, so that the next one is armed in time.
 * Each interrupt is one of seen, merged, unwatched and lost. Late, counted apart: not served before
 * the next one was due. Where a timer's is late the next one is lost, so its late_count is the
 * number of interruptions that lost some, and no figure of its own.
 *
 * A step passes if it has lost none and the source held the period: where more than one send in a
 * hundred began after the next one was due, or more than one expiry in a hundred was due before the
 * timer was armed, the limit is the source's (is_source_limited), never the system's. A step that
 * has failed ends after a tenth of its interrupts, but not before 10,000. Each finished step is an
 * event `sustained_step` and outlives a kill of the probe; passed_ns and failed_ns go on from
 * there.
 *
 * The thread rests as real-time throttling asks (run/burst.h). The source pauses meanwhile and
 * begins a new grid, so a step is a series of bursts of up to 0.4 s, in each of which the period is
 * held without a pause.
 *
 * How it could be wrong: an interruption of another kind that begins in the window of an interrupt
 * counts as it. What takes less than the threshold of a gap is not seen (gap_log.h). Interrupts of
 * another CPU come only when the one before was served, so none can be lost where that is so: their
 * limit is the round trip. Expiries that a timer loses in an interruption that began while the
 * thread took some (less than a microsecond of each period) count as the instrument's. Where the
 * hypervisor takes the CPU for longer than a period, a timer loses expiries: the period found is
 * that of the machine as it is. A shorter period than the one found may be sustained by luck, and
 * the one found may fail with more interrupts: the figure says with how many. The search supposes
 * that a longer period is sustained where a shorter one is.
 */
#include "base/posix_source.h"

#include "family/interrupt/sustained_search.h"
#include "family/interrupt/sustained_step.h"

#include "run/variant.h"

#include <errno.h>
#include <string.h>

enum { SAMPLES = 20000, STEPS = 20 };

#define LONGEST_NS INT64_C(100000000)

static const struct param_spec params[] = {
    INTERRUPT_SOURCE_PARAMS,
    {"interrupts", PARAM_COUNT, false, "0", 0, INT64_C(1000000000000), NULL,
     "interrupts of each step; 0: as many as samples", NULL},
    {"period_min_ns", PARAM_NS, false, "1us", 200, LONGEST_NS, NULL, "shortest period to try",
     NULL},
    {"period_max_ns", PARAM_NS, false, "100us", 200, LONGEST_NS, NULL, "longest period to try",
     NULL},
    {"passed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period that is known to be sustained, of each source in its order; 0: none", NULL},
    {"failed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period that is known not to be, of each source; 0: none", NULL},
    {"source_failed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period that each source is known not to hold, where that is longer; 0: none", NULL},
    {0},
};

static const struct series_spec series[] = {
    {"minimal_period",
     "ns",
     "source",
     "the shortest period at which none of the interrupts of a step was lost",
     NULL,
     "min(period_ns of the steps that lost none, where the source held it)",
     {.sub_bits = 7}},
    {"loss", "count", "source,period_ns", "interrupts that were lost in a step", NULL, NULL,
     RECORD_SHAPE_COUNT},
    {0},
};
enum { MINIMAL_PERIOD, LOSS };

struct own {
    struct sustained_sender sender;
    struct interrupt_line line;
    struct sustained_search search;
    bool is_source_limit; /* of the longest period that failed */
    int step_count;       /* of this source, in this run */
    int measured_count;   /* sources with a step */
    struct sustained_step step;
};

static int check(struct run *run)
{
    int64_t interrupts = run_number(run, "interrupts");
    if (run_number(run, "period_min_ns") > run_number(run, "period_max_ns"))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "give the shorter one as the minimum",
                           "period_min_ns is longer than period_max_ns");
    if (interrupts > 0)
        run->samples = (uint64_t)interrupts;
    if (run->samples < 2)
        return outcome_set(
            &run->outcome, STATUS_UNSUPPORTED, "give at least 2: --samples, or -p interrupts",
            "a step of %llu interrupts has no period", (unsigned long long)run->samples);
    run->series_left_out = 1; /* the series of steps, which `declare` adds */
    return interrupt_sources_check(run);
}

static int declare_steps(struct run *run, const char *source, int *first)
{
    for (int step = 0; step < STEPS; step++) {
        int loss = arena_plan_series(&run->plan, series[LOSS].name, series[LOSS].unit,
                                     &series[LOSS].shape);
        if (loss < 0)
            return outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
        arena_plan_label_text(&run->plan, loss, "source", source);
        arena_plan_late_label(&run->plan, loss, "period_ns");
        if (*first >= 0)
            arena_plan_share(&run->plan, *first);
        else
            *first = loss;
    }
    return 0;
}

/* Behind the minimal periods, STEPS series for each source in the order of the variants. */
static int declare(struct run *run)
{
    const struct param_value *sources = run_param(run, "source");
    int first = -1;
    if (variant_declare(run) != 0)
        return -1;
    for (int i = 0; i < sources->count; i++)
        if (interrupt_source_is_wanted(run, sources->number[i]) &&
            declare_steps(run, interrupt_source_names[sources->number[i]], &first) != 0)
            return -1;
    run->plan.more_events = (uint32_t)(variant_count(run) * (STEPS + 2));
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->step.run = run;
    interrupt_sources_tell_missing(run);
    return 0;
}

/* ---- a step ---- */

/* Place of the variant among those that are measured, and of its source among those asked for. */
static int place_of(const struct run *run, int64_t source, bool is_of_variants)
{
    const struct param_value *sources = run_param(run, "source");
    int place = 0;
    for (int i = 0; i < sources->count && sources->number[i] != source; i++)
        place += !is_of_variants || interrupt_source_is_wanted(run, sources->number[i]) ? 1 : 0;
    return place;
}

static void record_loss(struct run *run, int64_t source, uint64_t lost)
{
    struct own *own = run->own;
    if (own->step_count >= STEPS)
        return;
    int variant = place_of(run, source, true);
    int loss = variant_count(run) + variant * STEPS + own->step_count;
    arena_label(run->arena, loss, own->step.period_ns);
    record_value(arena_record(run->arena, loss), (int64_t)lost,
                 run_at_ns(run, clock_monotonic_ns()));
}

static void tell_step(struct run *run, bool has_passed)
{
    const struct own *own = run->own;
    const struct sustained_step *step = &own->step;
    const struct sustained_counts *counts = &step->match.counts;
    const char *source = variant_text(run, "source");
    bool is_source_limited = sustained_is_source_limited(counts);
    arena_event(run->arena, "sustained_step", run_at_ns(run, clock_monotonic_ns()),
                DATA(data_text("source", source), data_integer("period_ns", step->period_ns),
                     data_integer("interrupts_count", (int64_t)counts->interrupts),
                     data_integer("seen_count", (int64_t)counts->seen),
                     data_integer("lost_count", (int64_t)counts->lost),
                     data_integer("late_count", (int64_t)counts->late),
                     data_integer("merged_count", (int64_t)counts->merged),
                     data_integer("unwatched_count", (int64_t)counts->unwatched),
                     data_integer("source_late_count", (int64_t)counts->source_late),
                     data_integer("instrument_count", (int64_t)counts->not_armed),
                     data_integer("longest_gap_ns", clock_ns(&run->clock, step->longest_gap)),
                     data_bool("is_source_limited", is_source_limited),
                     data_bool("passed", has_passed)),
                "%s, %.1f us: %s%s: %llu lost of %llu, %llu late, %llu merged", source,
                (double)step->period_ns / 1e3, has_passed ? "sustained" : "not sustained",
                is_source_limited ? " by the source" : "", (unsigned long long)counts->lost,
                (unsigned long long)counts->interrupts, (unsigned long long)counts->late,
                (unsigned long long)counts->merged);
}

/* False: the step was cut, and is none. */
static bool take_step(struct run *run, int64_t source, int64_t period_ns)
{
    struct own *own = run->own;
    struct gap_log gap_log;
    gap_log_open(&gap_log, &run->clock, NULL, 0);
    own->step.threshold = gap_log.threshold;
    own->step.period_ns = period_ns;
    own->step.wanted_count = run->samples;
    if (!sustained_step_run(&own->step))
        return false;
    bool has_passed = sustained_is_passed(&own->step);
    record_loss(run, source, own->step.match.counts.lost);
    tell_step(run, has_passed);
    if (!has_passed && period_ns > own->search.failed_ns)
        own->is_source_limit = own->step.match.counts.lost == 0;
    sustained_search_take(&own->search, period_ns, has_passed);
    own->step_count++;
    return true;
}

/* ---- the search ---- */

static int64_t known_ns(const struct run *run, const char *param, int64_t source)
{
    const struct param_value *known = run_param(run, param);
    int place = place_of(run, source, false);
    return place < known->count ? known->number[place] : 0;
}

static void begin_search(struct run *run, int64_t source)
{
    struct own *own = run->own;
    int64_t failed_ns = known_ns(run, "failed_ns", source);
    int64_t source_failed_ns = known_ns(run, "source_failed_ns", source);
    own->is_source_limit = source_failed_ns > failed_ns;
    own->step_count = 0;
    own->search = (struct sustained_search){
        .least_ns = run_number(run, "period_min_ns"),
        .most_ns = run_number(run, "period_max_ns"),
        .passed_ns = known_ns(run, "passed_ns", source),
        .failed_ns = own->is_source_limit ? source_failed_ns : failed_ns,
    };
}

/* Why the search ended where it did: a limit of the system or of the source; the shortest period
 * that was to be tried; no period. */
static const char *why_ended(const struct own *own)
{
    if (own->search.passed_ns == 0)
        return own->is_source_limit ? "source_held_none" : "none_sustained";
    if (own->search.failed_ns == 0 || own->search.passed_ns <= own->search.least_ns)
        return "shortest_tried";
    return own->is_source_limit ? "source" : "lost";
}

static const char *limit_words(const char *why)
{
    if (strcmp(why, "none_sustained") == 0)
        return "no period that was tried is sustained";
    if (strcmp(why, "source_held_none") == 0)
        return "the source held none of the periods that were tried: nothing is known of the "
               "system";
    if (strcmp(why, "shortest_tried") == 0)
        return "the shortest period that was tried is sustained: the limit is below it";
    if (strcmp(why, "source") == 0)
        return "the limit is the source's, which does not send faster; the system lost none";
    return "at shorter periods interrupts are lost";
}

static void end_search(struct run *run)
{
    struct own *own = run->own;
    const struct sustained_search *search = &own->search;
    const char *why = why_ended(own), *source = variant_text(run, "source");
    int64_t now_ns = run_at_ns(run, clock_monotonic_ns());
    if (search->passed_ns > 0)
        record_value(run_record(run, MINIMAL_PERIOD), search->passed_ns, now_ns);
    arena_event(
        run->arena, "sustained_limit", now_ns,
        DATA(data_text("source", source),
             search->passed_ns > 0 ? data_integer("passed_ns", search->passed_ns) : data_none(),
             search->failed_ns > 0 ? data_integer("failed_ns", search->failed_ns) : data_none(),
             data_integer("interrupts_count", (int64_t)run->samples), data_text("why", why)),
        "%s: %s", source, limit_words(why));
}

static void tell_cut(struct run *run)
{
    const struct own *own = run->own;
    const char *reason =
        own->step.error == ETIMEDOUT
            ? "no interrupt came while the thread spun: the kernel leaves the work "
              "to a thread of lower priority"
            : strerror(own->step.error);
    arena_event(run->arena, "sustained_not_sent", -1,
                DATA(data_text("source", variant_text(run, "source")),
                     data_integer("period_ns", own->step.period_ns), data_text("reason", reason)),
                "%s: %s", variant_text(run, "source"), reason);
}

static void search_period(struct run *run, int64_t source)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, variant_count(run));
    int64_t period_ns;
    begin_search(run, source);
    bool is_over = false;
    while ((period_ns = sustained_search_next(&own->search)) > 0) {
        is_over = run_should_stop() || clock_monotonic_ns() >= budget.end_ns;
        if (is_over || !take_step(run, source, period_ns))
            break;
    }
    own->measured_count += own->step_count > 0 || period_ns == 0 ? 1 : 0;
    if (period_ns == 0)
        end_search(run);
    else if (own->step.error && !is_over)
        tell_cut(run);
}

static int search_sent(struct run *run, int64_t source, struct outcome *outcome)
{
    struct own *own = run->own;
    if (interrupt_source(source)->open(&own->line, run, outcome) != 0)
        return -1;
    int error = sustained_sender_start(&own->sender, run, &own->line);
    if (error) {
        interrupt_source(source)->close(&own->line);
        return outcome_set_errno(outcome, error, "starting the thread that sends", NULL);
    }
    own->step.sender = &own->sender;
    search_period(run, source);
    sustained_sender_stop(&own->sender);
    interrupt_source(source)->close(&own->line);
    own->step.sender = NULL;
    return 0;
}

static int measure_variant(struct run *run)
{
    struct outcome outcome = {0};
    int64_t source = variant_number(run, "source");
    if (interrupt_source_look(run, source, &outcome) != 0)
        return 0; /* told before */
    if (!interrupt_source(source)->is_sent_elsewhere)
        search_period(run, source);
    else if (search_sent(run, source, &outcome) != 0)
        interrupt_source_tell_missing(run, source, &outcome);
    return 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->measured_count > 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "no source could be measured; the events say why");
}

const struct test irq_s_sus = {
    .id = "IRQ-S-SUS",
    .title = "Maximum sustained interrupt frequency",
    .source = "[D] Dedicated Systems 2012, IRQ-S-SUS",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .counts_rounds = true,
    .setup_ns = 500000000,
    .sample_ns = 30000, /* over all steps */
    .check = check,
    .has_variant = interrupt_source_has_variant,
    .declare = declare,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
