#include "base/posix_source.h"

#include "family/timer/wakeup_parts.h"

#include "record/tables.h"
#include "run/shield_run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 20000000, WAIT_NS = 2000000, FILTER_BYTES = 1024, CALLS = 64 };

_Static_assert((int)BEFORE_NAME_BYTES == (int)PART_NAME_BYTES, "a name is copied as a whole");

/* Holds half a second of 20,000 events. */
#define BYTES_PER_CPU INT64_C(1048576)
#define US INT64_C(1000)

/* ---- where the parts come from ---- */

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

static const char *parts_source_name(enum parts_source source)
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
                           "this build cannot restore timerlat's settings");
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

/* The first source that the parameter `parts` asks for and that is there; `outcome` has the reasons
 * of those that are not. */
static enum parts_source parts_source_choose(const struct run *run, struct outcome *outcome)
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

static struct port_tracing *parts_source_open(struct run *run, enum parts_source source,
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

/* ---- events ---- */

/* The worst wake-up whose parts are known; value_ns < 0: none. */
struct parts_worst {
    bool is_there;
    int64_t value_ns, at_ns;
    struct part_split split;
};

struct parts_seen {
    const char *source;
    int cpu;
    uint64_t sample_count, dropped_count;
    const struct part_counts *counts;
};

static void parts_worst_see(struct parts_worst *worst, const struct part_split *split,
                            int64_t at_ns)
{
    int64_t value_ns = 0;
    for (int i = 0; i < PARTS; i++)
        value_ns += split->ns[i];
    if (worst->is_there && value_ns <= worst->value_ns)
        return;
    *worst = (struct parts_worst){true, value_ns, at_ns, *split};
}

static void report_not_seen(struct run *run, enum parts_source source,
                            const struct outcome *outcome)
{
    arena_event(
        run->arena, "parts_not_seen", -1,
        DATA(source != SOURCE_NONE ? data_text("source", parts_source_name(source)) : data_none(),
             data_text("status", status_name(outcome->status)),
             data_text("reason", outcome->reason),
             outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
             outcome->command[0] ? data_text("command", outcome->command) : data_none()),
        "the parts of a wake-up are not available: %.240s%s%.120s", outcome->reason,
        outcome->remedy[0] ? "; " : "", outcome->remedy);
}

static long long number(uint64_t value)
{
    return (long long)value;
}

static void report_seen(struct run *run, const struct parts_seen *seen)
{
    const struct part_counts *counts = seen->counts;
    uint64_t without = seen->sample_count - counts->matched;
    arena_event(run->arena, "parts_seen", -1,
                DATA(data_text("source", seen->source), data_integer("cpu", seen->cpu),
                     data_integer("sample_count", number(seen->sample_count + seen->dropped_count)),
                     data_integer("matched_count", number(counts->matched)),
                     data_integer("dropped_count", number(seen->dropped_count)),
                     data_integer("lost_count", number(counts->lost)),
                     data_integer("not_slept_count", number(counts->not_slept)),
                     data_integer("not_switched_count", number(counts->not_switched)),
                     data_integer("unmatched_count", number(counts->unmatched)),
                     data_integer("out_of_order_count", number(counts->out_of_order)),
                     data_integer("begun_early_count", number(counts->begun_early))),
                "CPU %d: the parts of %lld of %lld wake-ups were seen by %s; %lld have none "
                "(events lost %lld, did not sleep %lld, no switch seen %lld, no single match %lld, "
                "out of order %lld)",
                seen->cpu, number(counts->matched),
                number(seen->sample_count + seen->dropped_count), seen->source,
                number(without + seen->dropped_count), number(counts->lost + seen->dropped_count),
                number(counts->not_slept), number(counts->not_switched), number(counts->unmatched),
                number(counts->out_of_order));
}

static void report_checked(struct run *run, int cpu, const struct timerlat_match *match)
{
    const struct timerlat_gap *total = &match->total, *grid = &match->grid;
    arena_event(
        run->arena, "parts_checked", -1,
        DATA(data_integer("cpu", cpu), data_integer("checked_count", number(total->count)),
             data_integer("limit_ns", match->limit_ns),
             data_integer("least_difference_ns", total->least_ns),
             data_integer("most_difference_ns", total->most_ns),
             data_integer("beyond_count", number(total->beyond)),
             data_integer("release_checked_count", number(grid->count)),
             data_integer("release_most_difference_ns", grid->most_ns),
             data_integer("release_beyond_count", number(grid->beyond))),
        "CPU %d: timerlat's sum of the parts is %lld to %lld ns above the total of %lld wake-ups, "
        "in %lld of them by more than the instrument's %lld ns; its releases are at most %lld ns "
        "from their grid",
        cpu, (long long)total->least_ns, (long long)total->most_ns, number(total->count),
        number(total->beyond), (long long)match->limit_ns, (long long)grid->most_ns);
}

static void report_worst(struct run *run, int cpu, const struct parts_worst *worst)
{
    const struct part_split *split = &worst->split;
    char before[PART_NAME_BYTES + 48] = "";
    if (!worst->is_there)
        return;
    bool is_known = split->before_thread >= 0;
    if (is_known)
        snprintf(before, sizeof before, "; %s (%lld) ran before", split->before,
                 (long long)split->before_thread);
    arena_event(run->arena, "parts_worst", worst->at_ns,
                DATA(data_integer("cpu", cpu), data_integer("value_ns", worst->value_ns),
                     data_integer("interrupt_ns", split->ns[PART_INTERRUPT]),
                     data_integer("dispatch_ns", split->ns[PART_DISPATCH]),
                     data_integer("return_ns", split->ns[PART_RETURN]),
                     is_known ? data_text("before", split->before) : data_none(),
                     is_known ? data_integer("before_thread", split->before_thread) : data_none()),
                "CPU %d: the worst wake-up whose parts were seen, %lld ns, is %lld ns to the "
                "interrupt, %lld ns of dispatch, %lld ns of return%s",
                cpu, (long long)worst->value_ns, (long long)split->ns[PART_INTERRUPT],
                (long long)split->ns[PART_DISPATCH], (long long)split->ns[PART_RETURN], before);
}

static void report_shared_cpu(struct run *run)
{
    arena_event(
        run->arena, "parts_reader_shares", -1, NO_DATA,
        "the thread that reads the kernel's events has to share a measured CPU: its work is in "
        "the figures");
}

static void report_stopped(struct run *run)
{
    arena_event(
        run->arena, "parts_stopped", -1, NO_DATA,
        "another program switched the instance's tracing_on off: later wake-ups have no parts");
}

static void report_not_read(struct run *run, int error)
{
    arena_event(run->arena, "parts_not_read", -1, DATA(data_text("error", strerror(error))),
                "the kernel's events could not be read (%s): some wake-ups have no parts",
                strerror(error));
}

static void report_left(struct run *run, const char *path, int error)
{
    char command[300];
    snprintf(command, sizeof command, "rmdir %s", path);
    arena_event(run->arena, "parts_not_removed", -1,
                DATA(data_text("path", path), data_text("error", strerror(error)),
                     data_text("command", command)),
                "the trace instance %s could not be removed: %s", path, strerror(error));
}

/* ---- choosing, opening ---- */

/* What the reader knows of one CPU. */
struct party {
    struct wakeup_parts *parts;
    struct sleeper *sleeper;
    _Atomic long thread; /* the kernel's id of the measuring thread; 0: not yet */
    uint64_t sample_count;
    struct part_match match;
    struct timerlat_match timerlat;
    struct parts_worst worst;
    struct before_table befores; /* of the totals */
    struct part_ring ring;
};

struct wakeup_parts {
    struct run *run;
    enum parts_source source;
    struct port_tracing *tracing; /* NULL: ended, or never opened */
    struct cpus cpus;
    bool has_no_reader, has_begun, is_refused; /* refused: the events could not be switched on */
    struct outcome refusal;
    struct rt_thread reader;
    sem_t go;
    atomic_bool is_done;
    int read_error;
    bool was_off; /* somebody has switched the instance off */
    int count;
    struct party parties[];
};

int wakeup_parts_check(struct run *run)
{
    struct outcome outcome;
    int64_t wish = run_number(run, "parts");
    if (wish != PARTS_WISH_NONE && parts_source_choose(run, &outcome) != SOURCE_NONE)
        return 0;
    run->series_left_out = PARTS;
    if (wish == PARTS_WISH_NONE || wish == PARTS_WISH_AUTO)
        return 0;
    return outcome_set_remedy(&run->outcome, outcome.status,
                              (struct remedy){outcome.remedy, outcome.command}, "%s",
                              outcome.reason);
}

size_t wakeup_parts_bytes(const struct run *run, int count)
{
    const struct wakeup_parts *parts = NULL;
    return run->series_left_out ? 0 : sizeof *parts + (size_t)count * sizeof parts->parties[0];
}

static void open_source(struct wakeup_parts *parts, struct outcome *outcome)
{
    parts->source = parts_source_choose(parts->run, outcome);
    if (parts->source == SOURCE_NONE)
        return;
    memset(outcome, 0, sizeof *outcome);
    parts->tracing = parts_source_open(parts->run, parts->source, &parts->cpus, outcome);
}

static void fill(struct wakeup_parts *parts, struct sleeper *sleepers, int count)
{
    parts->count = count;
    for (int i = 0; i < count; i++) {
        parts->parties[i].parts = parts;
        parts->parties[i].sleeper = &sleepers[i];
        cpus_add(&parts->cpus, sleepers[i].cpu);
    }
}

/* ---- the reader: tracepoints ---- */

static void record_parts(struct party *party, const struct part_split *split, int64_t at_ns)
{
    for (int i = 0; i < PARTS; i++)
        record_value(party->sleeper->parts[i], split->ns[i], at_ns);
    parts_worst_see(&party->worst, split, at_ns);
}

static void see_before(struct party *party, const struct part_sample *sample,
                       const struct part_split *split, int64_t at_ns)
{
    struct before before = {.value_ns = sample->user_ns - sample->release_ns,
                            .at_ns = at_ns,
                            .thread = split->before_thread};
    if (split->before_thread < 0)
        return;
    memcpy(before.name, split->before, sizeof before.name);
    before_table_see(&party->befores, &before);
}

static void take_first(struct party *party)
{
    const struct part_sample *sample = part_ring_first(&party->ring);
    int64_t at_ns = run_at_ns(party->parts->run, sample->user_ns);
    struct part_split split;
    party->sample_count++;
    if (part_match_take(&party->match, sample, &split))
        record_parts(party, &split, at_ns);
    see_before(party, sample, &split, at_ns);
    part_ring_drop(&party->ring);
}

/* They end before the events from `at_ns` on. */
static void take_until(struct party *party, int64_t at_ns)
{
    const struct part_sample *sample;
    while ((sample = part_ring_first(&party->ring)) && sample->user_ns < at_ns)
        take_first(party);
}

static void see_tracepoint(const struct port_tracing_event *event, void *context)
{
    struct party *party = context;
    long thread = atomic_load(&party->thread);
    switch (event->kind) {
    case PORT_TRACING_LOST:
        part_match_lost(&party->match, event->at_ns);
        break;
    case KIND_ENTRY:
    case KIND_EXIT:
        part_match_interrupt(&party->match, event->at_ns, event->kind == KIND_ENTRY);
        break;
    case KIND_WAKING:
        if (event->field[FIELD_WOKEN] != thread)
            break;
        take_until(party, event->at_ns);
        part_match_waking(&party->match, event->at_ns, event->is_in_interrupt);
        break;
    default:
        if (event->field[FIELD_NEXT] != thread)
            break;
        take_until(party, event->at_ns);
        part_match_switch(&party->match, event->at_ns, event->field[FIELD_BEFORE], event->text,
                          event->text_bytes);
    }
}

/* All events of the samples that were there before the ring was emptied have been seen. */
static void take_tracepoints(struct party *party, uint64_t written)
{
    while (atomic_load(&party->ring.taken) < written)
        take_first(party);
}

/* ---- the reader: timerlat ---- */

static void record_wakeup(const struct timerlat_wakeup *wakeup, void *context)
{
    struct party *party = context;
    struct sleeper *sleeper = party->sleeper;
    int64_t late_ns = wakeup->user_ns - wakeup->release_ns;
    int64_t at_ns = run_at_ns(party->parts->run, wakeup->user_ns);
    record_value(sleeper->wakeup, late_ns, at_ns);
    record_value(sleeper->release, late_ns, at_ns);
    if (late_ns >= sleeper->interval_ns)
        sleeper_note_late(sleeper, late_ns, at_ns);
    sleeper_expand(sleeper, at_ns, UINT64_MAX);
    record_parts(party, &wakeup->split, at_ns);
    if (sleeper->threshold_ns > 0 && late_ns > sleeper->threshold_ns && sleeper->crossed_ns == 0)
        sleeper_cross(sleeper, late_ns, at_ns, sleeper->cpu);
}

static void take_cycle(struct party *party)
{
    party->sample_count++;
    timerlat_match_take(&party->timerlat, part_ring_first(&party->ring), record_wakeup, party);
    part_ring_drop(&party->ring);
}

static void see_timerlat(const struct port_tracing_event *event, void *context)
{
    struct party *party = context;
    const struct part_sample *sample;
    if (event->kind == PORT_TRACING_LOST) {
        timerlat_match_lost(&party->timerlat, event->at_ns);
        return;
    }
    if (event->field[FIELD_CONTEXT] == TIMERLAT_INTERRUPT)
        while ((sample = part_ring_first(&party->ring)) && sample->user_ns < event->at_ns)
            take_cycle(party);
    timerlat_match_event(&party->timerlat, event->at_ns, event->field[FIELD_SEQUENCE],
                         event->field[FIELD_CONTEXT], event->field[FIELD_LATENCY]);
}

/* ---- the reader ---- */

static void pause_ns(long ns)
{
    struct timespec rest = {.tv_nsec = ns};
    nanosleep(&rest, NULL);
}

static void read_events(struct wakeup_parts *parts)
{
    bool is_timerlat = parts->source == SOURCE_TIMERLAT;
    for (int i = 0; i < parts->count; i++) {
        struct party *party = &parts->parties[i];
        uint64_t written = atomic_load(&party->ring.written);
        int more = port_tracing_read(parts->tracing, party->sleeper->cpu,
                                     is_timerlat ? see_timerlat : see_tracepoint, party);
        if (more < 0)
            parts->read_error = errno;
        if (more <= 0 && !is_timerlat)
            take_tracepoints(party, written);
    }
}

/* False: the run was stopped before all threads came. */
static bool wait_for_threads(struct wakeup_parts *parts)
{
    for (int i = 0; i < parts->count; i++)
        while (atomic_load(&parts->parties[i].thread) == 0) {
            if (run_should_stop() || atomic_load(&parts->is_done))
                return false;
            pause_ns(WAIT_NS);
        }
    return true;
}

/* "pid == 3 || pid == 4": without, every switch of the CPU would go through the ring. A kernel that
 * refuses it records all, and the reader chooses. */
static void filter(struct wakeup_parts *parts, int kind, const char *field)
{
    char text[FILTER_BYTES];
    size_t used = 0;
    for (int i = 0; i < parts->count && used < sizeof text; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s == %ld", i > 0 ? " || " : "",
                             field, atomic_load(&parts->parties[i].thread));
    if (used < sizeof text)
        (void)port_tracing_filter(parts->tracing, kind, text);
}

static void begin(struct wakeup_parts *parts)
{
    if (parts->source == SOURCE_TRACEPOINTS) {
        filter(parts, KIND_WAKING, "pid");
        filter(parts, KIND_SWITCH, "next_pid");
    }
    parts->is_refused = port_tracing_start(parts->tracing, &parts->refusal) != 0;
}

/* CPUs that are not measured, of those that this process may use. */
static struct cpus other_cpus(const struct wakeup_parts *parts)
{
    struct cpus others;
    if (port_allowed_cpus(&others) <= 0)
        cpus_clear(&others);
    return cpus_without(&others, &parts->cpus);
}

static void leave_measured_cpus(struct wakeup_parts *parts)
{
    struct cpus others = other_cpus(parts);
    if (cpus_first(&others) < 0 || port_bind_self(&others) != 0) {
        (void)rt_thread_set_self_ordinary();
        report_shared_cpu(parts->run);
    }
}

static void read_on(void *argument)
{
    struct wakeup_parts *parts = argument;
    if (atomic_load(&parts->is_done))
        return;
    leave_measured_cpus(parts);
    if (wait_for_threads(parts))
        begin(parts);
    for (int i = 0; i < parts->count; i++)
        sem_post(&parts->go);
    while (!atomic_load(&parts->is_done)) {
        if (!parts->is_refused)
            read_events(parts);
        pause_ns(LOOK_NS);
    }
}

/* Beside threads that are real-time, and on a CPU that they leave alone, it has the lowest
 * real-time priority: load would starve an ordinary one in just the seconds that are bad. */
static struct rt_thread_setup choose_reader(const struct wakeup_parts *parts)
{
    struct cpus others = other_cpus(parts);
    int policy = parts->run->setup.policy;
    struct rt_thread_setup setup = {.policy = SCHED_FIFO,
                                    .priority = sched_get_priority_min(SCHED_FIFO),
                                    .cpu = cpus_first(&others)};
    bool is_above = setup.cpu >= 0 && (policy == SCHED_FIFO || policy == SCHED_RR);
    if (is_above && rt_thread_try(&setup) == 0)
        return setup;
    setup.policy = SCHED_OTHER;
    setup.priority = rt_thread_ordinary_priority();
    return setup;
}

/* Its stack is mapped now: while the test measures nothing may fault. It is bound from the start:
 * one that waits on a measured CPU would be counted with the threads that measure there. */
static int start_reader(struct wakeup_parts *parts)
{
    const struct rt_thread_setup setup = choose_reader(parts);
    sem_init(&parts->go, 0, 0);
    int error = rt_thread_start(&parts->reader, &setup, read_on, parts);
    if (error == 0)
        return 0;
    parts->has_no_reader = true;
    return outcome_set_errno(&parts->run->outcome, error, "starting the thread that reads events",
                             "raise ulimit -u");
}

int wakeup_parts_open(struct run *run, void *memory, struct sleeper *sleepers, int count,
                      struct wakeup_parts **opened)
{
    struct outcome outcome = {0};
    struct wakeup_parts *parts = memory;
    *opened = NULL;
    if (run->series_left_out) {
        if (run_number(run, "parts") == PARTS_WISH_AUTO &&
            parts_source_choose(run, &outcome) == SOURCE_NONE)
            report_not_seen(run, SOURCE_NONE, &outcome);
        return 0;
    }
    parts->run = run;
    fill(parts, sleepers, count);
    open_source(parts, &outcome);
    if (parts->tracing) {
        *opened = parts;
        return start_reader(parts);
    }
    if (run_number(run, "parts") != PARTS_WISH_AUTO)
        return outcome_set_remedy(&run->outcome, outcome.status,
                                  (struct remedy){outcome.remedy, outcome.command}, "%s",
                                  outcome.reason);
    report_not_seen(run, parts->source, &outcome);
    return 0;
}

/* What timerlat's last stamp and ours may differ by without a fault: from ours to the kernel's in
 * the next read, twice that of a read that gives nothing, and what the instrument adds. */
static int64_t limit_ns(const struct run *run)
{
    char nothing;
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; file >= 0 && i < CALLS; i++)
        (void)!read(file, &nothing, 1);
    int64_t call_ns = (clock_monotonic_ns() - begin_ns) / CALLS;
    if (file >= 0)
        close(file);
    return run->instrument.pair_p99_ns + (int64_t)run->instrument.perturbation_ns + 2 * call_ns;
}

