/* POS-B-INV: the options of POSIX and what they are worth (Obenland 2000, tables 1 to 3).
 *
 * What: three means that are kept apart, because they differ: what the headers say (the macro, when
 *   the probe was built), what sysconf or pathconf says, and what a real call does, made in a way
 *   that decides. Refused is not failed: what needs a privilege or another limit is `denied`. A
 *   claim is false if headers or sysconf make it and the call fails or is missing. A profile of
 *   1003.13 that is not satisfied is an answer and no fault: an event.
 * Begin, end: nothing is timed; the end of a call by its deadline is an answer too.
 * Threads: each call is a time-shared process of the runner, one at a time, and sets priorities
 *   itself where the option is about them.
 * Wrong if: a call that works once does not always; the tests of its family look longer. A probe
 *   that was built elsewhere has the macros of that system. A call that gets no time is taken for
 *   one that hangs (-p limit_ns).
 */
#include "base/posix_source.h"

#include "family/posix/call_runner.h"
#include "family/posix/limits.h"

#include "family/shared/ipc_cleanup.h"
#include "run/run.h"
#include "run/supervise.h"
#include "work/scratch.h"

#include <errno.h>
#include <stddef.h>

static const struct param_spec params[] = {
    {"limit_ns", PARAM_NS, false, "5s", 50000000, INT64_C(60000000000), NULL,
     "time after which a call counts as hanging and is ended", NULL},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"claims_are_true", "a real call does what headers or sysconf claim"},
    {"priorities_32", "a real-time policy has 32 priorities or more, and each can be set"},
    {"limits_at_least_posix_minimum",
     "no limit for threads and real-time is below POSIX's minimum, and calls reach it"},
    {"base_limits_at_least_posix_minimum",
     "no limit for files, names and processes is below POSIX's minimum, and calls reach it"},
    {0},
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct scratch scratch;
    bool has_cleanup;
    posix_call calls[CALLS_MOST];
    int limit_place[CALLS_MOST]; /* of the call of a limit, among all calls */
    int option_count, limit_count, fifo_place, rr_place;
    struct call_runner runner;
    struct answer limits[CALLS_MOST];
};

static int declare(struct run *run)
{
    run->plan.more_events = (uint32_t)inventory_events();
    return 0;
}

static int add_call(struct own *own, posix_call call)
{
    own->calls[own->runner.count] = call;
    return own->runner.count++;
}

static void list_calls(struct own *own)
{
    own->option_count = option_count();
    for (int i = 0; i < own->option_count; i++)
        add_call(own, posix_options[i].call);
    for (; posix_limits[own->limit_count].key; own->limit_count++)
        own->limit_place[own->limit_count] =
            posix_limits[own->limit_count].reach
                ? add_call(own, posix_limits[own->limit_count].reach)
                : -1;
    own->fifo_place = add_call(own, reach_priorities_fifo);
    own->rr_place = add_call(own, reach_priorities_rr);
}

static int open_places(struct run *run)
{
    struct own *own = run->own;
    /* The load has a folder by the seed alone. */
    scratch_choose(&own->scratch, true, run->seed ^ (uint64_t)clock_monotonic_ns());
    scratch_sweep(&own->scratch);
    if (ipc_cleanup_open_with(&own->ipc_cleanup, run, &own->scratch) != 0)
        return -1;
    own->has_cleanup = true;
    if (scratch_make(&own->scratch) != 0)
        own->scratch.own[0] = '\0'; /* calls that need it are untried, and say so */
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own || open_places(run) != 0)
        return -1;
    list_calls(own);
    own->runner.calls = own->calls;
    own->runner.limit_ns = run_number(run, "limit_ns");
    own->runner.tools = (struct call_tools){.name = own->ipc_cleanup.places[0].name,
                                            .scratch = &own->scratch,
                                            .wait_ns = own->runner.limit_ns / 2};
    int error = call_runner_open(&own->runner);
    run_lock_again(run);
    return error ? outcome_set_errno(&run->outcome, error, "starting the process of the calls",
                                     "raise ulimit -u")
                 : 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    if (own->runner.process == 0)
        arena_event(run->arena, "calls_without_deadline", -1, NO_DATA,
                    "this system has no processes: each call runs in the probe, where one that "
                    "hangs ends the test");
    int error = call_runner_run(&own->runner);
    return error ? supervise_ended_early(run, "process of the calls") : 0;
}

static int judge(struct run *run)
{
    struct own *own = run->own;
    const struct answer *answers = own->runner.board->answers;
    struct inventory inventory = {.option_count = own->option_count,
                                  .limit_count = own->limit_count,
                                  .options = answers,
                                  .limits = own->limits,
                                  .fifo = &answers[own->fifo_place],
                                  .rr = &answers[own->rr_place],
                                  .folder = own->scratch.folder[0] ? own->scratch.folder : "/"};
    for (int i = 0; i < own->limit_count; i++)
        if (own->limit_place[i] >= 0)
            own->limits[i] = answers[own->limit_place[i]];
    inventory_report(run, &inventory);
    if (!run_should_stop())
        inventory_judge(run, &inventory);
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    call_runner_close(&own->runner);
    scratch_remove(&own->scratch);
    if (own->has_cleanup)
        ipc_cleanup_close(&own->ipc_cleanup);
}

const struct test pos_b_inv = {
    .id = "POS-B-INV",
    .title = "Inventory of POSIX: what is claimed, and what works",
    .source = "[O] Obenland 2000, tables 1 to 3",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_CHANGES_CPU,
    .setup_ns = INT64_C(600000000),
    .sample_ns = 1,
    .declare = declare,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
    .finish = finish,
};
