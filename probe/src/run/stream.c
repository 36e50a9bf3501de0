#include "base/posix_source.h"

#include "run/stream.h"

#include "load/report.h"
#include "shield/shield.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

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
    emit_raw(emit, "[");
    for (int i = 0; i < value->count; i++) {
        emit_raw(emit, i ? "," : "");
        param_word(emit, spec, value->number[i]);
    }
    emit_raw(emit, "]");
}

static void header(struct emit *emit, const struct run *run)
{
    emit_raw(emit, "{\"type\":\"header\",\"schema\":\"hardstone.stream/1\"");
    emit_key(emit, "probe_version", 0);
    emit_string(emit, PROBE_VERSION);
    emit_key(emit, "test", 0);
    emit_string(emit, run->test->id);
    emit_key(emit, "started_utc_ns", 0);
    emit_integer(emit, run->started_utc_ns);
    emit_key(emit, "params", 0);
    emit_raw(emit, "{");
    bool is_first = true;
    const struct param_spec *specs = run->test->params;
    for (int i = 0; specs && specs[i].name; i++) {
        if (run->request->params[i].count == 0)
            continue;
        emit_key(emit, specs[i].name, is_first);
        param(emit, &specs[i], &run->request->params[i]);
        is_first = false;
    }
    emit_raw(emit, "}}");
}

static const char *policy_name(int policy)
{
    return policy == SCHED_FIFO ? "fifo" : policy == SCHED_RR ? "rr" : "other";
}

static void settings(struct emit *emit, unsigned applied)
{
    bool is_first = true;
    emit_raw(emit, "[");
    for (int i = 0; i < SHIELD_SETTINGS; i++) {
        if (!(applied & 1u << i))
            continue;
        emit_raw(emit, is_first ? "" : ",");
        emit_string(emit, shield_setting_name((enum shield_setting)i));
        is_first = false;
    }
    emit_raw(emit, "]");
}

static void conditions(struct emit *emit, const struct run *run)
{
    emit_raw(emit, "{");
    emit_key(emit, "load", 1);
    emit_string(emit, run->request->load.text);
    emit_key(emit, "cpu_config", 0);
    emit_string(emit, args_cpu_config_name(run->request->cpu_config));
    emit_key(emit, "settings", 0);
    settings(emit, run->settings);
    emit_key(emit, "cpu", 0);
    if (run->setup.cpu >= 0)
        emit_integer(emit, run->setup.cpu);
    else
        emit_raw(emit, "null");
    emit_key(emit, "policy", 0);
    emit_string(emit, policy_name(run->setup.policy));
    emit_key(emit, "priority", 0);
    emit_integer(emit, run->setup.priority);
    emit_key(emit, "clock", 0);
    emit_string(emit, run->clock.name ? run->clock.name : "monotonic");
    emit_key(emit, "memory_locked", 0);
    emit_raw(emit, run->is_locked ? "true" : "false");
    emit_key(emit, "realtime", 0);
    emit_raw(emit, run->is_realtime ? "true}" : "false}");
}

/* What `compose` writes, as a string; texts here are far shorter than the buffer. */
static void compose_into(char *text, const struct run *run,
                         void (*compose)(struct emit *, const struct run *))
{
    struct emit memory;
    emit_open(&memory, -1);
    compose(&memory, run);
    size_t length = memory.used < ARENA_JSON_BYTES ? memory.used : 0;
    memcpy(text, memory.buffer, length);
    text[length] = '\0';
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
    emit_format(emit,
                "{\"count\":%u,\"min\":%lld,\"median\":%lld,\"p99\":%lld,\"max\":%lld,\"mean\":",
                instrument->pair_count, (long long)instrument->pair_min_ns,
                (long long)instrument->pair_median_ns, (long long)instrument->pair_p99_ns,
                (long long)instrument->pair_max_ns);
    emit_double(emit, instrument->pair_mean_ns);
    emit_raw(emit, "}");
}

