#include "base/posix_source.h"

#include "family/timer/wakeup_parts.h"

#include "family/timer/parts_report.h"
#include "family/timer/parts_source.h"
#include "family/timer/timerlat_match.h"
#include "record/tables.h"

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

/* ---- choosing, opening ---- */

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
        parts_tell_shared_cpu(parts->run);
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
            parts_tell_not_seen(run, SOURCE_NONE, &outcome);
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
    parts_tell_not_seen(run, parts->source, &outcome);
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

static void tell(struct wakeup_parts *parts)
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
        parts_tell_seen(parts->run, &seen);
        if (is_timerlat)
            parts_tell_checked(parts->run, party->sleeper->cpu, &party->timerlat);
        parts_tell_worst(parts->run, party->sleeper->cpu, &party->worst);
    }
    if (parts->was_off)
        parts_tell_stopped(parts->run);
    if (parts->read_error)
        parts_tell_not_read(parts->run, parts->read_error);
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

static void tell_refused(struct wakeup_parts *parts)
{
    struct run *run = parts->run;
    bool must = parts->source == SOURCE_TIMERLAT || run_number(run, "parts") != PARTS_WISH_AUTO;
    if (must)
        outcome_set_remedy(&run->outcome, parts->refusal.status,
                           (struct remedy){parts->refusal.remedy, parts->refusal.command}, "%s",
                           parts->refusal.reason);
    else
        parts_tell_not_seen(run, parts->source, &parts->refusal);
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
        tell_refused(parts);
    else if (parts->has_begun) {
        take_rest(parts);
        tell(parts);
        give_befores(parts);
    }
    int error = port_tracing_close(parts->tracing, path, sizeof path);
    parts->tracing = NULL;
    if (error)
        parts_tell_left(parts->run, path, error);
}
