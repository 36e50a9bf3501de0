/* SEM-P-RTP: round trip between two parties, "sync test 2" (Obenland 2000).
 *
 * Two parties, threads or processes that share memory, run at the run's priority on one CPU. The
 * first, the measuring thread, signals `there` and waits on `back`; the second waits on `there` and
 * signals `back`. begin = the first party before its signal, end = the first party after its wait.
 * One round trip is two signals, two waits that block and two context switches.
 *
 * With the kind `mutex` a signal is lock, increment, signal a condition variable, unlock; a wait is
 * lock, wait on the condition variable while the number is 0, decrement, unlock. `there` and `back`
 * have a mutex each, of the default protocol: at equal priorities there is nothing to inherit.
 * Nobody waits for a mutex: a signal does not preempt, so the waiter runs when the other party has
 * unlocked and blocks on its own condition variable.
 *
 * context_switch = round trip / 2 - mean of signal and wait without a switch: what SEM-P-SIG
 * measures for the same kind, with `mutex` unlock and lock. The parameter signal_wait_ns gives that
 * mean from SEM-P-SIG of the same run. Where it does not, it is the mean of the series signal_wait,
 * 20000 values that are taken in any case just before each variant (event signal_wait_mean). The
 * first 64 values of each of the two loops and after each rest are not recorded.
 *
 * The second party counts its answers. If it did not answer exactly once in a round, that was no
 * round trip: the test ends and fails (event not_handed_over).
 *
 * How it could be wrong: on two CPUs there would be no context switch in the figure, so the test is
 * unsupported where threads cannot be kept on one CPU. For some kinds the uncontended pair stays in
 * user space while both calls of a round trip enter the kernel: their context_switch includes two
 * system calls, and with `mutex` more locks and unlocks than the pair has; that of kinds that
 * always enter the kernel does not. Compare it within a kind, and with [O] only for kinds that
 * enter the kernel here and in SEM-P-SIG (on Linux sysv and eventfd). With round robin a party can
 * lose the CPU while it has a mutex; the other one then waits for it.
 */
#include "base/posix_source.h"

#include "family/semaphore/ping_pong.h"

enum { ROUND_TRIP, CONTEXT_SWITCH, SIGNAL_WAIT };
enum { SAMPLES = 50000, SIGNAL_SAMPLES = 20000, BURST = 64 };

static const struct param_spec params[] = {
    SEMAPHORE_AND_MUTEX_PARAM("kinds of semaphore, and a mutex with a condition variable"),
    SEMAPHORE_SCOPE_PARAM("between two threads, between two processes"),
    SIGNAL_WAIT_PARAM,
    {0},
};

static const struct series_spec series[] = {
    {"round_trip", "ns", "kind,scope", "first party before it signals the second",
     "first party after its wait for the answer"},
    {"context_switch", "ns", "kind,scope",
     "round trip / 2 - mean of signal and wait in one thread (SEM-P-SIG, or signal_wait); of kinds "
     "that only enter the kernel when somebody waits it includes two system calls",
     NULL, "round_trip / 2 - mean(signal_wait of SEM-P-SIG in the same run, else its own)",
     .range = {RECORD_NO_LEAST, 0}},
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

static void answer(void *argument)
{
    struct ping_pong_table *table = argument;
    for (;;) {
        semaphore_wait(&table->there);
        if (ping_pong_is_over(table))
            return;
        atomic_fetch_add_explicit(&table->answer_count, 1, memory_order_relaxed);
        semaphore_signal(&table->back);
    }
}

static int take_signal_wait(struct run *run)
{
    signal_wait_take(run, &((struct ping_pong *)run->own)->table->there, SIGNAL_WAIT);
    return 0;
}

/* Takes SIGNAL_SAMPLES values, whatever the run's samples and duration are. */
static int sample_signal_wait(struct run *run)
{
    struct ping_pong *ping_pong = run->own;
    struct semaphore *semaphore = &ping_pong->table->there;
    struct run_budget budget = {SIGNAL_SAMPLES, INT64_MAX};
    burst_begin(run, 0);
    int result = variant_sample_within(run, SIGNAL_WAIT, BURST, &budget, take_signal_wait);
    return result == 0 ? semaphore_check(run, semaphore) : result;
}

/* On a semaphore of the kind that SEM-P-SIG uses: for `mutex`, one without a condition variable. */
static int measure_signal_wait(struct run *run)
{
    struct ping_pong *ping_pong = run->own;
    struct semaphore *semaphore = &ping_pong->table->there;
    int error =
        semaphore_open(semaphore, semaphore_kind_of(run), peer_scope_of(run) == PEER_PROCESS,
                       &ping_pong->ipc_cleanup.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    int result = sample_signal_wait(run);
    semaphore_close(semaphore);
    const struct record *record = run->records[SIGNAL_WAIT];
    if (record->count > 0)
        signal_wait_choose(run, &ping_pong->mean, (int64_t)(record_mean(record) + 0.5));
    return result;
}

/* Fails unless the second party answered exactly once. */
static int take_round_trip(struct run *run)
{
    const struct ping_pong *ping_pong = run->own;
    struct ping_pong_table *table = ping_pong->table;
    uint64_t answers = atomic_load_explicit(&table->answer_count, memory_order_relaxed);
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(&table->there);
    semaphore_wait(&table->back);
    uint64_t end = clock_end(&run->clock);
    if (atomic_load_explicit(&table->answer_count, memory_order_relaxed) != answers + 1)
        return ping_pong_refuse(run, "the second party did not answer exactly once");
    int64_t ns = clock_ns(&run->clock, end - begin);
    run_record_value(run, ROUND_TRIP, ns, end);
    run_record_value(run, CONTEXT_SWITCH, ns / 2 - ping_pong->mean.ns, end);
    return 0;
}

static int measure_variant(struct run *run)
{
    static const struct ping_pong_body body = {BURST, measure_signal_wait, take_round_trip, answer};
    return ping_pong_measure(run, &body);
}

/* Report the means also when the test is stopped early. */
static int measure(struct run *run)
{
    int result = variants_measure(run);
    signal_wait_tell(run, &((struct ping_pong *)run->own)->mean);
    return result;
}

const struct test sem_p_rtp = {
    .id = "SEM-P-RTP",
    .title = "Semaphore round trip between two threads or processes (sync test 2)",
    .source = "[O] Obenland 2000, synchronization test 2",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(500000000),
    .sample_ns = 8000,
    .warm_up_samples = PING_PONG_WARM_UP,
    .check = signal_wait_check,
    .has_variant = peer_has_variant,
    .prepare = ping_pong_prepare,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = ping_pong_finish,
};
