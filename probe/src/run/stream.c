#include "base/posix_source.h"

#include "run/stream.h"

#include "base/data.h"
#include "load/report.h"
#include "record/tables.h"
#include "run/request.h"
#include "shield/shield.h"

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void begin_line(struct emit *emit, const char *type)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", type);
}

static void end_line(struct emit *emit)
{
    emit_end_object(emit);
    emit_line(emit);
}

/* Negative values are unknown: null. */
static void known_integer(struct emit *emit, const char *name, int64_t value)
{
    if (value >= 0)
        emit_member_integer(emit, name, value);
    else
        emit_member_null(emit, name);
}

static void param_word(struct emit *emit, const struct param_spec *spec, int64_t number)
{
    if (spec->unit == PARAM_NAME)
        emit_string(emit, spec->choices[number]);
    else
        emit_integer(emit, number);
}

static void param(struct emit *emit, const struct param_spec *spec, const struct param_value *value)
{
    if (!spec->is_list) {
        param_word(emit, spec, value->number[0]);
        return;
    }
    emit_begin_array(emit);
    for (int i = 0; i < value->count; i++)
        param_word(emit, spec, value->number[i]);
    emit_end_array(emit);
}

static void header(struct emit *emit, const struct run *run)
{
    const struct param_spec *specs = run->test->params;
    begin_line(emit, "header");
    emit_member_text(emit, "schema", "hardstone.stream/1");
    emit_member_text(emit, "probe_version", PROBE_VERSION);
    emit_member_text(emit, "test", run->test->id);
    emit_member_integer(emit, "started_utc_ns", run->started_utc_ns);
    emit_member_object(emit, "params");
    for (int i = 0; specs && specs[i].name; i++) {
        if (run->request->params[i].count == 0)
            continue;
        emit_key(emit, specs[i].name);
        param(emit, &specs[i], &run->request->params[i]);
    }
    emit_end_object(emit);
    emit_end_object(emit);
}

static const char *policy_name(int policy)
{
    return policy == SCHED_FIFO ? "fifo" : policy == SCHED_RR ? "rr" : "other";
}

static void settings(struct emit *emit, unsigned applied)
{
    emit_member_array(emit, "settings");
    for (int i = 0; i < SHIELD_SETTINGS; i++)
        if (applied & 1u << i)
            emit_string(emit, shield_setting_name((enum shield_setting)i));
    emit_end_array(emit);
}

static void conditions(struct emit *emit, const struct run *run)
{
    emit_begin_object(emit);
    emit_member_text(emit, "load", run->request->load.text);
    emit_member_text(emit, "cpu_config", cpu_config_name(run->request->cpu_config));
    settings(emit, run->settings);
    known_integer(emit, "cpu", run->setup.cpu);
    emit_member_text(emit, "policy", policy_name(run->setup.policy));
    emit_member_integer(emit, "priority", run->setup.priority);
    emit_member_text(emit, "clock", run->clock.name ? run->clock.name : "monotonic");
    emit_member_bool(emit, "memory_locked", run->is_locked);
    emit_member_bool(emit, "realtime", run->is_realtime);
    if (run->preemption)
        emit_member_text(emit, "preemption", run->preemption);
    known_integer(emit, "dma_latency_us", run->dma_latency.is_held ? run->dma_latency.us : -1);
    emit_end_object(emit);
}

/* Stores the output of `compose` in `text`; empty if it did not fit, but texts are far shorter. The
 * first byte comes last: whoever reads the file meanwhile finds an empty text or a whole one. */
static void compose_into(char *text, const struct run *run,
                         void (*compose)(struct emit *, const struct run *))
{
    struct emit memory;
    emit_open(&memory, -1);
    compose(&memory, run);
    bool has_room = memory.error == 0 && memory.used < ARENA_JSON_BYTES;
    size_t length = has_room ? memory.used : 0;
    text[0] = '\0';
    atomic_thread_fence(memory_order_release);
    if (length == 0)
        return;
    memcpy(text + 1, memory.buffer + 1, length - 1);
    text[length] = '\0';
    atomic_thread_fence(memory_order_release);
    text[0] = memory.buffer[0];
}

void stream_compose_header(const struct run *run)
{
    compose_into(run->arena->header_json, run, header);
}

void stream_compose_conditions(const struct run *run)
{
    compose_into(run->arena->conditions_json, run, conditions);
}

