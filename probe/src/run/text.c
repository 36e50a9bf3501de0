#include "base/posix_source.h"

#include "run/stream.h"

#include "load/report.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* One in so many: as far as the counter may run from CLOCK_MONOTONIC (base/clock.h). */
enum { CLOCKS_APART = 2000 };
enum { CELL_BYTES = 24, LABEL_BYTES = 2 * ARENA_NAME_BYTES, NAME_BYTES = 160, LEAST_COLUMNS = 30 };

static void plain_duration(char *text, size_t bytes, double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    double size = ns < 0 ? -ns : ns;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (size >= units[i].ns) {
            snprintf(text, bytes, "%.4g %s", ns / units[i].ns, units[i].unit);
            return;
        }
    snprintf(text, bytes, "%.4g ns", ns);
}

static void cell(char text[CELL_BYTES], const struct arena_series *series, double value)
{
    if (strcmp(series->unit, "ns") == 0)
        plain_duration(text, CELL_BYTES, value);
    else
        snprintf(text, CELL_BYTES, "%.6g", value);
}

/* A text, a duration, or a number with its name: "waiters 97". */
static void label_words(char text[LABEL_BYTES], const struct arena_label *label)
{
    size_t length = strlen(label->key);
    if (label->text[0])
        snprintf(text, LABEL_BYTES, "%s", label->text);
    else if (length > 3 && strcmp(label->key + length - 3, "_ns") == 0)
        plain_duration(text, LABEL_BYTES, (double)label->number);
    else
        snprintf(text, LABEL_BYTES, "%s %lld", label->key, (long long)label->number);
}

static void series_name(char *text, size_t bytes, const struct arena_series *series)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", series->name);
    for (uint32_t i = 0; i < series->label_count && used < bytes; i++) {
        char label[LABEL_BYTES];
        label_words(label, &series->labels[i]);
        used += (size_t)snprintf(text + used, bytes - used, " %s", label);
    }
}

/* Of the names: as wide as the longest. */
static int name_columns(const struct arena *arena)
{
    char name[NAME_BYTES];
    int columns = LEAST_COLUMNS;
    for (uint32_t i = 0; i < arena->series_count; i++) {
        series_name(name, sizeof name, &arena->series[i]);
        columns = (int)strlen(name) > columns ? (int)strlen(name) : columns;
    }
    return columns;
}

static void series_row(struct emit *emit, const struct arena *arena, uint32_t index, int columns,
                       struct record *scratch)
{
    const struct arena_series *series = &arena->series[index];
    const struct record *record = arena_read(arena, index, scratch);
    char name[NAME_BYTES], min[CELL_BYTES] = "-", median[CELL_BYTES] = "-", max[CELL_BYTES] = "-";
    char p99[CELL_BYTES] = "-";
    series_name(name, sizeof name, series);
    if (record->count > 0) {
        cell(min, series, (double)record->min);
        cell(median, series, (double)record_quantile(record, 0.5));
        cell(max, series, (double)record->max);
    }
    if (record->count >= 1000)
        cell(p99, series, (double)record_quantile(record, 0.99));
    emit_format(emit, "%-*s %9llu %9s %9s %9s %9s\n", columns, name,
                (unsigned long long)record->count, min, median, p99, max);
}

/* What the toolkit says at its top, for who reads the probe alone. */
static void report_impossible(struct emit *emit, const struct arena *arena, uint32_t index,
                              struct record *scratch)
{
    const struct arena_series *series = &arena->series[index];
    const struct record *record = arena_read(arena, index, scratch);
    struct record_range range = stream_possible(arena, series);
    char name[NAME_BYTES], least[CELL_BYTES], most[CELL_BYTES];
    bool is_timed = record_is_timed(series->unit, series->derived);
    int64_t slack = is_timed ? range.most / CLOCKS_APART : 0;
    if (record->count == 0 ||
        (record->min >= range.least && (range.most == 0 || record->max - slack <= range.most)))
        return;
    series_name(name, sizeof name, series);
    cell(least, series, (double)record->min);
    cell(most, series, (double)record->max);
    emit_format(emit, "CANNOT BE TRUE  %s: %s to %s%s: do not use it\n", name, least, most,
                is_timed ? ", a clock or a timer is wrong" : "");
}

