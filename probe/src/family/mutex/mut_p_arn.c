/* MUT-P-ARN: lock and unlock a mutex without contention (Dedicated Systems 2012).
 *
 * What: lock of a free mutex, unlock with nobody waiting, for each protocol. The ceiling of
 *   `protect` is the thread's own priority: locking changes no priority but has to find that out.
 * Begin, end: before and after each call, timed alone, by fenced reads of the counter.
 * Threads: the measuring thread alone, at the run's priority on the run's CPU if it has one. The
 *   first 64 pairs of a variant and after each rest are not recorded.
 * Wrong if: lock and unlock stay in user space: the value is then close to the cost of a pair of
 *   stamps, which the instrument's figures state and which is never subtracted.
 */
#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"
#include "run/run.h"
#include "run/variant.h"

#include <sched.h>

enum { ACQUIRE, RELEASE };
enum { SAMPLES = 100000, BURST = 64, WARM_UP = 64 };

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, lock_kind_protocol_names,
     "protocols of the mutex", "protocol"},
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "protocol", "before lock of a free mutex", "after the same call"},
    {"release", "ns", "protocol", "before unlock with nobody waiting", "after the same call"},
    {0},
};

struct own {
    int tried_count;
    struct lock lock;
};

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static int take(struct run *run)
{
    pthread_mutex_t *mutex = &((struct own *)run->own)->lock.mutex;
    uint64_t begin = clock_begin(&run->clock);
    pthread_mutex_lock(mutex);
    uint64_t locked = clock_end(&run->clock);
    uint64_t letting_go = clock_begin(&run->clock);
    pthread_mutex_unlock(mutex);
    uint64_t end = clock_end(&run->clock);
    run_take(run, ACQUIRE, begin, locked);
    run_take(run, RELEASE, letting_go, end);
    return 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "protocols");
    if (!lock_kind_is_here(run, kind))
        return 0;
    int error = lock_open(&own->lock, kind, run->setup.priority);
    if (error)
        return outcome_set_errno(&run->outcome, error, lock_kind_names[kind], NULL);
    own->tried_count++;
    burst_begin(run, 0);
    int result = variant_sample(run, ACQUIRE, BURST, take);
    lock_close(&own->lock);
    return result;
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_arn = {
    .id = "MUT-P-ARN",
    .title = "Lock and unlock a mutex without contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 200,
    .warm_up_samples = WARM_UP,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
