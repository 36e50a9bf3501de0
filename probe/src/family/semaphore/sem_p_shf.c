/* SEM-P-SHF: semaphore shuffle (Rhealstone; Garre et al. 2014).
 *
 * What: two parties, threads or processes that share memory, hand two semaphores back and forth. A
 *   value is one hand-over, in either direction: V, which does not preempt the giver, its P up to
 *   its blocking, the context switch, the return of the taker's P.
 * Begin, end: the giver before its V, the taker after its P, in which it was blocked; fenced reads
 *   of the counter on the same CPU, so there is no skew between them.
 * Threads: the measuring thread is one party; both at the run's priority on one CPU. With the kind
 *   `mutex` each direction has a mutex, of the default protocol, and a condition variable. The
 *   first 64 rounds of a variant and after each rest are not recorded.
 * Wrong if: the stamps of a round are not in the order given, received, answered, taken: nothing
 *   was handed over, the test ends and fails (event not_handed_over). On two CPUs a hand-over would
 *   be a wake-up: unsupported where threads cannot be kept on one. With round robin a party can
 *   lose the CPU while it has a mutex; the other one then waits for it.
 */
#include "base/posix_source.h"

#include "family/semaphore/ping_pong.h"

enum { SAMPLES = 50000, BURST = 32 };

static const struct param_spec params[] = {
    SEMAPHORE_AND_MUTEX_PARAM("kinds of semaphore, and a mutex with a condition variable"),
    SEMAPHORE_SCOPE_PARAM("between two threads, between two processes"),
    {0},
};

static const struct series_spec series[] = {
    {"shuffle", "ns", "kind,scope", "one party before its V", "the other party after its P"},
    {0},
};

SEMAPHORE_INLINE void answer(void *argument, enum semaphore_kind kind)
{
    struct ping_pong_table *table = argument;
    for (;;) {
        semaphore_wait_of(&table->there, kind);
        uint64_t received = clock_end(table->clock);
        if (ping_pong_is_over(table))
            return;
        atomic_store_explicit(&table->received_ticks, received, memory_order_relaxed);
        atomic_store_explicit(&table->answered_ticks, clock_begin(table->clock),
                              memory_order_relaxed);
        semaphore_signal_of(&table->back, kind);
    }
}

static bool is_not_after(uint64_t one, uint64_t other)
{
    return (int64_t)(other - one) >= 0;
}

static bool are_in_order(uint64_t given, uint64_t received, uint64_t answered, uint64_t taken)
{
    return received != 0 && answered != 0 && is_not_after(given, received) &&
           is_not_after(received, answered) && is_not_after(answered, taken);
}

/* The second is not recorded if only one value was left to take. Fails unless the second party took
 * and gave in between. */
static __attribute__((noinline)) int keep(struct run *run, uint64_t given, uint64_t taken)
{
    const struct ping_pong_table *table = ((struct ping_pong *)run->own)->table;
    uint64_t received = atomic_load_explicit(&table->received_ticks, memory_order_relaxed);
    uint64_t answered = atomic_load_explicit(&table->answered_ticks, memory_order_relaxed);
    if (!are_in_order(given, received, answered, taken))
        return ping_pong_refuse(run, "a hand-over ended before the other party had taken part");
    run_take(run, 0, given, received);
    if (run->samples == 0 || run_record(run, 0)->count < run->samples)
        run_take(run, 0, answered, taken);
    return 0;
}

/* One hand-over in each direction. */
SEMAPHORE_INLINE int take(struct run *run, enum semaphore_kind kind)
{
    struct ping_pong_table *table = ((struct ping_pong *)run->own)->table;
    atomic_store_explicit(&table->received_ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&table->answered_ticks, 0, memory_order_relaxed);
    uint64_t given = clock_begin(&run->clock);
    semaphore_signal_of(&table->there, kind);
    semaphore_wait_of(&table->back, kind);
    uint64_t taken = clock_end(&run->clock);
    return keep(run, given, taken);
}

PING_PONG_KINDS

static int measure_variant(struct run *run)
{
    static const struct ping_pong_body body = {0, BURST, NULL, takes, answers};
    return ping_pong_measure(run, &body);
}

const struct test sem_p_shf = {
    .id = "SEM-P-SHF",
    .title = "Semaphore shuffle",
    .source = "[G] Garre et al. 2014, Rhealstone",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(300000000),
    .sample_ns = 4000,
    .warm_up_samples = PING_PONG_WARM_UP,
    .has_variant = peer_has_variant,
    .prepare = ping_pong_prepare,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = ping_pong_finish,
};
