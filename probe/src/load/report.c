#include "base/posix_source.h"

#include "load/report.h"

#include "load/element/build.h"
#include "load/element/messages.h"
#include "load/elements.h"

#include <stdio.h>
#include <string.h>

static double window_s(const struct load *load)
{
    return (double)(load->end.at_ns - load->begin.at_ns) / 1e9;
}

/* Sums of a term's processes. */
struct sums {
    int working; /* worked during the measurement */
    int ready;   /* did not work, only because no CPU was free */
    int jobs;    /* running at its begin and at its end */
    int groups;  /* whole at its begin and at its end, that passed messages */
};

static int jobs_of(const struct load_sample *from, const struct load_sample *to)
{
    uint64_t before = from->counters[BUILD_AT_ONCE], after = to->counters[BUILD_AT_ONCE];
    return to->state == WORKER_WORKS ? (int)(before < after ? before : after) : 0;
}

static bool is_whole(const struct load_sample *sample)
{
    return sample->state == WORKER_WORKS && sample->counters[MESSAGES_WHOLE] > 0;
}

static int groups_of(const struct load_sample *from, const struct load_sample *to)
{
    bool passed = to->counters[MESSAGES_BYTES] > from->counters[MESSAGES_BYTES];
    return is_whole(from) && is_whole(to) && passed ? 1 : 0;
}

static void add_up(const struct load *load, int term, struct load_reached *reached,
                   struct sums *sums)
{
    enum load_degree_kind kind = load->setup.spec->terms[term].element->kind;
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_sample *from = &load->begin.samples[i], *to = &load->end.samples[i];
        if (load->map->slots[i].term != term)
            continue;
        reached->processes += from->state == WORKER_WORKS ? 1 : 0;
        sums->working += load_sample_did_work(from, to) ? 1 : 0;
        sums->ready += to->is_ready ? 1 : 0;
        sums->jobs += kind == LOAD_JOBS ? jobs_of(from, to) : 0;
        sums->groups += kind == LOAD_GROUPS ? groups_of(from, to) : 0;
        for (int j = 0; j < LOAD_COUNTERS; j++)
            if (to->counters[j] > from->counters[j])
                reached->counters[j] += to->counters[j] - from->counters[j];
    }
}

static int slots_of(const struct load *load, int term)
{
    int count = 0;
    for (int i = 0; i < load->map->slot_count; i++)
        count += load->map->slots[i].term == term ? 1 : 0;
    return count > 0 ? count : 1;
}

/* The smallest increase of one process: the sum hides a CPU whose only process did little. */
static double least_of(const struct load *load, int term, int counter)
{
    double least = -1;
    for (int i = 0; i < load->map->slot_count; i++) {
        uint64_t from = load->begin.samples[i].counters[counter];
        uint64_t to = load->end.samples[i].counters[counter];
        double did = to > from ? (double)(to - from) : 0;
        if (load->map->slots[i].term == term && (least < 0 || did < least))
            least = did;
    }
    return least > 0 ? least : 0;
}

static int64_t since(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : to - from;
}

static void add_seen(const struct load *load, const struct load_element *element,
                     struct load_reached *reached)
{
    reached->seen[0] = reached->seen[1] = -1;
    if (element == &load_interrupt) {
        reached->seen_names[0] = "seen_timer_interrupts_count";
        reached->seen[0] = since(load->begin.timer_interrupts, load->end.timer_interrupts);
        reached->seen_names[1] = "seen_interrupts_count";
        reached->seen[1] = since(load->begin.interrupts, load->end.interrupts);
    } else if (element == &load_network) {
        reached->seen_names[0] = "seen_tcp_segments_count";
        reached->seen[0] = since(load->begin.tcp_segments, load->end.tcp_segments);
    } else if (element == &load_disk) {
        reached->seen_names[0] = "seen_device_bytes";
        reached->seen[0] = since(load->begin.device_bytes, load->end.device_bytes);
    }
}

/* The scheduling classes of the processes of storm: all have the same one, unless one could not
 * change it. */
static void tell_behind(const struct load *load, int term, char *text, size_t bytes)
{
    int counts[BEHIND_NICE + 1] = {0};
    for (int i = 0; i < load->map->slot_count; i++)
        if (load->map->slots[i].term == term)
            counts[atomic_load(&load->map->slots[i].behind)]++;
    snprintf(text, bytes, "%s%s%s", counts[BEHIND_IDLE] > 0 ? "SCHED_IDLE" : "",
             counts[BEHIND_IDLE] > 0 && counts[BEHIND_NICE] > 0 ? " and " : "",
             counts[BEHIND_NICE] > 0 ? "nice 19" : "");
}

static void add_how(const struct load *load, int term, struct load_reached *reached)
{
    const struct load_term *asked = &load->setup.spec->terms[term];
    const struct load_address *to = &asked->degree.to;
    bool is_bracketed = strchr(to->host, ':') != NULL;
    if (asked->element->kind == LOAD_COUNT)
        tell_behind(load, term, reached->how, sizeof reached->how);
    else if (to->host[0])
        snprintf(reached->how, sizeof reached->how, "to %s%s%s:%s", is_bracketed ? "[" : "",
                 to->host, is_bracketed ? "]" : "", to->port);
    else if (asked->element->takes_host)
        snprintf(reached->how, sizeof reached->how, "loopback");
}

static double asked_number(const struct load *load, int term)
{
    return (double)load->places.asked[term];
}

