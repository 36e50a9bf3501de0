/* MUT-P-INV: delay by priority inversion, "sync test 3" (Obenland 2000).
 *
 * The scenario of inversion.h on one CPU, without its log; inversion.h states threads and
 * priorities. Low locks the resource, high blocks on it, medium is made ready and spins for
 * `medium_ns`, low unlocks. begin = low's first stamp after it locked the resource; end = high's
 * first stamp with it. With priority inversion the delay is `medium_ns` and a little more; without,
 * it is a few context switches. For each protocol of a mutex, and for a semaphore. Before the first
 * round of a variant and after each rest 8 rounds run in which medium does not spin; these are not
 * recorded.
 *
 * In each round high must have asked while low held the resource and before low released it (with a
 * ceiling: only after that). Otherwise the test ends and fails (event not_the_case).
 *
 * How it could be wrong: medium spins for a time and not for a number of cycles, so what interrupts
 * it adds nothing to the delay; what interrupts the others does.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "run/run.h"
#include "run/variant.h"

enum { SAMPLES = 100 };

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect,semaphore", 0, 0, lock_kind_delay_names,
     "protocols of the mutex, and the semaphore", "protocol"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL, "what medium burns"},
    {0},
};

static const struct series_spec series[] = {
    {"delay", "ns", "protocol", "low has the resource", "high has it"},
    {0},
};

struct own {
    int tried_count;
    struct inversion scenario;
};

static int prepare(struct run *run)
{
    return inversion_prepare(run, sizeof(struct own));
}

static int take_round(struct run *run)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    inversion_warm_up(scenario); /* after a rest; without what medium burns */
    bool is_in_time = inversion_round(scenario);
    if (!is_in_time || !inversion_took_place(scenario)) {
        burst_next(run); /* reports throttling */
        return inversion_refuse(scenario, run, is_in_time, "MUT-B-INV");
    }
    run_take(run, 0, atomic_load(&scenario->locked), atomic_load(&scenario->got));
    return 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "protocols");
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns")};
    if (!lock_kind_is_here(run, kind))
        return 0;
    if (inversion_begin(&own->scenario, run, &setup) != 0)
        return -1;
    own->tried_count++;
    int result = variant_sample(run, 0, 1, take_round);
    inversion_close(&own->scenario);
    return result;
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_inv = {
    .id = "MUT-P-INV",
    .title = "Delay by priority inversion (sync test 3)",
    .source = "[O] Obenland 2000, synchronization test 3",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 130000,
    .sample_param = "medium_ns",
    .sample_percent = 130,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
