#include "base/posix_source.h"

#include "load/load.h"

#include "load/external_stressor.h"
#include "load/peer.h"
#include "load/report.h"
#include "load/supervisor.h"
#include "port/device.h"
#include "port/port.h"
#include "work/job.h"
#include "work/scratch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- room ---- */

/* A process of the load or a job, with its page tables and kernel stack. */
#define PROCESS_BYTES (INT64_C(320) << 10)

enum { LEFT_PART = 8, MEMORY_PART = 2, GUARDS = 2 };

static void lower(struct load_room *room, int64_t processes, const char *limit)
{
    if (processes < room->processes)
        *room = (struct load_room){processes > 0 ? processes : 0, limit};
}

struct load_room load_room_now(void)
{
    struct load_room room = {LOAD_MOST_PROCESSES_IN_ALL, "the largest number that a load may have"};
    const char *limit = "a limit of the system";
    int64_t left = port_process_room(&limit), available = port_available_bytes(NULL);
    if (left >= 0)
        lower(&room, left - (left + LEFT_PART - 1) / LEFT_PART - GUARDS, limit);
    if (available >= 0)
        lower(&room, available / MEMORY_PART / PROCESS_BYTES, "half of the available memory");
    return room;
}

/* ---- places ---- */

enum { GROUP_PROCESSES = 1 + LOAD_GROUP_MEMBERS };

static int count_of(const struct load_cpus *cpus)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus->count > 0 ? cpus->count : online > 0 ? (int)online : 1;
}

static bool is_numbered(const struct load_term *term)
{
    enum load_degree_kind kind = term->element->kind;
    return kind == LOAD_COUNT || kind == LOAD_JOBS || kind == LOAD_GROUPS;
}

static int copies_of(const struct load_term *term, const struct load_cpus *cpus)
{
    return term->degree.is_each_cpus ? count_of(cpus) : 1;
}

/* Number of processes that keep `number` jobs running: the same number for each CPU if the term
 * holds for each CPU. Every process gets at least one job, even if there is room for few jobs only.
 */
static int keepers_of(int number, int copies)
{
    int each = (number + copies - 1) / copies;
    int keepers = copies * ((each + LOAD_JOBS_EACH - 1) / LOAD_JOBS_EACH);
    return keepers < number ? keepers : number;
}

static int processes_for(const struct load_term *term, int number, const struct load_cpus *cpus)
{
    int copies = copies_of(term, cpus);
    switch (term->element->kind) {
    case LOAD_COUNT:
    case LOAD_GROUPS:
        return number;
    case LOAD_JOBS:
        return keepers_of(number, copies);
    case LOAD_EXTERNAL_STRESSOR:
        return 1;
    default:
        return copies;
    }
}

void load_places_plan(struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus)
{
    *places = (struct load_places){{0}, {0}, {0}};
    for (int i = 0; i < spec->count; i++) {
        const struct load_term *term = &spec->terms[i];
        if (is_numbered(term))
            places->asked[i] = (int)term->degree.number * copies_of(term, cpus);
        places->numbers[i] = places->asked[i];
        places->processes[i] = processes_for(term, places->asked[i], cpus);
    }
}

int load_places_slots(const struct load_places *places, int terms)
{
    int count = 0;
    for (int i = 0; i < terms; i++)
        count += places->processes[i];
    return count;
}

/* Processes that those of the load start, for `number` of the degree. */
static int started_by(const struct load_term *term, int number)
{
    switch (term->element->kind) {
    case LOAD_JOBS:
        return number;
    case LOAD_GROUPS:
        return number * LOAD_GROUP_MEMBERS;
    default:
        return 0;
    }
}

int load_places_processes(const struct load_places *places, const struct load_spec *spec)
{
    int count = load_places_slots(places, spec->count);
    for (int i = 0; i < spec->count; i++)
        count += started_by(&spec->terms[i], places->numbers[i]);
    return count;
}

/* Processes of the terms with a number, and those that they start. */
static int numbered_processes(const struct load_places *places, const struct load_spec *spec)
{
    int fixed = 0;
    for (int i = 0; i < spec->count; i++)
        fixed += is_numbered(&spec->terms[i]) ? 0 : places->processes[i];
    return load_places_processes(places, spec) - fixed;
}

static void set_number(struct load_places *places, int i, const struct load_term *term,
                       const struct load_cpus *cpus, int64_t number)
{
    places->numbers[i] = (int)number;
    places->processes[i] = processes_for(term, places->numbers[i], cpus);
}

/* Groups that fit into `left` processes, if `numbered` were asked for in all. One that needs at
 * most half of them is started, whatever its part would be. */
