#include "base/posix_source.h"

#include "load/report.h"

#include "port/device.h"
#include "work/kernel_operations.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* ---- snapshots ---- */

enum { PROCESSES = 4096 };

struct load_family {
    struct port_process list[PROCESSES];
    bool is_in[PROCESSES];
};

struct load_family *load_family_make(void)
{
    return calloc(1, sizeof(struct load_family));
}

static int64_t cpu_time_ns(pid_t process)
{
    clockid_t clock;
    struct timespec used;
    if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return clock_timespec_ns(&used);
}

/* Needed if guard and supervisor were killed: nobody else then records the end of a worker. */
static bool is_gone(pid_t process)
{
    return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/* Decodes slot->stopped_ns. */
static int64_t stopped_ns(const struct load_slot *slot)
{
    int64_t stopped_ns = atomic_load(&slot->stopped_ns);
    return stopped_ns < 0 ? stopped_ns + clock_monotonic_ns() : stopped_ns;
}

bool load_sample_did_work(const struct load_sample *from, const struct load_sample *to)
{
    return to->state == WORKER_WORKS &&
           (to->counters[COUNTER_ROUNDS] > from->counters[COUNTER_ROUNDS] ||
            to->counters[COUNTER_CPU_NS] > from->counters[COUNTER_CPU_NS]);
}

static void take_sample(const struct load_slot *slot, bool is_ended, struct load_sample *sample)
{
    sample->stopped_ns = stopped_ns(slot);
    sample->state = is_ended ? WORKER_ENDED : atomic_load(&slot->state);
    if (sample->state == WORKER_WORKS && is_gone(atomic_load(&slot->process)))
        sample->state = WORKER_ENDED;
    for (int i = 0; i < LOAD_COUNTERS; i++)
        sample->counters[i] = atomic_load_explicit(&slot->counters[i], memory_order_relaxed);
    uint64_t *cpu_ns = &sample->counters[COUNTER_CPU_NS];
    uint64_t read_ns =
        sample->state == WORKER_WORKS ? (uint64_t)cpu_time_ns(atomic_load(&slot->process)) : 0;
    if (read_ns > *cpu_ns)
        *cpu_ns = read_ns;
    *cpu_ns += sample->counters[COUNTER_CHILDREN];
}

/* `cpu` -1: the sum over the CPUs of the load, for processes that may run on all of them. */
static void note_seen(const struct load_map *map, const struct load_spec *spec,
                      struct load_snapshot *snapshot, int cpu, int64_t timer_interrupts)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        const struct load_term *term = &spec->terms[slot->term];
        if (slot->cpu == cpu && term->element == &load_interrupt && !term->degree.has_device)
            snapshot->samples[i].seen = timer_interrupts;
    }
}

static void count_interrupts(const struct load_map *map, const struct load_spec *spec,
                             struct load_snapshot *snapshot)
{
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    if (!map->has_cpus)
        return;
    const struct cpus *cpus = &map->cpus;
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        struct port_environment one;
        port_environment(cpu, &one);
        note_seen(map, spec, snapshot, cpu, one.timer_interrupts);
        if (one.interrupts >= 0)
            snapshot->interrupts += one.interrupts + (snapshot->interrupts < 0 ? 1 : 0);
        if (one.timer_interrupts >= 0)
            snapshot->timer_interrupts +=
                one.timer_interrupts + (snapshot->timer_interrupts < 0 ? 1 : 0);
    }
    note_seen(map, spec, snapshot, -1, snapshot->timer_interrupts);
}

static bool has_element(const struct load_spec *spec, const struct load_element *element)
{
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].element == element)
            return true;
    return false;
}

void load_snapshot_take(const struct load_map *map, struct load_snapshot *snapshot)
{
    bool is_over = atomic_load(&map->stop) != 0;
    snapshot->at_ns = clock_monotonic_ns();
    for (int i = 0; i < map->slot_count; i++)
        take_sample(&map->slots[i], is_over, &snapshot->samples[i]);
}

void load_snapshot_seen(const struct load_map *map, const struct load_spec *spec,
                        struct load_snapshot *snapshot)
{
    uint64_t device = atomic_load(&map->device);
    for (int i = 0; i < map->slot_count; i++)
        snapshot->samples[i].seen = -1;
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    if (has_element(spec, &load_interrupt))
        count_interrupts(map, spec, snapshot);
    snapshot->tcp_segments = has_element(spec, &load_network) ? port_tcp_segments_sent() : -1;
    snapshot->device_bytes = device != 0 ? port_device_written_bytes((dev_t)device) : -1;
}

