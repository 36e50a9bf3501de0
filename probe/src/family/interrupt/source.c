#include "base/posix_source.h"

#include "family/interrupt/source.h"

#include "run/shield_run.h"

#include <stdio.h>
#include <string.h>

const char *const interrupt_source_names[] = {"ipi", "timer", "external", NULL};

const struct interrupt_source *interrupt_source(int64_t id)
{
    static const struct interrupt_source *const sources[] = {[INTERRUPT_IPI] = &interrupt_ipi,
                                                             [INTERRUPT_TIMER] = &interrupt_timer,
                                                             [INTERRUPT_EXTERNAL] =
                                                                 &interrupt_external};
    return sources[id];
}

static bool is_listed(const struct run *run, int64_t id)
{
    const struct param_value *listed = run_param(run, "source");
    for (int i = 0; i < listed->count; i++)
        if (listed->number[i] == id)
            return true;
    return false;
}

static bool has_device(const struct run *run)
{
    return run_number(run, "uio") != PORT_UIO_NOT_GIVEN;
}

bool interrupt_source_is_wanted(const struct run *run, int64_t id)
{
    return is_listed(run, id) && (id != INTERRUPT_EXTERNAL || has_device(run));
}

bool interrupt_source_has_variant(const struct run *run, struct variant *variant)
{
    return variant->number[0] != INTERRUPT_EXTERNAL || has_device(run);
}

int interrupt_sender_cpu(const struct run *run)
{
    struct cpus allowed;
    if (shield_run_allowed_cpus(run, &allowed) <= 0)
        return -1;
    cpus_remove(&allowed, run->setup.cpu);
    return cpus_first(&allowed);
}

uint64_t interrupt_skew_ticks(const struct run *run, int cpu)
{
    const struct instrument *instrument = &run->instrument;
    for (uint32_t i = 0; run->clock.use_counter && i < instrument->skew_count; i++) {
        const struct instrument_skew *skew = &instrument->skew[i];
        double offset_ns = skew->offset_ns < 0 ? -skew->offset_ns : skew->offset_ns;
        if (skew->cpu_b == cpu)
            return clock_ticks_of_ns(&run->clock, (int64_t)(offset_ns + skew->bound_ns) + 1);
    }
    return 0;
}

static bool wakes_a_thread(const struct run *run)
{
    for (const struct series_spec *one = run->test->series; one && one->name; one++)
        if (strcmp(one->name, "send_to_thread") == 0)
            return true;
    return false;
}

bool interrupt_source_is_sent_here(const struct run *run, int64_t id)
{
    return interrupt_source(id)->can_be_sent_here && interrupt_sender_cpu(run) < 0 &&
           wakes_a_thread(run);
}

int interrupt_source_look(const struct run *run, int64_t id, struct outcome *outcome)
{
    const struct interrupt_source *source = interrupt_source(id);
    if (run->setup.cpu < 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL,
                           "this port cannot bind a thread to a CPU");
    if (source->is_sent_elsewhere && interrupt_sender_cpu(run) < 0 &&
        !interrupt_source_is_sent_here(run, id))
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "give the test a second CPU (taskset, --cpu-config shared)",
                           "it is sent from another CPU, and the test has only one");
    return source->look(run, outcome);
}

void interrupt_source_tell_missing(struct run *run, int64_t id, const struct outcome *outcome)
{
    arena_event(run->arena, "source_missing", -1,
                DATA(data_text("source", interrupt_source_names[id]),
                     data_text("status", status_name(outcome->status)),
                     data_text("reason", outcome->reason),
                     outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
                     outcome->command[0] ? data_text("command", outcome->command) : data_none()),
                "interrupts of source %s are not measured: %.200s%s%.120s",
                interrupt_source_names[id], outcome->reason, outcome->remedy[0] ? "; " : "",
                outcome->remedy);
}

static void set_no_device(struct outcome *outcome)
{
    outcome_set(outcome, STATUS_SKIPPED,
                "name one that only this test uses: -p uio=N for /dev/uioN", "no device is named");
}

void interrupt_sources_tell_missing(struct run *run)
{
    for (int id = 0; id < INTERRUPT_SOURCES; id++) {
        struct outcome outcome = {0};
        if (!is_listed(run, id))
            continue;
        if (!interrupt_source_is_wanted(run, id))
            set_no_device(&outcome);
        else if (interrupt_source_look(run, id, &outcome) == 0)
            continue;
        interrupt_source_tell_missing(run, id, &outcome);
    }
}

/* Joins the reasons; status and remedy are those of the first. */
static void add_reason(struct outcome *all, int id, const struct outcome *one)
{
    char before[STATUS_TEXT_BYTES];
    snprintf(before, sizeof before, "%s", all->reason);
    if (!before[0])
        *all = *one;
    snprintf(all->reason, sizeof all->reason, "%.200s%s%s: %.100s", before, before[0] ? "; " : "",
             interrupt_source_names[id], one->reason);
}

int interrupt_sources_check(struct run *run)
{
    struct outcome all = {0};
    int found_count = 0;
    for (int id = 0; id < INTERRUPT_SOURCES; id++) {
        struct outcome one = {0};
        if (!is_listed(run, id))
            continue;
        if (!interrupt_source_is_wanted(run, id))
            set_no_device(&one);
        else if (interrupt_source_look(run, id, &one) == 0) {
            found_count++;
            if (interrupt_source(id)->is_sent_elsewhere && !interrupt_source_is_sent_here(run, id))
                cpus_add(&run->uses_cpu, interrupt_sender_cpu(run));
            continue;
        }
        add_reason(&all, id, &one);
    }
    if (found_count > 0)
        return 0;
    return outcome_set_remedy(&run->outcome, all.status,
                              (struct remedy){all.remedy, all.command[0] ? all.command : NULL},
                              "%s", all.reason);
}
