/* MEM-B-LCK: locked memory (Obenland 2000, HP).
 *
 * What: page faults of two processes that read their working sets (working_set.h), one with its
 *     memory locked (mlockall, MCL_CURRENT and MCL_FUTURE), the control without, while memory is
 *     short for these alone (event memory_pressure): in a control group whose limit leaves no room
 *     for what a third one eats but the control's pages; else each asks the kernel before each
 *     round to take its pages back (MADV_PAGEOUT). The machine is never short of memory (decision
 *     0044).
 * Begin, end: the counter right before a byte of a page is read, and right after it. Faults are
 *     what the kernel counted (getrusage) between the begin and the end of a turn.
 * Threads: the two, at the run's priority on its CPU, in turns; the third, an ordinary process.
 * Wrong if: the control had no fault: nothing was tried, and there is no verdict (not_seen). The
 *     kernel moves pages (compaction, NUMA balancing): locked ones fault too, and these count. A
 *     page in a cache of the disk's host comes back sooner than from a disk. memory_is_locked is
 *     what the kernel says: VmLck, and msync with MS_INVALIDATE, which must fail with EBUSY.
 */
#include "base/posix_source.h"

#include "family/memory/working_set.h"
#include "port/limits.h"
#include "port/port.h"
#include "run/run.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LEAST_LEFT_BYTES (INT64_C(16) << 20)

enum { SAMPLES = 20480, SAMPLE_NS = 100000, LEFT_PARTS = 8, SETS = 2, SHARES = 4 };
enum { PAUSE_NS = 10000000, MOST_PAUSES = 500, PATIENCE = 200 };
enum { LOCKED, UNLOCKED };
enum means { BY_GROUP, BY_PAGE_OUT, BY_NOTHING };

static const char *const means_names[] = {"group", "page-out", "none"};

static const struct param_spec params[] = {
    {"size_bytes", PARAM_BYTES, false, "8388608", 1 << 20, 1 << 30, NULL,
     "working set of each of the two processes", NULL},
    {0},
};

static const struct series_spec series[] = {
    {"access", "ns", "locked=yes", "the process right before it reads a byte of a page",
     "right after it"},
    {"access", "ns", "locked=no", "the process right before it reads a byte of a page",
     "right after it"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"no_faults_when_locked",
     "a process with locked memory has no page faults while another one uses up memory"},
    {"memory_is_locked", "the memory for which mlockall was called is locked in the kernel"},
    {0},
};
enum { FAULTS, LOCK };

/* ---- the process that eats memory ---- */

/* Never more than it is told, never longer than its deadline (peer.h), and the first that the
 * kernel kills where memory is short. */

/* Memory of both sides. */
struct memory_pressure_table {
    int64_t bytes;                /* to eat */
    pid_t parent;                 /* ends when that does */
    char group[PORT_GROUP_BYTES]; /* to enter; empty: none */
    _Atomic int64_t eaten_bytes;
    atomic_bool is_full, is_over;
};

struct memory_pressure_process {
    struct memory_pressure_table *table;
    struct peer peer;
    bool is_running, was_killed;
};

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

static int enter_group(void *argument)
{
    struct memory_pressure_table *table = argument;
    (void)port_end_first();
    munlockall();
    return table->group[0] ? port_memory_group_enter(table->group) : 0;
}

/* Not every system ends it with the probe. */
static bool is_over(struct memory_pressure_table *table)
{
    return atomic_load(&table->is_over) || getppid() != table->parent;
}

/* Each page is written over and over: none of them is idle. */
static void eat(void *argument)
{
    struct memory_pressure_table *table = argument;
    int64_t page_bytes = (int64_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = malloc((size_t)table->bytes);
    while (memory && !is_over(table)) {
        for (int64_t at = 0; at < table->bytes && !atomic_load(&table->is_over); at += page_bytes) {
            memory[at] = (char)at;
            if (!atomic_load(&table->is_full))
                atomic_store(&table->eaten_bytes, at + page_bytes);
        }
        atomic_store(&table->is_full, true);
        rest();
    }
    atomic_store(&table->is_full, true);
    free((void *)memory);
}

static bool is_settled(const struct memory_pressure_process *process)
{
    return atomic_load(&process->table->is_full) || peer_is_gone(&process->peer) ||
           run_should_stop();
}

/* Waits until it has eaten, or has been killed. 0, or -1 with the outcome. */
static int memory_pressure_process_start(struct memory_pressure_process *process, struct run *run,
                                         const struct ipc_cleanup *cleanup)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    process->was_killed = false;
    process->table->parent = getpid();
    int error =
        peer_start_process(&process->peer, run, cleanup, &setup, enter_group, eat, process->table);
    if (error)
        return peer_not_started(run, error, "process that uses up memory", NULL);
    process->is_running = true;
    for (int i = 0; i < MOST_PAUSES && !is_settled(process); i++)
        rest();
    return 0;
}

