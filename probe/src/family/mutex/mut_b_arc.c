/* MUT-B-ARC: priority inversion is avoided (Dedicated Systems 2012).
 *
 * The scenario of inversion.h on one CPU: low owns the lock, high asks for it, medium is
 * made ready, low lets go. Each thread notes what it does in a log of counter readings; a
 * claim holds when the order is exactly the promised one in each of some rounds.
 *   avoided     medium does not run before high is done
 *   chain       the same where high waits for a third lock, whose owner waits for a second,
 *               whose owner waits for the first, which low has
 *   boost_goes  high waits for a time only; while it waits medium does not run, and when
 *               it gave up medium runs at once: what low inherited is gone
 *
 * Verdicts are claims about what POSIX promises: of PTHREAD_PRIO_INHERIT and of
 * PTHREAD_PRIO_PROTECT. With PTHREAD_PRIO_NONE ownership must not change priorities, so
 * the inversion is no fault of the system, and avoiding it no merit: `none` is told as
 * an event, with the order seen, and is neither pass nor fail.
 *
 * How it could be wrong: on two CPUs medium would run beside the others, so the test needs
 * one; the log is written by the threads themselves at their own priorities, so an entry
 * stands where its thread ran.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"

#include <stdio.h>

enum { ROUNDS = 20 };

#define EXPECTED_NS INT64_C(2000000000)

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, primitive_protocol_names,
     "protocols of the mutex"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"avoided", "medium does not run between high's request and its release of the lock"},
    {"chain", "the same through a chain of three locks"},
    {"boost_goes", "a waiter that times out takes the priority that it lent back with it"},
    {0},
};

struct own {
    struct pace pace;
    int tried_count;
    struct inversion scenario;
};

static int64_t expected_ns(const struct run *run)
{
    (void)run;
    return EXPECTED_NS;
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, INVERSION_LEVELS) != 0)
        return -1;
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void tell(struct run *run, const char *claim, const struct inversion_setup *setup)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    char name[ARENA_NAME_BYTES], seen[ARENA_TEXT_BYTES / 2];
    if (setup->kind != PRIMITIVE_NONE) {
        snprintf(name, sizeof name, "%s/%s", claim, primitive_names[setup->kind]);
        order_log_verdict(&scenario->log, run->arena, name, inversion_promise(setup));
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    arena_event(run->arena, "inversion", -1, "none, %s: %s: %s",
                setup->links > 1 ? "chain of three" : "one lock",
                inversion_was_avoided(scenario)
                    ? "no inversion"
                    : "priority inversion, which POSIX allows with this protocol",
                seen);
}

static int try_claim(struct run *run, const char *claim, const struct inversion_setup *setup)
{
    struct own *own = run->own;
    int error = inversion_open(&own->scenario, run, setup);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the threads", NULL);
    pace_begin(&own->pace, run, 0);
    inversion_rounds(&own->scenario, &own->pace, ROUNDS, NULL);
    inversion_close(&own->scenario);
    if (!run_should_stop())
        tell(run, claim, setup);
    return 0;
}

static int try_protocol(struct run *run, enum primitive_kind kind)
{
    struct own *own = run->own;
    struct inversion_setup one = {.kind = kind, .links = 1, .is_logged = true};
    struct inversion_setup chain = one, timed = one;
    if (!primitive_is_here(run, kind))
        return 0;
    own->tried_count++;
    chain.links = INVERSION_LINKS;
    timed.high_gives_up = true;
    if (try_claim(run, "avoided", &one) != 0 || try_claim(run, "chain", &chain) != 0)
        return -1;
    return kind == PRIMITIVE_INHERIT ? try_claim(run, "boost_goes", &timed) : 0;
}

static int measure(struct run *run)
{
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count && !run_should_stop(); i++)
        if (try_protocol(run, (enum primitive_kind)protocols->number[i]) != 0)
            return -1;
    return 0;
}

static int judge(struct run *run)
{
    return primitive_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_b_arc = {
    .id = "MUT-B-ARC",
    .title = "Priority inversion is avoided",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME,
    .expected_ns = expected_ns,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};