void stream_header(struct emit *emit, const struct arena *arena)
{
    emit_raw(emit, arena->header_json);
    emit_line(emit);
}

static void pair(struct emit *emit, const struct instrument *instrument)
{
    emit_member_object(emit, "pair");
    emit_member_integer(emit, "count", instrument->pair_count);
    emit_member_integer(emit, "min", instrument->pair_min_ns);
    emit_member_integer(emit, "median", instrument->pair_median_ns);
    emit_member_integer(emit, "p99", instrument->pair_p99_ns);
    emit_member_integer(emit, "max", instrument->pair_max_ns);
    emit_member_double(emit, "mean", instrument->pair_mean_ns);
    emit_end_object(emit);
}

static void skews(struct emit *emit, const struct instrument *instrument)
{
    emit_member_array(emit, "skew");
    for (uint32_t i = 0; i < instrument->skew_count; i++) {
        const struct instrument_skew *skew = &instrument->skew[i];
        emit_begin_object(emit);
        emit_member_integer(emit, "cpu_a", skew->cpu_a);
        emit_member_integer(emit, "cpu_b", skew->cpu_b);
        emit_member_double(emit, "offset_ns", skew->offset_ns);
        emit_member_double(emit, "bound_ns", skew->bound_ns);
        emit_member_bool(emit, "consistent", skew->is_consistent);
        emit_end_object(emit);
    }
    emit_end_array(emit);
}

static void known_double(struct emit *emit, const char *name, bool is_known, double value)
{
    if (is_known)
        emit_member_double(emit, name, value);
    else
        emit_member_null(emit, name);
}

void stream_instrument_members(struct emit *emit, const struct clock *clock,
                               const struct instrument *instrument)
{
    emit_member_text(emit, "clock", clock->name);
    emit_member_bool(emit, "trusted", !clock->reason[0]);
    emit_member_text_or_null(emit, "reason", clock->reason);
    known_integer(emit, "counter_hz", clock->counter_hz ? (int64_t)clock->counter_hz : -1);
    known_double(emit, "calibration_ppb", clock->calibration_ppb >= 0, clock->calibration_ppb);
    known_double(emit, "drift_ppb", clock->has_drift, clock->drift_ppb);
    emit_member_double(emit, "quantum_ns", instrument->quantum_ns);
    pair(emit, instrument);
    emit_member_double(emit, "record_step_ns", instrument->record_step_ns);
    emit_member_double(emit, "perturbation_ns", instrument->perturbation_ns);
    skews(emit, instrument);
}

static void instrument_line(struct emit *emit, const struct run *run)
{
    begin_line(emit, "instrument");
    stream_instrument_members(emit, &run->clock, &run->instrument);
    end_line(emit);
}

static void event_line(struct emit *emit, const char *name, int64_t at_ns, const char *data,
                       size_t data_bytes, const char *text)
{
    begin_line(emit, "event");
    emit_member_text(emit, "name", name);
    known_integer(emit, "at_ns", at_ns);
    emit_key(emit, "data");
    data_emit(emit, data, data_bytes);
    emit_member_text(emit, "text", text);
    end_line(emit);
}

static uint32_t more_events(struct emit *emit, const char *name, uint32_t count, const char *what)
{
    char text[64], data[64];
    if (count == 0)
        return 0;
    snprintf(text, sizeof text, "%" PRIu32 " %s", count, what);
    data_pack(data, sizeof data, DATA(data_integer("dropped_count", count)));
    event_line(emit, name, -1, data, sizeof data, text);
    return 1;
}

static uint32_t events(struct emit *emit, const struct arena *arena)
{
    uint32_t noted = arena->event_count;
    uint32_t room = arena_event_room(arena), kept = noted < room ? noted : room;
    for (uint32_t i = 0; i < kept; i++) {
        const struct arena_event *event = arena_event_at(arena, i);
        event_line(emit, event->name, event->at_ns, event->data, sizeof event->data, event->text);
    }
    return kept + more_events(emit, "events_dropped", noted - kept, "more events did not fit") +
           more_events(emit, "intervals_dropped", arena->interval_lost,
                       "there was no room for seconds with a worst value") +
           more_events(emit, "table_dropped", arena->table_lost, "there was no room for tables");
}

