/* The ring of the kernel's events around the largest values, over tracing that is made up, and the
 * table of the excerpts. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "new_arena.h"
#include "port/port.h"
#include "port/tracing.h"
#include "record/tables.h"
#include "run/trace_ring.h"
#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

/* The calls in the place of the port's need few of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { MOST = 400, LOG_BYTES = 64 };

struct scripted {
    int cpu;
    const char *name; /* of the kind; NULL: lost events */
    int64_t at_ns, field[PORT_TRACING_FIELDS];
    const char *text;
};

/* The kernel: what it has, what its rings hold, what was asked of it. */
static struct {
    const char *lacks;                      /* a kind of event */
    bool is_switched_off, is_held_at_start; /* held: by a breach while a look starts the ring */
    int read_error, start_error, close_error;
    struct scripted events[MOST];
    int event_count;
    struct port_tracing_wish wish;
    struct port_tracing_kind kinds[PORT_TRACING_KINDS];
    char log[LOG_BYTES]; /* a letter for each call: o(pen) s(tart) h(alt) r(ead) c(lose) */
} kernel;

static void note(char letter)
{
    size_t length = strlen(kernel.log);
    if (length + 1 < sizeof kernel.log)
        kernel.log[length] = letter;
}

int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    if (kernel.lacks && strcmp(wish->kinds[0].name, kernel.lacks) == 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, "no %s", kernel.lacks);
    return 0;
}

struct port_tracing *port_tracing_open(const struct port_tracing_wish *wish,
                                       struct outcome *outcome)
{
    note('o');
    kernel.wish = *wish;
    memcpy(kernel.kinds, wish->kinds, (size_t)wish->kind_count * sizeof wish->kinds[0]);
    return (struct port_tracing *)&kernel;
}

static void hold(void);

int port_tracing_start(struct port_tracing *tracing, struct outcome *outcome)
{
    note('s');
    if (kernel.is_held_at_start)
        hold();
    return kernel.start_error ? outcome_set_errno(outcome, kernel.start_error, "tracing_on", NULL)
                              : 0;
}

int port_tracing_stop(struct port_tracing *tracing)
{
    note('h');
    return 0;
}

ANSWERS(bool, port_tracing_is_on, (const struct port_tracing *tracing), !kernel.is_switched_off);

static int kind_of(const char *name)
{
    for (int i = 0; name && i < kernel.wish.kind_count; i++)
        if (strcmp(kernel.kinds[i].name, name) == 0)
            return i;
    return PORT_TRACING_LOST;
}

/* Delivers one event a call, and takes it out of the ring. */
int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    note('r');
    if (kernel.read_error)
        return tap_fail(kernel.read_error);
    for (int i = 0; i < kernel.event_count; i++) {
        struct scripted *from = &kernel.events[i];
        if (from->cpu != cpu)
            continue;
        struct port_tracing_event event = {.at_ns = from->at_ns, .kind = kind_of(from->name)};
        memcpy(event.field, from->field, sizeof event.field);
        event.text = from->text;
        event.text_bytes = from->text ? strlen(from->text) : 0;
        from->cpu = -1;
        if (!from->name || event.kind >= 0) /* a kernel sends no event that was not asked for */
            visit(&event, context);
        return 1;
    }
    return 0;
}

int port_tracing_close(struct port_tracing *tracing, char *path, size_t bytes)
{
    note('c');
    snprintf(path, bytes, "/instances/mine");
    return kernel.close_error;
}

static void add(int cpu, int64_t at_ns, const char *name, int64_t first, const char *text)
{
    kernel.events[kernel.event_count++] =
        (struct scripted){cpu, name, at_ns, {first, 120, 77}, text};
}

/* ---- an arena in which values are recorded ---- */

/* Ahead of the clock, so that no value is too old. */
#define START_NS INT64_C(4000000005000000000)
#define MS INT64_C(1000000)

static struct arena *arena;
static struct arena_plan plan;
static struct trace_ring *ring;
static struct outcome outcome;

static void begin(const char *unit)
{
    struct cpus cpus;
    memset(&kernel, 0, sizeof kernel);
    memset(&plan, 0, sizeof plan);
    memset(&outcome, 0, sizeof outcome);
    int series = arena_plan_series(&plan, "wakeup", unit, NULL);
    arena_plan_label_number(&plan, series, "cpu", 3);
    arena = arena_create(&plan, NULL, &outcome);
    if (!arena)
        abort();
    arena->started_ns = START_NS;
    cpus_clear(&cpus);
    cpus_add(&cpus, 1);
    cpus_add(&cpus, 3);
    ring = trace_ring_open(&cpus, &outcome);
    if (ring)
        CHECK(trace_ring_start(ring, &outcome) == 0);
}

