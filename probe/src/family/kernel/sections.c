#include "base/posix_source.h"

#include "family/kernel/sections.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- sections from events ---- */

void section_match_restart(struct section_match *match)
{
    for (int i = 0; i < SECTION_KINDS; i++)
        match->states[i] = (struct section_state){.is_known = false};
}

void section_match_lost(struct section_match *match)
{
    match->lost_count++;
    section_match_restart(match);
}

static void open_one(struct section_state *state, int64_t at_ns, struct section_place place)
{
    *state = (struct section_state){
        .is_known = true, .is_open = true, .open = {.begin_ns = at_ns, .begin = place}};
}

static void close_one(struct section_match *match, enum section_kind kind, int64_t at_ns,
                      struct section_place place)
{
    struct section_state *state = &match->states[kind];
    struct section section = state->open;
    bool is_whole = state->is_open;
    *state = (struct section_state){.is_known = true};
    if (!is_whole)
        return;
    section.length_ns = at_ns - section.begin_ns;
    section.end = place;
    match->take(match->context, kind, &section);
}

static bool is_open(const struct section_match *match, enum section_kind kind)
{
    return match->states[kind].is_open;
}

/* Both have to be known before it begins; then it is known, too. */
static void follow_either(struct section_match *match, int64_t at_ns, struct section_place place)
{
    struct section_state *either = &match->states[SECTION_EITHER];
    const struct section_state *states = match->states;
    bool are_known = states[SECTION_PREEMPTION].is_known && states[SECTION_INTERRUPTS].is_known;
    bool is_off = is_open(match, SECTION_PREEMPTION) || is_open(match, SECTION_INTERRUPTS);
    if (!are_known)
        return;
    if (is_off && either->is_known && !either->is_open)
        open_one(either, at_ns, place);
    else if (!is_off)
        close_one(match, SECTION_EITHER, at_ns, place);
}

void section_match_event(struct section_match *match, enum section_kind kind, bool is_begin,
                         int64_t at_ns, struct section_place place)
{
    struct section_state *state = &match->states[kind];
    if (state->is_known && state->is_open == is_begin)
        match->unmatched_count++;
    if (is_begin)
        open_one(state, at_ns, place);
    else
        close_one(match, kind, at_ns, place);
    if (kind != SECTION_INTERRUPT)
        follow_either(match, at_ns, place);
}

/* ---- what is there ---- */

/* A window has some thousand events of 30 bytes, in a busy kernel. */
#define BYTES_PER_CPU INT64_C(4194304)
#define WINDOW_NS INT64_C(5000000)

enum { LEAST_WINDOWS = 100, MOST_WINDOWS = 400, VALUES_A_WINDOW = 50, READS = 10000 };

const char *const sections_wishes[] = {"none", "auto", "tracepoints", NULL};

static const char *const kind_names[] = {
    [SECTION_PREEMPTION] = "preempt_off",
    [SECTION_INTERRUPTS] = "irq_off",
    [SECTION_EITHER] = "either_off",
    [SECTION_INTERRUPT] = "interrupt",
};

/* Two kinds of events for each kind of sections, its begin and its end. */
enum { KIND_OFF = 0, KIND_ON, EVENTS_A_KIND };
enum { FIELD_PLACE, FIELD_CALLER };

#define PREEMPTIRQ(event)                                                                          \
    {                                                                                              \
        .system = "preemptirq", .name = (event), .fields = { "caller_offs", "parent_offs" }        \
    }
#define OFF_AND_ON                                                                                 \
    PREEMPTIRQ("preempt_disable"), PREEMPTIRQ("preempt_enable"), PREEMPTIRQ("irq_disable"),        \
        PREEMPTIRQ("irq_enable")

/* x86 has tracepoints of its own for the interrupt of the local timer; it is no line there. */
static const struct port_tracing_kind of_vectors[] = {
    OFF_AND_ON,
    {.system = "irq_vectors", .name = "local_timer_entry"},
    {.system = "irq_vectors", .name = "local_timer_exit"},
    {.system = "irq", .name = "irq_handler_entry"},
    {.system = "irq", .name = "irq_handler_exit"},
};
static const struct port_tracing_kind of_lines[] = {
    OFF_AND_ON,
    {.system = "irq", .name = "irq_handler_entry"},
    {.system = "irq", .name = "irq_handler_exit"},
};
enum { INTERRUPT_KINDS = 4 }; /* events before those of interrupts */

static const struct port_tracing_wish wishes[] = {
    {.kinds = of_vectors, .kind_count = sizeof of_vectors / sizeof of_vectors[0]},
    {.kinds = of_lines, .kind_count = sizeof of_lines / sizeof of_lines[0]},
    {.kinds = of_vectors, .kind_count = INTERRUPT_KINDS},
};
enum { WISHES = sizeof wishes / sizeof wishes[0] };

