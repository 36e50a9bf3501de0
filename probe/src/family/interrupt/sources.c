#include "base/posix_source.h"

#include "family/interrupt/sources.h"

#include "port/port.h"
#include "run/shield_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- ipi ---- */

/* Another CPU: membarrier interrupts each CPU that runs a thread of this process, and returns when
 * each has served it. On Linux it is a function call (smp_call_function): no module, no privilege.
 */

static int look_at_ipi(const struct run *run, struct outcome *outcome)
{
    (void)run;
    int error = port_interrupt_register();
    if (error == 0)
        return 0;
    return outcome_set_errno(outcome, error, "membarrier, which sends the interrupt",
                             "Linux 4.14 or later with CONFIG_MEMBARRIER, and no system call "
                             "filter that refuses it");
}

static int open_ipi(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    if (look_at_ipi(run, outcome) != 0)
        return -1;
    line->source = &interrupt_ipi;
    return 0;
}

static int send_ipi(const struct interrupt_line *line)
{
    (void)line;
    return port_interrupt_send();
}

static void close_ipi(struct interrupt_line *line)
{
    line->source = NULL;
}

const struct interrupt_source interrupt_ipi = {
    .name = "ipi",
    .is_sent_elsewhere = true,
    .look = look_at_ipi,
    .open = open_ipi,
    .send = send_ipi,
    .close = close_ipi,
};

/* ---- timer ---- */

/* The CPU's own timer, by a descriptor that nobody reads while the interrupt is timed: it expires
 * on the CPU of the thread that arms it, and wakes no thread.
 *
 * On PREEMPT_RT the timer's own work is left to a thread of low priority, which does not run beside
 * one that spins; until it has run, no further timer of this kind interrupts the CPU. So each
 * interrupt is settled: the expiry is taken, which blocks until that thread has run. */

#define TIMER_PATIENCE_NS INT64_C(10000000)
#define NEVER_NS (INT64_C(1) << 62)

static int look_at_timer(const struct run *run, struct outcome *outcome)
{
    (void)run;
    int timer = port_event_timer_open(NEVER_NS, 0);
    if (timer < 0)
        return outcome_set_errno(outcome, errno, "a timerfd", NULL);
    close(timer);
    return 0;
}

static int open_timer(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    (void)run;
    line->timer = port_event_timer_open(NEVER_NS, 0);
    if (line->timer < 0)
        return outcome_set_errno(outcome, errno, "a timerfd", NULL);
    line->source = &interrupt_timer;
    return 0;
}

static int arm_timer(const struct interrupt_line *line, int64_t at_ns)
{
    return port_event_timer_arm(line->timer, at_ns) == 0 ? 0 : errno;
}

static int settle_timer(const struct interrupt_line *line)
{
    int64_t count = port_event_timer_wait(line->timer, TIMER_PATIENCE_NS);
    if (count > 0)
        return 0;
    int error = count < 0 ? errno : ETIMEDOUT;
    (void)port_event_timer_disarm(line->timer);
    return error;
}

static void close_timer(struct interrupt_line *line)
{
    close(line->timer);
    line->source = NULL;
}

const struct interrupt_source interrupt_timer = {
    .name = "timer",
    .look = look_at_timer,
    .open = open_timer,
    .arm = arm_timer,
    .settle = settle_timer,
    .close = close_timer,
};

/* ---- external ---- */

/* A device that UIO serves and that the user names. Sent by one write to its register, from another
 * CPU; served when the kernel's driver has counted it.
 *
 * On PREEMPT_RT the driver's handler is a thread of its own, which does not run beside one of
 * higher priority that spins, and the line stays masked until it has. So there is one interrupt a
 * burst, and it is settled after the burst. */

enum { DEVICE_PATIENCE_MS = 100, TRIALS = 2 };

#define DEVICE_WINDOW_NS INT64_C(100000)

static struct port_uio_registers registers_of(const struct run *run)
{
    return (struct port_uio_registers){
        .raise_offset = run_number(run, "raise_bytes"),
        .raise_value = (uint32_t)run_number(run, "raise_value"),
        .acknowledge_offset = run_number(run, "acknowledge_bytes"),
        .acknowledge_value = (uint32_t)run_number(run, "acknowledge_value"),
    };
}

static int open_uio(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    struct port_uio_registers registers = registers_of(run);
    return port_uio_open((int)run_number(run, "uio"), &registers, &line->uio, outcome);
}

static void close_device(struct interrupt_line *line)
{
    port_uio_close(&line->uio);
    line->source = NULL;
}

static int look_at_device(const struct run *run, struct outcome *outcome)
{
    struct interrupt_line line;
    memset(&line, 0, sizeof line);
    if (open_uio(&line, run, outcome) != 0)
        return -1;
    close_device(&line);
    return 0;
}

static int send_device(const struct interrupt_line *line)
{
    port_uio_raise(&line->uio);
    return 0;
}