static void labels(struct emit *emit, const struct arena_series *series)
{
    emit_raw(emit, "{");
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++) {
        emit_key(emit, series->labels[i].key);
        if (series->labels[i].text[0])
            emit_string(emit, series->labels[i].text);
        else
            emit_integer(emit, series->labels[i].number);
    }
    emit_raw(emit, "}");
}

static int64_t measured_ns(const struct arena *arena)
{
    return arena && arena->ended_ns > arena->started_ns && arena->started_ns > 0
               ? arena->ended_ns - arena->started_ns
               : 0;
}

static void bound(struct emit *emit, const char *name, bool is_there, int64_t value)
{
    if (is_there)
        emit_member_integer(emit, name, value);
    else
        emit_member_null(emit, name);
}

void stream_range_members(struct emit *emit, const struct record_range *range)
{
    bound(emit, "possible_min", range->least != RECORD_NO_LEAST, range->least);
    bound(emit, "possible_max", range->most != 0 && range->most != RECORD_NO_MOST, range->most);
}

struct record_range stream_possible(const struct arena *arena, const struct arena_series *series)
{
    struct record_range range = series->range;
    if (range.most == 0 && record_is_timed(series->unit, series->derived))
        range.most = measured_ns(arena);
    return range;
}

static void range(struct emit *emit, const struct arena *arena, const struct arena_series *series)
{
    struct record_range range = stream_possible(arena, series);
    stream_range_members(emit, &range);
}

static void moments(struct emit *emit, const struct record *record)
{
    emit_member_integer(emit, "count", (int64_t)record->count);
    if (record->count == 0) {
        emit_member_null(emit, "min");
        emit_member_null(emit, "mean");
        emit_member_null(emit, "stddev");
        emit_member_null(emit, "max");
        return;
    }
    emit_member_integer(emit, "min", record->min);
    emit_member_double(emit, "mean", record_mean(record));
    emit_member_double(emit, "stddev", record_stddev(record));
    emit_member_integer(emit, "max", record->max);
}

static void histogram(struct emit *emit, const struct record *record)
{
    bool is_first = true;
    emit_format(emit, "{\"layout\":\"log-linear/%u\",\"buckets\":[", (unsigned)record->sub_bits);
    for (uint32_t i = 0; i < record->bucket_count; i++) {
        if (record->buckets[i] == 0)
            continue;
        emit_format(emit, "%s[%" PRIu32 ",%llu]", is_first ? "" : ",", i,
                    (unsigned long long)record->buckets[i]);
        is_first = false;
    }
    emit_format(emit, "],\"underflow\":%llu,\"overflow\":%llu}",
                (unsigned long long)record->underflow, (unsigned long long)record->overflow);
}

static void worst_value(struct emit *emit, const struct record_worst *worst,
                        const struct before *before)
{
    emit_begin_object(emit);
    emit_member_integer(emit, "value_ns", worst->value_ns);
    emit_member_integer(emit, "at_ns", worst->at_ns);
    emit_member_integer(emit, "index", (int64_t)worst->index);
    if (before) {
        emit_member_text(emit, "before", before->name);
        emit_member_integer(emit, "before_thread", before->thread);
    }
    emit_end_object(emit);
}

static void worst(struct emit *emit, const struct record *record, uint32_t series,
                  const struct before_table *befores)
{
    emit_begin_array(emit);
    for (uint32_t i = 0; i < record->worst_count; i++)
        worst_value(emit, &record->worst[i], before_table_find(befores, series, &record->worst[i]));
    emit_end_array(emit);
}

static void maxima(struct emit *emit, const struct record *record)
{
    const int64_t *maximum = record_maxima_view(record);
    emit_raw(emit, "[");
    for (uint32_t i = 0; record->count > 0 && i < record->maxima_used; i++) {
        emit_raw(emit, i ? "," : "");
        if (maximum[i] == RECORD_NO_MAXIMUM)
            emit_raw(emit, "null");
        else
            emit_integer(emit, maximum[i]);
    }
    emit_raw(emit, "]");
}

/* Left out where the program was not stopped. */
static void stopped(struct emit *emit, const struct record *record)
{
    if (record->stopped_count == 0)
        return;
    emit_member_object(emit, "stopped");
    emit_member_integer(emit, "count", (int64_t)record->stopped_count);
    emit_member_integer(emit, "worst", record->stopped_worst);
    emit_end_object(emit);
}

