/* MUT-B-ARC: priority inversion is avoided (Dedicated Systems 2012).
 *
 * What: the scenario of inversion.h: low owns the lock, high asks for it, medium is made ready, low
 *   unlocks. avoided: medium does not run before high is done; chain: the same where high waits for
 *   the last of three locks; boost_goes (inherit only): high waits with a timeout, medium does not
 *   run while it waits and runs at once after it. A claim holds if the order is exactly the
 *   promised one in each of 20 rounds.
 * Begin, end: none; each thread logs what it does with a reading of the counter.
 * Threads: inversion.h has them; all on one CPU. 8 rounds before and after each rest do not count.
 * Wrong if: on two CPUs medium would run beside the others, so the test needs one. A round that is
 *   out of order because a limit expired, the watchdog's or that of high's wait, is repeated with
 *   longer limits, one from which the CPU was taken, or in which high did not wait, with the same;
 *   if that happens too often there is no verdict. With PTHREAD_PRIO_NONE an inversion is no fault
 * and its absence no merit: the order seen is an event, and neither pass nor fail.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "run/run.h"
#include "run/variant.h"

#include <stdio.h>

/* Of a claim; fewer where low spins until high's timeout. */
enum { ROUNDS = 20, TIMED_ROUNDS = 5 };

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, lock_kind_protocol_names,
     "protocols of the mutex", "protocol"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"avoided", "the medium thread does not run between the high thread's request for the lock and "
                "its release"},
    {"chain", "the same with a chain of three locks"},
    {"boost_goes", "when a waiter times out, the owner loses the inherited priority"},
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

static void report(struct run *run, const char *claim, const struct inversion_setup *setup)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    char name[ARENA_NAME_BYTES], seen[ARENA_TEXT_BYTES / 2];
    if (setup->kind != LOCK_KIND_NONE) {
        snprintf(name, sizeof name, "%s/%s", claim, lock_kind_names[setup->kind]);
        inversion_verdict(scenario, run, name);
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    arena_event(run->arena, "inversion", -1,
                DATA(data_text("lock", lock_kind_names[setup->kind]),
                     data_integer("links_count", setup->links),
                     data_bool("is_inverted", !inversion_was_avoided(scenario)),
                     data_text("order", seen)),
                "none, %s: %s: %s", setup->links > 1 ? "chain of three" : "one lock",
                inversion_was_avoided(scenario)
                    ? "no inversion"
                    : "priority inversion, which POSIX allows with this protocol",
                seen);
}

static int try_claim(struct run *run, const char *claim, const struct inversion_setup *setup)
{
    struct own *own = run->own;
    if (inversion_begin(&own->scenario, run, setup) != 0)
        return -1;
    inversion_rounds(&own->scenario, run, setup->high_gives_up ? TIMED_ROUNDS : ROUNDS, NULL);
    inversion_close(&own->scenario);
    if (!run_should_stop())
        report(run, claim, setup);
    return 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "protocols");
    struct inversion_setup one = {.kind = kind, .links = 1, .is_logged = true};
    struct inversion_setup chain = one, timed = one;
    if (!lock_kind_is_here(run, kind))
        return 0;
    own->tried_count++;
    chain.links = INVERSION_LINKS;
    timed.high_gives_up = true;
    if (try_claim(run, "avoided", &one) != 0 || try_claim(run, "chain", &chain) != 0)
        return -1;
    return kind == LOCK_KIND_INHERIT ? try_claim(run, "boost_goes", &timed) : 0;
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_b_arc = {
    .id = "MUT-B-ARC",
    .title = "Mutex: priority inversion is avoided",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(200000000),
    .sample_ns = 1,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};