void wakeup_parts_start(struct wakeup_parts *parts)
{
    int64_t limit = limit_ns(parts->run);
    for (int i = 0; i < parts->count; i++)
        timerlat_match_open(&parts->parties[i].timerlat, parts->parties[i].sleeper->interval_ns,
                            limit);
    parts->has_begun = true;
    rt_thread_go(&parts->reader);
}

bool wakeup_parts_is_timerlat(const struct wakeup_parts *parts)
{
    return parts->source == SOURCE_TIMERLAT;
}

static struct party *party_of(struct wakeup_parts *parts, const struct sleeper *sleeper)
{
    return &parts->parties[sleeper - parts->parties[0].sleeper];
}

struct part_ring *wakeup_parts_ring(struct wakeup_parts *parts, const struct sleeper *sleeper)
{
    return &party_of(parts, sleeper)->ring;
}

bool wakeup_parts_enter(struct wakeup_parts *parts, struct sleeper *sleeper)
{
    atomic_store(&party_of(parts, sleeper)->thread, (long)port_tracing_thread());
    while (sem_wait(&parts->go) != 0 && errno == EINTR)
        ;
    return !parts->is_refused || parts->source != SOURCE_TIMERLAT;
}

/* ---- the end ---- */

static void take_rest(struct wakeup_parts *parts)
{
    parts->was_off = !port_tracing_is_on(parts->tracing);
    (void)port_tracing_stop(parts->tracing);
    read_events(parts);
    for (int i = 0; i < parts->count; i++) {
        struct party *party = &parts->parties[i];
        if (parts->source == SOURCE_TIMERLAT) {
            while (part_ring_first(&party->ring))
                take_cycle(party);
            timerlat_match_close(&party->timerlat, record_wakeup, party);
        } else
            take_tracepoints(party, atomic_load(&party->ring.written));
    }
}

