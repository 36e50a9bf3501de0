#include "base/posix_source.h"

#include "family/timer/parts_source.h"

#include "run/shield_run.h"

#include <stdio.h>
#include <string.h>

/* Holds half a second of 20,000 events. */
#define BYTES_PER_CPU INT64_C(1048576)
#define US INT64_C(1000)

const char *const parts_wishes[] = {"none", "auto", "timerlat", "tracepoints", NULL};

#define WAKING_AND_SWITCH                                                                          \
    [KIND_WAKING] = {.system = "sched", .name = "sched_waking", .fields = {"pid"}},                \
    [KIND_SWITCH] = {.system = "sched",                                                            \
                     .name = "sched_switch",                                                       \
                     .fields = {"next_pid", "prev_pid"},                                           \
                     .text = "prev_comm"}

/* x86 has tracepoints of its own for the interrupt of the local timer. Elsewhere it is an interrupt
 * like others. */
static const struct port_tracing_kind of_vectors[] = {
    [KIND_ENTRY] = {.system = "irq_vectors", .name = "local_timer_entry"},
    [KIND_EXIT] = {.system = "irq_vectors", .name = "local_timer_exit"},
    WAKING_AND_SWITCH,
};
static const struct port_tracing_kind of_lines[] = {
    [KIND_ENTRY] = {.system = "irq", .name = "irq_handler_entry"},
    [KIND_EXIT] = {.system = "irq", .name = "irq_handler_exit"},
    WAKING_AND_SWITCH,
};
static const struct port_tracing_kind of_timerlat[] = {
    [KIND_TIMERLAT] = {.system = "ftrace",
                       .name = "timerlat",
                       .fields = {"seqnum", "context", "timer_latency"},
                       .is_recorded_by_tracer = true},
};
enum { TRACEPOINTS = sizeof of_vectors / sizeof of_vectors[0] };

static const struct port_tracing_wish by_vectors = {.kinds = of_vectors, .kind_count = TRACEPOINTS};
static const struct port_tracing_wish by_lines = {.kinds = of_lines, .kind_count = TRACEPOINTS};
static const struct port_tracing_wish by_timerlat = {
    .tracer = "timerlat", .kinds = of_timerlat, .kind_count = 1};

const char *parts_source_name(enum parts_source source)
{
    static const char *const names[] = {[SOURCE_NONE] = "none",
                                        [SOURCE_TRACEPOINTS] = "tracepoints",
                                        [SOURCE_TIMERLAT] = "timerlat"};
    return names[source];
}

static int look_at_timerlat(const struct run *run, struct outcome *outcome)
{
    int64_t interval_ns = run_number(run, "interval_ns");
    if (interval_ns % US != 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "choose interval_ns in whole us",
                           "timerlat's period is in whole us");
    if (!HS_SHIELD)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "build the probe with its shield",
                           "this build cannot put timerlat's settings back");
    if (port_tracing_look(&by_timerlat, outcome) != 0)
        return -1;
    return port_timerlat_look(interval_ns / US, outcome);
}

/* The tracepoints that there are; by_vectors with the outcome where neither is whole. */
static const struct port_tracing_wish *find_tracepoints(struct outcome *outcome)
{
    struct outcome of_lines_only = {0};
    if (port_tracing_look(&by_vectors, outcome) == 0)
        return &by_vectors;
    if (port_tracing_look(&by_lines, &of_lines_only) != 0)
        return NULL;
    memset(outcome, 0, sizeof *outcome);
    return &by_lines;
}

static int look_at(const struct run *run, enum parts_source source, struct outcome *outcome)
{
    bool is_bound = run->setup.cpu >= 0 || run_param(run, "cpus")->count > 0;
    if (!is_bound)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "choose a CPU with --cpu",
                           "the measuring thread is not bound to a CPU");
    if (source == SOURCE_TIMERLAT)
        return look_at_timerlat(run, outcome);
    return find_tracepoints(outcome) ? 0 : -1;
}

static bool is_wanted(int64_t wish, enum parts_source source)
{
    return wish == PARTS_WISH_AUTO || (wish == PARTS_WISH_TIMERLAT && source == SOURCE_TIMERLAT) ||
           (wish == PARTS_WISH_TRACEPOINTS && source == SOURCE_TRACEPOINTS);
}

/* Joins the reasons; status and remedy are those of the first: tracepoints need the least. */
static void add_reason(struct outcome *all, enum parts_source source, const struct outcome *one)
{
    char before[STATUS_TEXT_BYTES];
    snprintf(before, sizeof before, "%s", all->reason);
    if (!before[0])
        *all = *one;
    snprintf(all->reason, sizeof all->reason, "%.150s%s%s: %.150s", before, before[0] ? "; " : "",
             parts_source_name(source), one->reason);
}

enum parts_source parts_source_choose(const struct run *run, struct outcome *outcome)
{
    int64_t wish = run_number(run, "parts");
    memset(outcome, 0, sizeof *outcome);
    for (int i = SOURCE_TRACEPOINTS; i <= SOURCE_TIMERLAT; i++) {
        struct outcome one = {0};
        if (!is_wanted(wish, (enum parts_source)i))
            continue;
        if (look_at(run, (enum parts_source)i, &one) == 0)
            return (enum parts_source)i;
        add_reason(outcome, (enum parts_source)i, &one);
    }
    return SOURCE_NONE;
}

struct port_tracing *parts_source_open(struct run *run, enum parts_source source,
                                       const struct cpus *cpus, struct outcome *outcome)
{
    const struct port_tracing_wish *found =
        source == SOURCE_TIMERLAT ? &by_timerlat : find_tracepoints(outcome);
    if (!found)
        return NULL;
    struct port_tracing_wish wish = *found;
    wish.cpus = *cpus;
    wish.bytes_per_cpu = BYTES_PER_CPU;
    if (source == SOURCE_TIMERLAT &&
        shield_run_set_timerlat(run, run_number(run, "interval_ns") / US, outcome) != 0)
        return NULL;
    struct port_tracing *tracing = port_tracing_open(&wish, outcome);
    run_lock_again(run); /* its guard was forked */
    return tracing;
}
