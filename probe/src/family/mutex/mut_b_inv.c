/* MUT-B-INV: which primitives are vulnerable to priority inversion (Garre et al. 2014).
 *
 * The scenario of inversion.h on one CPU, which also states threads and priorities, for each
 * primitive: low holds it, high asks for it, medium, made ready by low, spins for `medium_ns`. A
 * primitive is vulnerable if medium ran before high was done, or if the round locks up (high spins
 * on a spin lock for ever, so low, which holds it, never runs): the watchdog ended it and each
 * repeat with longer limits. 5 rounds count; 8 rounds before them and after each rest do not.
 *   inverted            1 for a round in which medium ran before high was done, else 0
 *   ended_by_watchdog   1 for a round that locked up, else 0
 *   delay               begin = low's first stamp with the primitive, end = high's first stamp with
 *                       it; no value if the watchdog ended the round: that would be its own limit
 * The first two have one value a round; the maximum is the answer.
 *
 * POSIX promises that inheritance and ceilings avoid the inversion, so only these get a verdict.
 * The others have no owner that could inherit a priority, or promise nothing: the order seen is an
 * event (`vulnerable` or `not_vulnerable`), and neither pass nor fail.
 *
 * [G] found no system vulnerable with semaphores. On Xenomai it used pthread_mutex in place of
 * sem_t: that result belongs beside a mutex here. `semaphore` is a POSIX semaphore in this test.
 *
 * How it could be wrong: an order in which high never had to wait would show nothing, so a verdict
 * needs exactly the promised order; for the others the events show the order. The threads' log
 * entries are part of `delay`; MUT-P-INV measures it without a log.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "run/run.h"
#include "run/variant.h"

#include <stdio.h>

enum { ROUNDS = 5 };

static const struct param_spec params[] = {
    {"primitives", PARAM_NAME, true,
     "none,inherit,protect,semaphore,robust,robust-inherit,spin,rwlock,condition", 0, 0,
     lock_kind_names, "the primitive that the low thread holds and the high thread requests",
     "primitive"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL, "what medium burns"},
    {0},
};

enum { INVERTED, ENDED_BY_WATCHDOG, DELAY };

#define EITHER                                                                                     \
    {                                                                                              \
        .most = 1                                                                                  \
    }

static const struct series_spec series[] = {
    {"inverted", "count", "primitive",
     "1: medium ran before high had the primitive and was done; 0: it did not; one value a round",
     NULL, NULL, RECORD_SHAPE_COUNT, EITHER},
    {"ended_by_watchdog", "count", "primitive",
     "1: the round locked up and the watchdog ended it; 0: it ended by itself; one value a round",
     NULL, NULL, RECORD_SHAPE_COUNT, EITHER},
    {"delay", "ns", "primitive", "low has the primitive", "high has it", .may_be_empty = true},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"not_vulnerable", "the medium thread does not run before the high thread is done; for kinds "
                       "where POSIX promises that"},
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

static void record_round(struct run *run, bool is_in_time)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    int64_t at_ns = inversion_got_at_ns(scenario);
    bool is_inverted = order_log_place(&scenario->log, "medium", "ran") <
                       order_log_place(&scenario->log, "high", "ended");
    record_value(run_record(run, INVERTED), is_inverted ? 1 : 0, at_ns);
    record_value(run_record(run, ENDED_BY_WATCHDOG), is_in_time ? 0 : 1, at_ns);
    if (is_in_time)
        run_take(run, DELAY, atomic_load(&scenario->locked), atomic_load(&scenario->got));
}

static void tell(struct run *run, bool is_avoided)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    const char *lock = lock_kind_names[scenario->setup.kind];
    char name[ARENA_NAME_BYTES], seen[ARENA_TEXT_BYTES / 2];
    if (lock_kind_is_promised(scenario->setup.kind)) {
        snprintf(name, sizeof name, "not_vulnerable/%s", lock);
        order_log_verdict(&scenario->log, run->arena, name, inversion_promise(&scenario->setup));
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    bool locks_up = order_log_place(&scenario->log, "watchdog", "freed low") >= 0;
    arena_event(run->arena, is_avoided ? "not_vulnerable" : "vulnerable", -1,
                DATA(data_text("lock", lock), data_bool("is_vulnerable", !is_avoided),
                     data_bool("locks_up", locks_up), data_text("order", seen)),
                "%s: %s%s: %s", lock, is_avoided ? "not vulnerable" : "vulnerable",
                locks_up ? ": it locks up, the watchdog ended it" : "", seen);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "primitives");
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns"), .is_logged = true};
    if (!lock_kind_is_here(run, kind))
        return 0;
    if (inversion_begin(&own->scenario, run, &setup) != 0)
        return -1;
    own->tried_count++;
    bool is_avoided = inversion_rounds(&own->scenario, run, ROUNDS, record_round);
    inversion_close(&own->scenario);
    if (!run_should_stop())
        tell(run, is_avoided);
    return 0;
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_b_inv = {
    .id = "MUT-B-INV",
    .title = "Priority inversion by primitive",
    .source = "[G] Garre et al. 2014",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(1500000000),
    .sample_ns = 130000,
    .sample_param = "medium_ns",
    .sample_percent = 130,
    .extra_samples = ROUNDS,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
