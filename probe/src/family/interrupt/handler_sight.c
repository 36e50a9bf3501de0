#include "base/posix_source.h"

#include "family/interrupt/handler_sight.h"

#include <errno.h>
#include <string.h>

#define BYTES_PER_CPU INT64_C(1048576)

const char *const handler_wishes[] = {"none", "auto", "tracepoints", NULL};

/* Entries have even places, exits odd ones. x86 has tracepoints for each vector. */
static const struct port_tracing_kind call_vectors[] = {
    {.system = "irq_vectors", .name = "call_function_entry"},
    {.system = "irq_vectors", .name = "call_function_exit"},
    {.system = "irq_vectors", .name = "call_function_single_entry"},
    {.system = "irq_vectors", .name = "call_function_single_exit"},
};
static const struct port_tracing_kind wake_vectors[] = {
    {.system = "irq_vectors", .name = "reschedule_entry"},
    {.system = "irq_vectors", .name = "reschedule_exit"},
    {.system = "irq_vectors", .name = "call_function_single_entry"},
    {.system = "irq_vectors", .name = "call_function_single_exit"},
};
static const struct port_tracing_kind timer_vectors[] = {
    {.system = "irq_vectors", .name = "local_timer_entry"},
    {.system = "irq_vectors", .name = "local_timer_exit"},
};
static const struct port_tracing_kind any_ipi[] = {
    {.system = "ipi", .name = "ipi_entry"},
    {.system = "ipi", .name = "ipi_exit"},
};
static const struct port_tracing_kind lines[] = {
    {.system = "irq", .name = "irq_handler_entry"},
    {.system = "irq", .name = "irq_handler_exit"},
};

#define WISH(table)                                                                                \
    {                                                                                              \
        .kinds = (table), .kind_count = sizeof(table) / sizeof(table)[0]                           \
    }

/* In the order of preference, up to the first without kinds. */
enum { CHOICES = 3 };
static const struct port_tracing_wish of_interrupt[INTERRUPT_SOURCES][CHOICES] = {
    [INTERRUPT_IPI] = {WISH(call_vectors), WISH(any_ipi)},
    [INTERRUPT_TIMER] = {WISH(timer_vectors), WISH(lines)},
    [INTERRUPT_EXTERNAL] = {WISH(lines)},
};
static const struct port_tracing_wish of_wake_up_by_ipi[CHOICES] = {WISH(wake_vectors),
                                                                    WISH(any_ipi)};

static const struct port_tracing_wish *choices(int64_t source, enum handler_role role)
{
    bool is_other = source == INTERRUPT_IPI && role == HANDLER_OF_WAKE_UP;
    return is_other ? of_wake_up_by_ipi : of_interrupt[source];
}

/* The first choice that there is; NULL with the outcome of the first. */
static const struct port_tracing_wish *find(int64_t source, enum handler_role role,
                                            struct outcome *outcome)
{
    const struct port_tracing_wish *choice = choices(source, role);
    for (int i = 0; choice[i].kinds; i++) {
        struct outcome one = {0};
        if (port_tracing_look(&choice[i], &one) == 0)
            return &choice[i];
        if (i == 0)
            *outcome = one;
    }
    return NULL;
}

static int set_outcome(struct run *run, const struct outcome *outcome)
{
    const char *command = outcome->command[0] ? outcome->command : NULL;
    return outcome_set_remedy(&run->outcome, outcome->status,
                              (struct remedy){outcome->remedy, command}, "the handler: %s",
                              outcome->reason);
}

static bool is_measured(const struct run *run, int64_t source)
{
    struct outcome outcome = {0};
    return interrupt_source_is_wanted(run, source) &&
           interrupt_source_look(run, source, &outcome) == 0;
}

int handler_sight_check(struct run *run, enum handler_role role)
{
    int64_t wish = run_number(run, "handler");
    int seen_count = 0;
    for (int source = 0; wish != HANDLER_WISH_NONE && source < INTERRUPT_SOURCES; source++) {
        struct outcome outcome = {0};
        if (!is_measured(run, source))
            continue;
        if (find(source, role, &outcome))
            seen_count++;
        else if (wish == HANDLER_WISH_TRACEPOINTS)
            return set_outcome(run, &outcome);
    }
    run->series_left_out = seen_count > 0 ? 0 : 1;
    return 0;
}