static void end(void)
{
    trace_ring_close(ring);
    arena_free(arena);
    arena_plan_free(&plan);
}

/* Puts an event of long before into the ring: it holds all that came after. */
static void hold_all(int cpu)
{
    add(cpu, START_NS, "softirq_entry", 1, NULL);
}

static void record(int64_t value_ns, int64_t at_ns)
{
    record_value(arena_record(arena, 0), value_ns, at_ns);
}

static int kept_count(void)
{
    int count = 0;
    for (int i = 0; i < ARENA_TRACES; i++)
        count += trace_table_has(&arena->traces[i]) ? 1 : 0;
    return count;
}

static const struct arena_trace *kept(int64_t value_ns)
{
    for (int i = 0; i < ARENA_TRACES; i++)
        if (trace_table_has(&arena->traces[i]) && arena->traces[i].value_ns == value_ns)
            return &arena->traces[i];
    return NULL;
}

#define RING_TEST(what) TEST_IN((begin("ns"), true), end(), what)

#define BEGINS "[003] 4000000005.028000000: the value begins"
#define ENDS "[003] 4000000005.030000000: the value ends"

/* The lines of the only excerpt, of a value from 28 to 30 ms; `cpu`: of its series, -1: none. */
static void expect_lines(int cpu, const char *const lines[])
{
    arena->series[0].label_count = cpu < 0 ? 0 : 1;
    record(2 * MS, 30 * MS);
    trace_ring_look(ring, arena);
    const struct arena_trace *trace = kept(2 * MS);
    if (!CHECK(trace && trace->cpu == cpu && trace->at_ns == 30 * MS))
        return;
    for (uint32_t i = 0; lines[i] && i < trace->line_count; i++)
        CHECK_TEXT(trace->lines[i], lines[i]);
    CHECK(!lines[trace->line_count]);
    trace_ring_end(ring, arena);
    CHECK(!event_of(arena, "trace_missing"));
}

#define EXPECT(cpu, ...) expect_lines(cpu, (const char *const[ARENA_TRACE_LINES + 1]){__VA_ARGS__})

RING_TEST(lines_around_a_value_are_kept_in_the_order_of_their_times)
{
    add(3, START_NS + 27 * MS, "softirq_entry", 1, NULL); /* more than half a ms before */
    add(3, START_NS + 28 * MS + 10, "local_timer_entry", 236, NULL);
    add(3, START_NS + 29 * MS, "sched_switch", 42, "hog");
    add(3, START_NS + 31 * MS, "softirq_entry", 2, NULL);       /* after it */
    add(1, START_NS + 28 * MS + 5, "sched_wakeup", 77, "mine"); /* of another CPU */
    EXPECT(3, BEGINS, "[003] 4000000005.028000010: local_timer_entry: vector=236",
           "[003] 4000000005.029000000: sched_switch: prev_comm=hog prev_pid=42 prev_prio=120 ==> "
           "next_pid=77",
           ENDS);
}

/* A test that is not bound to a CPU: events of all of them, in one order. */
RING_TEST(a_value_of_no_cpu_has_the_events_of_all)
{
    hold_all(1);
    hold_all(3);
    add(3, START_NS + 29 * MS, "softirq_entry", 3, NULL);
    add(1, START_NS + 28 * MS + 5, "sched_wakeup", 77, "mine");
    EXPECT(-1, "[001] 4000000005.028000000: the value begins",
           "[001] 4000000005.028000005: sched_wakeup: comm=mine pid=77 prio=120 "
           "target_cpu=077",
           "[003] 4000000005.029000000: softirq_entry: vec=3",
           "[001] 4000000005.030000000: the value ends");
}

RING_TEST(lost_events_have_a_line)
{
    hold_all(3);
    add(3, 0, NULL, 12, NULL);
    add(3, START_NS + 29 * MS, "softirq_entry", 7, NULL);
    EXPECT(3, BEGINS, "[003] 4000000005.029000000: LOST 12 EVENTS",
           "[003] 4000000005.029000000: softirq_entry: vec=7", ENDS);
}

/* An earlier look has taken what came before, or it was overwritten. */
RING_TEST(an_excerpt_without_its_begin_says_so)
{
    hold_all(1);
    add(3, START_NS + 29 * MS, "softirq_entry", 3, NULL);
    EXPECT(-1, "[003] 4000000005.027950000: the trace starts here",
           "[001] 4000000005.028000000: the value begins",
           "[003] 4000000005.029000000: softirq_entry: vec=3",
           "[001] 4000000005.030000000: the value ends");
}

TEST(counts_have_no_excerpt)
{
    begin("count");
    record(MS, 10 * MS);
    add(3, START_NS + 10 * MS, "softirq_entry", 1, NULL);
    trace_ring_look(ring, arena);
    CHECK_SAME(kept_count(), 0);
    end();
}