static void series_line(struct emit *emit, const struct arena *arena, uint32_t index,
                        const struct before_table *befores, struct record *scratch)
{
    const struct arena_series *series = &arena->series[index];
    const struct record *record = arena_read(arena, index, scratch);
    emit_raw(emit, "{\"type\":\"series\"");
    emit_key(emit, "name");
    emit_string(emit, series->name);
    emit_key(emit, "labels");
    labels(emit, series);
    emit_key(emit, "unit");
    emit_string(emit, series->unit);
    emit_key(emit, "derived");
    emit_string_or_null(emit, series->derived);
    moments(emit, record);
    range(emit, arena, series);
    emit_key(emit, "histogram");
    histogram(emit, record);
    emit_key(emit, "worst");
    worst(emit, record, index, befores);
    stopped(emit, record);
    emit_key(emit, "maxima_interval_ns");
    emit_integer(emit, record->maxima_interval_ns);
    emit_key(emit, "maxima_per_s");
    maxima(emit, record);
    emit_raw(emit, "}");
    emit_line(emit);
}

static void interval_counters(struct emit *emit, const struct arena_interval *interval)
{
    emit_member_object(emit, "counters");
    for (int i = 0; i < ARENA_COUNTERS; i++)
        if (interval->counters[i] >= 0)
            emit_member_integer(emit, arena_counter_name((enum arena_counter)i),
                                interval->counters[i]);
    emit_end_object(emit);
}

static void interval_line(struct emit *emit, const struct arena *arena,
                          const struct arena_interval *interval)
{
    begin_line(emit, "interval");
    emit_member_integer(emit, "at_ns", interval->at_ns - arena->started_ns);
    emit_member_integer(emit, "span_ns", interval->span_ns);
    emit_member_integer(emit, "cpu", interval->cpu);
    emit_member_bool(emit, "whole", interval->is_whole != 0);
    interval_counters(emit, interval);
    emit_member_text_or_null(emit, "busiest", interval->busiest);
    end_line(emit);
}

static void intervals(struct emit *emit, const struct arena *arena)
{
    for (int i = 0; i < ARENA_INTERVALS && arena->started_ns > 0; i++)
        if (counter_table_has(&arena->intervals[i]))
            interval_line(emit, arena, &arena->intervals[i]);
}

static void trace_line(struct emit *emit, const struct arena_trace *trace)
{
    begin_line(emit, "trace");
    emit_member_integer(emit, "at_ns", trace->at_ns);
    emit_member_integer(emit, "value_ns", trace->value_ns);
    known_integer(emit, "cpu", trace->cpu);
    emit_member_array(emit, "lines");
    for (uint32_t i = 0; i < trace->line_count; i++)
        emit_string(emit, trace->lines[i]);
    emit_end_array(emit);
    end_line(emit);
}

static void traces(struct emit *emit, const struct arena *arena)
{
    for (int i = 0; i < ARENA_TRACES; i++)
        if (trace_table_has(&arena->traces[i]))
            trace_line(emit, &arena->traces[i]);
}

static void verdicts(struct emit *emit, const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->verdict_count; i++) {
        begin_line(emit, "verdict");
        emit_member_text(emit, "name", arena->verdicts[i].name);
        emit_member_bool(emit, "pass", arena->verdicts[i].pass);
        emit_member_text(emit, "evidence", arena->verdicts[i].evidence);
        end_line(emit);
    }
}

static void counter(struct emit *emit, const char *name, int64_t before, int64_t after)
{
    if (before >= 0 && after >= 0)
        emit_member_integer(emit, name, after - before);
}

static void counters(struct emit *emit, const struct run *run)
{
    const struct port_environment *from = &run->before, *to = &run->after;
    const struct port_usage *used_from = &run->usage_before, *used_to = &run->usage_after;
    counter(emit, "steal_ns", from->steal_ns, to->steal_ns);
    counter(emit, "interrupts_count", from->interrupts, to->interrupts);
    counter(emit, "timer_interrupts_count", from->timer_interrupts, to->timer_interrupts);
    counter(emit, "thermal_throttled_count", from->thermal_throttles, to->thermal_throttles);
    counter(emit, "minor_faults_count", used_from->minor_faults, used_to->minor_faults);
    counter(emit, "major_faults_count", used_from->major_faults, used_to->major_faults);
    counter(emit, "voluntary_switches_count", used_from->voluntary_switches,
            used_to->voluntary_switches);
    counter(emit, "involuntary_switches_count", used_from->involuntary_switches,
            used_to->involuntary_switches);
    counter(emit, "run_delay_ns", 0, run->counter_totals.run_delay_ns);
    counter(emit, "migrations_count", 0, run->counter_totals.migrations);
    counter(emit, "throttled_count", 0, run->counter_totals.throttled);
    counter(emit, "throttled_ns", 0, run->counter_totals.throttled_ns);
    counter(emit, "rested_ns", 0, run->rt_budget.rested_ns);
    counter(emit, "load_average_1min_milli", 0, run->load_average_milli);
}