static int64_t groups_in(int64_t left, int64_t asked, int64_t numbered)
{
    int64_t number = left > 0 ? asked * left / numbered : 0;
    return number == 0 && left >= INT64_C(2) * GROUP_PROCESSES ? 1 : number;
}

void load_places_fit(struct load_places *places, const struct load_spec *spec,
                     const struct load_cpus *cpus, int64_t room)
{
    int64_t all = load_places_processes(places, spec), numbered = numbered_processes(places, spec);
    int64_t left = room - (all - numbered);
    if (room >= all || numbered == 0)
        return;
    for (int i = 0; i < spec->count; i++) {
        if (spec->terms[i].element->kind != LOAD_GROUPS)
            continue;
        set_number(places, i, &spec->terms[i], cpus, groups_in(left, places->asked[i], numbered));
        left -= (int64_t)places->numbers[i] * GROUP_PROCESSES;
        numbered -= (int64_t)places->asked[i] * GROUP_PROCESSES;
    }
    for (int i = 0; i < spec->count; i++) {
        if (!is_numbered(&spec->terms[i]) || spec->terms[i].element->kind == LOAD_GROUPS)
            continue;
        int64_t number = left > 0 ? places->asked[i] * left / numbered : 1;
        set_number(places, i, &spec->terms[i], cpus, number > 1 ? number : 1);
    }
}

/* CPU number `n` of the load, modulo their count; -1: the port cannot bind to CPUs. */
static int nth_cpu(const struct load_cpus *cpus, int n)
{
    if (cpus->count <= 0)
        return -1;
    int cpu = cpus_first(&cpus->set);
    for (n %= cpus->count; n > 0; n--)
        cpu = cpus_next(&cpus->set, cpu);
    return cpu;
}

/* Part `i` of `number`, divided evenly into `parts`. */
static int part_of(int number, int parts, int i)
{
    return number / parts + (i < number % parts ? 1 : 0);
}

void load_places_fill(const struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus, struct load_map *map)
{
    struct load_slot *slot = map->slots;
    for (int term = 0; term < spec->count; term++) {
        bool has_jobs = spec->terms[term].element->kind == LOAD_JOBS;
        bool is_bound = spec->terms[term].degree.is_each_cpus;
        for (int i = 0; i < places->processes[term]; i++, slot++) {
            slot->term = term;
            slot->cpu = is_bound ? nth_cpu(cpus, i) : -1;
            slot->jobs = has_jobs ? part_of(places->numbers[term], places->processes[term], i) : 0;
        }
    }
}

#define PATIENCE_NS INT64_C(15000000000)
#define PATIENCE_FOR_ONE_NS INT64_C(50000000)
#define MOST_PATIENCE_NS INT64_C(60000000000)
#define STALL_NS INT64_C(15000000000)
enum { LATE_PART = 100 };

#define WARM_UP_NS INT64_C(100000000)
#define LOOK_NS INT64_C(2000000)
#define GUARD_END_NS INT64_C(2000000000) /* on top of the guard's own time limit */
#define COUNT_NS INT64_C(300000000)

/* ---- how many, and where ---- */

static struct load_cpus cpus_of(const struct load_setup *setup)
{
    return (struct load_cpus){setup->cpus, setup->cpu_count};
}

int load_processes(const struct load_setup *setup)
{
    struct load_cpus cpus = cpus_of(setup);
    struct load_places places;
    load_places_plan(&places, setup->spec, &cpus);
    return load_places_processes(&places, setup->spec);
}

static bool has_kind(const struct load_spec *spec, enum load_degree_kind kind)
{
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].element->kind == kind)
            return true;
    return false;
}

/* Plans as many processes as requested, or as many as there is room for. */
static void plan_places(struct load *load)
{
    const struct load_spec *spec = load->setup.spec;
    struct load_cpus cpus = cpus_of(&load->setup);
    load_places_plan(&load->places, spec, &cpus);
    if (!has_kind(spec, LOAD_COUNT) && !has_kind(spec, LOAD_JOBS) && !has_kind(spec, LOAD_GROUPS))
        return;
    load->room = load_room_now();
    load_places_fit(&load->places, spec, &cpus, load->room.processes);
}