static void report(struct wakeup_parts *parts)
{
    for (int i = 0; i < parts->count; i++) {
        struct party *party = &parts->parties[i];
        bool is_timerlat = parts->source == SOURCE_TIMERLAT;
        const struct parts_seen seen = {
            .source = parts_source_name(parts->source),
            .cpu = party->sleeper->cpu,
            .sample_count = party->sample_count,
            .dropped_count = atomic_load(&party->ring.dropped),
            .counts = is_timerlat ? &party->timerlat.counts : &party->match.counts,
        };
        report_seen(parts->run, &seen);
        if (is_timerlat)
            report_checked(parts->run, party->sleeper->cpu, &party->timerlat);
        report_worst(parts->run, party->sleeper->cpu, &party->worst);
    }
    if (parts->was_off)
        report_stopped(parts->run);
    if (parts->read_error)
        report_not_read(parts->run, parts->read_error);
}

/* For the stream: the reader has ended. */
static void give_befores(struct wakeup_parts *parts)
{
    for (int i = 0; i < parts->count; i++) {
        struct party *party = &parts->parties[i];
        const struct record *totals = party->sleeper->wakeup;
        if (party->befores.count == 0)
            continue;
        party->befores.series = (uint32_t)totals->owner - 1;
        party->befores.next = parts->run->befores;
        parts->run->befores = &party->befores;
    }
}