static void environment(struct emit *emit, const struct run *run)
{
    emit_member_object(emit, "environment");
    if (run->is_observed)
        counters(emit, run);
    emit_end_object(emit);
}

static void started_uptime(struct emit *emit, const struct arena *arena)
{
    if (arena && arena->started_uptime_ns > 0)
        emit_member_integer(emit, "started_uptime_ns", arena->started_uptime_ns);
}

/* Left out where nothing was calibrated. */
static void calibrated(struct emit *emit, const struct arena *arena)
{
    uint32_t count = arena ? arena->calibrated_count : 0;
    if (count == 0)
        return;
    emit_member_object(emit, "calibrated");
    for (uint32_t i = 0; i < count; i++)
        emit_member_integer(emit, arena->calibrated[i].param, arena->calibrated[i].value);
    emit_end_object(emit);
}

static void result_line(struct emit *emit, const struct run *run)
{
    begin_line(emit, "result");
    emit_member_text(emit, "status", status_name(run->outcome.status));
    emit_member_text_or_null(emit, "reason", run->outcome.reason);
    emit_member_text_or_null(emit, "remedy", run->outcome.remedy);
    emit_member_text_or_null(emit, "command", run->outcome.command);
    emit_member_bool(emit, "interrupted", run->is_interrupted);
    emit_member_integer(emit, "duration_ns", measured_ns(run->arena));
    started_uptime(emit, run->arena);
    emit_key(emit, "conditions");
    conditions(emit, run);
    calibrated(emit, run->arena);
    environment(emit, run);
    end_line(emit);
}

static void footer_line(struct emit *emit, uint32_t event_count, const struct arena *arena)
{
    uint32_t crc32 = emit_crc32(emit);
    begin_line(emit, "footer");
    emit_member_integer(emit, "lines", (int64_t)emit->line_count);
    emit_member_integer(emit, "events", event_count);
    emit_member_integer(emit, "series", arena ? arena_named_count(arena) : 0);
    emit_member_integer(emit, "verdicts", arena ? arena->verdict_count : 0);
    emit_member_integer(emit, "crc32", crc32);
    end_line(emit);
}

/* ---- tables, and windows of gaps ---- */

static void column(struct emit *emit, const struct arena *arena, const struct row_table *table,
                   uint32_t place)
{
    emit_member_array(emit, table->columns[place]);
    for (uint32_t row = 0; row < table->row_count; row++)
        emit_integer(emit, row_table_value(arena, table, row, place));
    emit_end_array(emit);
}

static void table_line(struct emit *emit, const struct arena *arena, const struct row_table *table)
{
    begin_line(emit, "table");
    emit_member_text(emit, "name", table->name);
    emit_key(emit, "data");
    data_emit(emit, table->data, sizeof table->data);
    emit_member_object(emit, "columns");
    for (uint32_t i = 0; i < table->column_count; i++)
        column(emit, arena, table, i);
    emit_end_object(emit);
    end_line(emit);
}

void table_lines(struct emit *emit, const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->tables[TABLE_ROWS].count; i++)
        table_line(emit, arena, table_head(arena, TABLE_ROWS, i));
}

static void window_counters(struct emit *emit, const struct gap_window *window)
{
    known_integer(emit, "counted_ns", window->counted_ns);
    known_integer(emit, "interrupts_count", window->interrupts);
    known_integer(emit, "timer_interrupts_count", window->timer_interrupts);
}

/* From the begin of the gap before, or of the window. */
static void distances(struct emit *emit, const struct gap_window *window,
                      const struct gap_entry *gaps)
{
    int64_t from_ns = window->begin_ns;
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < window->gap_count; i++) {
        emit_raw(emit, i ? "," : "");
        emit_integer(emit, gaps[i].begin_ns - from_ns);
        from_ns = gaps[i].begin_ns;
    }
    emit_raw(emit, "]");
}

