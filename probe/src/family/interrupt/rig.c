#include "base/posix_source.h"

#include "family/interrupt/rig.h"

#include <stdlib.h>
#include <string.h>

int rig_check(struct run *run, enum handler_role role)
{
    if (interrupt_sources_check(run) != 0)
        return -1;
    return handler_sight_check(run, role);
}

/* ---- what the kernel counts ---- */

struct search {
    const struct rig *rig;
    int source;
    int64_t found; /* -1: no such counter */
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A thread is woken from another CPU by a rescheduling interrupt, or by a call that wakes it. */
static bool is_of_ipi(const struct rig *rig, const char *name)
{
    return ends_with(name, "Function call interrupts") ||
           (rig->role == HANDLER_OF_WAKE_UP && ends_with(name, "Rescheduling interrupts"));
}

static bool is_counter_of(const struct search *search, const struct port_interrupt_line *one)
{
    char *end;
    if (search->source == INTERRUPT_TIMER)
        return one->is_timer;
    if (search->source == INTERRUPT_IPI)
        return is_of_ipi(search->rig, one->name);
    long number = strtol(one->name, &end, 10);
    return number == search->rig->lines[search->source].uio.irq && *end == ':' && end != one->name;
}

static void look_at(void *context, const struct port_interrupt_line *one)
{
    struct search *search = context;
    if (!is_counter_of(search, one) || one->counts[0] < 0)
        return;
    search->found = (search->found < 0 ? 0 : search->found) + one->counts[0];
}

static int64_t counted(const struct rig *rig, int source)
{
    struct search search = {rig, source, -1};
    struct cpus cpus;
    cpus_clear(&cpus);
    cpus_add(&cpus, rig->run->setup.cpu);
    return port_interrupt_lines(&cpus, look_at, &search) ? search.found : -1;
}

/* Of a hundred that wake a thread one may find that the CPU chooses anew already. */
static void fail_uncounted(const struct rig *rig, int source, int64_t count)
{
    int64_t sent = (int64_t)rig->sent[source];
    bool is_wake_up = rig->role == HANDLER_OF_WAKE_UP && source == INTERRUPT_IPI;
    if (count >= sent - sent / 100)
        return;
    outcome_set(
        &rig->run->outcome, STATUS_FAILED,
        is_wake_up ? "end other real-time threads on that CPU"
                   : "see /proc/interrupts for the CPU that serves them",
        "source %s: of %lld interrupts sent to CPU %d the kernel has counted %lld there: %s",
        interrupt_source_names[source], (long long)sent, rig->run->setup.cpu, (long long)count,
        is_wake_up ? "another thread had the CPU when the others were sent"
                   : "the figures are those of something else");
}

static void tell_counted(const struct rig *rig, int source)
{
    int64_t now = counted(rig, source);
    if (rig->sent[source] == 0 || rig->counted[source] < 0 || now < 0)
        return;
    int64_t count = now - rig->counted[source], sent = (int64_t)rig->sent[source];
    arena_event(rig->run->arena, "interrupts_counted", -1,
                DATA(data_text("source", interrupt_source_names[source]),
                     data_integer("cpu", rig->run->setup.cpu), data_integer("sent_count", sent),
                     data_integer("kernel_count", count)),
                "%s: %lld interrupts were sent to CPU %d, warm-up included; the kernel has counted "
                "%lld of this kind there, those of others included",
                interrupt_source_names[source], (long long)sent, rig->run->setup.cpu,
                (long long)count);
    fail_uncounted(rig, source, count);
}

/* ---- life ---- */

/* Threads of the test that spin run before it, but for the low-priority one. */
static void tell_handler_thread(struct rig *rig, const struct interrupt_line *line)
{
    int priority = port_uio_handler_priority(&line->uio);
    if (priority >= 0)
        arena_event(
            rig->run->arena, "handler_is_thread", -1,
            DATA(data_text("source", line->source->name), data_integer("priority", priority)),
            "%s: the kernel serves the interrupt of /dev/uio%d in a thread of priority %d",
            line->source->name, line->uio.number, priority);
}

static int open_source(struct rig *rig, int source, enum handler_role role)
{
    struct outcome outcome = {0};
    struct run *run = rig->run;
    if (!interrupt_source_is_wanted(run, source) ||
        interrupt_source_look(run, source, &outcome) != 0)
        return 0;
    if (interrupt_source(source)->open(&rig->lines[source], run, &outcome) != 0) {
        interrupt_source_tell_missing(run, source, &outcome);
        rig->refusal = outcome;
        return 0;
    }
    rig->is_open = true;
    if (source == INTERRUPT_EXTERNAL)
        tell_handler_thread(rig, &rig->lines[source]);
    rig->counted[source] = counted(rig, source);
    return handler_sight_open(&rig->sights[source], run, source, role);
}

int rig_open(struct rig *rig, struct run *run, enum handler_role role)
{
    rig->run = run;
    rig->role = role;
    interrupt_sources_tell_missing(run);
    for (int source = 0; source < INTERRUPT_SOURCES; source++)
        if (open_source(rig, source, role) != 0)
            return -1;
    if (!rig->is_open)
        run->outcome = rig->refusal;
    return rig->is_open ? 0 : -1;
}

int rig_judge(struct rig *rig)
{
    for (int source = 0; source < INTERRUPT_SOURCES; source++)
        if (rig->lines[source].source)
            tell_counted(rig, source);
    if (arena_has_values(rig->run->arena))
        return 0;
    return outcome_set(&rig->run->outcome, STATUS_FAILED,
                       "see the events for what became of those that were sent",
                       "no interrupt was seen");
}

void rig_close(struct rig *rig)
{
    for (int source = 0; source < INTERRUPT_SOURCES; source++) {
        handler_sight_close(&rig->sights[source]);
        if (rig->lines[source].source)
            rig->lines[source].source->close(&rig->lines[source]);
    }
}
