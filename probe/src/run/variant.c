#include "base/posix_source.h"

#include "run/variant.h"

#include "run/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Variants that are measured together have up to EVENTS_EACH events each at the end, beside those
 * of the run: of EVENTS_FIT variants they find room in any build. */
enum { EVENTS_EACH = 4, EVENTS_FIT = 4 };
enum { GENEROUS = 5 /* factor on the time of samples, which depends on the machine */ };

/* Number of values of the parameter at `place`; an empty list of CPUs means the run's CPU. */
static int value_count(const struct run *run, int place)
{
    int count = run->request->params[place].count;
    return count > 0 ? count : 1;
}

static bool has_label(const struct run *run, int place)
{
    return run->test->params[place].label != NULL;
}

static int param_count(const struct run *run)
{
    int count = 0;
    while (run->test->params && run->test->params[count].name)
        count++;
    return count;
}

/* Number of combinations, including those that has_variant rejects. */
static int combination_count(const struct run *run)
{
    int count = 1;
    for (int i = 0; i < param_count(run); i++)
        count *= has_label(run, i) ? value_count(run, i) : 1;
    return count;
}

static void set_value(const struct run *run, struct variant *variant, int place, int index)
{
    const struct param_spec *spec = &run->test->params[place];
    const struct param_value *value = &run->request->params[place];
    variant->number[place] = value->count > 0 ? value->number[index] : run->setup.cpu;
    variant->text[place] = spec->unit == PARAM_NAME ? spec->choices[variant->number[place]] : NULL;
}

/* Fills combination `index`; false if has_variant rejects it. The last parameter varies fastest. */
static bool combination(const struct run *run, int index, struct variant *variant)
{
    memset(variant, 0, sizeof *variant);
    for (int i = param_count(run) - 1; i >= 0; i--) {
        if (!has_label(run, i))
            continue;
        set_value(run, variant, i, index % value_count(run, i));
        index /= value_count(run, i);
    }
    return !run->test->has_variant || run->test->has_variant(run, variant);
}

int variant_count(const struct run *run)
{
    struct variant variant;
    int count = 0;
    for (int i = 0; i < combination_count(run); i++)
        count += combination(run, i, &variant) ? 1 : 0;
    return count;
}

static int series_count(const struct run *run)
{
    int count = 0;
    while (run->test->series && run->test->series[count].name)
        count++;
    return count - run->series_left_out;
}

int variant_place(const struct run *run, const char *param)
{
    int place = 0;
    while (strcmp(run->test->params[place].name, param) != 0)
        place++;
    return place;
}

/* ---- series ---- */

static int place_of_label(const struct run *run, const char *label, size_t length)
{
    for (int i = 0; i < param_count(run); i++)
        if (has_label(run, i) && strlen(run->test->params[i].label) == length &&
            strncmp(run->test->params[i].label, label, length) == 0)
            return i;
    return -1;
}

/* Adds one label, NAME or NAME=TEXT up to the comma. A CPU that cannot be chosen gets none. */
static void add_label(struct run *run, int series, const struct variant *variant, const char *label)
{
    char word[ARENA_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(label, ","), label);
    char *fixed = strchr(word, '=');
    if (fixed) {
        *fixed = '\0';
        arena_plan_label_text(&run->plan, series, word, fixed + 1);
        return;
    }
    int place = place_of_label(run, word, strlen(word));
    bool is_no_cpu = run->test->params[place].unit == PARAM_CPU && variant->number[place] < 0;
    if (variant->text[place])
        arena_plan_label_text(&run->plan, series, word, variant->text[place]);
    else if (!is_no_cpu)
        arena_plan_label_number(&run->plan, series, word, variant->number[place]);
}

static bool is_in(const struct run *run, const struct variant *variant,
                  const struct series_spec *spec)
{
    if (!spec->only)
        return true;
    size_t length = strcspn(spec->only, "=");
    const char *text = variant->text[place_of_label(run, spec->only, length)];
    return strcmp(text, spec->only + length + 1) == 0;
}

/* `first`: by place in the table, the series of the first variant that has it; -1: none yet. */
static int add_series(struct run *run, const struct variant *variant,
                      const struct series_spec *spec, int *first)
{
    int series = arena_plan_series(&run->plan, spec->name, spec->unit, &spec->shape);
    if (series < 0)
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
    for (const char *label = spec->labels; *label; label += strcspn(label, ",")) {
        label += strspn(label, ",");
        add_label(run, series, variant, label);
    }
    if (spec->derived)
        arena_plan_derived(&run->plan, series, spec->derived);
    arena_plan_range(&run->plan, series, &spec->range);
    if (*first >= 0 && !run->test->is_concurrent)
        arena_plan_share(&run->plan, *first);
    *first = *first < 0 ? series : *first;
    return 0;
}

int variant_declare(struct run *run)
{
    struct variant variant;
    int declared = 0, first[TEST_SERIES];
    for (int j = 0; j < TEST_SERIES; j++)
        first[j] = -1;
    for (int i = 0; i < combination_count(run); i++) {
        if (!combination(run, i, &variant))
            continue;
        declared++;
        variant.series = (int)run->plan.series_count;
        for (int j = 0; j < series_count(run); j++)
            if (is_in(run, &variant, &run->test->series[j]) &&
                add_series(run, &variant, &run->test->series[j], &first[j]) != 0)
                return -1;
    }
    if (run->test->is_concurrent && declared > EVENTS_FIT)
        run->plan.more_events = (uint32_t)(declared - EVENTS_FIT) * EVENTS_EACH;
    return 0;
}

