#include "base/posix_source.h"

#include "run/trace_ring.h"

#include "base/clock.h"
#include "base/status.h"
#include "port/port.h"
#include "port/tracing.h"
#include "record/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of the kernel's memory, not locked with the process. At 10 kHz a wake-up makes about ten events
 * of 50 bytes: more than a second of them. */
#define RING_BYTES INT64_C(8388608)
#define BEFORE_NS INT64_C(50000)
#define AFTER_NS INT64_C(100000)
#define SECOND_NS INT64_C(1000000000)
#define JUST_NS INT64_C(10000000)

enum { SWITCH, WAKEUP, TIMER_ENTRY, TIMER_EXIT, HANDLER_ENTRY, HANDLER_EXIT, SOFTIRQ, KINDS };
/* no events, but lines among theirs */
enum { VALUE_BEGINS = KINDS, VALUE_ENDS, LEFT_OUT, NOTHING_OLDER };
enum { NEAR_MOST = ARENA_TRACE_LINES, NEAR_FIRST = NEAR_MOST / 4 }; /* those around the begin */

static const struct port_tracing_kind kinds[KINDS] = {
    [SWITCH] = {"sched", "sched_switch", {"prev_pid", "prev_prio", "next_pid"}, "prev_comm", false},
    [WAKEUP] = {"sched", "sched_wakeup", {"pid", "prio", "target_cpu"}, "comm", false},
    [TIMER_ENTRY] = {"irq_vectors", "local_timer_entry", {"vector"}, NULL, false},
    [TIMER_EXIT] = {"irq_vectors", "local_timer_exit", {"vector"}, NULL, false},
    [HANDLER_ENTRY] = {"irq", "irq_handler_entry", {"irq"}, NULL, false},
    [HANDLER_EXIT] = {"irq", "irq_handler_exit", {"irq", "ret"}, NULL, false},
    [SOFTIRQ] = {"irq", "softirq_entry", {"vec"}, NULL, false},
};

/* An event near the value that is looked for. */
struct near {
    int64_t at_ns;
    int kind, cpu;
    int64_t field[PORT_TRACING_FIELDS];
    char text[16];
};

struct trace_ring {
    struct port_tracing *tracing;
    struct port_tracing_kind kinds[KINDS];
    int kind_of[KINDS]; /* what each of them is */
    struct cpus cpus;
    int error;            /* the first one of a look */
    bool was_off;         /* at some look; somebody has switched it off */
    atomic_bool *is_held; /* by trace_ring_hold; shared with the process that looks */
    int missing_count;    /* values of which the ring had nothing any more */
    int64_t looked_ns;    /* since the start of the measurement */
    int64_t from_ns, end_ns, to_ns;
    struct {
        int cpu;
        int64_t visited_ns; /* its latest event so far; INT64_MIN: none */
        bool has_older;     /* an event from before the value */
        bool has_gap;       /* events are lost between that one and the next */
        int64_t lost_count; /* how many; 0: not known */
    } read;                 /* the ring that is read */
    bool has_event;         /* of the value, in one of them */
    bool has_all;           /* each of them has what came before the value, and no gap near it */
    uint32_t near_count;
    uint64_t left_out;               /* events between the first and the last ones */
    struct near near[NEAR_MOST + 1]; /* in the order of their times */
    char lines[ARENA_TRACE_LINES][ARENA_TRACE_BYTES];
};

/* Kinds that this kernel has: those of one architecture's interrupts are not everywhere. */
static int choose_kinds(struct trace_ring *ring, struct port_tracing_wish *wish,
                        struct outcome *outcome)
{
    int count = 0;
    for (int i = 0; i < KINDS; i++) {
        struct outcome ignored = {0};
        struct port_tracing_wish one = {.kinds = &kinds[i], .kind_count = 1, .cpus = wish->cpus};
        if (port_tracing_look(&one, i == SWITCH ? outcome : &ignored) != 0) {
            if (i == SWITCH)
                return -1;
            continue;
        }
        ring->kinds[count] = kinds[i];
        ring->kind_of[count++] = i;
    }
    wish->kinds = ring->kinds;
    wish->kind_count = count;
    return 0;
}

