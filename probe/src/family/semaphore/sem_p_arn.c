/* SEM-P-ARN: acquire and release a semaphore without contention (Dedicated Systems 2012).
 *
 * The measuring thread alone, at the run's priority on the run's CPU if it has one; nobody waits.
 *   release   begin = before V at value 0, end = after the same call
 *   acquire   begin = before P at value 1, end = after the same call
 * Batches are not allowed: each call is timed alone, with fenced reads of the counter, since the
 * mean of a batch would hide every slow call. The first 64 pairs of a variant and after each rest
 * are not recorded.
 *
 * An unnamed semaphore is measured private to a process and shared between processes, in shared
 * memory. The other kinds use the same code path for both and are measured once (uncontended.h).
 *
 * How it could be wrong: for kinds that stay in user space the value is close to the cost of a pair
 * of stamps. The instrument's figures state that cost; it is never subtracted.
 */
#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

enum { ACQUIRE, RELEASE };
enum { SAMPLES = 100000, BURST = 64 };

static const struct param_spec params[] = {
    SEMAPHORE_KIND_PARAM,
    UNCONTENDED_SCOPES,
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "kind,scope", "before P at value 1", "after the same call"},
    {"release", "ns", "kind,scope", "before V at value 0 with nobody waiting",
     "after the same call"},
    {0},
};

static int keep(struct run *run, uint64_t begin, uint64_t signalled, uint64_t asked, uint64_t end)
{
    run_take(run, ACQUIRE, asked, end);
    run_take(run, RELEASE, begin, signalled);
    return 0;
}

SEMAPHORE_INLINE int take(struct run *run, enum semaphore_kind kind)
{
    struct semaphore *semaphore = ((struct uncontended *)run->own)->semaphore;
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal_of(semaphore, kind);
    uint64_t signalled = clock_end(&run->clock);
    uint64_t asked = clock_begin(&run->clock);
    semaphore_wait_of(semaphore, kind);
    uint64_t end = clock_end(&run->clock);
    return keep(run, begin, signalled, asked, end);
}

#define TAKE(word, kind)                                                                           \
    static int take_##word(struct run *run)                                                        \
    {                                                                                              \
        return take(run, kind);                                                                    \
    }
SEMAPHORE_EACH(TAKE)
static int (*const takes[])(struct run *run) = {SEMAPHORE_TABLE(take)};

static int measure_variant(struct run *run)
{
    return uncontended_measure_open(run, BURST, takes[semaphore_kind_of(run)]);
}

const struct test sem_p_arn = {
    .id = "SEM-P-ARN",
    .title = "Acquire and release a semaphore without contention",
    .source = "[D] Dedicated Systems 2012",
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
