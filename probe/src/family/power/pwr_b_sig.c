/* PWR-B-SIG: notice of a failing power supply (HP 1987).
 *
 * What: a second process sends SIGPWR to the probe's own process by kill, at random distances of
 *     0.2 to 2 ms, each when the handler of the one before has run. The verdict within_bound is
 *     given only if the busy process had the CPU before at least half of the signals. The default
 *     bound of 10 ms leaves 6 ms to act: an ATX supply holds its voltages for 16 ms after the loss
 *     of mains (ATX12V design guide).
 * Begin, end: the sender's reading of the counter right before kill, and the handler's first
 *     reading: the call, the preemption of the sender, the switch and the set-up of the handler's
 *     frame.
 * Threads: on one CPU: the measuring thread, at the run's priority, in pselect with only SIGPWR
 *     unblocked; the sender, one priority below (a time-shared one could wait between its stamp and
 *     its call); a process of the normal class that copies and maps.
 * Wrong if: a signal comes later than the bound and another second, or while a SIGPWR of another
 *     process is pending (the kernel keeps one): it counts as lost. SIGPWR of others is reported
 *     and not counted: it may be a real one. It is sent to no process but the probe's, which has a
 *     handler for it from before the sender starts until after it has ended.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/shared/peer.h"
#include "family/shared/signal_state.h"
#include "port/limits.h"
#include "port/port.h"
#include "run/scheduling.h"
#include "run/supervise.h"
#include "run/variant.h"
#include "work/kernel_operations.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

enum { SAMPLES = 1000, WARM_UP = 8, LEVELS = 2, BUFFER_BYTES = 4096, LOADED_PARTS = 2 };

#define LEAST_PAUSE_NS 200000
#define MORE_PAUSE_NS 1800000 /* random part */
#define PATIENCE_NS INT64_C(1000000000)
#define MAPPED_BYTES ((size_t)1 << 17)

static const struct param_spec params[] = {
    {"bound_ns", PARAM_NS, false, "10000000", 1000, INT64_C(10000000000), NULL,
     "time within which the handler must run", NULL},
    {0},
};

static const struct series_spec series[] = {
    {"latency", "ns", "", "the sender, right before kill",
     "the handler of SIGPWR: its first reading of the counter"},
    {0},
};
enum { LATENCY };

static const struct verdict_spec verdicts[] = {
    {"delivered", "each SIGPWR runs the handler"},
    {"within_bound", "the handler runs within bound_ns while the system is loaded"},
    {0},
};

/* In memory that all three share. */
struct table {
    const struct clock *clock;
    int signal;
    pid_t receiver;
    atomic_bool is_over;
    atomic_uint asked, sent;                /* signals; sent once it equals asked */
    _Atomic uint64_t begin_ticks;           /* of the latest */
    _Atomic uint64_t end_ticks;             /* of the latest that was handled */
    atomic_uint handled_count, other_count; /* other: from other processes */
    atomic_int sender;                      /* process */
    _Atomic uint64_t turn_count;            /* of the busy process */
    struct random random;
    int pipe[2];
    size_t page_bytes;
    unsigned char buffer[BUFFER_BYTES];
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct table *table;
    struct peer sender, busy;
    struct signal_actions actions;
    sigset_t while_waiting;
    int64_t bound_ns;
    uint64_t sent_count, lost_count, late_count; /* late: beyond the bound, lost ones left out */
    uint64_t loaded_count; /* signals before which the busy process has had the CPU */
    int64_t worst_ns;
    bool is_loaded;
};

static int check(struct run *run)
{
    if (port_power_signal() < 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no signal for a failing power supply (SIGPWR)");
    if (!port_has_processes())
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system cannot start a second process (fork) that sends SIGPWR");
    return 0;
}

static int open_table(struct run *run, struct own *own)
{
    struct table *table = own->table;
    table->clock = &run->clock;
    table->signal = port_power_signal();
    table->receiver = getpid();
    random_start(&table->random, run->seed);
    table->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (pipe(table->pipe) != 0)
        return outcome_set_errno(&run->outcome, errno, "pipe", NULL);
    for (int i = 0; i < 2; i++)
        fcntl(table->pipe[i], F_SETFL, O_NONBLOCK);
    own->is_loaded = true;
    return 0;
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own || ipc_cleanup_open(&own->ipc_cleanup, run, true) != 0)
        return -1;
    own->bound_ns = run_number(run, "bound_ns");
    own->table = peer_memory(sizeof *own->table, &own->ipc_cleanup.places[0]);
    if (!own->table)
        return outcome_set_errno(&run->outcome, errno, "memory for three processes",
                                 port_hint(PORT_HINT_SHARED_MEMORY));
    if (!peer_has_scope(&own->ipc_cleanup, own->table, PEER_PROCESS))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no memory that processes share (shm_open)");
    return open_table(run, own);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    for (int i = 0; i < 2 && own->is_loaded; i++)
        close(own->table->pipe[i]);
    peer_memory_free(own->table, sizeof *own->table);
    ipc_cleanup_close(&own->ipc_cleanup);
}