/* ---- measuring ---- */

void variant_begin(struct run *run, int index)
{
    int found = -1, first = 0, next = 0;
    for (int i = 0; found < index; i++) {
        if (!combination(run, i, &run->variant))
            continue;
        found++;
        first = next;
        for (int j = 0; j < series_count(run); j++)
            next += is_in(run, &run->variant, &run->test->series[j]) ? 1 : 0;
    }
    run->variant.series = first;
    for (int j = 0; j < series_count(run); j++)
        run->records[j] = is_in(run, &run->variant, &run->test->series[j])
                              ? arena_record(run->arena, first++)
                              : NULL;
}

int variants_measure(struct run *run)
{
    int count = variant_count(run);
    for (int i = 0; i < count && !run_should_stop(); i++) {
        variant_begin(run, i);
        if (run->test->measure_variant(run) != 0)
            return -1;
    }
    bool has_observed = arena_has_values(run->arena) || run->arena->verdict_count > 0;
    if (run->lacks && !run_should_stop() && !has_observed)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, "%s", run->lacks);
    return 0;
}

int variant_lacks(struct run *run, const char *reason)
{
    char name[ARENA_NAME_BYTES];
    variant_name(run, name, sizeof name);
    run->lacks = reason;
    arena_event(run->arena, "variant_unsupported", -1,
                DATA(data_text("variant", name), data_text("reason", reason)), "%s: %s", name,
                reason);
    return 0;
}

int64_t variant_number(const struct run *run, const char *param)
{
    return run->variant.number[variant_place(run, param)];
}

const char *variant_text(const struct run *run, const char *param)
{
    return run->variant.text[variant_place(run, param)];
}

void variant_name(const struct run *run, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < param_count(run) && used < bytes; i++) {
        if (!has_label(run, i))
            continue;
        const char *between = used > 0 ? ", " : "";
        if (run->variant.text[i])
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s", between, run->variant.text[i]);
        else
            used += (size_t)snprintf(text + used, bytes - used, "%s%s %lld", between,
                                     run->test->params[i].label, (long long)run->variant.number[i]);
    }
}

static int take_warm_up(struct run *run, int (*take)(struct run *run))
{
    int result = 0;
    run->is_warm_up = true;
    for (int i = 0; i < run->test->warm_up_samples && result == 0; i++)
        result = take(run);
    run->is_warm_up = false;
    return result;
}

static int take_burst(struct run *run, const struct run_budget *budget,
                      const struct record *counted, int count, int (*take)(struct run *run))
{
    int result = 0;
    for (int i = 0; i < count && result == 0; i++) {
        if (budget->samples > 0 && counted->count >= budget->samples)
            break;
        result = take(run);
    }
    return result;
}

int variant_sample_within(struct run *run, int counted, int burst_count,
                          const struct run_budget *budget, int (*take)(struct run *run))
{
    const struct record *record = run->records[counted];
    int64_t now_ns = burst_next(run), rested_ns = -1;
    int result = 0;
    while (result == 0 && run_budget_left(budget, record->count, now_ns)) {
        if (rested_ns != run->rt_budget.rested_ns)
            result = take_warm_up(run, take);
        rested_ns = run->rt_budget.rested_ns;
        if (result == 0)
            result = take_burst(run, budget, record, burst_count, take);
        if (result == 0)
            now_ns = burst_next(run);
    }
    return result;
}

int variant_sample(struct run *run, int counted, int burst_count, int (*take)(struct run *run))
{
    struct run_budget budget = run_budget(run, run->test->is_concurrent ? 1 : variant_count(run));
    return variant_sample_within(run, counted, burst_count, &budget, take);
}

/* ---- time ---- */

/* Time that sample_param adds to one value; the mean over a list. */
static double param_ns(const struct run *run)
{
    if (!run->test->sample_param)
        return 0;
    const struct param_value *value = run_param(run, run->test->sample_param);
    double sum = 0;
    for (int i = 0; i < value->count; i++)
        sum += (double)value->number[i];
    int percent = run->test->sample_percent ? run->test->sample_percent : 100;
    return value->count > 0 ? sum / value->count * percent / 100 : 0;
}

/* One value of each variant. */
static double values_ns(const struct run *run)
{
    int count = run->test->is_concurrent ? 1 : variant_count(run);
    return ((double)run->test->sample_ns + param_ns(run)) * count;
}

static int64_t within_longest(double ns)
{
    return ns < (double)RUN_LONGEST_NS ? (int64_t)ns : RUN_LONGEST_NS;
}

int64_t variant_least_ns(const struct run *run)
{
    return within_longest(values_ns(run) * (1 + (double)run->test->extra_samples));
}

int64_t variant_expected_ns(const struct run *run)
{
    const struct test *test = run->test;
    double sample_ns = values_ns(run);
    double extra_ns = sample_ns * (double)test->extra_samples + (double)test->setup_ns;
    double by_samples_ns = sample_ns * (double)run->samples * (double)GENEROUS;
    double ns =
        by_samples_ns; /* 0 for a test that takes as long as it takes: setup_ns and the extras */
    if (run->duration_ns > 0 && (run->samples == 0 || (double)run->duration_ns < ns))
        ns = (double)run->duration_ns;
    return within_longest(ns + extra_ns);
}