void load_snapshot_ready(const struct load_map *map, const struct load_spec *spec,
                         const struct load_snapshot *begin, struct load_snapshot *end)
{
    for (int i = 0; i < map->slot_count; i++) {
        struct load_sample *sample = &end->samples[i];
        bool is_counted = spec->terms[map->slots[i].term].element->kind == LOAD_COUNT;
        sample->is_ready = is_counted && sample->state == WORKER_WORKS &&
                           !load_sample_did_work(&begin->samples[i], sample) &&
                           port_is_ready(atomic_load(&map->slots[i].process));
    }
}

void load_snapshot_recount(const struct load_map *map, struct load_snapshot *snapshot)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        if (atomic_load(&slot->counted_ns) > 0)
            snapshot->samples[i].counters[COUNTER_OWN] = atomic_load(&slot->counters[COUNTER_OWN]);
    }
}

/* Number of descendants of `root`, itself included; the process table may be in any order. */
static int family_of(struct load_family *family, pid_t root)
{
    struct port_process *list = family->list;
    bool *is_in = family->is_in;
    int count = port_processes(list, PROCESSES), members = 0, before;
    count = count < PROCESSES ? count : PROCESSES;
    memset(is_in, 0, sizeof family->is_in);
    for (int i = 0; i < count; i++)
        is_in[i] = list[i].id == root;
    do {
        before = members;
        members = 0;
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count && !is_in[i]; j++)
                is_in[i] = is_in[j] && list[j].id == list[i].parent;
            members += is_in[i] ? 1 : 0;
        }
    } while (members > before);
    return members;
}

void load_snapshot_external_stressor(const struct load_map *map, const struct load_spec *spec,
                                     struct load_family *family, struct load_snapshot *snapshot)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        if (spec->terms[slot->term].element->kind == LOAD_EXTERNAL_STRESSOR &&
            atomic_load(&slot->state) == WORKER_WORKS)
            snapshot->samples[i].counters[COUNTER_OWN] =
                (uint64_t)family_of(family, atomic_load(&slot->process));
    }
}

/* ---- what was reached ---- */

static double window_ns(const struct load *load)
{
    return (double)(load->end.at_ns - load->begin.at_ns);
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

/* -1: not known. */
static int64_t grown_since(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : to - from;
}

static void add_seen(const struct load *load, const struct load_term *asked,
                     struct load_reached *reached)
{
    const struct load_element *element = asked->element;
    reached->seen[0] = reached->seen[1] = -1;
    if (element == &load_interrupt) {
        reached->seen_names[0] = "seen_timer_interrupts_count";
        if (!asked->degree.has_device)
            reached->seen[0] =
                grown_since(load->begin.timer_interrupts, load->end.timer_interrupts);
        reached->seen_names[1] = "seen_interrupts_count";
        reached->seen[1] = grown_since(load->begin.interrupts, load->end.interrupts);
    } else if (element == &load_network) {
        reached->seen_names[0] = "seen_tcp_segments_count";
        reached->seen[0] = grown_since(load->begin.tcp_segments, load->end.tcp_segments);
    } else if (element == &load_disk) {
        reached->seen_names[0] = "seen_device_bytes";
        reached->seen[0] = grown_since(load->begin.device_bytes, load->end.device_bytes);
    }
}

/* The scheduling classes of the processes of storm: all have the same one, unless one could not
 * change it. */
static void report_behind(const struct load *load, int term, char *text, size_t bytes)
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
        report_behind(load, term, reached->how, sizeof reached->how);
    else if (to->host[0])
        snprintf(reached->how, sizeof reached->how, "to %s%s%s:%s", is_bracketed ? "[" : "",
                 to->host, is_bracketed ? "]" : "", to->port);
    else if (asked->element->takes_host)
        snprintf(reached->how, sizeof reached->how, "loopback");
    else if (asked->degree.has_device)
        snprintf(reached->how, sizeof reached->how, "device " PORT_UIO_PATH "%d",
                 asked->degree.uio_number);
    else if (asked->element->takes_device)
        snprintf(reached->how, sizeof reached->how, "kernel timers");
}