/* By its own id if it does not end by itself. It may have been killed before. */
static void memory_pressure_process_stop(struct memory_pressure_process *process)
{
    if (!process->is_running)
        return;
    atomic_store(&process->table->is_over, true);
    for (int i = 0; i < PATIENCE && !peer_is_gone(&process->peer); i++)
        rest();
    if (!peer_is_gone(&process->peer))
        kill(process->peer.process, SIGKILL);
    process->was_killed = peer_join(&process->peer) != 0;
    process->is_running = false;
}

/* ---- before ---- */

struct shared {
    struct working_set_table sets[SETS];
    struct memory_pressure_table pressure;
};

struct own {
    struct ipc_cleanup cleanup;
    struct shared *shared;
    struct working_set sets[SETS];
    struct memory_pressure_process pressure;
    enum means means;
    char reason[STATUS_TEXT_BYTES]; /* why no better means */
    int64_t limit_bytes;            /* of the group */
    int files[SETS];
};

/* Both sets, what is eaten, and as much again for the rest. */
static int require_memory(struct run *run)
{
    int64_t of_bytes = -1, size_bytes = run_number(run, "size_bytes");
    int64_t available = port_available_bytes(&of_bytes);
    int64_t left =
        of_bytes / LEFT_PARTS > LEAST_LEFT_BYTES ? of_bytes / LEFT_PARTS : LEAST_LEFT_BYTES;
    if (available < 0 || available - SHARES * size_bytes >= left)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "choose a smaller size_bytes, or free "
                       "memory",
                       "%lld MiB of memory are available: %d working sets of %lld KiB would not "
                       "leave the %lld MiB that stay free",
                       (long long)(available >> 20), SHARES, (long long)(size_bytes >> 10),
                       (long long)(left >> 20));
}

static int require_processes(struct run *run)
{
    struct own *own = run->own;
    if (!own->cleanup.has_processes)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system cannot start a second process (fork)");
    own->shared = peer_memory(sizeof *own->shared, &own->cleanup.places[0]);
    if (!own->shared)
        return outcome_set_errno(&run->outcome, errno, "memory for all processes",
                                 port_hint(PORT_HINT_SHARED_MEMORY));
    if (!peer_memory_is_shared(own->shared))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no shared memory (shm_open)");
    return 0;
}

static int refuse_space(struct run *run)
{
    return outcome_set(&run->outcome, STATUS_DENIED,
                       "free space there, set TMPDIR to another folder, or choose a smaller "
                       "size_bytes",
                       "the scratch files need %lld KiB, which the file system of %.180s does "
                       "not have (256 MiB or 5 %% must stay free)",
                       (long long)(SETS * run_number(run, "size_bytes") / 1024),
                       ((struct own *)run->own)->cleanup.scratch.folder);
}

static int open_files(struct run *run)
{
    struct own *own = run->own;
    struct scratch *scratch = &own->cleanup.scratch;
    int error = scratch_make(scratch);
    for (int i = 0; i < SETS && !error; i++) {
        own->files[i] = scratch_file(scratch);
        error = own->files[i] < 0 ? errno : 0;
    }
    if (error && error != ENOSPC)
        return outcome_set_errno(&run->outcome, error, "scratch files",
                                 "set TMPDIR to a folder on a disk, and writable");
    bool has_room =
        error == 0 && scratch_room_bytes(own->files[0]) >= SETS * run_number(run, "size_bytes");
    return has_room ? 0 : refuse_space(run);
}