static int share_mark(struct trace_ring *ring, struct outcome *outcome)
{
    ring->is_held = port_shared_memory(sizeof *ring->is_held);
    return ring->is_held ? 0
                         : outcome_set_errno(outcome, errno, "memory for the trace", "free memory");
}

static void free_ring(struct trace_ring *ring)
{
    if (ring->is_held)
        munmap(ring->is_held, sizeof *ring->is_held);
    free(ring);
}

struct trace_ring *trace_ring_open(const struct cpus *measured, struct outcome *outcome)
{
    struct port_tracing_wish wish = {
        .purpose = "ring", .cpus = *measured, .bytes_per_cpu = RING_BYTES};
    struct trace_ring *ring = calloc(1, sizeof *ring);
    if (!ring) {
        outcome_set_errno(outcome, ENOMEM, "memory for the trace", "free memory");
        return NULL;
    }
    ring->cpus = *measured;
    if (choose_kinds(ring, &wish, outcome) == 0 && share_mark(ring, outcome) == 0)
        ring->tracing = port_tracing_open(&wish, outcome);
    if (ring->tracing)
        return ring;
    free_ring(ring);
    return NULL;
}

int trace_ring_start(struct trace_ring *ring, struct outcome *outcome)
{
    return port_tracing_start(ring->tracing, outcome);
}

void trace_ring_hold(struct trace_ring *ring)
{
    atomic_store(ring->is_held, true);
    port_tracing_stop(ring->tracing);
}

/* ---- what is near the value ---- */

/* Where there are too many, the one after the first NEAR_FIRST goes: the wake-up is at the begin of
 * a long value, and what took the CPU last at its end. */
static void put_in_order(struct trace_ring *ring, const struct near *event)
{
    uint32_t place = ring->near_count++;
    while (place > 0 && ring->near[place - 1].at_ns > event->at_ns) {
        ring->near[place] = ring->near[place - 1];
        place--;
    }
    ring->near[place] = *event;
    if (ring->near_count <= NEAR_MOST)
        return;
    ring->near_count = NEAR_MOST;
    memmove(&ring->near[NEAR_FIRST], &ring->near[NEAR_FIRST + 1],
            (NEAR_MOST - NEAR_FIRST) * sizeof ring->near[0]);
    ring->left_out++;
}

/* Where lost events may be of the value, its excerpt says so: else it would claim that nothing
 * happened. `next_ns`: the first event that is not lost. */
static void end_gap(struct trace_ring *ring, int64_t next_ns)
{
    bool had_gap = ring->read.has_gap;
    ring->read.has_gap = false;
    if (!had_gap || next_ns < ring->from_ns || ring->read.visited_ns > ring->to_ns)
        return;
    ring->has_all = false;
    const struct near lost = {
        .at_ns = next_ns < ring->end_ns ? next_ns : ring->end_ns,
        .kind = PORT_TRACING_LOST,
        .cpu = ring->read.cpu,
        .field = {ring->read.lost_count},
    };
    put_in_order(ring, &lost);
}

static void visit(const struct port_tracing_event *event, void *context)
{
    struct trace_ring *ring = context;
    if (event->kind == PORT_TRACING_LOST) {
        ring->read.has_gap = true;
        ring->read.lost_count = event->field[0];
        return;
    }
    end_gap(ring, event->at_ns);
    ring->read.visited_ns = event->at_ns;
    ring->read.has_older |= event->at_ns < ring->from_ns;
    if (event->at_ns < ring->from_ns || event->at_ns > ring->to_ns)
        return;
    ring->has_event = true;
    struct near near = {event->at_ns,
                        ring->kind_of[event->kind],
                        ring->read.cpu,
                        {event->field[0], event->field[1], event->field[2]},
                        ""};
    size_t bytes =
        event->text_bytes < sizeof near.text - 1 ? event->text_bytes : sizeof near.text - 1;
    if (event->text)
        memcpy(near.text, event->text, bytes);
    put_in_order(ring, &near);
}