static const char *name_of(const struct handler_sight *sight)
{
    return interrupt_source_names[sight->source];
}

/* The run goes on without, unless the handler was asked for. */
static int do_without(struct handler_sight *sight, const struct outcome *outcome)
{
    if (run_number(sight->run, "handler") == HANDLER_WISH_TRACEPOINTS)
        return set_outcome(sight->run, outcome);
    handler_tell_not_seen(sight->run, name_of(sight), outcome);
    return 0;
}

int handler_sight_open(struct handler_sight *sight, struct run *run, int64_t source,
                       enum handler_role role)
{
    struct outcome outcome = {0};
    memset(sight, 0, sizeof *sight);
    sight->run = run;
    sight->source = source;
    if (run_number(run, "handler") == HANDLER_WISH_NONE)
        return 0;
    const struct port_tracing_wish *found = find(source, role, &outcome);
    if (!found)
        return do_without(sight, &outcome);
    struct port_tracing_wish wish = *found;
    cpus_add(&wish.cpus, run->setup.cpu);
    wish.bytes_per_cpu = BYTES_PER_CPU;
    wish.purpose = interrupt_source_names[source];
    sight->tracing = port_tracing_open(&wish, &outcome);
    run_lock_again(run); /* its guard was forked */
    return sight->tracing ? 0 : do_without(sight, &outcome);
}

int handler_sight_start(struct handler_sight *sight)
{
    struct outcome outcome = {0};
    if (!sight->tracing)
        return 0;
    sight->is_on = port_tracing_start(sight->tracing, &outcome) == 0;
    return sight->is_on ? 0 : do_without(sight, &outcome);
}

static void see(const struct port_tracing_event *event, void *context)
{
    struct handler_log *log = context;
    if (event->kind == PORT_TRACING_LOST)
        handler_log_lost(log, event->at_ns);
    else if (event->kind % 2 == 0)
        handler_log_entry(log, event->at_ns);
    else
        handler_log_exit(log, event->at_ns);
}

void handler_sight_read(struct handler_sight *sight)
{
    int more = 1;
    handler_log_clear(&sight->log);
    if (!sight->is_on)
        return;
    while (more > 0 && sight->log.lost_until_ns != INT64_MAX)
        more = port_tracing_read(sight->tracing, sight->run->setup.cpu, see, &sight->log);
    if (more < 0) {
        sight->read_error = errno;
        handler_log_lost(&sight->log, INT64_MAX);
    }
    if (!port_tracing_is_on(sight->tracing)) {
        sight->was_off = true;
        handler_log_lost(&sight->log, INT64_MAX);
    }
}

enum handler_fate handler_sight_find(struct handler_sight *sight, int64_t from_ns, int64_t until_ns,
                                     struct handled *handled)
{
    if (!sight->is_on)
        return HANDLER_LOST;
    enum handler_fate fate = handler_log_find(&sight->log, from_ns, until_ns, handled);
    sight->seen.of[fate] += sight->run->is_warm_up ? 0 : 1;
    return fate;
}

void handler_sight_stop(struct handler_sight *sight)
{
    if (!sight->is_on)
        return;
    (void)port_tracing_stop(sight->tracing);
    sight->is_on = false;
    handler_tell_seen(sight->run, name_of(sight), &sight->seen);
    if (sight->was_off)
        handler_tell_stopped(sight->run, name_of(sight));
    if (sight->read_error)
        handler_tell_not_read(sight->run, name_of(sight), sight->read_error);
}

void handler_sight_close(struct handler_sight *sight)
{
    char path[256];
    if (!sight->tracing)
        return;
    int error = port_tracing_close(sight->tracing, path, sizeof path);
    sight->tracing = NULL;
    if (error)
        handler_tell_left(sight->run, name_of(sight), path, error);
}
