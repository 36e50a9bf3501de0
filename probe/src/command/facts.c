#include "base/posix_source.h"

#include "command/commands.h"

#include "base/emit.h"
#include "base/libc.h"
#include "base/rt_thread.h"
#include "port/port.h"
#include "run/instrument.h"
#include "run/stream.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct sink_state {
    struct emit *emit;
    bool is_json;
};

static void begin(struct sink_state *state, const char *name)
{
    if (state->is_json)
        emit_key(state->emit, name);
    else
        emit_format(state->emit, "%-28s ", name);
}

static void end(struct sink_state *state)
{
    if (!state->is_json)
        emit_raw(state->emit, "\n");
}

static void send_text(void *context, const char *name, const char *value)
{
    struct sink_state *state = context;
    begin(state, name);
    if (state->is_json)
        emit_string_or_null(state->emit, value);
    else
        emit_text(state->emit, value && *value ? value : "-");
    end(state);
}

static void send_number(void *context, const char *name, int64_t value)
{
    struct sink_state *state = context;
    begin(state, name);
    emit_integer(state->emit, value);
    end(state);
}

static void send_truth(void *context, const char *name, bool value)
{
    struct sink_state *state = context;
    begin(state, name);
    emit_bool(state->emit, value);
    end(state);
}

/* ---- sources, which the toolkit reads ---- */

/* Whether a JSON string can hold it as it is; a 0 follows. */
static bool is_text(const char *bytes, size_t length)
{
    size_t one = 1;
    for (size_t i = 0; i < length && one > 0; i += one)
        one = bytes[i] ? utf8_length(bytes + i) : 0;
    return one > 0;
}

static void send_base64(struct emit *emit, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    emit_key(emit, "base64");
    emit_raw(emit, "\"");
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                             left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '=', '\0'};
        emit_raw(emit, four);
    }
    emit_raw(emit, "\"");
}

static void send_source(void *context, const char *source, const char *bytes, size_t length)
{
    struct sink_state *state = context;
    char *text = bytes ? calloc(1, length + 1) : NULL; /* with an end */
    if (bytes && !text)
        return;
    if (bytes)
        memcpy(text, bytes, length);
    if (!state->is_json) {
        if (text)
            text[strcspn(text, "\n")] = '\0';
        send_text(context, source, text);
    } else {
        emit_begin_object(state->emit);
        emit_member_text(state->emit, "source", source);
        if (text && is_text(text, length))
            emit_member_text(state->emit, "text", text);
        else if (text)
            send_base64(state->emit, (const unsigned char *)bytes, length);
        emit_end_object(state->emit);
    }
    free(text);
}

static void all_sources(struct sink_state *state)
{
    const struct port_source_sink sink = {send_source, state};
    port_sources(&sink);
}

/* ---- facts ---- */

static void cpu_facts(const struct port_fact_sink *sink)
{
    struct cpus allowed;
    int count = port_allowed_cpus(&allowed);
    char text[CPUS_TEXT_BYTES];
    cpus_format_list(&allowed, text, sizeof text);
    sink->number(sink->context, "cpu.count", sysconf(_SC_NPROCESSORS_ONLN));
    sink->text(sink->context, "cpu.allowed", count > 0 ? text : NULL);
}

/* Resolution of timers on CLOCK_MONOTONIC; the tick period if the system has no finer timers. */
static void resolution_fact(const struct port_fact_sink *sink)
{
    struct timespec step;
    if (clock_getres(CLOCK_MONOTONIC, &step) == 0)
        sink->number(sink->context, "kernel.timer_resolution_ns",
                     (int64_t)step.tv_sec * 1000000000 + step.tv_nsec);
}

static void system_facts(const struct port_fact_sink *sink)
{
    struct utsname names;
    if (uname(&names) == 0) {
        sink->text(sink->context, "kernel.name", names.sysname);
        sink->text(sink->context, "kernel.release", names.release);
        sink->text(sink->context, "kernel.version", names.version);
        sink->text(sink->context, "machine.arch", names.machine);
        sink->text(sink->context, "machine.node", names.nodename);
    }
    sink->text(sink->context, "probe.port", port_name());
    sink->number(sink->context, "machine.page_bytes", sysconf(_SC_PAGESIZE));
    resolution_fact(sink);
    sink->number(sink->context, "limits.priority_min", sched_get_priority_min(SCHED_FIFO));
    sink->number(sink->context, "limits.priority_max", sched_get_priority_max(SCHED_FIFO));
}

#ifdef RLIMIT_NOFILE
static void limit_fact(const struct port_fact_sink *sink, const char *name, int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        sink->text(sink->context, name, "unlimited");
    else
        sink->number(sink->context, name, (int64_t)limit.rlim_cur);
}
#endif

