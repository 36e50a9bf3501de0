#include "base/posix_source.h"

#include "family/interrupt/handler_trace.h"

#include "family/interrupt/sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- which handler belongs to which interrupt ---- */

void handler_log_clear(struct handler_log *log)
{
    log->count = 0;
    log->lost_from_ns = log->lost_until_ns = 0;
}

void handler_log_entry(struct handler_log *log, int64_t at_ns)
{
    log->is_inside = true;
    log->entry_ns = log->latest_ns = at_ns;
}

/* What finds no room is lost, with all that follows. */
void handler_log_exit(struct handler_log *log, int64_t at_ns)
{
    log->latest_ns = at_ns;
    if (!log->is_inside)
        return;
    log->is_inside = false;
    if (log->count < HANDLER_LOG)
        log->of[log->count++] = (struct handled){log->entry_ns, at_ns};
    else
        handler_log_lost(log, INT64_MAX);
}

void handler_log_lost(struct handler_log *log, int64_t at_ns)
{
    if (log->lost_until_ns == 0)
        log->lost_from_ns = log->is_inside ? log->entry_ns : log->latest_ns;
    log->lost_until_ns = at_ns;
    log->is_inside = false;
}

static bool is_lost(const struct handler_log *log, int64_t from_ns, int64_t until_ns)
{
    return log->lost_until_ns > 0 && log->lost_from_ns <= until_ns && log->lost_until_ns >= from_ns;
}

enum handler_fate handler_log_find(const struct handler_log *log, int64_t from_ns, int64_t until_ns,
                                   struct handled *handled)
{
    int found = 0;
    if (is_lost(log, from_ns, until_ns))
        return HANDLER_LOST;
    for (uint32_t i = 0; i < log->count && log->of[i].entry_ns <= until_ns; i++) {
        if (log->of[i].entry_ns < from_ns || log->of[i].exit_ns > until_ns)
            continue;
        found++;
        *handled = log->of[i];
    }
    return found == 1 ? HANDLER_SINGLE : found == 0 ? HANDLER_NONE : HANDLER_SEVERAL;
}

/* ---- events ---- */

static void report_not_seen(struct run *run, const char *source, const struct outcome *outcome)
{
    arena_event(run->arena, "handler_not_seen", -1,
                DATA(data_text("source", source), data_text("status", status_name(outcome->status)),
                     data_text("reason", outcome->reason),
                     outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
                     outcome->command[0] ? data_text("command", outcome->command) : data_none()),
                "%s: the interrupt's handler cannot be observed: %.200s%s%.120s", source,
                outcome->reason, outcome->remedy[0] ? "; " : "", outcome->remedy);
}

static void report_seen(struct run *run, const char *source, const struct handler_seen *seen)
{
    const uint64_t *of = seen->of;
    uint64_t all = of[HANDLER_SINGLE] + of[HANDLER_NONE] + of[HANDLER_SEVERAL] + of[HANDLER_LOST];
    arena_event(run->arena, "handler_seen", -1,
                DATA(data_text("source", source), data_integer("interrupts_count", (int64_t)all),
                     data_integer("matched_count", (int64_t)of[HANDLER_SINGLE]),
                     data_integer("none_count", (int64_t)of[HANDLER_NONE]),
                     data_integer("several_count", (int64_t)of[HANDLER_SEVERAL]),
                     data_integer("lost_count", (int64_t)of[HANDLER_LOST]),
                     data_integer("reversed_count", (int64_t)seen->reversed_count),
                     data_integer("error_ns", seen->error_ns)),
                "%s: the handler of %llu of %llu interrupts was seen (not found %llu, several "
                "%llu, events lost %llu); its stamps are known to within %lld ns of the thread's",
                source, (unsigned long long)of[HANDLER_SINGLE], (unsigned long long)all,
                (unsigned long long)of[HANDLER_NONE], (unsigned long long)of[HANDLER_SEVERAL],
                (unsigned long long)of[HANDLER_LOST], (long long)seen->error_ns);
}

static void report_stopped(struct run *run, const char *source)
{
    arena_event(run->arena, "handler_stopped", -1, DATA(data_text("source", source)),
                "%s: another program switched the instance's tracing_on off: later interrupts "
                "have no handler",
                source);
}