/* ---- the other two processes ---- */

static void pause_sender(struct table *table)
{
    int64_t ns = LEAST_PAUSE_NS + random_below(&table->random, MORE_PAUSE_NS);
    struct timespec pause = clock_ns_timespec(ns);
    nanosleep(&pause, NULL);
}

/* The receiver has the higher priority: while this process runs, it waits. An orphan sends nothing:
 * its parent's id may be another process's by then. */
static void send_signals(void *argument)
{
    struct table *table = argument;
    atomic_store(&table->sender, getpid());
    while (!atomic_load(&table->is_over)) {
        pause_sender(table);
        unsigned asked = atomic_load(&table->asked);
        if (asked == atomic_load(&table->sent) || atomic_load(&table->is_over))
            continue;
        if (getppid() != table->receiver)
            _exit(1);
        atomic_store(&table->sent, asked);
        atomic_store_explicit(&table->begin_ticks, clock_begin(table->clock), memory_order_release);
        kill(table->receiver, table->signal);
    }
}

/* Errors are no matter: a copy that fails is a system call, too. */
static void be_busy(void *argument)
{
    struct table *table = argument;
    while (!atomic_load(&table->is_over)) {
        kernel_transfer(table->pipe[1], table->pipe[0], table->buffer, sizeof table->buffer);
        kernel_map(MAPPED_BYTES, table->page_bytes);
        atomic_fetch_add(&table->turn_count, 1);
    }
}

/* ---- the receiver ---- */

static void on_power(int number, siginfo_t *info, void *context)
{
    struct table *table = signal_state();
    uint64_t end = clock_end(table->clock);
    (void)number, (void)context;
    if (!signal_is_from(info, atomic_load_explicit(&table->sender, memory_order_relaxed))) {
        atomic_fetch_add(&table->other_count, 1);
        return;
    }
    atomic_store_explicit(&table->end_ticks, end, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->handled_count, 1, memory_order_release);
}

/* Waits for the signal that is asked for. One that was given up and comes now is none of it: then
 * the sender has sent nothing since. False: lost. */
static bool wait_for_power(const struct own *own, unsigned asked)
{
    struct table *table = own->table;
    int64_t until_ns = clock_monotonic_ns() + own->bound_ns + PATIENCE_NS, now_ns = 0;
    unsigned before = atomic_load(&table->handled_count);
    for (;;) {
        if (atomic_load(&table->handled_count) != before) {
            if (atomic_load(&table->sent) == asked)
                return true;
            before = atomic_load(&table->handled_count);
        }
        now_ns = clock_monotonic_ns();
        if (now_ns >= until_ns || run_should_stop())
            return false;
        struct timespec left = clock_ns_timespec(until_ns - now_ns);
        pselect(0, NULL, NULL, NULL, &left, &own->while_waiting);
    }
}

static void note(struct run *run, struct own *own)
{
    uint64_t begin = atomic_load_explicit(&own->table->begin_ticks, memory_order_acquire);
    uint64_t end = atomic_load_explicit(&own->table->end_ticks, memory_order_relaxed);
    int64_t ns = clock_ns(&run->clock, end - begin);
    run_take(run, LATENCY, begin, end);
    if (run->is_warm_up)
        return;
    if (ns > own->bound_ns)
        own->late_count++;
    if (ns > own->worst_ns)
        own->worst_ns = ns;
}

static void take(struct run *run)
{
    struct own *own = run->own;
    uint64_t turns = atomic_load(&own->table->turn_count);
    unsigned asked = atomic_fetch_add(&own->table->asked, 1) + 1;
    bool has_come = wait_for_power(own, asked);
    if (!has_come && run_should_stop())
        return;
    bool was_loaded = atomic_load(&own->table->turn_count) != turns;
    own->loaded_count += was_loaded && !run->is_warm_up ? 1 : 0;
    if (has_come)
        note(run, own);
    else
        own->lost_count += run->is_warm_up ? 0 : 1;
    own->sent_count += run->is_warm_up ? 0 : 1;
}