/* The kernel's words: see Documentation/trace/events.rst. */
static void compose(char line[ARENA_TRACE_BYTES], const struct near *event)
{
    char head[40];
    snprintf(head, sizeof head, "[%03d] %" PRId64 ".%09" PRId64, event->cpu,
             event->at_ns / SECOND_NS, event->at_ns % SECOND_NS);
    const int64_t *field = event->field;
    bool is_event = event->kind >= 0 && event->kind < KINDS;
    const char *name = is_event ? kinds[event->kind].name : "";
    switch (event->kind) {
    case SWITCH:
        snprintf(line, ARENA_TRACE_BYTES,
                 "%s: %s: prev_comm=%s prev_pid=%lld prev_prio=%lld ==> next_pid=%lld", head, name,
                 event->text, (long long)field[0], (long long)field[1], (long long)field[2]);
        break;
    case WAKEUP:
        snprintf(line, ARENA_TRACE_BYTES, "%s: %s: comm=%s pid=%lld prio=%lld target_cpu=%03lld",
                 head, name, event->text, (long long)field[0], (long long)field[1],
                 (long long)field[2]);
        break;
    case PORT_TRACING_LOST:
        snprintf(line, ARENA_TRACE_BYTES, "%s: LOST %lld EVENTS", head, (long long)field[0]);
        break;
    case VALUE_BEGINS:
    case VALUE_ENDS:
        snprintf(line, ARENA_TRACE_BYTES, "%s: the value %s", head,
                 event->kind == VALUE_BEGINS ? "begins" : "ends");
        break;
    case NOTHING_OLDER:
        snprintf(line, ARENA_TRACE_BYTES, "%s: the trace starts here", head);
        break;
    case LEFT_OUT:
        snprintf(line, ARENA_TRACE_BYTES, "%s: %lld events left out before this", head,
                 (long long)field[0]);
        break;
    default:
        snprintf(line, ARENA_TRACE_BYTES, "%s: %s: %s=%lld", head, name,
                 kinds[event->kind].fields[0], (long long)field[0]);
    }
}

static void read_cpu(struct trace_ring *ring, int cpu)
{
    int more = 1;
    memset(&ring->read, 0, sizeof ring->read);
    ring->read.cpu = cpu;
    ring->read.visited_ns = INT64_MIN;
    while (more > 0)
        more = port_tracing_read(ring->tracing, cpu, visit, ring);
    if (more < 0 && !ring->error)
        ring->error = errno;
    end_gap(ring, INT64_MAX);
    if (ring->read.has_older)
        return;
    const struct near begins = {.at_ns = ring->from_ns, .kind = NOTHING_OLDER, .cpu = cpu};
    ring->has_all = false;
    put_in_order(ring, &begins);
}

/* Those of the value's CPU; of all where it is not known. */
static void read_cpus(struct trace_ring *ring, int of_value)
{
    ring->has_event = false;
    ring->has_all = true;
    for (int cpu = cpus_first(&ring->cpus); cpu >= 0; cpu = cpus_next(&ring->cpus, cpu))
        if (of_value < 0 || cpu == of_value)
            read_cpu(ring, cpu);
}

static void mark_value(struct trace_ring *ring, int64_t begin_ns, int64_t end_ns, int cpu)
{
    int shown = cpu >= 0 ? cpu : cpus_first(&ring->cpus);
    const struct near begins = {.at_ns = begin_ns, .kind = VALUE_BEGINS, .cpu = shown};
    const struct near ends = {.at_ns = end_ns, .kind = VALUE_ENDS, .cpu = shown};
    put_in_order(ring, &begins);
    put_in_order(ring, &ends);
}