static void choose_scratch(struct scratch *scratch, uint64_t seed)
{
    memset(scratch, 0, sizeof *scratch);
    if (scratch_choose(scratch, false, seed) == 0)
        scratch_sweep(scratch);
}

static int prepare(struct run *run)
{
    struct scratch scratch;
    struct own *own = run_own(run, sizeof *own);
    if (!own || require_memory(run) != 0)
        return -1;
    own->files[LOCKED] = own->files[UNLOCKED] = -1;
    uint64_t seed = run->seed ^ (uint64_t)clock_monotonic_ns();
    choose_scratch(&scratch, seed);
    int group_error = port_memory_group_choose(own->cleanup.memory_group, seed);
    if (group_error)
        snprintf(own->reason, sizeof own->reason, "no control group can be created: %s",
                 group_error == ENOTSUP ? "no control group here delegates memory to its children"
                                        : strerror(group_error));
    if (ipc_cleanup_open_with(&own->cleanup, run, &scratch) != 0 || require_processes(run) != 0)
        return -1;
    return open_files(run);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    for (int i = 0; own->shared && i < SETS; i++)
        if (own->files[i] >= 0)
            close(own->files[i]);
    if (own->shared) {
        scratch_remove(&own->cleanup.scratch);
        port_memory_group_remove(own->cleanup.memory_group);
    }
    peer_memory_free(own->shared, sizeof *own->shared);
    ipc_cleanup_close(&own->cleanup);
}

/* ---- memory that is short ---- */

static void go_without_group(struct own *own, const char *what, int error)
{
    snprintf(own->reason, sizeof own->reason, "%s: %s", what, strerror(error));
    own->means = BY_PAGE_OUT;
}

static void choose_means(struct own *own)
{
    const char *group = own->cleanup.memory_group;
    own->means = group[0] ? BY_GROUP : BY_PAGE_OUT;
    if (!scratch_is_disk(own->files[UNLOCKED])) {
        snprintf(own->reason, sizeof own->reason,
                 "the scratch folder is in memory (TMPDIR chooses another), and its pages can "
                 "only go to swap");
        own->means = BY_PAGE_OUT;
    }
    int error = own->means == BY_GROUP ? port_memory_group_make(group) : 0;
    if (error)
        go_without_group(own, "no control group can be created", error);
}

static int start_set(struct run *run, int which)
{
    struct own *own = run->own;
    struct working_set_table *table = &own->shared->sets[which];
    own->sets[which].table = table;
    table->is_to_lock = which == LOCKED;
    table->is_paged_out = own->means == BY_PAGE_OUT;
    table->bytes = (size_t)run_number(run, "size_bytes");
    table->file = own->files[which];
    table->seed = run->seed + (uint64_t)which;
    table->clock = run->clock;
    snprintf(table->group, sizeof table->group, "%s",
             own->means == BY_GROUP ? own->cleanup.memory_group : "");
    return working_set_start(&own->sets[which], run, &own->cleanup);
}

/* The limit leaves room for one set, and the other process takes that and most of the control's. */
static void limit_group(struct own *own, int64_t size_bytes)
{
    const char *group = own->cleanup.memory_group;
    int64_t used = port_memory_group_used(group);
    int error = own->shared->sets[UNLOCKED].enter_error;
    own->limit_bytes = used + size_bytes;
    if (!error)
        error = used < 0 ? ENOTSUP : port_memory_group_limit(group, own->limit_bytes);
    if (!error)
        return;
    go_without_group(own, "the control group cannot be used", error);
    for (int i = 0; i < SETS; i++)
        own->shared->sets[i].is_paged_out = true;
}

static int start_memory_pressure_process(struct run *run)
{
    struct own *own = run->own;
    int64_t size_bytes = run_number(run, "size_bytes");
    struct memory_pressure_table *table = &own->shared->pressure;
    own->pressure.table = table;
    table->bytes = size_bytes;
    if (own->means == BY_GROUP) {
        limit_group(own, size_bytes);
        table->bytes += size_bytes - size_bytes / LEFT_PARTS;
    }
    snprintf(table->group, sizeof table->group, "%s",
             own->means == BY_GROUP ? own->cleanup.memory_group : "");
    return memory_pressure_process_start(&own->pressure, run, &own->cleanup);
}