static void report_refused(struct wakeup_parts *parts)
{
    struct run *run = parts->run;
    bool must = parts->source == SOURCE_TIMERLAT || run_number(run, "parts") != PARTS_WISH_AUTO;
    if (must)
        outcome_set_remedy(&run->outcome, parts->refusal.status,
                           (struct remedy){parts->refusal.remedy, parts->refusal.command}, "%s",
                           parts->refusal.reason);
    else
        report_not_seen(run, parts->source, &parts->refusal);
}

static void end_reader(struct wakeup_parts *parts)
{
    atomic_store(&parts->is_done, true);
    if (parts->has_no_reader)
        return;
    if (!parts->has_begun)
        rt_thread_go(&parts->reader);
    rt_thread_join(&parts->reader);
    sem_destroy(&parts->go);
}

void wakeup_parts_end(struct wakeup_parts *parts)
{
    char path[256];
    if (!parts || !parts->tracing)
        return;
    end_reader(parts);
    if (parts->has_begun && parts->is_refused)
        report_refused(parts);
    else if (parts->has_begun) {
        take_rest(parts);
        report(parts);
        give_befores(parts);
    }
    int error = port_tracing_close(parts->tracing, path, sizeof path);
    parts->tracing = NULL;
    if (error)
        report_left(parts->run, path, error);
}