static int make_map(struct load *load)
{
    const struct load_spec *spec = load->setup.spec;
    struct load_cpus cpus = cpus_of(&load->setup);
    int slots = load_places_slots(&load->places, spec->count);
    load->map_bytes = sizeof *load->map + (size_t)slots * sizeof load->map->slots[0];
    load->map = port_shared_memory(load->map_bytes);
    size_t samples = slots > 0 ? (size_t)slots : 1; /* none: there is no room for any group */
    load->begin.samples = calloc(samples, sizeof *load->begin.samples);
    load->end.samples = calloc(samples, sizeof *load->end.samples);
    bool has_family = has_kind(spec, LOAD_EXTERNAL_STRESSOR);
    load->family = has_family ? load_family_make() : NULL;
    if (!load->map || !load->begin.samples || !load->end.samples || (has_family && !load->family))
        return ENOMEM;
    load->map->slot_count = slots;
    load->map->has_cpus = load->setup.cpu_count > 0;
    load->map->cpus = load->setup.cpus;
    load->map->process_count = load_places_processes(&load->places, spec);
    load_places_fill(&load->places, spec, &cpus, load->map);
    return 0;
}

/* ---- start ---- */

static bool needs_names(const struct load_spec *spec)
{
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].element->needs_names)
            return true;
    return false;
}

static int start_guard(struct load *load)
{
    int order[2], gate[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, order) != 0)
        return errno;
    if (pipe(gate) != 0) {
        int error = errno;
        close(order[0]);
        close(order[1]);
        return error;
    }
    struct supervisor_plan plan = {load->map,        load->setup.spec,     load->program,
                                   load->setup.seed, load->setup.limit_ns, order[1],
                                   gate[0]};
    load->guard = load_guard_start(&plan);
    int error = load->guard < 0 ? errno : 0;
    close(order[1]);
    close(gate[0]);
    load->order = order[0];
    load->gate = gate[1];
    if (!error)
        return 0;
    load->guard = 0;
    close(order[0]);
    close(gate[1]);
    return error;
}

static bool find_peer(const struct load_spec *spec, struct load_peer *peer, struct outcome *outcome)
{
    char why[PEER_WHY_BYTES];
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].degree.to.host[0] &&
            !peer_find(&spec->terms[i].degree.to, peer, why, sizeof why)) {
            outcome_set(outcome, STATUS_UNSUPPORTED,
                        "name a host with an echo service (RFC 862), or leave out @HOST:PORT", "%s",
                        why);
            return false;
        }
    return true;
}

static bool find_devices(const struct load_spec *spec, struct outcome *outcome)
{
    for (int i = 0; i < spec->count; i++) {
        const struct load_degree *degree = &spec->terms[i].degree;
        struct port_uio uio;
        if (!degree->has_device)
            continue;
        if (port_uio_open_to_serve(degree->uio_number, &uio, outcome) != 0)
            return false;
        port_uio_close(&uio);
    }
    return true;
}

static int check(const struct load_spec *spec, struct load_peer *peer, struct outcome *outcome)
{
    char path[LOAD_PATH_BYTES];
    if (has_kind(spec, LOAD_EXTERNAL_STRESSOR) &&
        job_find_in_path("stress-ng", path, sizeof path) != 0)
        return outcome_set_remedy(
            outcome, STATUS_UNSUPPORTED,
            (struct remedy){"choose other elements, or install it", "sudo apt install stress-ng"},
            "load: stress-ng is not installed");
    return find_devices(spec, outcome) && find_peer(spec, peer, outcome) ? 0 : -1;
}

int load_check(const struct load_spec *spec, struct outcome *outcome)
{
    struct load_peer peer;
    return check(spec, &peer, outcome);
}

int load_start(struct load *load, const struct load_setup *setup, struct outcome *outcome)
{
    memset(load, 0, sizeof *load);
    load->setup = *setup;
    load->started_ns = clock_monotonic_ns();
    if (setup->spec->count == 0)
        return 0;
    struct load_peer peer = {.bytes = 0};
    if (check(setup->spec, &peer, outcome) != 0)
        return -1;
    plan_places(load);
    int error = make_map(load);
    if (!error)
        load->map->peer = peer;
    if (!error && job_find_program(setup->called_as, load->program, sizeof load->program) != 0)
        snprintf(load->program, sizeof load->program, "%s", setup->called_as);
    if (!error)
        (void)scratch_choose_in(&load->map->scratch, setup->folder, needs_names(setup->spec),
                                setup->seed ^
                                    (uint64_t)load->started_ns); /* elements note errors */
    if (!error) {
        scratch_sweep(&load->map->scratch);
        error = start_guard(load);
    }
    if (error)
        return outcome_set_errno(outcome, error, "load: starting its processes",
                                 "raise the limits on processes and memory (ulimit -u, ulimit -v)");
    return 0;
}

/* ---- settle ---- */

/* With hundreds of processes, 1 % may be late: they wait for a CPU behind the others, and the
 * figures of the load show that. */