/* The first wish that can be had; NULL with the outcome of the last, which asks for least. */
static const struct port_tracing_wish *find_wish(const struct run *run, struct outcome *outcome)
{
    if (run->setup.cpu < 0) {
        outcome_set(outcome, STATUS_UNSUPPORTED, "choose a CPU with --cpu",
                    "the measuring thread is not bound to a CPU");
        return NULL;
    }
    for (int i = 0; i < WISHES; i++) {
        memset(outcome, 0, sizeof *outcome);
        if (port_tracing_look(&wishes[i], outcome) == 0)
            return &wishes[i];
    }
    return NULL;
}

int sections_check(struct run *run)
{
    struct outcome outcome = {0};
    int64_t wish = run_number(run, "sections");
    if (wish != SECTIONS_NONE && find_wish(run, &outcome))
        return 0;
    run->series_left_out = SECTION_KINDS;
    if (wish != SECTIONS_TRACEPOINTS)
        return 0;
    return outcome_set_remedy(&run->outcome, outcome.status,
                              (struct remedy){outcome.remedy, outcome.command}, "%s",
                              outcome.reason);
}

static void report_not_seen(struct run *run, const struct outcome *outcome)
{
    arena_event(run->arena, "sections_not_seen", -1,
                DATA(data_text("status", status_name(outcome->status)),
                     data_text("reason", outcome->reason),
                     outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
                     outcome->command[0] ? data_text("command", outcome->command) : data_none()),
                "the true lengths of sections are not available: %.240s%s%.120s", outcome->reason,
                outcome->remedy[0] ? "; " : "", outcome->remedy);
}

static int refuse(struct sections *sections, const struct outcome *outcome)
{
    struct run *run = sections->run;
    sections->is_given_up = true;
    if (run_number(run, "sections") == SECTIONS_TRACEPOINTS)
        return outcome_set_remedy(&run->outcome, outcome->status,
                                  (struct remedy){outcome->remedy, outcome->command}, "%s",
                                  outcome->reason);
    report_not_seen(run, outcome);
    return 0;
}

int sections_open(struct sections *sections, struct run *run, int first_series)
{
    struct outcome outcome = {0};
    sections->run = run;
    sections->first_series = first_series;
    if (run_number(run, "sections") == SECTIONS_NONE)
        return 0;
    sections->wish = find_wish(run, &outcome);
    if (!sections->wish || run->series_left_out)
        return refuse(sections, &outcome);
    struct port_tracing_wish wish = *sections->wish;
    memset(&wish.cpus, 0, sizeof wish.cpus);
    cpus_add(&wish.cpus, run->setup.cpu);
    wish.bytes_per_cpu = BYTES_PER_CPU;
    memset(&outcome, 0, sizeof outcome);
    sections->tracing = port_tracing_open(&wish, &outcome);
    run_lock_again(run); /* its guard was forked */
    return sections->tracing ? 0 : refuse(sections, &outcome);
}

void sections_close(struct sections *sections)
{
    char path[256];
    int error = sections->tracing ? port_tracing_close(sections->tracing, path, sizeof path) : 0;
    sections->tracing = NULL;
    if (error)
        arena_event(sections->run->arena, "sections_not_removed", -1,
                    DATA(data_text("path", path), data_text("error", strerror(error))),
                    "%s: not removed: %s", path, strerror(error));
}

/* ---- windows ---- */

static void take_section(void *context, enum section_kind kind, const struct section *section)
{
    struct sections *sections = context;
    struct run *run = sections->run;
    struct sections_variant *variant = &sections->variants[sections->operation];
    record_value(run_record(run, sections->first_series + (int)kind), section->length_ns,
                 run_at_ns(run, section->begin_ns + section->length_ns));
    variant->counts[kind]++;
    variant->sums_ns[kind] += section->length_ns;
    if ((int)kind < SECTION_LONGEST_KINDS && section->length_ns > variant->longest[kind].length_ns)
        variant->longest[kind] = *section;
}

static void take_event(const struct port_tracing_event *event, void *context)
{
    struct sections *sections = context;
    if (event->kind == PORT_TRACING_LOST) {
        section_match_lost(&sections->match);
        return;
    }
    int kind = event->kind < INTERRUPT_KINDS ? event->kind / EVENTS_A_KIND : SECTION_INTERRUPT;
    struct section_place place = {.offset = 0};
    if (kind != SECTION_INTERRUPT)
        place = (struct section_place){event->field[FIELD_PLACE], event->field[FIELD_CALLER]};
    section_match_event(&sections->match, (enum section_kind)kind,
                        event->kind % EVENTS_A_KIND == KIND_OFF, event->at_ns, place);
}

/* 0, or -1 with the outcome. */
static int read_window(struct sections *sections, struct outcome *outcome)
{
    int left = 1;
    section_match_restart(&sections->match);
    for (int i = 0; i < READS && left == 1; i++)
        left = port_tracing_read(sections->tracing, sections->run->setup.cpu, take_event, sections);
    return left >= 0 ? 0 : outcome_set_errno(outcome, errno, "reading the kernel's events", NULL);
}

static void sleep_for(int64_t ns)
{
    struct timespec time = clock_ns_timespec(ns);
    nanosleep(&time, NULL);
}