RING_TEST(the_largest_values_stay)
{
    for (int i = 1; i <= ARENA_TRACES + 2; i++) {
        record(i * MS, i * 100 * MS);
        add(3, START_NS + i * 100 * MS, "softirq_entry", i, NULL);
        trace_ring_look(ring, arena);
    }
    CHECK_SAME(kept_count(), ARENA_TRACES);
    CHECK(!kept(1 * MS) && !kept(2 * MS) && kept(3 * MS) && kept((ARENA_TRACES + 2) * MS));
}

static bool wants(int64_t value_ns, int64_t at_ns, int64_t since_ns)
{
    struct trace_value value;
    record(value_ns, at_ns);
    return trace_table_wants(arena, since_ns, &value) && CHECK_SAME(value.value_ns, value_ns) &&
           CHECK_SAME(value.at_ns, at_ns);
}

/* Of what ended before the look before, the ring has nothing any more. */
RING_TEST(old_values_have_no_excerpt)
{
    CHECK(!wants(500, 7000, 7001));
    CHECK(wants(501, 8000, 8000));
}

RING_TEST(only_values_that_are_larger_have_one)
{
    static const char line[1][ARENA_TRACE_BYTES] = {"a line"};
    CHECK(!wants(0, 10, 0)); /* larger than none */
    for (int i = 0; i < ARENA_TRACES; i++)
        trace_table_keep(arena, &(struct trace_value){500 + i, 1000 + i, -1}, line, 1);
    CHECK(!wants(500, 7000, 0));
    CHECK(wants(501, 8000, 0));
}

RING_TEST(of_many_events_those_at_begin_and_end_stay)
{
    record(100 * MS, 200 * MS);
    hold_all(3);
    for (int i = 0; i < 300; i++)
        add(3, START_NS + 100 * MS + i * MS / 4, "softirq_entry", i, NULL);
    trace_ring_look(ring, arena);
    const struct arena_trace *trace = kept(100 * MS);
    CHECK(trace && trace->line_count == ARENA_TRACE_LINES);
    CHECK_HOLDS(trace->lines[ARENA_TRACE_LINES - 1], "the value ends");
    CHECK_HOLDS(trace->lines[ARENA_TRACE_LINES - 2], "vec=299");
    CHECK_HOLDS(trace->lines[0], "vec=0");
    CHECK_HOLDS(trace->lines[1], "the value begins");
    CHECK_HOLDS(trace->lines[ARENA_TRACE_LINES / 4], "255 events left out");
    CHECK_HOLDS(trace->lines[ARENA_TRACE_LINES / 4 + 1], "vec=266");
}

/* Lost between the events at `before_ms` and `after_ms` (0: none), of a value from 28 to 30 ms.
 * Returns whether its excerpt claims that nothing happened. */
static bool claims_nothing(int64_t before_ms, int64_t after_ms)
{
    begin("ns");
    record(2 * MS, 30 * MS);
    hold_all(3);
    add(3, START_NS + before_ms * MS, "softirq_entry", 1, NULL);
    add(3, 0, NULL, 0, NULL);
    if (after_ms)
        add(3, START_NS + after_ms * MS, "softirq_entry", 1, NULL);
    trace_ring_look(ring, arena);
    trace_ring_end(ring, arena);
    bool claims = kept(2 * MS) != NULL;
    CHECK(claims == !event_of(arena, "trace_missing"));
    end();
    return claims;
}

TEST(nothing_is_claimed_where_events_are_lost)
{
    CHECK(claims_nothing(20, 25));
    CHECK(claims_nothing(40, 45));
    CHECK(!claims_nothing(20, 45));
    CHECK(!claims_nothing(20, 0));
    CHECK(claims_nothing(40, 0));
}

static void hold(void)
{
    trace_ring_hold(ring);
    kernel.is_switched_off = true;
}

