/* MUT-P-ARC: lock and unlock a mutex with contention (Dedicated Systems 2012).
 *
 * What: the scenario of inversion.h in a loop, without its log. Medium does nothing but run; with
 *   protocol none it has run and ended before low unlocks.
 * Begin, end: acquire: high before it asks for the lock that low owns, low's first stamp when it
 *   runs again. release: low before unlock, high's first stamp with the lock; medium was made ready
 *   before. Fenced reads of the counter by two threads on the same CPU. With protocol protect high
 *   never waits: no acquire (event no_contention), and release includes high's request.
 * Threads: inversion.h has them; all on one CPU. The first 8 rounds of a variant and after each
 *   rest are not recorded.
 * Wrong if: high did not ask while low owned the lock and before low ran again (with protect: after
 *   low unlocked): the test ends and fails (event not_the_case). acquire includes low's return from
 *   the call that made high ready, in which it was preempted.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "run/run.h"
#include "run/variant.h"

enum { ACQUIRE, RELEASE };
enum { SAMPLES = 10000, BURST = 16, WARM_UP = 8 };

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, lock_kind_protocol_names,
     "protocols of the mutex", "protocol"},
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "protocol", "high before its request for the lock that low owns",
     "low running again", .may_be_empty = true},
    {"release", "ns", "protocol",
     "low before unlock; medium is ready, or with protocol none has run",
     "high running with the lock; with protocol protect its request is in between"},
    {0},
};

struct own {
    int tried_count;
    uint64_t uncontended;
    struct inversion scenario;
};

static int prepare(struct run *run)
{
    return inversion_prepare(run, sizeof(struct own));
}

static void record_round(struct run *run)
{
    struct own *own = run->own;
    const struct inversion *scenario = &own->scenario;
    uint64_t ran = atomic_load(&scenario->ran), got = atomic_load(&scenario->got);
    if (scenario->setup.kind == LOCK_KIND_PROTECT)
        own->uncontended += run->is_warm_up ? 0 : 1;
    else
        run_take(run, ACQUIRE, atomic_load(&scenario->asked), ran);
    run_take(run, RELEASE, atomic_load(&scenario->letting_go), got);
}

static int take_round(struct run *run)
{
    struct own *own = run->own;
    bool is_in_time = inversion_round(&own->scenario);
    if (!is_in_time || !inversion_took_place(&own->scenario)) {
        burst_next(run); /* reports throttling */
        return inversion_refuse(&own->scenario, run, is_in_time, "MUT-B-ARC");
    }
    record_round(run);
    return 0;
}

static void report_uncontended(struct run *run, enum lock_kind kind)
{
    struct own *own = run->own;
    if (own->uncontended > 0)
        arena_event(run->arena, "no_contention", -1,
                    DATA(data_text("protocol", lock_kind_names[kind]),
                         data_integer("rounds_count", (int64_t)own->uncontended)),
                    "%s: in %llu rounds high asked only after low had released the lock: acquire "
                    "has no value, and "
                    "release includes high's request",
                    lock_kind_names[kind], (unsigned long long)own->uncontended);
    own->uncontended = 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "protocols");
    struct inversion_setup setup = {.kind = kind, .links = 1};
    if (!lock_kind_is_here(run, kind))
        return 0;
    if (inversion_begin(&own->scenario, run, &setup) != 0)
        return -1;
    own->tried_count++;
    int result = variant_sample(run, RELEASE, BURST, take_round);
    inversion_close(&own->scenario);
    report_uncontended(run, kind);
    return result;
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_arc = {
    .id = "MUT-P-ARC",
    .title = "Lock and unlock a mutex with contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU | TEST_NEEDS_UNNAMED_SEMAPHORES,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 28000,
    .warm_up_samples = WARM_UP,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