static int trace_window(struct sections *sections, struct sections_variant *variant,
                        struct outcome *outcome)
{
    if (port_tracing_start(sections->tracing, outcome) != 0)
        return -1;
    int64_t begin_ns = clock_monotonic_ns();
    sleep_for(WINDOW_NS);
    bool is_on = port_tracing_is_on(sections->tracing);
    int error = port_tracing_stop(sections->tracing);
    variant->traced_ns += clock_monotonic_ns() - begin_ns;
    variant->windows_count++;
    if (error)
        return outcome_set_errno(outcome, error, "stopping the trace", NULL);
    if (!is_on)
        return outcome_set(outcome, STATUS_FAILED, "find out what switches tracing off",
                           "another program switched the trace off");
    return read_window(sections, outcome);
}

static int windows_of(const struct run *run)
{
    uint64_t wanted = run->records[0]->count / VALUES_A_WINDOW;
    if (wanted < LEAST_WINDOWS)
        return LEAST_WINDOWS;
    return wanted > MOST_WINDOWS ? MOST_WINDOWS : (int)wanted;
}

int sections_measure(struct sections *sections, enum operation operation, struct busy_process *busy)
{
    struct sections_variant *variant = &sections->variants[operation];
    struct outcome outcome = {0};
    int error = 0;
    if (!sections->tracing || sections->is_given_up)
        return 0;
    busy_process_take_figures(busy);
    sections->operation = operation;
    sections->match = (struct section_match){.take = take_section, .context = sections};
    for (int i = windows_of(sections->run); i > 0 && !error && !run_should_stop(); i--)
        error = busy_process_has_given_up(busy) ? 1 : trace_window(sections, variant, &outcome);
    variant->lost_count = sections->match.lost_count;
    variant->unmatched_count = sections->match.unmatched_count;
    return error < 0 ? refuse(sections, &outcome) : 0;
}

/* ---- events ---- */

static void report_longest(const struct sections *sections, int operation, int kind)
{
    const struct section *longest = &sections->variants[operation].longest[kind];
    const char(*names)[PORT_SYMBOL_BYTES] =
        sections->names + (operation * SECTION_LONGEST_KINDS + kind) * SECTION_PLACES;
    const char *name = operation_names[operation];
    if (longest->length_ns == 0)
        return;
    arena_event(sections->run->arena, "longest_section",
                run_event_at_ns(sections->run, longest->begin_ns),
                DATA(data_text("operation", name), data_text("kind", kind_names[kind]),
                     data_integer("length_ns", longest->length_ns), data_text("begin", names[0]),
                     data_text("begin_caller", names[1]), data_text("end", names[2]),
                     data_text("end_caller", names[3])),
                "%s, %s: the longest took %lld ns, from %s (%s) to %s (%s)", name, kind_names[kind],
                (long long)longest->length_ns, names[0], names[1], names[2], names[3]);
}

static void report_seen(const struct sections *sections, int operation)
{
    const struct sections_variant *variant = &sections->variants[operation];
    const char *name = operation_names[operation];
    bool has_interrupts = sections->wish->kind_count > INTERRUPT_KINDS;
    arena_event(
        sections->run->arena, "sections_seen", -1,
        DATA(data_text("operation", name), data_integer("windows_count", variant->windows_count),
             data_integer("traced_ns", variant->traced_ns),
             data_integer("preempt_off_ns", variant->sums_ns[SECTION_PREEMPTION]),
             data_integer("irq_off_ns", variant->sums_ns[SECTION_INTERRUPTS]),
             data_integer("either_off_ns", variant->sums_ns[SECTION_EITHER]),
             has_interrupts ? data_integer("interrupt_ns", variant->sums_ns[SECTION_INTERRUPT])
                            : data_none(),
             data_integer("lost_count", (int64_t)variant->lost_count),
             data_integer("unmatched_count", (int64_t)variant->unmatched_count)),
        "%s: %llu sections in %lld us that were traced, in which preemption or interrupts "
        "were off for %lld us; events were lost %llu times",
        name, (unsigned long long)variant->counts[SECTION_EITHER],
        (long long)(variant->traced_ns / 1000),
        (long long)(variant->sums_ns[SECTION_EITHER] / 1000),
        (unsigned long long)variant->lost_count);
}

/* All at once: it takes long. */
static void name_places(struct sections *sections)
{
    int64_t *place = sections->places;
    for (int i = 0; i < OPERATIONS; i++)
        for (int j = 0; j < SECTION_LONGEST_KINDS; j++) {
            const struct section *longest = &sections->variants[i].longest[j];
            *place++ = longest->begin.offset;
            *place++ = longest->begin.caller;
            *place++ = longest->end.offset;
            *place++ = longest->end.caller;
        }
    port_tracing_symbols(sections->places, SECTIONS_PLACES, sections->names);
}

void sections_report(struct sections *sections)
{
    if (!sections->tracing)
        return;
    name_places(sections);
    for (int i = 0; i < OPERATIONS; i++) {
        if (sections->variants[i].windows_count == 0)
            continue;
        report_seen(sections, i);
        for (int j = 0; j < SECTION_LONGEST_KINDS; j++)
            report_longest(sections, i, j);
    }
}
