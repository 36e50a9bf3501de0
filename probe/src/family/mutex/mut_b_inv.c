/* MUT-B-INV: which primitives are vulnerable to priority inversion (Garre et al. 2014).
 *
 * The scenario of inversion.h on one CPU for each primitive: low has it, high asks for it,
 * medium, made ready by low, burns `medium_ns`. A primitive is vulnerable when medium ran
 * before high was done, or when the round had to be ended by the watchdog (a spin lock:
 * high spins for ever, and low, which has the lock, never runs).
 *   inverted            1 for a round in which medium ran before high was done, else 0
 *   ended_by_watchdog   1 for a round that the watchdog had to end, else 0
 *   delay               begin = low has the primitive, end = high has it; no value where the
 *                       watchdog ended the round: that would be its limit, not the system's
 * The first two are the table: a value a round, the maximum is the answer.
 *
 * POSIX promises that inheritance and ceilings avoid the inversion; only for them is there
 * a verdict. All the others have no owner who could be lent a priority, or promise nothing:
 * the table says what they do, with the order seen as events `vulnerable` and `not_vulnerable`,
 * neither pass nor fail.
 *
 * How it could be wrong: an order in which high never had to wait would show nothing, so
 * the promised order must be matched exactly for a verdict, and is told for the others.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"

#include <stdio.h>

enum { ROUNDS = 5 };

static const struct param_spec params[] = {
    {"primitives", PARAM_NAME, true,
     "none,inherit,protect,semaphore,robust,robust-inherit,spin,rwlock,condition", 0, 0,
     primitive_names, "what low has and high asks for"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL, "what medium burns"},
    {0},
};

enum { INVERTED, ENDED_BY_WATCHDOG, DELAY, SERIES_PER_PRIMITIVE };

static const struct series_spec series[] = {
    {"inverted", "count", "primitive",
     "1: medium ran before high had the primitive and was done; 0: it did not; one value a round",
     NULL},
    {"ended_by_watchdog", "count", "primitive",
     "1: the round locked up and the watchdog ended it; 0: it ended by itself; one value a round",
     NULL},
    {"delay", "ns", "primitive", "low has the primitive", "high has it"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"not_vulnerable", "medium does not run before high is done; of what POSIX promises it"},
    {0},
};

struct own {
    struct pace pace;
    int tried_count, place;
    struct inversion scenario;
};

static int64_t expected_ns(const struct run *run)
{
    int64_t round_ns = run_number(run, "medium_ns") + INVERSION_LIMIT_NS / 4;
    return round_ns * ROUNDS * run_param(run, "primitives")->count * 3 / 2;
}

static int size(struct run *run)
{
    const struct param_value *primitives = run_param(run, "primitives");
    for (int i = 0; i < primitives->count * SERIES_PER_PRIMITIVE; i++) {
        const struct series_spec *spec = &series[i % SERIES_PER_PRIMITIVE];
        const char *primitive = primitive_names[primitives->number[i / SERIES_PER_PRIMITIVE]];
        if (run_add_series(run, spec->name, spec->unit, "primitive", primitive) < 0)
            return -1;
    }
    return 0;
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, INVERSION_LEVELS) != 0)
        return -1;
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void record_round(struct run *run, int64_t now_ns, bool is_in_time)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    uint64_t ticks = atomic_load(&scenario->got) - atomic_load(&scenario->locked);
    int64_t at_ns = run_at_ns(run, now_ns);
    bool is_inverted = order_log_place(&scenario->log, "medium", "ran") <
                       order_log_place(&scenario->log, "high", "ended");
    record_value(arena_record(run->arena, own->place + INVERTED), is_inverted ? 1 : 0, at_ns);
    record_value(arena_record(run->arena, own->place + ENDED_BY_WATCHDOG), is_in_time ? 0 : 1,
                 at_ns);
    if (is_in_time)
        record_value(arena_record(run->arena, own->place + DELAY), clock_ns(&run->clock, ticks),
                     at_ns);
}

static void tell(struct run *run, bool is_avoided)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    const char *primitive = primitive_names[scenario->setup.kind];
    char name[ARENA_NAME_BYTES], seen[ARENA_TEXT_BYTES / 2];
    if (primitive_is_promised(scenario->setup.kind)) {
        snprintf(name, sizeof name, "not_vulnerable/%s", primitive);
        order_log_verdict(&scenario->log, run->arena, name, inversion_promise(&scenario->setup));
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    arena_event(run->arena, is_avoided ? "not_vulnerable" : "vulnerable", -1, "%s: %s%s: %s",
                primitive, is_avoided ? "not vulnerable" : "vulnerable",
                order_log_place(&scenario->log, "watchdog", "freed low") >= 0
                    ? ": it locks up, the watchdog ended it"
                    : "",
                seen);
}

static int try_primitive(struct run *run, int place, enum primitive_kind kind)
{
    struct own *own = run->own;
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns"), .is_logged = true};
    if (!primitive_is_here(run, kind))
        return 0;
    int error = inversion_open(&own->scenario, run, &setup);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the threads", NULL);
    own->tried_count++;
    pace_begin(&own->pace, run, 0);
    own->place = place * SERIES_PER_PRIMITIVE;
    bool is_avoided = inversion_rounds(&own->scenario, &own->pace, ROUNDS, record_round);
    inversion_close(&own->scenario);
    if (!run_should_stop())
        tell(run, is_avoided);
    return 0;
}

static int measure(struct run *run)
{
    const struct param_value *primitives = run_param(run, "primitives");
    for (int i = 0; i < primitives->count && !run_should_stop(); i++)
        if (try_primitive(run, i, (enum primitive_kind)primitives->number[i]) != 0)
            return -1;
    return 0;
}

static int judge(struct run *run)
{
    return primitive_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_b_inv = {
    .id = "MUT-B-INV",
    .title = "Primitives that are vulnerable to priority inversion",
    .source = "[G] Garre et al. 2014",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};
