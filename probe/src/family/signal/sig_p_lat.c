/* SIG-P-LAT: latency of a real-time signal (Obenland 2000).
 *
 * What: the first party queues SIGRTMIN with a sequence number by sigqueue and waits in sigwaitinfo
 *     for the answer, SIGRTMIN + 1 with the same number. At equal priority a signal does not
 *     preempt: a value is the call that sends, the call that waits as far as it blocks, the switch,
 *     and the receiver's way back to user space. Between threads it holds the kernel's search for
 *     the only thread that does not block it: POSIX has no sigqueue to a thread.
 * Begin, end: the first party's reading right before sigqueue (take), and the receiver's first: in
 *     its handler, where it sleeps in sigsuspend (on_signal), or after sigwaitinfo
 *     (wait_for_signal). Both on one CPU.
 * Threads: two parties of the run's priority on one CPU, threads of one process or two processes;
 *     the first is the measuring thread.
 * Wrong if: threads cannot be kept on one CPU (unsupported: no switch would be in the figure).
 *     Sender, si_code, number or sequence number are not as sent, on either way: the result fails
 *     (signal_not_as_sent). A signal is lost: both wait, and the result is `timeout`. Interrupts
 *     are part of the values. The first 64 values of a variant and after each rest are not
 *     recorded.
 */
#include "base/posix_source.h"

#include "family/signal/queued.h"

#include "family/shared/peer.h"
#include "family/shared/signal_state.h"
#include "run/run.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SAMPLES = 50000, BURST = 64, WARM_UP = 64 };

static const struct param_spec params[] = {
    QUEUED_RECEIVER_PARAM,
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names,
     "between two threads, between two processes", "scope"},
    {0},
};

static const struct series_spec series[] = {
    {"latency", "ns", "receiver,scope", "the sender, right before sigqueue",
     "the receiver: first reading of the counter in its handler, or after sigwaitinfo"},
    {0},
};
enum { LATENCY };

/* In memory that both parties share. */
struct table {
    const struct clock *clock;
    enum queued_receiver receiver;
    pid_t sender;
    int ask, answer; /* signals */
    sigset_t asked, while_waiting;
    atomic_bool is_over;
    atomic_int error;                   /* errno value of the receiver */
    _Atomic uint64_t received_ticks;    /* stamp of the latest signal */
    _Atomic uint32_t value, next_value; /* that it carried, and what comes next */
    atomic_uint received_count, wrong_count, handled_count;
    atomic_bool has_no_handler; /* sigsuspend returned, and its handler had not run */
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct table *table;
    struct peer peer;
    struct signal_actions actions;
    sigset_t answers;
    pid_t receiver;
};

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own || ipc_cleanup_open(&own->ipc_cleanup, run, peer_wants_process(run)) != 0)
        return -1;
    own->table = peer_table(run, sizeof *own->table, &own->ipc_cleanup, "memory for both parties");
    if (!own->table)
        return -1;
    struct table *table = own->table;
    table->clock = &run->clock;
    table->sender = getpid();
    table->ask = SIGRTMIN;
    table->answer = SIGRTMIN + 1;
    sigemptyset(&table->asked);
    sigaddset(&table->asked, table->ask);
    sigemptyset(&own->answers);
    sigaddset(&own->answers, table->answer);
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    peer_memory_free(own->table, sizeof *own->table);
    ipc_cleanup_close(&own->ipc_cleanup);
}

/* ---- the receiver ---- */

/* Called with the stamp of a signal. False: another process sent it. */
static bool note(struct table *table, uint64_t end, const siginfo_t *info)
{
    uint32_t value;
    if (!signal_is_from(info, table->sender))
        return false;
    bool is_whole = queued_value(info, &value);
    bool is_right = is_whole && info->si_code == SI_QUEUE && info->si_signo == table->ask &&
                    value == atomic_load_explicit(&table->next_value, memory_order_relaxed);
    if (!is_right)
        atomic_fetch_add_explicit(&table->wrong_count, 1, memory_order_relaxed);
    atomic_store_explicit(&table->value, value, memory_order_relaxed);
    atomic_store_explicit(&table->received_ticks, end, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->received_count, 1, memory_order_release);
    return true;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct table *table = signal_state();
    uint64_t end = clock_end(table->clock);
    (void)number, (void)context;
    int error_before = errno;
    atomic_fetch_add_explicit(&table->handled_count, 1, memory_order_relaxed);
    note(table, end, info);
    errno = error_before;
}

/* Where the queue has no place, a signal tells no sender: the order to end counts all the same.
 * RTEMS takes the signal in sigsuspend and runs no handler: both parties would wait for ever. */
static int sleep_for_handler(struct table *table)
{
    unsigned count = atomic_load_explicit(&table->received_count, memory_order_relaxed);
    unsigned handled = atomic_load_explicit(&table->handled_count, memory_order_relaxed);
    while (atomic_load_explicit(&table->received_count, memory_order_acquire) == count &&
           !atomic_load_explicit(&table->is_over, memory_order_relaxed)) {
        sigsuspend(&table->while_waiting);
        if (atomic_load_explicit(&table->handled_count, memory_order_relaxed) == handled) {
            atomic_store(&table->has_no_handler, true);
            return ECANCELED;
        }
    }
    return 0;
}