static int most_late(const struct load *load)
{
    return load->map->slot_count / LATE_PART;
}

/* A group is many processes: it may not be late. */
static int count_below(const struct load *load, int state)
{
    int count = 0;
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        bool is_group = load->setup.spec->terms[slot->term].element->kind == LOAD_GROUPS;
        if (atomic_load(&slot->state) < state)
            count += is_group ? 1 + most_late(load) : 1;
    }
    return count;
}

static bool is_over(const struct load *load)
{
    return atomic_load(&load->map->stop) != 0;
}

/* Stores the end: after waitpid the process id may be reused. */
static bool has_guard_ended(struct load *load)
{
    if (!load->is_guard_gone)
        load->is_guard_gone = waitpid(load->guard, NULL, WNOHANG) != 0;
    return load->is_guard_gone;
}

/* Records a guard that was killed: before the order it ends by itself only with the whole load. */
static void note_guard(struct load *load)
{
    int64_t none = 0;
    if (has_guard_ended(load) && !is_over(load))
        atomic_compare_exchange_strong(&load->map->guard_ended_ns, &none, clock_monotonic_ns());
}

/* Waits until every process but the latest (most_late) has reached `state` or has ended. */
static bool wait_for(struct load *load, int state, int64_t until_ns, bool (*should_stop)(void))
{
    int64_t stall_ns = load->setup.stall_ns > 0 ? load->setup.stall_ns : STALL_NS;
    int64_t moved_ns = clock_monotonic_ns();
    int late, before = INT_MAX;
    while ((late = count_below(load, state)) > most_late(load)) {
        int64_t now_ns = clock_monotonic_ns();
        moved_ns = late < before ? now_ns : moved_ns;
        before = late;
        if (now_ns > until_ns || now_ns - moved_ns > stall_ns || is_over(load) ||
            (should_stop && should_stop()) || has_guard_ended(load))
            return false;
        (void)clock_sleep_until(now_ns + LOOK_NS);
    }
    return true;
}

/* A byte for each worker. The end of file alone does not do: processes that a test has forked
 * meanwhile, such as its guard, have the pipe too. */
static void open_gate(struct load *load)
{
    static const char words[256];
    if (load->gate <= 0)
        return;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* all workers may have ended */
    for (int left = load->map->slot_count; left > 0;) {
        size_t count = left < (int)sizeof words ? (size_t)left : sizeof words;
        ssize_t wrote = write(load->gate, words, count);
        if (wrote < 0 && errno != EINTR)
            break;
        left -= wrote > 0 ? (int)wrote : 0;
    }
    signal(SIGPIPE, before);
    close(load->gate);
    load->gate = 0;
}

void load_working(const struct load *load, int term, int *working, int *processes)
{
    *working = *processes = 0;
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (slot->term != term)
            continue;
        ++*processes;
        *working += atomic_load(&slot->state) < WORKER_WORKS ? 0 : 1;
    }
}

int64_t load_patience_ns(int processes)
{
    int64_t patience_ns = PATIENCE_NS + processes * PATIENCE_FOR_ONE_NS;
    return patience_ns < MOST_PATIENCE_NS ? patience_ns : MOST_PATIENCE_NS;
}

void load_wait_ready(struct load *load)
{
    if (load->guard > 0)
        (void)wait_for(load, WORKER_READY,
                       clock_monotonic_ns() + load_patience_ns(load->map->slot_count), NULL);
}

bool load_settle(struct load *load, bool (*should_stop)(void))
{
    if (load->guard <= 0)
        return true;
    int64_t until_ns = clock_monotonic_ns() + load_patience_ns(load->map->process_count);
    bool is_good = wait_for(load, WORKER_READY, until_ns, should_stop);
    open_gate(load);
    is_good = is_good && wait_for(load, WORKER_WORKS, until_ns, should_stop);
    if (is_good)
        (void)clock_sleep_until(clock_monotonic_ns() + WARM_UP_NS);
    return is_good;
}

int load_deny(const struct load *load, struct outcome *outcome)
{
    int error = load->guard > 0 ? atomic_load(&load->map->fork_error) : 0;
    for (int i = 0; error && i < load->map->slot_count; i++) {
        int state = atomic_load(&load->map->slots[i].state);
        if (state == WORKER_READY || state == WORKER_WORKS)
            error = 0;
    }
    return error ? outcome_set_errno(outcome, error, "load: none of its processes could be started",
                                     NULL)
                 : 0;
}

/* ---- around the measurement ---- */

/* Publish WINDOW_MOVES, take the snapshot, publish its time. A worker that used the old bound
 * counted only earlier events. */