static int settle_device(const struct interrupt_line *line)
{
    struct pollfd served = {.fd = line->uio.file, .events = POLLIN};
    uint32_t count;
    int ready = poll(&served, 1, DEVICE_PATIENCE_MS);
    int error = ready > 0 ? port_uio_wait(&line->uio, &count) : ready == 0 ? ETIMEDOUT : errno;
    port_uio_acknowledge(&line->uio);
    int not_enabled = port_uio_enable(&line->uio);
    return error ? error : not_enabled;
}

static int refuse_cpu(const struct interrupt_line *line, const struct run *run, int cpu,
                      struct outcome *outcome)
{
    char command[STATUS_COMMAND_BYTES];
    port_uio_route_command(&line->uio, run->setup.cpu, command, sizeof command);
    return outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                              (struct remedy){"measure that CPU (--cpu), or have the kernel send "
                                              "the interrupt to the CPU under test",
                                              command},
                              "CPU %d serves the interrupt of " PORT_UIO_PATH
                              "%d, and the test measures "
                              "CPU %d",
                              cpu, line->uio.number, run->setup.cpu);
}

/* Interrupts on trial: a line may change its CPU at the first one. */
static int try_device(const struct interrupt_line *line, const struct run *run,
                      struct outcome *outcome)
{
    for (int i = 0; i < TRIALS; i++) {
        (void)send_device(line);
        int error = settle_device(line);
        if (error)
            return outcome_set_errno(outcome, error, "waiting for an interrupt of the device",
                                     "check whether the register raises it");
    }
    int cpu = port_uio_cpu(&line->uio);
    return cpu >= 0 && cpu != run->setup.cpu ? refuse_cpu(line, run, cpu, outcome) : 0;
}

static int open_device(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    if (open_uio(line, run, outcome) != 0)
        return -1;
    line->source = &interrupt_external;
    if (try_device(line, run, outcome) == 0)
        return 0;
    close_device(line);
    return -1;
}

const struct interrupt_source interrupt_external = {
    .name = "external",
    .is_sent_elsewhere = true,
    .can_be_sent_here = true,
    .window_ns = DEVICE_WINDOW_NS,
    .most_in_a_burst = 1,
    .look = look_at_device,
    .open = open_device,
    .send = send_device,
    .settle = settle_device,
    .close = close_device,
};

/* ---- which of them a run can have ---- */

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
    return interrupt_source(id)->can_be_sent_here && shield_run_other_cpu(run) < 0 &&
           wakes_a_thread(run);
}

int interrupt_source_look(const struct run *run, int64_t id, struct outcome *outcome)
{
    const struct interrupt_source *source = interrupt_source(id);
    if (run->setup.cpu < 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL,
                           "this port cannot bind a thread to a CPU");
    if (source->is_sent_elsewhere && shield_run_other_cpu(run) < 0 &&
        !interrupt_source_is_sent_here(run, id))
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "give the test a second CPU (taskset, --cpu-config shared)",
                           "it is sent from another CPU, and the test has only one");
    if (!HS_HAS_UNNAMED_SEMAPHORES && id == INTERRUPT_IPI && wakes_a_thread(run))
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, LACKS_UNNAMED_SEMAPHORES);
    return source->look(run, outcome);
}

void interrupt_source_report_missing(struct run *run, int64_t id, const struct outcome *outcome)
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
                "name one that only this test uses: -p uio=N for " PORT_UIO_PATH "N",
                "no device is named");
}