static double asked_number(const struct load *load, int term)
{
    return (double)load->places.asked[term];
}

void load_reached(const struct load *load, int term, struct load_reached *reached)
{
    const struct load_term *asked = &load->setup.spec->terms[term];
    const struct load_element *element = asked->element;
    double seconds = window_ns(load) / 1e9, each = seconds * slots_of(load, term);
    struct sums sums = {0, 0, 0, 0};
    memset(reached, 0, sizeof *reached);
    add_seen(load, asked, reached);
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

/* ---- events ---- */

#define ENOUGH 0.8   /* share of what was asked or sent */
#define TOO_LONG 0.2 /* share of the measurement that a process may be stopped */

enum { TEXT_BYTES = 400 };

/* Increase of a counter of one process during the measurement. */
static uint64_t grown(const struct load *load, int slot, int counter)
{
    uint64_t from = load->begin.samples[slot].counters[counter];
    uint64_t to = load->end.samples[slot].counters[counter];
    return to > from ? to - from : 0;
}

static bool is_of(const struct load *load, int slot, int term)
{
    return load->map->slots[slot].term == term;
}

static int processes_of(const struct load *load, int term)
{
    int count = 0;
    for (int i = 0; i < load->map->slot_count; i++)
        count += is_of(load, i, term) ? 1 : 0;
    return count;
}

/* The first round may have begun before the measurement; the second lies within it. */
static bool has_whole_round(const struct load *load, int term)
{
    for (int i = 0; i < load->map->slot_count; i++)
        if (is_of(load, i, term) && grown(load, i, COUNTER_ROUNDS) >= 2)
            return true;
    return false;
}

/* Reports processes without a round: the sum of all processes would hide a CPU whose only process
 * did nothing. No event if no process had time for a whole round. */
static void report_idle(const struct load *load, int term, load_teller *tell, void *context)
{
    int idle = 0, all = processes_of(load, term);
    char text[TEXT_BYTES];
    if (!has_whole_round(load, term))
        return;
    for (int i = 0; i < load->map->slot_count; i++)
        idle += is_of(load, i, term) && grown(load, i, COUNTER_ROUNDS) == 0 ? 1 : 0;
    if (idle == 0)
        return;
    const char *name = load->setup.spec->terms[term].element->name;
    snprintf(text, sizeof text, "%s: %d of %d processes completed no round during the measurement",
             name, idle, all);
    tell(context, "load_short", -1,
         DATA(data_text("element", name), data_text("why", "no_round"),
              data_integer("processes_count", all), data_integer("idle_count", idle)),
         text);
}

/* For continuous elements, and for jobs if each process keeps one: of hundreds of processes some
 * have no time for a round. */
static bool has_rounds_of_each(const struct load *load, int term)
{
    enum load_degree_kind kind = load->setup.spec->terms[term].element->kind;
    return kind == LOAD_CONTINUOUS ||
           (kind == LOAD_JOBS && load->places.numbers[term] == load->places.processes[term]);
}

static void short_text(const struct load *load, int term, const struct load_reached *reached,
                       char *text, size_t bytes)
{
    const struct load_element *element = load->setup.spec->terms[term].element;
    int processes = processes_of(load, term);
    char asked[32], got[32], who[64] = "";
    if (element->kind == LOAD_COUNT || element->kind == LOAD_JOBS || element->kind == LOAD_GROUPS) {
        snprintf(text, bytes, "%s reached %.0f of %.0f requested %s", element->name, reached->least,
                 reached->asked, load_unit(element->kind));
        return;
    }
    if (processes > 1)
        snprintf(who, sizeof who, ": the slowest of %d processes", processes);
    load_figure(asked, sizeof asked, element->kind, reached->asked);
    load_figure(got, sizeof got, element->kind, reached->least);
    snprintf(text, bytes, "%s%s reached %s%s (requested: %s)", element->name, who, got,
             element->kind != LOAD_SHARE ? ""
             : element->judged_by_wall   ? " of the time"
                                         : " of a CPU",
             asked);
}

static void report_short(const struct load *load, int term, load_teller *tell, void *context)
{
    const struct load_element *element = load->setup.spec->terms[term].element;
    struct load_reached reached;
    char text[TEXT_BYTES];
    load_reached(load, term, &reached);
    if (reached.asked >= 0 && reached.least < ENOUGH * reached.asked) {
        short_text(load, term, &reached, text, sizeof text);
        tell(context, "load_short", -1,
             DATA(data_text("element", element->name), data_text("why", "less_than_asked"),
                  data_number("asked", reached.asked), data_number("reached", reached.least),
                  data_text("unit", load_unit(element->kind))),
             text);
    } else if (reached.asked < 0 && reached.reached <= 0) {
        snprintf(text, sizeof text, "%s %s during the measurement", element->name,
                 element->kind == LOAD_EXTERNAL_STRESSOR ? "did not run" : "completed no round");
        tell(context, "load_short", -1,
             DATA(data_text("element", element->name), data_text("why", "nothing_done"),
                  data_number("reached", 0), data_text("unit", load_unit(element->kind))),
             text);
    } else if (element->kind == LOAD_JOBS && reached.counters[COUNTER_ROUNDS] == 0) {
        snprintf(text, sizeof text, "%s: no job ended during the measurement", element->name);
        tell(context, "load_short", -1,
             DATA(data_text("element", element->name), data_text("why", "no_job_ended")), text);
    } else if (has_rounds_of_each(load, term)) {
        report_idle(load, term, tell, context);
    }
}

/* ---- sent, but not counted by the kernel ---- */

struct unseen {
    double sent, seen;
    int cpu;
};

/* Up to `late` of the `sent` events may have occurred before the measurement began. */
static bool is_unseen(double sent, double late, double seen)
{
    return seen >= 0 && seen < ENOUGH * (sent - late);
}

/* Finds the CPU with the smallest ratio of seen to sent. CPUs are judged one by one: a surplus on
 * one does not make up for another. */
static bool find_unseen_interrupts(const struct load *load, int term, struct unseen *worst)
{
    bool is_found = false;
    for (int i = 0; i < load->map->slot_count; i++) {
        double sent = (double)grown(load, i, COUNTER_OWN);
        double seen = (double)grown_since(load->begin.samples[i].seen, load->end.samples[i].seen);
        if (!is_of(load, i, term) || !is_unseen(sent, 0, seen) ||
            (is_found && seen * worst->sent >= worst->seen * sent))
            continue;
        *worst = (struct unseen){sent, seen, load->map->slots[i].cpu};
        is_found = true;
    }
    return is_found;
}

/* The kernel counts the segments of the whole system. */
static bool find_unseen_packets(const struct load *load, int term, struct unseen *all)
{
    *all = (struct unseen){0, (double)grown_since(load->begin.tcp_segments, load->end.tcp_segments),
                           -1};
    for (int i = 0; i < load->map->slot_count; i++)
        all->sent += is_of(load, i, term) ? (double)grown(load, i, COUNTER_OWN) : 0;
    return is_unseen(all->sent, 0, all->seen);
}

/* The device counts the writes of all processes. */
static bool find_unseen_writes(const struct load *load, int term, struct unseen *all)
{
    double late = 0;
    *all = (struct unseen){0, (double)grown_since(load->begin.device_bytes, load->end.device_bytes),
                           -1};
    for (int i = 0; i < load->map->slot_count; i++) {
        all->sent += is_of(load, i, term) ? (double)grown(load, i, DISK_WRITTEN_BYTES) : 0;
        late += is_of(load, i, term) ? DISK_BLOCK_BYTES : 0;
    }
    return is_unseen(all->sent, late, all->seen);
}

static const char *in_mib(char *text, size_t bytes, double value)
{
    double mib = value / (1 << 20);
    snprintf(text, bytes, "%.*f MiB", mib < 10 ? 1 : 0, mib);
    return text;
}

static void report_interrupts(const struct unseen *found, char *text, size_t bytes)
{
    char where[48] = "on the CPUs of the load";
    if (found->cpu >= 0)
        snprintf(where, sizeof where, "on CPU %d", found->cpu);
    snprintf(text, bytes,
             "interrupt: %.0f timers expired %s, but the kernel counted %.0f interrupts there "
             "(%.0f %%): one interrupt served several timers, or another CPU served them",
             found->sent, where, found->seen, 100 * found->seen / found->sent);
}

static void report_unseen(const struct load *load, int term, load_teller *tell, void *context)
{
    const struct load_element *element = load->setup.spec->terms[term].element;
    struct unseen found = {0, 0, -1};
    char text[TEXT_BYTES], sent[32], seen[32];
    if (element == &load_interrupt && find_unseen_interrupts(load, term, &found))
        report_interrupts(&found, text, sizeof text);
    else if (element == &load_network && find_unseen_packets(load, term, &found))
        snprintf(text, sizeof text,
                 "network: %.0f packets sent, but the kernel counted %.0f TCP segments (%.0f %%)",
                 found.sent, found.seen, 100 * found.seen / found.sent);
    else if (element == &load_disk && find_unseen_writes(load, term, &found))
        snprintf(text, sizeof text, "disk: %s written, %s reached the device (%.0f %%)",
                 in_mib(sent, sizeof sent, found.sent), in_mib(seen, sizeof seen, found.seen),
                 100 * found.seen / found.sent);
    else
        return;
    tell(context, "load_unseen", -1,
         DATA(data_text("element", element->name), data_number("asked", found.sent),
              data_number("reached", found.seen),
              data_text("unit", element == &load_interrupt ? "interrupts"
                                : element == &load_network ? "tcp_segments"
                                                           : "bytes"),
              found.cpu >= 0 ? data_integer("cpu", found.cpu) : data_none()),
         text);
}

/* ---- stopped processes, missing classes ---- */

static void report_stopped(const struct load *load, int term, load_teller *tell, void *context)
{
    int stopped = 0, all = 0;
    int64_t longest_ns = 0;
    for (int i = 0; i < load->map->slot_count; i++) {
        int64_t span_ns = load->end.samples[i].stopped_ns - load->begin.samples[i].stopped_ns;
        if (!is_of(load, i, term))
            continue;
        all++;
        stopped += (double)span_ns > TOO_LONG * window_ns(load) ? 1 : 0;
        longest_ns = span_ns > longest_ns ? span_ns : longest_ns;
    }
    if (stopped == 0)
        return;
    char text[TEXT_BYTES];
    const char *name = load->setup.spec->terms[term].element->name;
    snprintf(text, sizeof text,
             "%s: %d of %d processes were stopped for up to %.3g s of the %.3g s of the "
             "measurement",
             name, stopped, all, (double)longest_ns / 1e9, window_ns(load) / 1e9);
    tell(context, "load_short", -1,
         DATA(data_text("element", name), data_text("why", "stopped"),
              data_integer("processes_count", all), data_integer("stopped_count", stopped),
              data_integer("longest_ns", longest_ns),
              data_integer("measured_ns", load->end.at_ns - load->begin.at_ns)),
         text);
}

static bool did_class(const struct load *load, int term, int class)
{
    for (int i = 0; i < load->map->slot_count; i++)
        if (is_of(load, i, term) && grown(load, i, KERNEL_FIRST_CLASS + class) > 0)
            return true;
    return false;
}

static void report_classes(const struct load *load, int term, load_teller *tell, void *context)
{
    char text[TEXT_BYTES];
    const char *classes[KERNEL_CLASSES];
    int missing = 0;
    size_t used = (size_t)snprintf(text, sizeof text, "kernel: never ran:");
    if (load->setup.spec->terms[term].element != &load_kernel || !has_whole_round(load, term))
        return;
    for (int i = 0; i < KERNEL_CLASSES; i++)
        if (!did_class(load, term, i))
            classes[missing++] = kernel_classes[i].name;
    for (int i = 0; i < missing && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s", i > 0 ? "," : "",
                                 classes[i]);
    if (missing > 0)
        tell(context, "load_short", -1,
             DATA(data_text("element", load_kernel.name), data_text("why", "classes_missing"),
                  data_texts("classes", classes, missing)),
             text);
}

/* ---- ended, limited ---- */

static void how_ended(char *text, size_t bytes, int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, bytes, "killed by signal %d", WTERMSIG(status));
    else
        snprintf(text, bytes, "ended with exit code %d", WEXITSTATUS(status));
}

