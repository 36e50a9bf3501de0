/* SEM-P-SIG: signal and wait in one thread, "sync test 1" (Obenland 2000).
 *
 * The measuring thread alone, at the run's priority on the run's CPU if it has one, signals a
 * semaphore and waits for it at once: it never blocks, so there is no context switch. begin =
 * before the signal, end = after the wait, with fenced reads of the counter. With the kind `mutex`
 * it unlocks and locks a pthread mutex that it holds. SEM-P-RTP subtracts the mean of this time to
 * find the context switch. The first 64 values of a variant and after each rest are not recorded.
 *
 * An unnamed semaphore or mutex is measured private to a process and shared between processes, in
 * shared memory. The other kinds use the same code path for both and are measured once
 * (uncontended.h).
 *
 * How it could be wrong: for kinds that stay in user space the value is close to the cost of the
 * stamps. The instrument's figures state that cost; it is never subtracted. Compare with [O]
 * only kinds that enter the kernel here and in SEM-P-RTP (on Linux sysv and eventfd).
 */
#include "base/posix_source.h"

#include "family/semaphore/signal_wait.h"
#include "family/semaphore/uncontended.h"

enum { SAMPLES = 100000, BURST = 64 };

static const struct param_spec params[] = {
    SEMAPHORE_AND_MUTEX_PARAM("kinds of semaphore, and the mutex"),
    UNCONTENDED_SCOPES,
    {0},
};

static const struct series_spec series[] = {
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

#define TAKE(word, kind)                                                                           \
    static int take_##word(struct run *run)                                                        \
    {                                                                                              \
        return signal_wait_take(run, ((struct uncontended *)run->own)->semaphore, kind, 0);        \
    }
SEMAPHORE_EACH(TAKE)
TAKE(mutex, SEMAPHORE_MUTEX)
static int (*const takes[])(struct run *run) = {
    SEMAPHORE_TABLE(take), [SEMAPHORE_MUTEX] = take_mutex};

static int measure_variant(struct run *run)
{
    return uncontended_measure_open(run, BURST, takes[semaphore_kind_of(run)]);
}

const struct test sem_p_sig = {
    .id = "SEM-P-SIG",
    .title = "Signal and wait in one thread (sync test 1)",
    .source = "[O] Obenland 2000, synchronization test 1",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 500,
    .warm_up_samples = UNCONTENDED_WARM_UP,
    .has_variant = uncontended_has_variant,
    .prepare = uncontended_prepare,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = uncontended_finish,
};