static void take_at(struct load *load, struct load_snapshot *snapshot, _Atomic int64_t *bound_ns)
{
    atomic_store(bound_ns, WINDOW_MOVES);
    load_snapshot_take(load->map, snapshot);
    atomic_store(bound_ns, snapshot->at_ns);
}

void load_begin(struct load *load)
{
    if (load->guard <= 0)
        return;
    load_snapshot_seen(load->map, load->setup.spec, &load->begin);
    atomic_store(&load->map->window_end_ns, 0);
    take_at(load, &load->begin, &load->map->window_begin_ns);
}

void load_end(struct load *load)
{
    if (load->guard <= 0)
        return;
    take_at(load, &load->end, &load->map->window_end_ns);
    load_snapshot_seen(load->map, load->setup.spec, &load->end);
    load_snapshot_ready(load->map, load->setup.spec, &load->begin, &load->end);
    note_guard(load);
    if (has_kind(load->setup.spec, LOAD_EXTERNAL_STRESSOR))
        load_snapshot_external_stressor(load->map, load->setup.spec, load->family, &load->end);
    load->is_measured = true;
}

static bool counts_late(const struct load *load)
{
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        int64_t counted_ns = atomic_load(&slot->counted_ns);
        if (atomic_load(&slot->state) == WORKER_WORKS && counted_ns > 0 &&
            counted_ns < load->end.at_ns)
            return true;
    }
    return false;
}

/* Adds events of the measurement that are counted after its end. A process that is stopped or gets
 * no CPU within COUNT_NS keeps its count. */
static void count_late(struct load *load)
{
    int64_t until_ns = clock_monotonic_ns() + COUNT_NS;
    if (!load->is_measured)
        return;
    while (counts_late(load) && !is_over(load) && clock_monotonic_ns() < until_ns)
        (void)clock_sleep_until(clock_monotonic_ns() + LOOK_NS);
    load_snapshot_recount(load->map, &load->end);
}

/* ---- stop ---- */

/* True when no process of the load has its end of the channel open. */
static bool is_broken(int channel)
{
    char ignored;
    ssize_t got = recv(channel, &ignored, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static bool wait_for_break(int channel, int64_t span_ns)
{
    int64_t until_ns = clock_monotonic_ns() + span_ns;
    while (!is_broken(channel)) {
        if (clock_monotonic_ns() > until_ns)
            return false;
        (void)clock_sleep_until(clock_monotonic_ns() + LOOK_NS);
    }
    return true;
}

/* Waits for the guard's end. Sends SIGCONT in case it is stopped, and SIGKILL at the time limit. */
static void end_guard(struct load *load)
{
    int64_t until_ns = clock_monotonic_ns() + load_grace_ns(load->map) + GUARD_END_NS;
    if (has_kind(load->setup.spec,
                 LOAD_EXTERNAL_STRESSOR)) /* the guard may end it in place of the supervisor */
        until_ns += EXTERNAL_STRESSOR_END_NS;
    while (!has_guard_ended(load)) {
        if (clock_monotonic_ns() > until_ns)
            kill(load->guard, SIGKILL);
        else
            kill(load->guard, SIGCONT);
        (void)clock_sleep_until(clock_monotonic_ns() + LOOK_NS);
    }
}

/* The supervisor outlives a guard that was killed. Its process id is valid while it holds the
 * channel. */
static void end_supervisor(struct load *load)
{
    pid_t supervisor = atomic_load(&load->map->supervisor);
    int64_t span_ns = load_grace_ns(load->map);
    if (supervisor <= 0 || wait_for_break(load->order, 0)) {
        (void)wait_for_break(load->order, span_ns);
        return;
    }
    kill(supervisor, SIGCONT);
    if (!wait_for_break(load->order, span_ns)) {
        kill(supervisor, SIGKILL);
        (void)wait_for_break(load->order, span_ns);
    }
}

void load_stop(struct load *load)
{
    char stop = 1;
    if (load->guard <= 0)
        return;
    note_guard(load);
    count_late(load);
    (void)send(load->order, &stop, 1, MSG_NOSIGNAL);
    open_gate(load);
    end_guard(load);
    end_supervisor(load);
    scratch_remove(&load->map->scratch); /* in case guard and supervisor were killed */
    close(load->order);
    load->guard = 0;
}

void load_free(struct load *load)
{
    load_stop(load);
    free(load->begin.samples);
    free(load->end.samples);
    free(load->family);
    if (load->map)
        munmap(load->map, load->map_bytes);
    load->map = NULL;
    load->family = NULL;
    load->begin.samples = load->end.samples = NULL;
}