void interrupt_sources_report_missing(struct run *run)
{
    for (int id = 0; id < INTERRUPT_SOURCES; id++) {
        struct outcome outcome = {0};
        if (!is_listed(run, id))
            continue;
        if (!interrupt_source_is_wanted(run, id))
            set_no_device(&outcome);
        else if (interrupt_source_look(run, id, &outcome) == 0)
            continue;
        interrupt_source_report_missing(run, id, &outcome);
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
                cpus_add(&run->uses_cpu, shield_run_other_cpu(run));
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

/* ---- what the kernel counts ---- */

struct search {
    const struct interrupt_sources *sources;
    int source;
    int64_t found; /* -1: no such counter */
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A thread is woken from another CPU by a rescheduling interrupt, or by a call that wakes it. */
static bool is_of_ipi(const struct interrupt_sources *sources, const char *name)
{
    return ends_with(name, "Function call interrupts") ||
           (sources->role == HANDLER_OF_WAKE_UP && ends_with(name, "Rescheduling interrupts"));
}

static bool is_counter_of(const struct search *search, const struct port_interrupt_line *one)
{
    char *end;
    if (search->source == INTERRUPT_TIMER)
        return one->is_timer;
    if (search->source == INTERRUPT_IPI)
        return is_of_ipi(search->sources, one->name);
    long number = strtol(one->name, &end, 10);
    return number == search->sources->lines[search->source].uio.irq && *end == ':' &&
           end != one->name;
}

static void look_at(void *context, const struct port_interrupt_line *one)
{
    struct search *search = context;
    if (!is_counter_of(search, one) || one->counts[0] < 0)
        return;
    search->found = (search->found < 0 ? 0 : search->found) + one->counts[0];
}

static int64_t counted(const struct interrupt_sources *sources, int source)
{
    struct search search = {sources, source, -1};
    struct cpus cpus;
    cpus_clear(&cpus);
    cpus_add(&cpus, sources->run->setup.cpu);
    return port_interrupt_lines(&cpus, look_at, &search) ? search.found : -1;
}

/* Of a hundred that wake a thread one may find that the CPU chooses anew already. */
static void fail_uncounted(const struct interrupt_sources *sources, int source, int64_t count)
{
    int64_t sent = (int64_t)sources->sent[source];
    bool is_wake_up = sources->role == HANDLER_OF_WAKE_UP && source == INTERRUPT_IPI;
    if (count >= sent - sent / 100)
        return;
    outcome_set(
        &sources->run->outcome, STATUS_FAILED,
        is_wake_up ? "end other real-time threads on that CPU" : port_hint(PORT_HINT_INTERRUPT_CPU),
        "source %s: of %lld interrupts sent to CPU %d the kernel has counted %lld there: %s",
        interrupt_source_names[source], (long long)sent, sources->run->setup.cpu, (long long)count,
        is_wake_up ? "another thread had the CPU when the others were sent"
                   : "the figures are about something else");
}

static void report_counted(const struct interrupt_sources *sources, int source)
{
    int64_t now = counted(sources, source);
    if (sources->sent[source] == 0 || sources->counted[source] < 0 || now < 0)
        return;
    int64_t count = now - sources->counted[source], sent = (int64_t)sources->sent[source];
    arena_event(sources->run->arena, "interrupts_counted", -1,
                DATA(data_text("source", interrupt_source_names[source]),
                     data_integer("cpu", sources->run->setup.cpu), data_integer("sent_count", sent),
                     data_integer("kernel_count", count)),
                "%s: %lld interrupts were sent to CPU %d, warm-up included; the kernel has counted "
                "%lld of this kind there, those of others included",
                interrupt_source_names[source], (long long)sent, sources->run->setup.cpu,
                (long long)count);
    fail_uncounted(sources, source, count);
}

/* ---- life ---- */

/* Threads of the test that spin run before it, but for the low-priority one. */
static void report_handler_thread(struct interrupt_sources *sources,
                                  const struct interrupt_line *line)
{
    int priority = port_uio_handler_priority(&line->uio);
    if (priority >= 0)
        arena_event(
            sources->run->arena, "handler_is_thread", -1,
            DATA(data_text("source", line->source->name), data_integer("priority", priority)),
            "%s: the kernel serves the interrupt of " PORT_UIO_PATH "%d in a thread of priority %d",
            line->source->name, line->uio.number, priority);
}

static int open_source(struct interrupt_sources *sources, int source, enum handler_role role)
{
    struct outcome outcome = {0};
    struct run *run = sources->run;
    if (!interrupt_source_is_wanted(run, source) ||
        interrupt_source_look(run, source, &outcome) != 0)
        return 0;
    if (interrupt_source(source)->open(&sources->lines[source], run, &outcome) != 0) {
        interrupt_source_report_missing(run, source, &outcome);
        sources->refusal = outcome;
        return 0;
    }
    sources->is_open = true;
    if (source == INTERRUPT_EXTERNAL)
        report_handler_thread(sources, &sources->lines[source]);
    sources->counted[source] = counted(sources, source);
    return handler_trace_open(&sources->traces[source], run, source, role);
}

int interrupt_sources_open(struct interrupt_sources *sources, struct run *run,
                           enum handler_role role)
{
    sources->run = run;
    sources->role = role;
    interrupt_sources_report_missing(run);
    for (int source = 0; source < INTERRUPT_SOURCES; source++)
        if (open_source(sources, source, role) != 0)
            return -1;
    if (!sources->is_open)
        run->outcome = sources->refusal;
    return sources->is_open ? 0 : -1;
}

int interrupt_sources_judge(struct interrupt_sources *sources)
{
    for (int source = 0; source < INTERRUPT_SOURCES; source++)
        if (sources->lines[source].source)
            report_counted(sources, source);
    if (arena_has_values(sources->run->arena))
        return 0;
    return outcome_set(&sources->run->outcome, STATUS_FAILED,
                       "the events say what became of the interrupts sent",
                       "no interrupt was seen");
}

void interrupt_sources_close(struct interrupt_sources *sources)
{
    for (int source = 0; source < INTERRUPT_SOURCES; source++) {
        handler_trace_close(&sources->traces[source]);
        if (sources->lines[source].source)
            sources->lines[source].source->close(&sources->lines[source]);
    }
}