static void series_table(struct emit *emit, const struct arena *arena, struct record *scratch)
{
    int columns = name_columns(arena);
    emit_format(emit, "%-*s %9s %9s %9s %9s %9s\n", columns, "series", "count", "min", "median",
                "p99", "max");
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena_is_named(arena, i))
            series_row(emit, arena, i, columns, scratch);
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena_is_named(arena, i))
            report_impossible(emit, arena, i, scratch);
}

static void head(struct emit *emit, const struct run *run)
{
    bool is_tried = run->arena && run->arena->conditions_json[0];
    emit_format(emit, "%s  %s\n", run->test->id, run->test->title);
    if (is_tried && !run->is_realtime)
        emit_raw(emit, "NOT SCHEDULED AS REAL-TIME\n");
    emit_format(emit, "%s priority %d, ",
                run->setup.policy == SCHED_FIFO ? "SCHED_FIFO"
                : run->setup.policy == SCHED_RR ? "SCHED_RR"
                                                : "SCHED_OTHER",
                run->setup.priority);
    if (run->setup.cpu >= 0)
        emit_format(emit, "CPU %d, ", run->setup.cpu);
    else
        emit_raw(emit, "not bound to a CPU, ");
    emit_format(emit, "clock %s%s\n", run->clock.name ? run->clock.name : "-",
                !is_tried        ? ""
                : run->is_locked ? ", memory locked"
                                 : ", memory not locked");
}

static void calibrated(struct emit *emit, const struct arena *arena)
{
    uint32_t count = arena ? arena->calibrated_count : 0;
    for (uint32_t i = 0; i < count; i++)
        emit_format(emit, "calibrated  %s %lld\n", arena->calibrated[i].param,
                    (long long)arena->calibrated[i].value);
}

static void report_outcome(struct emit *emit, const struct run *run)
{
    if (run->outcome.status != STATUS_MEASURED || run->outcome.reason[0])
        emit_format(emit, "%s: %s\n", status_name(run->outcome.status), run->outcome.reason);
    char remedy[STATUS_TEXT_BYTES + STATUS_COMMAND_BYTES];
    if (run->outcome.remedy[0])
        emit_format(emit, "  -> %s\n", outcome_remedy_text(&run->outcome, remedy, sizeof remedy));
}

/* The command of an event is in its data; print it after the text. */
static void note(struct emit *emit, const struct arena_event *event)
{
    const char *command = data_find_text(event->data, sizeof event->data, "command");
    emit_format(emit, "note  %s%s%s\n", event->text, command ? ": " : "", command ? command : "");
}

void text_report(struct emit *emit, const struct run *run)
{
    head(emit, run);
    const struct arena *arena = run->arena;
    bool has_figures = arena && !run->placement.has_no_figures;
    if (has_figures && arena->series_count > 0)
        series_table(emit, arena, run->scratch);
    calibrated(emit, arena);
    for (uint32_t i = 0; has_figures && i < arena->verdict_count; i++)
        emit_format(emit, "%s  %s: %s\n", arena->verdicts[i].pass ? "pass" : "FAIL",
                    arena->verdicts[i].name, arena->verdicts[i].evidence);
    if (arena)
        load_table(emit, run->load);
    uint32_t event_count = arena ? arena->event_count : 0;
    for (uint32_t i = 0; i < event_count && i < arena_event_room(arena); i++)
        note(emit, arena_event_at(arena, i));
    if (run->instrument.pair_count > 0)
        emit_format(emit, "instrument: pair of stamps median %lld ns, record step %.1f ns\n",
                    (long long)run->instrument.pair_median_ns, run->instrument.record_step_ns);
    report_outcome(emit, run);
}