static void report_not_read(struct run *run, const char *source, int error)
{
    arena_event(run->arena, "handler_not_read", -1,
                DATA(data_text("source", source), data_text("error", strerror(error))),
                "%s: the kernel's events could not be read (%s): some interrupts have no handler",
                source, strerror(error));
}

static void report_left(struct run *run, const char *source, const char *path, int error)
{
    char command[300];
    snprintf(command, sizeof command, "rmdir %s", path);
    arena_event(run->arena, "handler_not_removed", -1,
                DATA(data_text("source", source), data_text("path", path),
                     data_text("error", strerror(error)), data_text("command", command)),
                "the trace instance %s could not be removed: %s", path, strerror(error));
}

/* ---- tracepoints ---- */

#define BYTES_PER_CPU INT64_C(1048576)

const char *const handler_wishes[] = {"none", "auto", "tracepoints", NULL};

/* Entries have even places, exits odd ones. x86 has tracepoints for each vector. */
static const struct port_tracing_kind call_vectors[] = {
    {.system = "irq_vectors", .name = "call_function_entry"},
    {.system = "irq_vectors", .name = "call_function_exit"},
    {.system = "irq_vectors", .name = "call_function_single_entry"},
    {.system = "irq_vectors", .name = "call_function_single_exit"},
};
static const struct port_tracing_kind wake_vectors[] = {
    {.system = "irq_vectors", .name = "reschedule_entry"},
    {.system = "irq_vectors", .name = "reschedule_exit"},
    {.system = "irq_vectors", .name = "call_function_single_entry"},
    {.system = "irq_vectors", .name = "call_function_single_exit"},
};
static const struct port_tracing_kind timer_vectors[] = {
    {.system = "irq_vectors", .name = "local_timer_entry"},
    {.system = "irq_vectors", .name = "local_timer_exit"},
};
static const struct port_tracing_kind any_ipi[] = {
    {.system = "ipi", .name = "ipi_entry"},
    {.system = "ipi", .name = "ipi_exit"},
};
static const struct port_tracing_kind lines[] = {
    {.system = "irq", .name = "irq_handler_entry"},
    {.system = "irq", .name = "irq_handler_exit"},
};

#define WISH(table)                                                                                \
    {                                                                                              \
        .kinds = (table), .kind_count = sizeof(table) / sizeof(table)[0]                           \
    }

/* In the order of preference, up to the first without kinds. */
enum { CHOICES = 3 };
static const struct port_tracing_wish of_interrupt[INTERRUPT_SOURCES][CHOICES] = {
    [INTERRUPT_IPI] = {WISH(call_vectors), WISH(any_ipi)},
    [INTERRUPT_TIMER] = {WISH(timer_vectors), WISH(lines)},
    [INTERRUPT_EXTERNAL] = {WISH(lines)},
};
static const struct port_tracing_wish of_wake_up_by_ipi[CHOICES] = {WISH(wake_vectors),
                                                                    WISH(any_ipi)};

static const struct port_tracing_wish *choices(int64_t source, enum handler_role role)
{
    bool is_other = source == INTERRUPT_IPI && role == HANDLER_OF_WAKE_UP;
    return is_other ? of_wake_up_by_ipi : of_interrupt[source];
}

/* The first choice that there is; NULL with the outcome of the first. */
static const struct port_tracing_wish *find(int64_t source, enum handler_role role,
                                            struct outcome *outcome)
{
    const struct port_tracing_wish *choice = choices(source, role);
    for (int i = 0; choice[i].kinds; i++) {
        struct outcome one = {0};
        if (port_tracing_look(&choice[i], &one) == 0)
            return &choice[i];
        if (i == 0)
            *outcome = one;
    }
    return NULL;
}

static int set_outcome(struct run *run, const struct outcome *outcome)
{
    const char *command = outcome->command[0] ? outcome->command : NULL;
    return outcome_set_remedy(&run->outcome, outcome->status,
                              (struct remedy){outcome->remedy, command}, "the handler: %s",
                              outcome->reason);
}

static bool is_measured(const struct run *run, int64_t source)
{
    struct outcome outcome = {0};
    return interrupt_source_is_wanted(run, source) &&
           interrupt_source_look(run, source, &outcome) == 0;
}

/* ---- the trace ---- */