static void lengths(struct emit *emit, const struct gap_window *window,
                    const struct gap_entry *gaps)
{
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < window->gap_count; i++) {
        emit_raw(emit, i ? "," : "");
        emit_integer(emit, gaps[i].length_ns);
    }
    emit_raw(emit, "]");
}

static void window_line(struct emit *emit, const struct gap_window *window,
                        const struct gap_entry *gaps)
{
    begin_line(emit, "window");
    emit_member_integer(emit, "begin_ns", window->begin_ns);
    emit_member_integer(emit, "end_ns", window->end_ns);
    window_counters(emit, window);
    emit_member_integer(emit, "dropped_count", window->dropped_count);
    emit_key(emit, "distance_ns");
    distances(emit, window, gaps);
    emit_key(emit, "length_ns");
    lengths(emit, window, gaps);
    end_line(emit);
}

static void window_lines(struct emit *emit, const struct arena *arena)
{
    const struct gap_entry *gaps = table_entry(arena, TABLE_GAPS, 0);
    for (uint32_t i = 0; i < arena->tables[TABLE_GAPS].count; i++) {
        const struct gap_window *window = table_head(arena, TABLE_GAPS, i);
        window_line(emit, window, gaps);
        gaps += window->gap_count;
    }
}

/* ---- the rest ---- */

static void figures(struct emit *emit, const struct run *run)
{
    traces(emit, run->arena);
    window_lines(emit, run->arena);
    table_lines(emit, run->arena);
    for (uint32_t i = 0; i < run->arena->series_count; i++)
        if (arena_is_named(run->arena, i))
            series_line(emit, run->arena, i, run->befores, run->scratch);
    verdicts(emit, run->arena);
}

void stream_rest(struct emit *emit, const struct run *run)
{
    if (run->instrument.pair_count > 0)
        instrument_line(emit, run);
    uint32_t event_count = events(emit, run->arena);
    if (run->request->load.count > 0)
        load_lines(emit, run->load);
    intervals(emit, run->arena);
    if (!run->placement.has_no_figures)
        figures(emit, run);
    result_line(emit, run);
    footer_line(emit, event_count, run->placement.has_no_figures ? NULL : run->arena);
}

void stream_without_arena(struct emit *emit, const struct run *run)
{
    header(emit, run);
    emit_line(emit);
    result_line(emit, run);
    footer_line(emit, 0, NULL);
}

/* Measured time by the records, in whole intervals of their maxima. */
static int64_t recorded_ns(const struct arena *arena, struct record *scratch)
{
    int64_t longest_ns = 0;
    for (uint32_t i = 0; i < arena->series_count; i++) {
        const struct record *record = arena_read(arena, i, scratch);
        int64_t ns = ((int64_t)record->maxima_used - 1) * record->maxima_interval_ns;
        if (ns > longest_ns)
            longest_ns = ns;
    }
    return longest_ns;
}

static bool has_values(const struct arena *arena)
{
    return arena_has_values(arena) || arena->verdict_count > 0;
}

static void dumped_result(struct emit *emit, const struct arena *arena, struct record *scratch)
{
    begin_line(emit, "result");
    emit_member_text(emit, "status", has_values(arena) ? "measured" : "skipped");
    emit_member_text(emit, "reason",
                     "the probe was killed while this test ran; the recording is kept");
    emit_member_null(emit, "remedy");
    emit_member_bool(emit, "interrupted", true);
    emit_member_integer(emit, "duration_ns", recorded_ns(arena, scratch));
    started_uptime(emit, arena);
    emit_member_object(emit, "environment");
    emit_end_object(emit);
    calibrated(emit, arena);
    emit_key(emit, "conditions");
    emit_raw(emit, arena->conditions_json);
    end_line(emit);
}

void stream_dump(struct emit *emit, const struct arena *arena, struct record *scratch)
{
    stream_header(emit, arena);
    events(emit, arena);
    intervals(emit, arena);
    traces(emit, arena);
    window_lines(emit, arena);
    table_lines(emit, arena);
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena_is_named(arena, i))
            series_line(emit, arena, i, NULL, scratch);
    verdicts(emit, arena);
    if (arena->conditions_json[0])
        dumped_result(emit, arena, scratch);
}