static void skews(struct emit *emit, const struct instrument *instrument)
{
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < instrument->skew_count; i++) {
        const struct instrument_skew *skew = &instrument->skew[i];
        emit_format(emit, "%s{\"cpu_a\":%d,\"cpu_b\":%d,\"offset_ns\":", i ? "," : "", skew->cpu_a,
                    skew->cpu_b);
        emit_double(emit, skew->offset_ns);
        emit_raw(emit, ",\"bound_ns\":");
        emit_double(emit, skew->bound_ns);
        emit_format(emit, ",\"consistent\":%s}", skew->is_consistent ? "true" : "false");
    }
    emit_raw(emit, "]");
}

static void optional_double(struct emit *emit, bool is_known, double value)
{
    if (is_known)
        emit_double(emit, value);
    else
        emit_raw(emit, "null");
}

void stream_instrument_members(struct emit *emit, const struct clock *clock,
                               const struct instrument *instrument, bool is_first)
{
    emit_key(emit, "clock", is_first);
    emit_string(emit, clock->name);
    emit_key(emit, "trusted", 0);
    emit_raw(emit, clock->reason[0] ? "false" : "true");
    emit_key(emit, "reason", 0);
    emit_string_or_null(emit, clock->reason);
    emit_key(emit, "counter_hz", 0);
    if (clock->counter_hz)
        emit_integer(emit, (int64_t)clock->counter_hz);
    else
        emit_raw(emit, "null");
    emit_key(emit, "calibration_ppb", 0);
    optional_double(emit, clock->calibration_ppb >= 0, clock->calibration_ppb);
    emit_key(emit, "drift_ppb", 0);
    optional_double(emit, clock->has_drift, clock->drift_ppb);
    emit_key(emit, "quantum_ns", 0);
    emit_double(emit, instrument->quantum_ns);
    emit_key(emit, "pair", 0);
    pair(emit, instrument);
    emit_key(emit, "record_step_ns", 0);
    emit_double(emit, instrument->record_step_ns);
    emit_key(emit, "perturbation_ns", 0);
    emit_double(emit, instrument->perturbation_ns);
    emit_key(emit, "skew", 0);
    skews(emit, instrument);
}

static void instrument_line(struct emit *emit, const struct run *run)
{
    emit_raw(emit, "{\"type\":\"instrument\"");
    stream_instrument_members(emit, &run->clock, &run->instrument, false);
    emit_raw(emit, "}");
    emit_line(emit);
}

static uint32_t events(struct emit *emit, const struct arena *arena)
{
    uint32_t noted = arena->event_count;
    uint32_t kept = noted < ARENA_EVENTS ? noted : ARENA_EVENTS;
    for (uint32_t i = 0; i < kept; i++) {
        const struct arena_event *event = &arena->events[i];
        emit_raw(emit, "{\"type\":\"event\"");
        emit_key(emit, "name", 0);
        emit_string(emit, event->name);
        emit_key(emit, "text", 0);
        emit_string(emit, event->text);
        emit_key(emit, "at_ns", 0);
        if (event->at_ns >= 0)
            emit_integer(emit, event->at_ns);
        else
            emit_raw(emit, "null");
        emit_raw(emit, "}");
        emit_line(emit);
    }
    if (noted == kept)
        return kept;
    emit_format(emit,
                "{\"type\":\"event\",\"name\":\"events_dropped\",\"text\":\"%u more events "
                "did not fit\",\"at_ns\":null}",
                noted - kept);
    emit_line(emit);
    return kept + 1;
}

static void labels(struct emit *emit, const struct arena_series *series)
{
    emit_raw(emit, "{");
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++) {
        emit_key(emit, series->labels[i].key, i == 0);
        if (series->labels[i].text[0])
            emit_string(emit, series->labels[i].text);
        else
            emit_integer(emit, series->labels[i].number);
    }
    emit_raw(emit, "}");
}

static void moments(struct emit *emit, const struct record *record)
{
    emit_key(emit, "count", 0);
    emit_integer(emit, (int64_t)record->count);
    if (record->count == 0) {
        emit_raw(emit, ",\"min\":null,\"mean\":null,\"stddev\":null,\"max\":null");
        return;
    }
    emit_key(emit, "min", 0);
    emit_integer(emit, record->min);
    emit_key(emit, "mean", 0);
    emit_double(emit, record_mean(record));
    emit_key(emit, "stddev", 0);
    emit_double(emit, record_stddev(record));
    emit_key(emit, "max", 0);
    emit_integer(emit, record->max);
}

