#include "base/posix_source.h"

#include "load/events.h"

#include "load/element/disk.h"
#include "load/element/kernel.h"
#include "load/elements.h"
#include "load/report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

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
static void tell_idle(const struct load *load, int term, load_teller *tell, void *context)
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
    snprintf(text, sizeof text, "%s: %d of %d processes made no round during the measurement", name,
             idle, all);
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

static void tell_short(const struct load *load, int term, load_teller *tell, void *context)
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
                 element->kind == LOAD_EXTERNAL_STRESSOR ? "did not run" : "made no round");
        tell(context, "load_short", -1,
             DATA(data_text("element", element->name), data_text("why", "nothing_done"),
                  data_number("reached", 0), data_text("unit", load_unit(element->kind))),
             text);
    } else if (element->kind == LOAD_JOBS && reached.counters[COUNTER_ROUNDS] == 0) {
        snprintf(text, sizeof text, "%s: no job ended during the measurement", element->name);
        tell(context, "load_short", -1,
             DATA(data_text("element", element->name), data_text("why", "no_job_ended")), text);
    } else if (has_rounds_of_each(load, term)) {
        tell_idle(load, term, tell, context);
    }
}

static double window_ns(const struct load *load)
{
    return (double)(load->end.at_ns - load->begin.at_ns);
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

static double since(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : (double)(to - from);
}

/* Finds the CPU with the smallest ratio of seen to sent. CPUs are judged one by one: a surplus on
 * one does not make up for another. */
static bool find_unseen_interrupts(const struct load *load, int term, struct unseen *worst)
{
    bool is_found = false;
    for (int i = 0; i < load->map->slot_count; i++) {
        double sent = (double)grown(load, i, COUNTER_OWN);
        double seen = since(load->begin.samples[i].seen, load->end.samples[i].seen);
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
    *all = (struct unseen){0, since(load->begin.tcp_segments, load->end.tcp_segments), -1};
    for (int i = 0; i < load->map->slot_count; i++)
        all->sent += is_of(load, i, term) ? (double)grown(load, i, COUNTER_OWN) : 0;
    return is_unseen(all->sent, 0, all->seen);
}

/* The device counts the writes of all processes. */
static bool find_unseen_writes(const struct load *load, int term, struct unseen *all)
{
    double late = 0;
    *all = (struct unseen){0, since(load->begin.device_bytes, load->end.device_bytes), -1};
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

static void tell_interrupts(const struct unseen *found, char *text, size_t bytes)
{
    char where[48] = "on the CPUs of the load";
    if (found->cpu >= 0)
        snprintf(where, sizeof where, "on CPU %d", found->cpu);
    snprintf(text, bytes,
             "interrupt: %.0f timers expired %s, and the kernel counted %.0f interrupts there "
             "(%.0f %%): one interrupt served several timers, or another CPU served them",
             found->sent, where, found->seen, 100 * found->seen / found->sent);
}

static void tell_unseen(const struct load *load, int term, load_teller *tell, void *context)
{
    const struct load_element *element = load->setup.spec->terms[term].element;
    struct unseen found = {0, 0, -1};
    char text[TEXT_BYTES], sent[32], seen[32];
    if (element == &load_interrupt && find_unseen_interrupts(load, term, &found))
        tell_interrupts(&found, text, sizeof text);
    else if (element == &load_network && find_unseen_packets(load, term, &found))
        snprintf(text, sizeof text,
                 "network: %.0f packets sent, the kernel counted %.0f TCP segments (%.0f %%)",
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

static void tell_stopped(const struct load *load, int term, load_teller *tell, void *context)
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

static void tell_classes(const struct load *load, int term, load_teller *tell, void *context)
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

static void tell_ended(const struct load *load, int term, load_teller *tell, void *context)
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
                 ? "; run stress-ng with these options by hand to see its error"
                 : "");
    tell(context, "load_ended_early", first_ns,
         DATA(data_text("element", element->name), data_integer("asked", all),
              data_integer("reached", all - ended), data_text("unit", "processes"),
              WIFSIGNALED(status) ? data_integer("signal", WTERMSIG(status))
                                  : data_integer("exit_code", WEXITSTATUS(status))),
         text);
}

static void tell_guards(const struct load *load, load_teller *tell, void *context)
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
static void tell_note(const struct load *load, int term, load_teller *tell, void *context)
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
static void tell_room(const struct load *load, int term, load_teller *tell, void *context)
{
    int asked = load->places.asked[term], number = load->places.numbers[term];
    char text[TEXT_BYTES];
    if (number >= asked)
        return;
    const char *name = load->setup.spec->terms[term].element->name;
    snprintf(text, sizeof text, "%s: %d of %d are started: %s leaves room for %lld processes", name,
             number, asked, load->room.limit, (long long)load->room.processes);
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
    tell_guards(load, tell, context);
    for (int i = 0; i < load->setup.spec->count; i++) {
        tell_ended(load, i, tell, context);
        tell_room(load, i, tell, context);
        tell_note(load, i, tell, context);
        if (!load->is_measured)
            continue;
        tell_short(load, i, tell, context);
        tell_stopped(load, i, tell, context);
        tell_classes(load, i, tell, context);
        tell_unseen(load, i, tell, context);
    }
}