void load_reached(const struct load *load, int term, struct load_reached *reached)
{
    const struct load_term *asked = &load->setup.spec->terms[term];
    const struct load_element *element = asked->element;
    double seconds = window_s(load), each = seconds * slots_of(load, term);
    struct sums sums = {0, 0, 0, 0};
    memset(reached, 0, sizeof *reached);
    add_seen(load, element, reached);
    add_how(load, term, reached);
    reached->asked = -1;
    if (!load->is_measured || seconds <= 0)
        return;
    add_up(load, term, reached, &sums);
    const uint64_t *counters = reached->counters;
    int used = element->judged_by_wall ? COUNTER_BUSY_NS : COUNTER_CPU_NS;
    switch (element->kind) {
    case LOAD_SHARE:
        reached->asked = (double)asked->degree.busy_ns / (double)asked->degree.period_ns;
        reached->reached = (double)counters[used] / 1e9 / each;
        reached->least = least_of(load, term, used) / 1e9 / seconds;
        break;
    case LOAD_RATE:
        reached->asked = (double)asked->degree.number;
        reached->reached = (double)counters[COUNTER_OWN] / each;
        reached->least = least_of(load, term, COUNTER_OWN) / seconds;
        break;
    case LOAD_COUNT:
        reached->asked = asked_number(load, term);
        reached->reached = reached->least = sums.working + sums.ready;
        reached->seen_names[0] = "ran_count";
        reached->seen[0] = sums.working;
        break;
    case LOAD_JOBS:
        reached->asked = asked_number(load, term);
        reached->reached = reached->least = sums.jobs;
        break;
    case LOAD_GROUPS:
        reached->asked = asked_number(load, term);
        reached->reached = reached->least = sums.groups;
        break;
    case LOAD_CONTINUOUS:
        reached->reached = (double)counters[COUNTER_ROUNDS] / each;
        reached->least = least_of(load, term, COUNTER_ROUNDS) / seconds;
        break;
    case LOAD_EXTERNAL_STRESSOR:
        reached->reached = reached->least = (double)counters[COUNTER_OWN];
        break;
    }
}

/* ---- lines ---- */

static void counters_json(struct emit *emit, const struct load_element *element,
                          const struct load_reached *reached)
{
    emit_member_object(emit, "counters");
    for (int i = 0; i < LOAD_COUNTERS; i++)
        if (element->counters[i])
            emit_member_integer(emit, element->counters[i], (int64_t)reached->counters[i]);
    for (int i = 0; i < 2; i++)
        if (reached->seen[i] >= 0)
            emit_member_integer(emit, reached->seen_names[i], reached->seen[i]);
    emit_end_object(emit);
}

static const char *degree_of(const struct load *load, int term)
{
    const struct load_term *asked = &load->setup.spec->terms[term];
    return asked->element->kind == LOAD_EXTERNAL_STRESSOR ? load->setup.spec->options
                                                          : asked->degree_text;
}

static void load_line(struct emit *emit, const struct load *load, int term)
{
    const struct load_element *element = load->setup.spec->terms[term].element;
    struct load_reached reached;
    load_reached(load, term, &reached);
    emit_begin_object(emit);
    emit_member_text(emit, "type", "load");
    emit_member_text(emit, "element", element->name);
    emit_member_text(emit, "degree", degree_of(load, term));
    if (reached.asked >= 0)
        emit_member_double(emit, "asked", reached.asked);
    else
        emit_member_null(emit, "asked");
    emit_member_double(emit, "reached", reached.reached);
    emit_member_double(emit, "least", reached.least);
    emit_member_text(emit, "unit", load_unit(element->kind));
    emit_member_integer(emit, "processes", reached.processes);
    emit_member_text_or_null(emit, "how", reached.how);
    counters_json(emit, element, &reached);
    emit_end_object(emit);
    emit_line(emit);
}

void load_lines(struct emit *emit, const struct load *load)
{
    for (int i = 0; load->is_measured && i < load->setup.spec->count; i++)
        load_line(emit, load, i);
}

void load_figure(char *text, size_t bytes, enum load_degree_kind kind, double value)
{
    if (value < 0)
        snprintf(text, bytes, "-");
    else if (kind == LOAD_SHARE)
        snprintf(text, bytes, "%.1f %%", value * 100);
    else
        snprintf(text, bytes, value >= 1000 ? "%.0f%s" : "%.4g%s", value, /* no exponent */
                 kind == LOAD_RATE         ? "/s"
                 : kind == LOAD_CONTINUOUS ? " rounds/s"
                 : kind == LOAD_JOBS       ? " jobs"
                 : kind == LOAD_GROUPS     ? " groups"
                                           : "");
}

void load_table(struct emit *emit, const struct load *load)
{
    if (!load->is_measured || load->setup.spec->count == 0)
        return;
    emit_format(emit, "%-10s %-12s %12s %16s %9s %10s  %s\n", "load", "degree", "asked", "reached",
                "processes", "CPU time", "how");
    for (int i = 0; i < load->setup.spec->count; i++) {
        const struct load_element *element = load->setup.spec->terms[i].element;
        struct load_reached reached;
        char asked[32], got[32], cpu[32] = "-";
        load_reached(load, i, &reached);
        load_figure(asked, sizeof asked, element->kind, reached.asked);
        load_figure(got, sizeof got, element->kind, reached.reached);
        if (element->counters[COUNTER_CPU_NS])
            snprintf(cpu, sizeof cpu, "%.3g s", (double)reached.counters[COUNTER_CPU_NS] / 1e9);
        emit_format(emit, "%-10s %-12.40s %12s %16s %9d %10s  %s\n", element->name,
                    degree_of(load, i), asked, got, reached.processes, cpu, reached.how);
    }
}