static void report_ended(const struct load *load, int term, load_teller *tell, void *context)
{
    int ended = 0, all = 0, status = 0;
    bool is_explained = false;
    int64_t first_ns = INT64_MAX;
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (slot->term != term)
            continue;
        all++;
        if (atomic_load(&slot->state) != WORKER_ENDED)
            continue;
        ended++;
        is_explained = is_explained || load_slot_note(slot);
        if (atomic_load(&slot->ended_ns) < first_ns) {
            first_ns = atomic_load(&slot->ended_ns);
            status = atomic_load(&slot->status);
        }
    }
    if (ended == 0)
        return;
    char how[64], text[TEXT_BYTES];
    how_ended(how, sizeof how, status);
    const struct load_element *element = load->setup.spec->terms[term].element;
    snprintf(text, sizeof text, "%s: %d of %d processes ended before the load was stopped (%s)%s",
             element->name, ended, all, how,
             element->kind == LOAD_EXTERNAL_STRESSOR && !is_explained
                 ? "; run stress-ng by hand with these options to see its error"
                 : "");
    tell(context, "load_ended_early", first_ns,
         DATA(data_text("element", element->name), data_integer("asked", all),
              data_integer("reached", all - ended), data_text("unit", "processes"),
              WIFSIGNALED(status) ? data_integer("signal", WTERMSIG(status))
                                  : data_integer("exit_code", WEXITSTATUS(status))),
         text);
}

