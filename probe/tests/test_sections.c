/* True lengths of sections, from events and from a kernel that are made up. */
#include "base/posix_source.h"

#include "family/kernel/sections.h"
#include "made_up_run.h"
#include "made_up_tracing.h"
#include "tap.h"

/* ---- sections from events ---- */

/* What was taken: the letter of its kind, the times of begin and end. */
static char seen[256];

/* The place of an event is its time, which tells them apart. */
static struct section_place place_of(int64_t at_ns)
{
    return (struct section_place){at_ns, at_ns + 1};
}

static void take(void *context, enum section_kind kind, const struct section *section)
{
    static const char letters[SECTION_KINDS] = {[SECTION_PREEMPTION] = 'p',
                                                [SECTION_INTERRUPTS] = 'i',
                                                [SECTION_EITHER] = 'e',
                                                [SECTION_INTERRUPT] = 'h'};
    int64_t begin_ns = section->begin_ns, end_ns = begin_ns + section->length_ns;
    struct section_place begin = place_of(begin_ns), end = place_of(end_ns);
    (void)context;
    CHECK(memcmp(&section->begin, &begin, sizeof begin) == 0);
    CHECK(memcmp(&section->end, &end, sizeof end) == 0);
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%c%lld-%lld ", letters[kind], (long long)begin_ns,
             (long long)end_ns);
}

/* "p" and "P": preemption off and on, "i" and "I": interrupts, "h" and "H": a handler begins and
 * ends, each with its time; "L": something was lost; "W": another window begins. */
static struct section_match match_of(const char *events)
{
    static const char letters[] = "pPiIhH";
    static const enum section_kind kinds[] = {SECTION_PREEMPTION, SECTION_INTERRUPTS,
                                              SECTION_INTERRUPT};
    struct section_match match = {.take = take};
    seen[0] = '\0';
    for (char *next; *events; events = next + strspn(next, " ")) {
        const char *letter = strchr(letters, *events);
        int64_t at_ns = strtoll(events + 1, &next, 10);
        if (letter)
            section_match_event(&match, kinds[(letter - letters) / 2], (letter - letters) % 2 == 0,
                                at_ns, place_of(at_ns));
        else if (*events == 'L')
            section_match_lost(&match);
        else
            section_match_restart(&match);
    }
    return match;
}

#define BOTH_KNOWN "P1 I2 "

static const struct {
    const char *name, *events, *seen;
    uint32_t unmatched, lost;
} rows[] = {
    {"from off to on", "p100 P350", "p100-350 ", 0, 0},
    {"half a section, begun before the first event", "I100 i200", "", 0, 0},
    {"either spans both", BOTH_KNOWN "p100 i150 P200 I260", "p100-200 i150-260 e100-260 ", 0, 0},
    {"one in the other", BOTH_KNOWN "p100 i120 I130 P200", "i120-130 p100-200 e100-200 ", 0, 0},
    /* until 310 interrupts may have been off from before */
    {"either needs both to be known", "p100 P200 p300 I310 P400 p500 P600",
     "p100-200 p300-400 p500-600 e500-600 ", 0, 0},
    {"what was lost ends nothing", BOTH_KNOWN "p100 L P5000 p6000 P6100", "p6000-6100 ", 0, 1},
    {"another window begins anew", BOTH_KNOWN "p100 W P900000", "", 0, 0},
    /* the later begin is the one that the end belongs to */
    {"two begins", "p100 p200 P300 P400", "p200-300 ", 2, 0},
    {"a handler is no part of either", BOTH_KNOWN "h100 H180", "h100-180 ", 0, 0},
};

TEST(sections_from_events)
{
    foreach (row, rows, row->name) {
        struct section_match match = match_of(row->events);
        CHECK_TEXT(seen, row->seen);
        CHECK_SAME(match.unmatched_count, row->unmatched);
        CHECK_SAME(match.lost_count, row->lost);
    }
}

/* ---- sections of a run ---- */

enum { MOST = 20, CPU = 3, PARAM = 0, DISPATCH = 0, FIRST_SERIES = 1, WINDOWS = 100 };
enum { PREEMPT_DISABLE, PREEMPT_ENABLE, IRQ_DISABLE, IRQ_ENABLE, TIMER_ENTRY, TIMER_EXIT };

#define START_NS INT64_C(1000000000)

static struct made_up_kernel {
    bool lacks_preemptirq, lacks_vectors, lacks_lines;
    int read_error;
    struct made_up_tracing traced;
    struct port_tracing_event events[MOST]; /* of each window */
    int event_count;
} kernel;

/* ---- in the place of the port's ---- */