static void histogram(struct emit *emit, const struct record *record)
{
    bool is_first = true;
    emit_format(emit, "{\"layout\":\"log-linear/%d\",\"buckets\":[", RECORD_SUB_BITS);
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++) {
        if (record->buckets[i] == 0)
            continue;
        emit_format(emit, "%s[%u,%llu]", is_first ? "" : ",", i,
                    (unsigned long long)record->buckets[i]);
        is_first = false;
    }
    emit_format(emit, "],\"underflow\":%llu,\"overflow\":%llu}",
                (unsigned long long)record->underflow, (unsigned long long)record->overflow);
}

static void worst(struct emit *emit, const struct record *record)
{
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < record->worst_count; i++)
        emit_format(emit, "%s{\"value_ns\":%lld,\"at_ns\":%lld,\"index\":%llu}", i ? "," : "",
                    (long long)record->worst[i].value_ns, (long long)record->worst[i].at_ns,
                    (unsigned long long)record->worst[i].index);
    emit_raw(emit, "]");
}

static void maxima(struct emit *emit, const struct record *record)
{
    emit_raw(emit, "[");
    for (uint32_t i = 0; record->count > 0 && i < record->maxima_used; i++) {
        emit_raw(emit, i ? "," : "");
        if (record->maxima[i] == RECORD_NO_MAXIMUM)
            emit_raw(emit, "null");
        else
            emit_integer(emit, record->maxima[i]);
    }
    emit_raw(emit, "]");
}

static void series_line(struct emit *emit, const struct arena *arena, uint32_t index)
{
    const struct arena_series *series = &arena->series[index];
    const struct record *record = arena_record_view(arena, index);
    emit_raw(emit, "{\"type\":\"series\"");
    emit_key(emit, "name", 0);
    emit_string(emit, series->name);
    emit_key(emit, "labels", 0);
    labels(emit, series);
    emit_key(emit, "unit", 0);
    emit_string(emit, series->unit);
    emit_key(emit, "derived", 0);
    emit_string_or_null(emit, series->derived);
    moments(emit, record);
    emit_key(emit, "histogram", 0);
    histogram(emit, record);
    emit_key(emit, "worst", 0);
    worst(emit, record);
    emit_key(emit, "maxima_interval_ns", 0);
    emit_integer(emit, record->maxima_interval_ns);
    emit_key(emit, "maxima_per_s", 0);
    maxima(emit, record);
    emit_raw(emit, "}");
    emit_line(emit);
}

static void verdicts(struct emit *emit, const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->verdict_count; i++) {
        emit_raw(emit, "{\"type\":\"verdict\"");
        emit_key(emit, "name", 0);
        emit_string(emit, arena->verdicts[i].name);
        emit_key(emit, "pass", 0);
        emit_raw(emit, arena->verdicts[i].pass ? "true" : "false");
        emit_key(emit, "evidence", 0);
        emit_string(emit, arena->verdicts[i].evidence);
        emit_raw(emit, "}");
        emit_line(emit);
    }
}

static void counter(struct emit *emit, bool *is_first, const char *name, int64_t before,
                    int64_t after)
{
    if (before < 0 || after < 0)
        return;
    emit_key(emit, name, *is_first);
    emit_integer(emit, after - before);
    *is_first = false;
}

static void environment(struct emit *emit, const struct run *run)
{
    if (!run->is_observed) {
        emit_raw(emit, "{}");
        return;
    }
    const struct port_environment *from = &run->before, *to = &run->after;
    const struct rusage *used_from = &run->usage_before, *used_to = &run->usage_after;
    bool is_first = true;
    emit_raw(emit, "{");
    counter(emit, &is_first, "steal_ns", from->steal_ns, to->steal_ns);
    counter(emit, &is_first, "interrupts_count", from->interrupts, to->interrupts);
    counter(emit, &is_first, "timer_interrupts_count", from->timer_interrupts,
            to->timer_interrupts);
    counter(emit, &is_first, "thermal_throttled_count", from->thermal_throttles,
            to->thermal_throttles);
    counter(emit, &is_first, "minor_faults_count", used_from->ru_minflt, used_to->ru_minflt);
    counter(emit, &is_first, "major_faults_count", used_from->ru_majflt, used_to->ru_majflt);
    counter(emit, &is_first, "voluntary_switches_count", used_from->ru_nvcsw, used_to->ru_nvcsw);
    counter(emit, &is_first, "involuntary_switches_count", used_from->ru_nivcsw,
            used_to->ru_nivcsw);
    counter(emit, &is_first, "rested_ns", 0, run->breath.rested_ns);
    counter(emit, &is_first, "load_average_1min_milli", 0, run->load_average_milli);
    emit_raw(emit, "}");
}