static void report_guards(const struct load *load, load_teller *tell, void *context)
{
    int64_t supervisor_ns = atomic_load(&load->map->supervisor_ended_ns);
    int64_t guard_ns = atomic_load(&load->map->guard_ended_ns);
    if (supervisor_ns > 0)
        tell(context, "load_ended_early", supervisor_ns, DATA(data_text("killed", "supervisor")),
             "the supervisor process of the load was killed: the whole load ended");
    else if (guard_ns > 0)
        tell(context, "load_ended_early", guard_ns, DATA(data_text("killed", "guard")),
             "the guard process of the load was killed: the whole load ended");
}

/* Reports only the first note of a term: most of its processes have the same note. */
static void report_note(const struct load *load, int term, load_teller *tell, void *context)
{
    int notes = 0, all = 0;
    const char *first = NULL;
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (slot->term != term)
            continue;
        all++;
        const char *note = load_slot_note(slot);
        notes += note ? 1 : 0;
        first = first ? first : note;
    }
    if (!first)
        return;
    char text[TEXT_BYTES];
    const char *name = load->setup.spec->terms[term].element->name;
    snprintf(text, sizeof text, "%s: %s (%d of %d processes)", name, first, notes, all);
    tell(context, "load_limited", -1,
         DATA(data_text("element", name), data_text("why", first),
              data_integer("processes_count", all), data_integer("limited_count", notes)),
         text);
}