static bool lacks(const struct port_tracing_kind *kind)
{
    return (kernel.lacks_preemptirq && strcmp(kind->system, "preemptirq") == 0) ||
           (kernel.lacks_vectors && strcmp(kind->system, "irq_vectors") == 0) ||
           (kernel.lacks_lines && strcmp(kind->system, "irq") == 0);
}

int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    for (int i = 0; i < wish->kind_count; i++)
        if (lacks(&wish->kinds[i]))
            return outcome_set(outcome, STATUS_UNSUPPORTED, "another kernel", "no event %s",
                               wish->kinds[i].name);
    return 0;
}

ANSWERS(int, port_tracing_filter, (struct port_tracing * tracing, int kind, const char *expression),
        0);
ANSWERS(int, port_tracing_stop, (struct port_tracing * tracing), 0);

int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    CHECK_SAME(cpu, CPU);
    for (int i = 0; i < kernel.event_count; i++)
        visit(&kernel.events[i], context);
    errno = kernel.read_error;
    return kernel.read_error ? -1 : 0;
}

void port_tracing_symbols(const int64_t *offsets, int count, char names[][PORT_SYMBOL_BYTES])
{
    for (int i = 0; i < count; i++)
        snprintf(names[i], PORT_SYMBOL_BYTES, "place_%lld", (long long)offsets[i]);
}

/* By the linker: a window lasts no time. */
WRAP(int, nanosleep, const struct timespec *wanted, struct timespec *left)
{
    (void)wanted, (void)left;
    return 0;
}

static const struct param_spec params[] = {
    [PARAM] = {"sections", PARAM_NAME, false, "none", 0, 0, sections_wishes, ""},
    {0},
};

static struct test test = {.id = "INVENTED", .params = params};
static struct sections sections;
static struct busy_table table;
static struct busy_process busy;

static void begin(enum sections_wish wish)
{
    memset(&kernel, 0, sizeof kernel);
    memset(&traced, 0, sizeof traced);
    run_of(&test);
    memset(&sections, 0, sizeof sections);
    memset(&table, 0, sizeof table);
    atomic_store(&table.has_figures, true);
    busy = (struct busy_process){.run = &run, .table = &table};
    request.params[PARAM] = (struct param_value){1, {wish}};
    run.setup.cpu = CPU;
    run.start_ns = START_NS;
    run_make_series(FIRST_SERIES + SECTION_KINDS);
    for (int i = 0; i < FIRST_SERIES + SECTION_KINDS; i++)
        run.records[i] = arena_record(run.arena, i);
}

static int check_and_open(void)
{
    return sections_check(&run) == 0 ? sections_open(&sections, &run, FIRST_SERIES) : -1;
}

static void end(void)
{
    sections_close(&sections);
    sections_close(&sections);
    run_free();
}

static void add(int kind, int64_t at_ns)
{
    kernel.events[kernel.event_count++] = (struct port_tracing_event){
        .at_ns = START_NS + at_ns, .kind = kind, .field = {at_ns, at_ns + 1}};
}

/* 300 ns without preemption, in it 50 ns without interrupts, then a handler of 40 ns. */
static void add_window(void)
{
    add(PREEMPT_ENABLE, 1);
    add(IRQ_ENABLE, 2);
    add(PREEMPT_DISABLE, 100);
    add(IRQ_DISABLE, 200);
    add(IRQ_ENABLE, 250);
    add(PREEMPT_ENABLE, 400);
    add(TIMER_ENTRY, 500);
    add(TIMER_EXIT, 540);
}

static const struct record *record_of(enum section_kind kind)
{
    return run.records[FIRST_SERIES + (int)kind];
}

#define RUN_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), true), end(), what)
#define WRAP_RUN_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), tap_is_wrapped()), end(), what)

WRAP_RUN_TEST(lengths_are_recorded, SECTIONS_AUTO)
{
    add_window();
    CHECK_SAME(check_and_open(), 0);
    CHECK_SAME(run.series_left_out, 0);
    CHECK(cpus_has(&traced.cpus, CPU) && cpus_count(&traced.cpus) == 1);
    CHECK_SAME(sections_measure(&sections, OPERATION_FIRST_CLASS, &busy), 0);
    sections_report(&sections);
    static const int64_t lengths[] = {300, 50, 300, 40};
    for (int i = 0; i < SECTION_KINDS; i++) {
        CHECK_SAME(record_of((enum section_kind)i)->count, WINDOWS);
        CHECK_SAME(record_of((enum section_kind)i)->min, lengths[i]);
        CHECK_SAME(record_of((enum section_kind)i)->max, lengths[i]);
    }
    CHECK_SAME(record_of(SECTION_PREEMPTION)->worst[0].at_ns, 400);
    expect_event("sections_seen", "fork: 100 sections");
    expect_event("sections_seen", "events were lost 0 times");
    expect_event("longest_section", "fork, preempt_off: the longest took 300 ns, from place_100 "
                                    "(place_101) to place_400 (place_401)");
    CHECK(!event("sections_not_seen"));
    sections_close(&sections);
    CHECK(!event("sections_not_removed"));
}