int handler_trace_check(struct run *run, enum handler_role role)
{
    int64_t wish = run_number(run, "handler");
    int seen_count = 0;
    for (int source = 0; wish != HANDLER_WISH_NONE && source < INTERRUPT_SOURCES; source++) {
        struct outcome outcome = {0};
        if (!is_measured(run, source))
            continue;
        if (find(source, role, &outcome))
            seen_count++;
        else if (wish == HANDLER_WISH_TRACEPOINTS)
            return set_outcome(run, &outcome);
    }
    run->series_left_out = seen_count > 0 ? 0 : 1;
    return 0;
}

static const char *name_of(const struct handler_trace *trace)
{
    return interrupt_source_names[trace->source];
}

/* The run goes on without, unless the handler was asked for. */
static int do_without(struct handler_trace *trace, const struct outcome *outcome)
{
    if (run_number(trace->run, "handler") == HANDLER_WISH_TRACEPOINTS)
        return set_outcome(trace->run, outcome);
    report_not_seen(trace->run, name_of(trace), outcome);
    return 0;
}

int handler_trace_open(struct handler_trace *trace, struct run *run, int64_t source,
                       enum handler_role role)
{
    struct outcome outcome = {0};
    memset(trace, 0, sizeof *trace);
    trace->run = run;
    trace->source = source;
    if (run_number(run, "handler") == HANDLER_WISH_NONE)
        return 0;
    const struct port_tracing_wish *found = find(source, role, &outcome);
    if (!found)
        return do_without(trace, &outcome);
    struct port_tracing_wish wish = *found;
    cpus_add(&wish.cpus, run->setup.cpu);
    wish.bytes_per_cpu = BYTES_PER_CPU;
    wish.purpose = interrupt_source_names[source];
    trace->tracing = port_tracing_open(&wish, &outcome);
    run_lock_again(run); /* its guard was forked */
    return trace->tracing ? 0 : do_without(trace, &outcome);
}

int handler_trace_start(struct handler_trace *trace)
{
    struct outcome outcome = {0};
    if (!trace->tracing)
        return 0;
    trace->is_on = port_tracing_start(trace->tracing, &outcome) == 0;
    return trace->is_on ? 0 : do_without(trace, &outcome);
}

static void see(const struct port_tracing_event *event, void *context)
{
    struct handler_log *log = context;
    if (event->kind == PORT_TRACING_LOST)
        handler_log_lost(log, event->at_ns);
    else if (event->kind % 2 == 0)
        handler_log_entry(log, event->at_ns);
    else
        handler_log_exit(log, event->at_ns);
}

void handler_trace_read(struct handler_trace *trace)
{
    int more = 1;
    handler_log_clear(&trace->log);
    if (!trace->is_on)
        return;
    while (more > 0 && trace->log.lost_until_ns != INT64_MAX)
        more = port_tracing_read(trace->tracing, trace->run->setup.cpu, see, &trace->log);
    if (more < 0) {
        trace->read_error = errno;
        handler_log_lost(&trace->log, INT64_MAX);
    }
    if (!port_tracing_is_on(trace->tracing)) {
        trace->was_off = true;
        handler_log_lost(&trace->log, INT64_MAX);
    }
}

enum handler_fate handler_trace_find(struct handler_trace *trace, int64_t from_ns, int64_t until_ns,
                                     struct handled *handled)
{
    if (!trace->is_on)
        return HANDLER_LOST;
    enum handler_fate fate = handler_log_find(&trace->log, from_ns, until_ns, handled);
    trace->seen.of[fate] += trace->run->is_warm_up ? 0 : 1;
    return fate;
}

void handler_trace_stop(struct handler_trace *trace)
{
    if (!trace->is_on)
        return;
    (void)port_tracing_stop(trace->tracing);
    trace->is_on = false;
    report_seen(trace->run, name_of(trace), &trace->seen);
    if (trace->was_off)
        report_stopped(trace->run, name_of(trace));
    if (trace->read_error)
        report_not_read(trace->run, name_of(trace), trace->read_error);
}

void handler_trace_close(struct handler_trace *trace)
{
    char path[256];
    if (!trace->tracing)
        return;
    int error = port_tracing_close(trace->tracing, path, sizeof path);
    trace->tracing = NULL;
    if (error)
        report_left(trace->run, name_of(trace), path, error);
}