static void receive(struct run *run)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, 1);
    run->is_warm_up = true;
    for (int i = 0; i < WARM_UP && !run_should_stop(); i++)
        take(run);
    run->is_warm_up = false;
    while (run_budget_left(&budget, own->sent_count, run_anchor(run)))
        take(run);
}

/* ---- life cycle ---- */

static int measure_beside_busy(struct run *run)
{
    struct own *own = run->own;
    struct rt_thread_setup lower = run->setup;
    lower.priority--;
    int error = peer_start_process(&own->sender, run, &own->ipc_cleanup, &lower, NULL, send_signals,
                                   own->table);
    if (error)
        return peer_not_started(run, error, "sender", NULL);
    supervise_process(run, own->sender.process, "sender");
    receive(run);
    supervise_process(run, 0, NULL);
    atomic_store(&own->table->is_over, true);
    return peer_join(&own->sender) == 0 ? 0 : supervise_ended_early(run, "sender");
}

static int measure_handled(struct run *run)
{
    struct own *own = run->own;
    struct rt_thread_setup ordinary = run->setup;
    ordinary.policy = SCHED_OTHER;
    ordinary.priority = rt_thread_ordinary_priority();
    int error = peer_start_process(&own->busy, run, &own->ipc_cleanup, &ordinary, NULL, be_busy,
                                   own->table);
    if (error)
        return peer_not_started(run, error, "busy process", NULL);
    int result = measure_beside_busy(run);
    atomic_store(&own->table->is_over, true);
    if (peer_join(&own->busy) != 0)
        return supervise_ended_early(run, "busy process");
    return result;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    pthread_sigmask(SIG_BLOCK, NULL, &own->while_waiting);
    sigdelset(&own->while_waiting, own->table->signal);
    int error = signal_actions_set(&own->actions, own->table->signal, on_power, own->table);
    if (error)
        return outcome_set_errno(&run->outcome, error, "sigaction", NULL);
    int result = measure_handled(run);
    signal_actions_put_back(&own->actions);
    return result;
}

static void report_others(struct run *run)
{
    unsigned count = atomic_load(&((struct own *)run->own)->table->other_count);
    if (count > 0)
        arena_event(
            run->arena, "power_signal_of_others", -1, DATA(data_integer("count", (int64_t)count)),
            "%u times another process sent SIGPWR to the probe; find out which: the power may "
            "really be failing",
            count);
}

/* Then nothing was tried: the handler of an idle system is early. */
static void report_idle(struct run *run)
{
    const struct own *own = run->own;
    arena_event(
        run->arena, "not_seen", -1,
        DATA(data_text("verdict", "within_bound"), data_text("reason", "not_tried")),
        "within_bound: no verdict, because the CPU was busy before only %llu of %llu signals",
        (unsigned long long)own->loaded_count, (unsigned long long)own->sent_count);
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    unsigned long long sent = own->sent_count, lost = own->lost_count, late = own->late_count;
    report_others(run);
    if (sent == 0)
        return 0;
    arena_verdict(run->arena, lost == 0, sent, "delivered",
                  "%llu sent, %llu handled, %llu turns of the busy process meanwhile", sent,
                  sent - lost, (unsigned long long)atomic_load(&own->table->turn_count));
    if (lost == 0 && late == 0 && own->loaded_count < sent / LOADED_PARTS) {
        report_idle(run);
        return 0;
    }
    arena_verdict(run->arena, lost == 0 && late == 0, sent, "within_bound",
                  "bound %lld us: worst observed %lld.%01lld us, %llu of %llu later, %llu lost",
                  (long long)(own->bound_ns / 1000), (long long)(own->worst_ns / 1000),
                  (long long)(own->worst_ns % 1000 / 100), late, sent, lost);
    return 0;
}

const struct test pwr_b_sig = {
    .id = "PWR-B-SIG",
    .title = "Power-fail notice: SIGPWR reaches a real-time handler within a bound",
    .source = "[H] Hewlett-Packard 1987",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(200000000),
    .sample_ns = 1200000,
    .warm_up_samples = WARM_UP,
    .check = check,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};