/* A value and an event in it, a look, and the end. */
TEST(what_is_told_at_the_end)
{
    enum { OFF = 1, OFF_AND_ON }; /* by somebody, and on again after the look */
    static const struct {
        const char *name;
        bool has_value, has_event, is_held, is_held_at_start, is_looked_at;
        int off, read_error;
        const char *log_of_look, *log, *event;
        int kept;
    } rows[] = {
        {"a value that the ring no longer has", .has_value = true, .is_looked_at = true,
         .log_of_look = "oshrs", .log = "oshrshr", .event = "trace_missing"},
        {"a breach that ends the run", .has_value = true, .has_event = true, .log_of_look = "os",
         .log = "oshrr", .kept = 1},
        {"a breach before a look", .has_value = true, .has_event = true, .is_held = true,
         .is_looked_at = true, .log_of_look = "osh", .log = "oshhrr", .kept = 1},
        /* the start reads back what the breach has written, and fails */
        {"a breach during a look", .has_value = true, .has_event = true, .is_held_at_start = true,
         .is_looked_at = true, .log_of_look = "oshrrshh", .log = "oshrrshhh", .kept = 1},
        {"switched off", .off = OFF, .log_of_look = "os", .log = "osh",
         .event = "trace_switched_off"},
        {"an error of a look", .has_value = true, .is_looked_at = true, .read_error = EIO,
         .log_of_look = "oshrs", .log = "oshrshr", .event = "trace_not_read"},
        /* what was between is lost */
        {"switched off during a look, and on", .has_value = true, .has_event = true,
         .is_looked_at = true, .off = OFF_AND_ON, .log_of_look = "oshrr", .log = "oshrrh",
         .event = "trace_switched_off", .kept = 1},
    };
    foreach (row, rows, row->name) {
        begin("ns");
        if (row->has_value)
            record(2 * MS, 30 * MS);
        if (row->has_event)
            add(3, START_NS + 30 * MS, "softirq_entry", 1, NULL);
        if (row->is_held)
            hold();
        if (row->off)
            kernel.is_switched_off = true;
        kernel.is_held_at_start = row->is_held_at_start;
        kernel.start_error = row->is_held_at_start ? EAGAIN : 0;
        kernel.read_error = row->read_error;
        if (row->is_looked_at)
            trace_ring_look(ring, arena);
        CHECK_TEXT(kernel.log, row->log_of_look);
        CHECK_SAME(arena->event_count, 0);
        if (row->off == OFF_AND_ON)
            kernel.is_switched_off = false;
        trace_ring_end(ring, arena);
        CHECK_TEXT(kernel.log, row->log);
        CHECK_SAME(kept_count(), row->kept);
        CHECK(row->event ? event_of(arena, row->event) != NULL : arena->event_count == 0);
        end();
    }
}

/* The process that looks is a fork of the one that measures. */
RING_TEST(another_process_sees_who_stopped_the_ring)
{
    pid_t measuring = port_fork();
    if (measuring == 0) {
        hold();
        _exit(0);
    }
    if (CHECK(measuring > 0)) {
        CHECK_SAME(waitpid(measuring, NULL, 0), measuring);
        kernel.is_switched_off = true;
        trace_ring_end(ring, arena);
        CHECK(!event_of(arena, "trace_switched_off"));
    }
}

RING_TEST(a_part_of_a_value_has_no_excerpt)
{
    arena_plan_label_text(&plan, 0, "part", "dispatch");
    arena->series[0] = plan.series[0];
    record(2 * MS, 30 * MS);
    add(3, START_NS + 30 * MS, "softirq_entry", 1, NULL);
    trace_ring_look(ring, arena);
    CHECK_SAME(kept_count(), 0);
    strcpy(arena->series[0].labels[1].text, "total");
    trace_ring_look(ring, arena);
    CHECK_SAME(kept_count(), 1);
}

TEST(a_kernel_without_switches_is_refused_and_one_without_vectors_is_not)
{
    begin("ns");
    end();
    memset(&kernel, 0, sizeof kernel);
    struct cpus cpus;
    cpus_clear(&cpus);
    kernel.lacks = "sched_switch";
    CHECK(trace_ring_open(&cpus, &outcome) == NULL);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    CHECK_TEXT(kernel.log, "");
    kernel.lacks = "local_timer_entry";
    ring = trace_ring_open(&cpus, &outcome);
    CHECK(ring != NULL);
    int with = kind_of("sched_switch"), without = kind_of("local_timer_entry");
    CHECK(with >= 0 && without == PORT_TRACING_LOST);
    CHECK_HOLDS(kernel.kinds[kind_of("local_timer_exit")].name, "local_timer_exit");
    trace_ring_close(ring);
}

RING_TEST(a_torn_excerpt_is_dropped)
{
    record(2 * MS, 30 * MS);
    add(3, START_NS + 30 * MS, "softirq_entry", 1, NULL);
    trace_ring_look(ring, arena);
    trace_table_repair(arena);
    CHECK_SAME(kept_count(), 1);
    memset(arena->traces[0].lines[1], 'x', ARENA_TRACE_BYTES);
    trace_table_repair(arena);
    CHECK(strlen(arena->traces[0].lines[1]) < ARENA_TRACE_BYTES);
    arena->traces[0].begun++;
    trace_table_repair(arena);
    CHECK_SAME(kept_count(), 0);
    arena->traces[0].begun--;
    arena->traces[0].line_count = ARENA_TRACE_LINES + 1;
    trace_table_repair(arena);
    CHECK_SAME(kept_count(), 0);
}