static void right_facts(const struct port_fact_sink *sink)
{
    char remedy[STATUS_TEXT_BYTES + STATUS_COMMAND_BYTES];
    struct rt_thread_setup highest = {SCHED_FIFO, sched_get_priority_max(SCHED_FIFO) - 1, -1};
    struct rt_thread_setup lowest = {SCHED_FIFO, sched_get_priority_min(SCHED_FIFO), -1};
    int error = rt_thread_try(&highest), any_error = error ? rt_thread_try(&lowest) : 0;
    sink->truth(sink->context, "limits.can_realtime", any_error == 0);
    if (any_error) {
        struct port_refusal refusal;
        rt_thread_refusal(any_error, &lowest, &refusal);
        sink->text(sink->context, "limits.realtime_cause", refusal.cause);
        sink->text(sink->context, "limits.realtime_reason", refusal.reason);
        sink->text(sink->context, "limits.realtime_remedy",
                   remedy_text(rt_thread_remedy(&refusal), remedy, sizeof remedy));
    } else if (error) {
        sink->text(sink->context, "limits.realtime_reason", strerror(error));
    }
#ifdef RLIMIT_MEMLOCK
    limit_fact(sink, "limits.memlock_bytes", RLIMIT_MEMLOCK);
#endif
#ifdef RLIMIT_NOFILE
    limit_fact(sink, "limits.files_count", RLIMIT_NOFILE);
#endif
    sink->number(sink->context, "user.id", (int64_t)getuid());
    sink->number(sink->context, "user.effective_id", (int64_t)geteuid());
    bool can_lock = mlockall(MCL_CURRENT) == 0;
    error = errno;
    sink->truth(sink->context, "limits.can_lock", can_lock);
    if (can_lock) {
        munlockall();
        return;
    }
    struct port_refusal refusal;
    port_lock_refusal(error, &refusal);
    sink->text(sink->context, "limits.lock_cause", refusal.cause);
    sink->text(sink->context, "limits.lock_remedy", refusal.remedy);
}

static void libc_name(char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", LIBC_NAME);
#ifdef _CS_GNU_LIBC_VERSION
    if (!LIBC_IS_MUSL && confstr(_CS_GNU_LIBC_VERSION, text, bytes) > 0)
        return;
#endif
    if (!LIBC_IS_MUSL)
        snprintf(text, bytes, "%s (POSIX %ld)", LIBC_NAME, sysconf(_SC_VERSION));
}

static void instrument_text(struct emit *emit, const struct clock *clock,
                            const struct instrument *instrument)
{
    emit_format(emit, "%-28s %s, quantum %.3f ns, pair of stamps median %lld ns, record %.1f ns\n",
                "instrument.clock", clock->name, instrument->quantum_ns,
                (long long)instrument->pair_median_ns, instrument->record_step_ns);
    if (clock->reason[0])
        emit_format(emit, "%-28s %s\n", "instrument.reason", clock->reason);
    for (uint32_t i = 0; i < instrument->skew_count; i++)
        emit_format(emit, "%-28s CPU %d to %d: %.0f +- %.0f ns\n", "instrument.skew",
                    instrument->skew[i].cpu_a, instrument->skew[i].cpu_b,
                    instrument->skew[i].offset_ns, instrument->skew[i].bound_ns);
}

static int first_allowed_cpu(void)
{
    struct cpus allowed;
    return port_allowed_cpus(&allowed) < 1 ? -1 : cpus_first(&allowed);
}

static void measure_instrument(struct clock *clock, struct instrument *instrument,
                               bool want_counter)
{
    struct record *scratch = calloc(1, record_size(NULL, 0));
    clock_open(clock, want_counter, 0);
    bool is_clock = clock_advances();
    if (!is_clock)
        clock_refuse(clock, CLOCK_STANDS_STILL);
    if (!scratch || !is_clock) {
        free(scratch);
        return;
    }
    record_init(scratch, NULL, 0);
    instrument_measure(instrument, clock, scratch);
    instrument_measure_skew(instrument, clock, first_allowed_cpu());
    clock_check_drift(clock);
    free(scratch);
}

static void all_facts(const struct port_fact_sink *sink)
{
    system_facts(sink);
    cpu_facts(sink);
    right_facts(sink);
    port_facts(sink);
}

static void send_json(struct emit *emit, const struct port_fact_sink *sink,
                      const struct clock *clock, const struct instrument *instrument)
{
    char libc[128];
    libc_name(libc, sizeof libc);
    emit_begin_object(emit);
    emit_member_text(emit, "schema", "hardstone.facts/1");
    emit_member_text(emit, "probe_version", PROBE_VERSION);
    emit_member_text(emit, "compiler", __VERSION__);
    emit_member_text(emit, "libc", libc);
    emit_member_object(emit, "facts");
    all_facts(sink);
    emit_end_object(emit);
    emit_member_array(emit, "sources");
    all_sources(sink->context);
    emit_end_array(emit);
    emit_member_object(emit, "instrument");
    stream_instrument_members(emit, clock, instrument);
    emit_end_object(emit);
    emit_end_object(emit);
    emit_line(emit);
}

void facts_send(struct emit *emit, bool want_counter, bool is_json)
{
    struct clock clock;
    struct instrument *instrument = calloc(1, sizeof *instrument);
    if (!instrument)
        return;
    struct sink_state state = {emit, is_json};
    struct port_fact_sink sink = {send_text, send_number, send_truth, &state};
    measure_instrument(&clock, instrument, want_counter);
    if (is_json) {
        send_json(emit, &sink, &clock, instrument);
    } else {
        all_facts(&sink);
        all_sources(&state);
        instrument_text(emit, &clock, instrument);
    }
    free(instrument);
}