/* ---- turns ---- */

static void record_turn(struct run *run, int which)
{
    const struct working_set_table *table = &((struct own *)run->own)->shared->sets[which];
    for (int i = 0; i < table->count; i++)
        run_take(run, which, table->accesses[i].begin_ticks, table->accesses[i].end_ticks);
}

static int turn_size(const struct run *run, uint64_t done)
{
    uint64_t left = run->samples > done ? run->samples - done : 0;
    return run->samples == 0 || left > WORKING_SET_TURN ? WORKING_SET_TURN : (int)left;
}

static int take_turns(struct run *run)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, 1);
    for (uint64_t done = 0; run_budget_left(&budget, done, run_anchor(run));) {
        rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns / 2);
        run_anchor(run);
        int count = turn_size(run, done);
        for (int i = 0; i < SETS; i++) {
            if (working_set_turn(&own->sets[i], count) != 0)
                return -1;
            record_turn(run, i);
        }
        done = own->sets[UNLOCKED].access_count < own->sets[LOCKED].access_count
                   ? (uint64_t)own->sets[UNLOCKED].access_count
                   : (uint64_t)own->sets[LOCKED].access_count;
    }
    return 0;
}

/* ---- events and verdicts ---- */

/* Of the control: the locked process is refused. */
static void look_at_page_out(struct own *own)
{
    int error = own->shared->sets[UNLOCKED].page_out_error;
    if (own->means != BY_PAGE_OUT || error == 0)
        return;
    own->means = BY_NOTHING;
    size_t used = strlen(own->reason);
    snprintf(own->reason + used, sizeof own->reason - used,
             "%sthe kernel does not reclaim pages on request: %s", used ? "; " : "",
             strerror(error));
}

static void report_pressure(struct run *run)
{
    struct own *own = run->own;
    long long eaten = (long long)atomic_load(&own->shared->pressure.eaten_bytes);
    bool has_limit = own->means == BY_GROUP;
    char how[128] = "nothing reclaimed pages from the two processes";
    if (has_limit)
        snprintf(how, sizeof how, "in a control group of its own limited to %lld KiB",
                 (long long)(own->limit_bytes / 1024));
    else if (own->means == BY_PAGE_OUT)
        snprintf(how, sizeof how, "each process asked for its pages to be reclaimed");
    arena_event(run->arena, "memory_pressure", -1,
                DATA(data_text("means", means_names[own->means]),
                     data_integer("eaten_bytes", eaten),
                     has_limit ? data_integer("limit_bytes", own->limit_bytes) : data_none(),
                     own->reason[0] ? data_text("reason", own->reason) : data_none(),
                     data_bool("was_killed", own->pressure.was_killed)),
                "another process used %lld KiB of memory%s; %s%s%s%s", eaten / 1024,
                own->pressure.was_killed ? " and was killed for it" : "", how,
                own->reason[0] ? " (" : "", own->reason, own->reason[0] ? ")" : "");
}

static bool has_counts(const struct working_set *set)
{
    return set->minor_faults >= 0 && set->major_faults >= 0;
}

static int64_t faults(const struct working_set *set)
{
    return set->minor_faults + set->major_faults;
}

static const char *why_none(const struct own *own)
{
    if (own->means == BY_NOTHING)
        return "nothing reclaimed pages from the process without locked memory";
    if (own->pressure.was_killed)
        return "the process that used up memory was killed before the kernel reclaimed any page";
    return "the kernel reclaimed no page from the process without locked memory";
}

static void report_not_counted(struct run *run)
{
    const char *verdict = verdicts[FAULTS].name;
    arena_event(run->arena, "not_seen", -1,
                DATA(data_text("verdict", verdict), data_text("reason", "system_does_not_tell")),
                "%s: no verdict, because this system does not count page faults", verdict);
}

static void report_not_tried(struct run *run)
{
    const char *verdict = verdicts[FAULTS].name;
    arena_event(run->arena, "not_seen", -1,
                DATA(data_text("verdict", verdict), data_text("reason", "not_tried")),
                "%s: no verdict, because %s", verdict, why_none(run->own));
}