/* Takes all that the stopped ring holds, and keeps what is near the value. */
static void take(struct trace_ring *ring, struct arena *arena, const struct trace_value *value)
{
    ring->end_ns = arena->started_ns + value->at_ns;
    ring->from_ns = ring->end_ns - value->value_ns - BEFORE_NS;
    ring->to_ns = ring->end_ns + AFTER_NS;
    ring->near_count = 0;
    ring->left_out = 0;
    read_cpus(ring, value->cpu);
    if (!ring->has_event && !ring->has_all) {
        ring->missing_count++;
        return;
    }
    /* A ring that has all, and nothing of the value, says that the kernel did nothing. */
    mark_value(ring, ring->end_ns - value->value_ns, ring->end_ns, value->cpu);
    if (ring->left_out > 0 && ring->near_count > NEAR_FIRST) {
        struct near *after = &ring->near[NEAR_FIRST];
        *after =
            (struct near){after->at_ns, LEFT_OUT, after->cpu, {(int64_t)ring->left_out + 1}, ""};
    }
    for (uint32_t i = 0; i < ring->near_count; i++)
        compose(ring->lines[i], &ring->near[i]);
    trace_table_keep(arena, value, (const char(*)[ARENA_TRACE_BYTES])ring->lines, ring->near_count);
}

/* A value may have been recorded just after the look before. Of older ones the ring has nothing: a
 * look that read it took out all. */
static bool has_new(const struct trace_ring *ring, const struct arena *arena,
                    struct trace_value *value)
{
    return arena->started_ns > 0 && trace_table_wants(arena, ring->looked_ns - JUST_NS, value);
}

/* In this order: who holds the ring marks it before it is off. */
static void see_switch(struct trace_ring *ring)
{
    bool is_off = !port_tracing_is_on(ring->tracing);
    ring->was_off |= is_off && !atomic_load(ring->is_held);
}

/* A ring that was held meanwhile stays off. */
static void go_on(struct trace_ring *ring)
{
    struct outcome ignored = {0};
    bool is_refused = !ring->was_off && port_tracing_start(ring->tracing, &ignored) != 0;
    if (atomic_load(ring->is_held))
        port_tracing_stop(ring->tracing);
    else if (is_refused && !ring->error)
        ring->error = EIO;
}

void trace_ring_look(struct trace_ring *ring, struct arena *arena)
{
    struct trace_value value;
    if (atomic_load(ring->is_held)) /* read at the end */
        return;
    int64_t now_ns = clock_monotonic_ns() - arena->started_ns;
    if (has_new(ring, arena, &value)) {
        see_switch(ring);
        int error = port_tracing_stop(ring->tracing);
        ring->error = ring->error ? ring->error : error;
        take(ring, arena, &value);
        go_on(ring);
    }
    ring->looked_ns = now_ns; /* what comes while the ring is read is told as missing */
}

void trace_ring_end(struct trace_ring *ring, struct arena *arena)
{
    struct trace_value value;
    see_switch(ring);
    port_tracing_stop(ring->tracing);
    if (has_new(ring, arena, &value))
        take(ring, arena, &value);
    if (ring->was_off)
        arena_event(arena, "trace_switched_off", -1, NO_DATA,
                    "the trace of this run was switched off by another program: later values "
                    "have no excerpt");
    if (ring->error)
        arena_event(arena, "trace_not_read", -1, DATA(data_text("error", strerror(ring->error))),
                    "the kernel's trace could not always be read (%s)", strerror(ring->error));
    if (ring->missing_count > 0)
        arena_event(arena, "trace_missing", -1,
                    DATA(data_integer("missing_count", ring->missing_count)),
                    "for %d large values the kernel's trace had already been overwritten when it "
                    "was read",
                    ring->missing_count);
}

void trace_ring_close(struct trace_ring *ring)
{
    char path[400];
    int error = port_tracing_close(ring->tracing, path, sizeof path);
    if (error)
        message_print("the kernel's trace %s could not be removed (%s): the next run that traces "
                      "tries again",
                      path, strerror(error));
    free_ring(ring);
}