/* Fewer processes were started than requested, to leave room for other programs. */
static void report_room(const struct load *load, int term, load_teller *tell, void *context)
{
    int asked = load->places.asked[term], number = load->places.numbers[term];
    char text[TEXT_BYTES];
    if (number >= asked)
        return;
    const char *name = load->setup.spec->terms[term].element->name;
    snprintf(text, sizeof text, "%s: only %d of %d are started: %s leaves room for %lld processes",
             name, number, asked, load->room.limit, (long long)load->room.processes);
    tell(context, "load_limited", -1,
         DATA(data_text("element", name), data_text("limit", load->room.limit),
              data_integer("asked", asked), data_integer("reached", number),
              data_integer("room_count", load->room.processes)),
         text);
}

void load_unsettled_events(const struct load *load, load_teller *tell, void *context)
{
    for (int term = 0; load->map && term < load->setup.spec->count; term++) {
        const char *element = load->setup.spec->terms[term].element->name;
        char text[TEXT_BYTES];
        int working, all;
        load_working(load, term, &working, &all);
        if (working == all)
            continue;
        snprintf(text, sizeof text, "not all processes of the load work: %s %d of %d", element,
                 working, all);
        tell(context, "load_not_settled", -1,
             DATA(data_text("element", element), data_integer("asked", all),
                  data_integer("reached", working), data_text("unit", "processes")),
             text);
    }
}

void load_events(const struct load *load, load_teller *tell, void *context)
{
    if (!load->map)
        return;
    report_guards(load, tell, context);
    for (int i = 0; i < load->setup.spec->count; i++) {
        report_ended(load, i, tell, context);
        report_room(load, i, tell, context);
        report_note(load, i, tell, context);
        if (!load->is_measured)
            continue;
        report_short(load, i, tell, context);
        report_stopped(load, i, tell, context);
        report_classes(load, i, tell, context);
        report_unseen(load, i, tell, context);
    }
}