static void report_unlocked(struct run *run, const struct working_set *control)
{
    arena_event(run->arena, "unlocked_faults", -1,
                DATA(data_integer("minor_count", control->minor_faults),
                     data_integer("major_count", control->major_faults),
                     data_integer("access_count", control->access_count)),
                "without a lock: %lld minor and %lld major page faults in %lld reads",
                (long long)control->minor_faults, (long long)control->major_faults,
                (long long)control->access_count);
}

/* Without faults of the control nothing was tried, and a pass would be luck. */
static void judge_faults(struct run *run)
{
    const struct own *own = run->own;
    const struct working_set *locked = &own->sets[LOCKED], *control = &own->sets[UNLOCKED];
    if (!has_counts(locked) || !has_counts(control)) {
        report_not_counted(run);
        return;
    }
    report_unlocked(run, control);
    if (faults(locked) == 0 && faults(control) == 0) {
        report_not_tried(run);
        return;
    }
    arena_verdict(run->arena, faults(locked) == 0, (uint64_t)locked->access_count,
                  verdicts[FAULTS].name,
                  "locked: %lld minor and %lld major faults in %lld reads; not locked: %lld and "
                  "%lld in %lld",
                  (long long)locked->minor_faults, (long long)locked->major_faults,
                  (long long)locked->access_count, (long long)control->minor_faults,
                  (long long)control->major_faults, (long long)control->access_count);
}

static void write_invalidate(const struct working_set_table *table, char *text, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < WORKING_SET_HALVES && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s: %s", i ? ", " : "",
                                 i ? "mapped after mlockall" : "mapped before mlockall",
                                 table->invalidate_error[i] == EBUSY ? "locked (EBUSY)"
                                 : table->invalidate_error[i] ? strerror(table->invalidate_error[i])
                                                              : "not locked");
}

/* -1: neither an amount nor msync says anything. */
static int holds_lock(const struct working_set_table *table)
{
    bool is_told = table->locked_bytes >= 0;
    bool is_locked = !is_told || table->locked_bytes >= (int64_t)table->bytes;
    for (int i = 0; i < WORKING_SET_HALVES; i++) {
        if (table->invalidate_error[i] == ENOSYS)
            continue;
        is_told = true;
        is_locked = is_locked && table->invalidate_error[i] == EBUSY;
    }
    return is_told ? is_locked : -1;
}

static void judge_lock(struct run *run)
{
    const struct working_set_table *table = &((struct own *)run->own)->shared->sets[LOCKED];
    const char *verdict = verdicts[LOCK].name;
    char invalidate[ARENA_TEXT_BYTES / 2], counted[96] = "the kernel does not report an amount";
    int holds = holds_lock(table);
    if (holds < 0) {
        arena_event(
            run->arena, "not_seen", -1,
            DATA(data_text("verdict", verdict), data_text("reason", "system_does_not_tell")),
            "%s: no verdict, because this system does not report what is locked", verdict);
        return;
    }
    write_invalidate(table, invalidate, sizeof invalidate);
    if (table->locked_bytes >= 0)
        snprintf(counted, sizeof counted,
                 "%lld KiB are locked (VmLck) of a working set of %lld KiB",
                 (long long)(table->locked_bytes / 1024), (long long)(table->bytes / 1024));
    arena_verdict(run->arena, holds > 0, 1, verdict, "%s; msync(MS_INVALIDATE), %s", counted,
                  invalidate);
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    variant_begin(run, 0);
    choose_means(own);
    int result = start_set(run, LOCKED);
    if (result == 0)
        result = start_set(run, UNLOCKED);
    if (result == 0)
        result = start_memory_pressure_process(run);
    if (result == 0)
        result = take_turns(run);
    for (int i = 0; i < SETS; i++)
        if (working_set_stop(&own->sets[i]) != 0)
            result = -1;
    memory_pressure_process_stop(&own->pressure);
    look_at_page_out(own);
    return result;
}

static int judge(struct run *run)
{
    report_pressure(run);
    judge_faults(run);
    judge_lock(run);
    return 0;
}

const struct test mem_b_lck = {
    .id = "MEM-B-LCK",
    .title = "Locked memory stays in memory",
    .source = "[O] Obenland 2000, [H] HP-UX 1987",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_A_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 200000000,
    .sample_ns = SAMPLE_NS,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
    .finish = finish,
};