static int64_t measured_ns(const struct arena *arena)
{
    return arena && arena->ended_ns > arena->started_ns && arena->started_ns > 0
               ? arena->ended_ns - arena->started_ns
               : 0;
}

static void result_line(struct emit *emit, const struct run *run)
{
    emit_raw(emit, "{\"type\":\"result\"");
    emit_key(emit, "status", 0);
    emit_string(emit, status_name(run->outcome.status));
    emit_key(emit, "reason", 0);
    emit_string_or_null(emit, run->outcome.reason);
    emit_key(emit, "remedy", 0);
    emit_string_or_null(emit, run->outcome.remedy);
    emit_key(emit, "interrupted", 0);
    emit_raw(emit, run->is_interrupted ? "true" : "false");
    emit_key(emit, "duration_ns", 0);
    emit_integer(emit, measured_ns(run->arena));
    emit_key(emit, "conditions", 0);
    conditions(emit, run);
    emit_key(emit, "environment", 0);
    environment(emit, run);
    emit_raw(emit, "}");
    emit_line(emit);
}

static void footer_line(struct emit *emit, uint32_t event_count, const struct arena *arena)
{
    emit_format(emit,
                "{\"type\":\"footer\",\"lines\":%llu,\"events\":%u,\"series\":%u,\"verdicts\":%u}",
                (unsigned long long)emit->line_count, event_count, arena ? arena->series_count : 0,
                arena ? arena->verdict_count : 0);
    emit_line(emit);
}

void stream_rest(struct emit *emit, const struct run *run)
{
    if (run->instrument.pair_count > 0)
        instrument_line(emit, run);
    uint32_t event_count = events(emit, run->arena);
    load_lines(emit, &run->load);
    for (uint32_t i = 0; i < run->arena->series_count; i++)
        series_line(emit, run->arena, i);
    verdicts(emit, run->arena);
    result_line(emit, run);
    footer_line(emit, event_count, run->arena);
}

void stream_without_arena(struct emit *emit, const struct run *run)
{
    header(emit, run);
    emit_line(emit);
    result_line(emit, run);
    footer_line(emit, 0, NULL);
}

/* What the records themselves tell of how long was measured: whole seconds. */
static int64_t recorded_ns(const struct arena *arena)
{
    int64_t longest_ns = 0;
    for (uint32_t i = 0; i < arena->series_count; i++) {
        const struct record *record = arena_record_view(arena, i);
        int64_t ns = ((int64_t)record->maxima_used - 1) * record->maxima_interval_ns;
        if (ns > longest_ns)
            longest_ns = ns;
    }
    return longest_ns;
}

static bool has_values(const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena_record_view(arena, i)->count > 0)
            return true;
    return arena->verdict_count > 0;
}

static void dumped_result(struct emit *emit, const struct arena *arena)
{
    bool is_measured = has_values(arena);
    emit_format(
        emit,
        "{\"type\":\"result\",\"status\":\"%s\",\"reason\":\"the probe was ended while "
        "this test ran; what it had recorded is kept\",\"remedy\":null,\"interrupted\":true,"
        "\"duration_ns\":%lld,\"environment\":{},\"conditions\":",
        is_measured ? "measured" : "skipped", (long long)recorded_ns(arena));
    emit_raw(emit, arena->conditions_json);
    emit_raw(emit, "}");
    emit_line(emit);
}

void stream_dump(struct emit *emit, const struct arena *arena)
{
    stream_header(emit, arena);
    events(emit, arena);
    for (uint32_t i = 0; i < arena->series_count; i++)
        series_line(emit, arena, i);
    verdicts(emit, arena);
    if (arena->conditions_json[0])
        dumped_result(emit, arena);
}