static int wait_for_signal(struct table *table)
{
    siginfo_t info;
    uint64_t end;
    do {
        if (queued_wait(&table->asked, &info, NULL) < 0)
            return errno;
        end = clock_end(table->clock);
    } while (!note(table, end, &info) &&
             !atomic_load_explicit(&table->is_over, memory_order_relaxed));
    return 0;
}

/* kill needs no place in the queue: the sender wakes and sees the error. */
static void answer(struct table *table, int error)
{
    if (!error)
        error = queued_send(table->sender, table->answer, atomic_load(&table->value));
    if (!error)
        return;
    atomic_store(&table->error, error);
    kill(table->sender, table->answer);
}

static void receive(void *argument)
{
    struct table *table = argument;
    for (;;) {
        int error = 0;
        if (table->receiver == QUEUED_HANDLER)
            error = sleep_for_handler(table);
        else
            error = wait_for_signal(table);
        if (atomic_load(&table->is_over))
            return;
        answer(table, error);
    }
}

/* ---- the sender ---- */

static int refuse(struct run *run, const char *what)
{
    char variant[ARENA_NAME_BYTES];
    variant_name(run, variant, sizeof variant);
    arena_event(run->arena, "signal_not_as_sent", -1,
                DATA(data_text("variant", variant), data_text("what", what)), "%s: %s", variant,
                what);
    return outcome_set(&run->outcome, STATUS_FAILED, "run SIG-B-QUE and see its verdicts",
                       "%s: %s, so the measured interval is not its latency", variant, what);
}

static int wait_for_answer(struct run *run, uint32_t value)
{
    const struct own *own = run->own;
    siginfo_t info;
    uint32_t got;
    do
        if (queued_wait(&own->answers, &info, NULL) < 0)
            return outcome_set_errno(&run->outcome, errno, "sigwaitinfo", NULL);
    while (!signal_is_from(&info, own->receiver));
    if (atomic_load(&own->table->has_no_handler))
        return refuse(run, "sigsuspend returned, and the signal's handler had not run");
    int error = atomic_load(&own->table->error);
    if (error)
        return queued_not_sent(run, error);
    if (atomic_load(&own->table->wrong_count) > 0)
        return refuse(run, "the signal arrived with a wrong value, number or si_code");
    if (!queued_value(&info, &got) || got != value || info.si_code != SI_QUEUE)
        return refuse(run, "the answer arrived with a wrong value or si_code");
    return 0;
}

static int take(struct run *run)
{
    struct own *own = run->own;
    struct table *table = own->table;
    uint32_t value = atomic_load_explicit(&table->next_value, memory_order_relaxed) + 1;
    atomic_store_explicit(&table->next_value, value, memory_order_relaxed);
    uint64_t begin = clock_begin(&run->clock);
    int error = queued_send(own->receiver, table->ask, value);
    if (error)
        return queued_not_sent(run, error);
    if (wait_for_answer(run, value) != 0)
        return -1;
    run_take(run, LATENCY, begin,
             atomic_load_explicit(&table->received_ticks, memory_order_acquire));
    return 0;
}

/* Without a place in the queue the receiver is woken all the same. */
static void end_receiver(struct own *own)
{
    struct table *table = own->table;
    atomic_store(&table->is_over, true);
    if (queued_send(own->receiver, table->ask, 0) != 0)
        kill(own->receiver, table->ask);
}

static int measure_together(struct run *run)
{
    struct own *own = run->own;
    int error = peer_start(&own->peer, run, &own->ipc_cleanup, peer_scope_of(run), &run->setup,
                           receive, own->table);
    if (error)
        return peer_not_started(run, error, "receiver", NULL);
    own->receiver = own->peer.process > 0 ? own->peer.process : getpid();
    supervise_process(run, own->peer.process, "receiver");
    burst_begin(run, own->peer.process);
    int result = variant_sample(run, LATENCY, BURST, take);
    supervise_process(run, 0, NULL);
    end_receiver(own);
    if (peer_join(&own->peer) != 0)
        return supervise_ended_early(run, "receiver");
    return result;
}

/* Both parties have the action, since the process is forked from this one, or is this one. All
 * threads block both signals but where they wait. */
static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    struct table *table = own->table;
    if (!peer_has_scope(&own->ipc_cleanup, table, peer_scope_of(run)))
        return 0;
    table->receiver = (enum queued_receiver)variant_number(run, "receivers");
    atomic_store(&table->is_over, false);
    atomic_store(&table->error, 0);
    atomic_store(&table->wrong_count, 0);
    atomic_store(&table->has_no_handler, false);
    pthread_sigmask(SIG_BLOCK, NULL, &table->while_waiting);
    sigdelset(&table->while_waiting, table->ask);
    int error = signal_actions_set(&own->actions, table->ask, on_signal, table);
    if (error)
        return outcome_set_errno(&run->outcome, error, "sigaction", NULL);
    int result = measure_together(run);
    signal_actions_put_back(&own->actions);
    return atomic_load(&table->has_no_handler) ? 0 : result; /* other receivers have theirs */
}

const struct test sig_p_lat = {
    .id = "SIG-P-LAT",
    .title = "Latency of a real-time signal between two threads or processes",
    .source = "[O] Obenland 2000, real-time signals",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 9000,
    .warm_up_samples = WARM_UP,
    .check = queued_check,
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .finish = finish,
};