/* `told`: in the event, or, where the run ends with `status`, as its remedy; NULL: all is seen, or
 * nobody asked. `starts`: of the trace, by two measurements. */
static void check_machine(struct made_up_kernel machine, enum sections_wish wish, const char *told,
                          enum status status, int kind_count, int starts)
{
    tap_row(told ? told : "all is seen");
    begin(wish);
    kernel = machine;
    traced = machine.traced;
    if (starts == 1)
        add_window();
    CHECK_SAME(check_and_open(), status == STATUS_MEASURED ? 0 : -1);
    CHECK_SAME(run.outcome.status, status);
    CHECK_SAME(run.series_left_out, kind_count ? 0 : SECTION_KINDS);
    CHECK_SAME(traced.kind_count, kind_count);
    if (status == STATUS_MEASURED) {
        CHECK_SAME(sections_measure(&sections, OPERATION_NONE, &busy), 0);
        CHECK_SAME(sections_measure(&sections, OPERATION_ALL, &busy), 0);
    }
    CHECK_SAME(traced.start_count, starts);
    if (starts == 0)
        sections_report(&sections);
    if (status != STATUS_MEASURED)
        CHECK_TEXT(run.outcome.remedy, told);
    else if (told)
        expect_event("sections_not_seen", told);
    else
        CHECK_SAME(run.arena->event_count, 0);
    end();
    CHECK_SAME(traced.close_count, starts ? 1 : 0);
}

#define MACHINE(...)                                                                               \
    (struct made_up_kernel)                                                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* With "auto" a trouble is told and nothing is traced any more; with "tracepoints" it ends the run.
 * Interrupts are shown by what there is. */
WRAP_TEST(troubles)
{
    const struct made_up_kernel no_events = {.lacks_preemptirq = true},
                                locked = {.traced.open_error = EPERM};
    check_machine(MACHINE(0), SECTIONS_NONE, NULL, STATUS_MEASURED, 0, 0);
    check_machine(no_events, SECTIONS_AUTO, "no event preempt_disable; another kernel",
                  STATUS_MEASURED, 0, 0);
    check_machine(no_events, SECTIONS_TRACEPOINTS, "another kernel", STATUS_UNSUPPORTED, 0, 0);
    check_machine(MACHINE(.lacks_vectors = true), SECTIONS_AUTO, NULL, STATUS_MEASURED, 6,
                  2 * WINDOWS);
    check_machine(MACHINE(.lacks_vectors = true, .lacks_lines = true), SECTIONS_AUTO, NULL,
                  STATUS_MEASURED, 4, 2 * WINDOWS);
    check_machine(locked, SECTIONS_AUTO, "the kernel is locked down; a remedy", STATUS_MEASURED, 8,
                  0);
    check_machine(locked, SECTIONS_TRACEPOINTS, "a remedy", STATUS_DENIED, 8, 0);
    check_machine(MACHINE(.traced.is_switched_off = true), SECTIONS_AUTO,
                  "another program switched the trace off", STATUS_MEASURED, 8, 1);
    check_machine(MACHINE(.traced.start_error = EBUSY), SECTIONS_AUTO, "does not start",
                  STATUS_MEASURED, 8, 1);
    check_machine(MACHINE(.read_error = EIO), SECTIONS_AUTO, "reading the kernel's events",
                  STATUS_MEASURED, 8, 1);
}

RUN_TEST(without_a_cpu, SECTIONS_AUTO)
{
    run.setup.cpu = -1;
    CHECK_SAME(check_and_open(), 0);
    expect_event("sections_not_seen", "not bound to a CPU");
}

WRAP_RUN_TEST(lost_events_are_counted, SECTIONS_AUTO)
{
    add(PREEMPT_ENABLE, 1);
    add(PREEMPT_DISABLE, 100);
    add(PORT_TRACING_LOST, 150);
    add(PREEMPT_ENABLE, 9000);
    CHECK_SAME(check_and_open(), 0);
    CHECK_SAME(sections_measure(&sections, OPERATION_NONE, &busy), 0);
    sections_report(&sections);
    CHECK_SAME(record_of(SECTION_PREEMPTION)->count, 0);
    expect_event("sections_seen", "events were lost 100 times");
    CHECK(!event("longest_section"));
}

RUN_TEST(an_instance_that_stays_is_told, SECTIONS_AUTO)
{
    traced.close_error = EBUSY;
    CHECK_SAME(check_and_open(), 0);
    sections_close(&sections);
    expect_event("sections_not_removed", "/instances/mine");
}
