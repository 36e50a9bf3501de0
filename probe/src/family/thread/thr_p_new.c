/* THR-P-NEW: creating and deleting a thread (Dedicated Systems 2012). The creator is
 * of the run's policy, one below its priority; the new thread too, above or below it, on the
 * same CPU. One thread is made and deleted at a time. As the paper defines:
 *
 *   never-run          the new one is of lower priority and never gets to run. create =
 *                      the call of pthread_create; delete = pthread_cancel and
 *                      pthread_join, from the first call until the second returns
 *   run-and-terminate  of higher priority. create = from before pthread_create to the
 *                      first stamp of the new thread; it ends at once. delete =
 *                      pthread_join of the ended thread
 *   run-and-block      of higher priority. create = the same; then it lowers its own
 *                      priority below the creator's. delete = cancel and join, as above
 *
 * Attributes are made before, once. The first thread of each case is not recorded: the
 * system's library sets up its memory with it. The stack of a deleted thread may be used
 * again by the next one; so it is in any program that creates and deletes in turn.
 *
 * That each case is what it says is looked for each time: a thread that should never run
 * and did, or one of higher priority that did not run before pthread_create returned, is
 * told as event not_the_case, its values are left out, and the result fails. How it could
 * be wrong: priorities are given by pthread_create's attributes, which some libraries set
 * only after the thread exists, by further system calls; they are in the figure.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "realtime/cpu_loss.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SAMPLES = 1000, LEVELS = 3, SERIES_PER_CASE = 2, BURST = 16 };

#define SAMPLE_NS 200000

enum new_case { NEVER_RUN, RUN_AND_TERMINATE, RUN_AND_BLOCK };

static const char *const case_names[] = {"never-run", "run-and-terminate", "run-and-block", NULL};

static const struct param_spec params[] = {
    {"cases", PARAM_NAME, true, "never-run,run-and-terminate,run-and-block", 0, 0, case_names,
     "what the new thread does before it is deleted"},
    {0},
};

static const struct series_spec series[] = {
    {"create", "ns", "case", "the creator, right before pthread_create",
     "never-run: pthread_create has returned; else: first stamp of the new thread"},
    {"delete", "ns", "case",
     "the creator, right before pthread_cancel (run-and-terminate: before pthread_join)",
     "pthread_join has returned"},
    {0},
};

struct own {
    struct run *run;
    struct occupancy occupancy;
    enum new_case kind;
    pthread_attr_t above, below;
    int low_priority;
    atomic_uint_fast64_t first_ticks; /* of the new thread; 0: it has not run */
    atomic_int error;                 /* of its lowering itself */
    sem_t never;
    uint64_t wrong_count;
};

/* The stamps of one life. */
struct life {
    uint64_t create, created, delete, deleted;
    uint64_t first_ticks; /* 0: never ran before it was deleted */
};

static int64_t expected_ns(const struct run *run)
{
    return thread_expected_ns(run, run_param(run, "cases")->count, SAMPLE_NS);
}

static int size(struct run *run)
{
    const struct param_value *cases = run_param(run, "cases");
    for (int i = 0; i < cases->count; i++) {
        const char *name = case_names[cases->number[i]];
        if (run_add_series(run, "create", "ns", "case", name) < 0 ||
            run_add_series(run, "delete", "ns", "case", name) < 0)
            return -1;
    }
    return 0;
}

/* Where a cancelled thread ends that has never run. */
static void *live_never_run(void *argument)
{
    struct own *own = argument;
    pthread_testcancel();
    atomic_store(&own->first_ticks, clock_end(&own->run->clock));
    return NULL;
}

static void *live_and_terminate(void *argument)
{
    struct own *own = argument;
    atomic_store(&own->first_ticks, clock_end(&own->run->clock));
    return NULL;
}

static void *live_and_block(void *argument)
{
    struct own *own = argument;
    atomic_store(&own->first_ticks, clock_end(&own->run->clock));
    atomic_store(&own->error, pthread_setschedprio(pthread_self(), own->low_priority));
    thread_wait(&own->never);
    return NULL;
}

static void *(*const bodies[])(void *) = {live_never_run, live_and_terminate, live_and_block};

/* 0, or the errno of the call that failed. */
static int live_once(struct own *own, struct life *life)
{
    const struct clock *clock = &own->run->clock;
    const pthread_attr_t *attributes = own->kind == NEVER_RUN ? &own->below : &own->above;
    void *(*body)(void *) = bodies[own->kind];
    pthread_t thread;
    atomic_store(&own->first_ticks, 0);
    life->create = clock_begin(clock);
    int error = pthread_create(&thread, attributes, body, own);
    life->created = clock_end(clock);
    if (error)
        return error;
    life->first_ticks = atomic_load(&own->first_ticks);
    life->delete = clock_begin(clock);
    if (own->kind != RUN_AND_TERMINATE)
        pthread_cancel(thread);
    error = pthread_join(thread, NULL);
    life->deleted = clock_end(clock);
    return error ? error : atomic_load(&own->error);
}

static bool is_the_case(const struct own *own, const struct life *life)
{
    if (own->kind == NEVER_RUN)
        return life->first_ticks == 0 && atomic_load(&own->first_ticks) == 0;
    return life->first_ticks != 0;
}

static void record_life(struct own *own, const struct life *life, int place, int64_t at_ns)
{
    const struct clock *clock = &own->run->clock;
    uint64_t begun = own->kind == NEVER_RUN ? life->created : life->first_ticks;
    if (!is_the_case(own, life)) {
        own->wrong_count++;
        return;
    }
    record_value(arena_record(own->run->arena, place), clock_ns(clock, begun - life->create),
                 at_ns);
    record_value(arena_record(own->run->arena, place + 1),
                 clock_ns(clock, life->deleted - life->delete), at_ns);
}

static void tell_wrong_case(struct own *own)
{
    static const char *const wrongs[] = {
        "the new thread ran although the creator, of higher priority, had not blocked",
        "the new thread had not run when pthread_create returned, although its priority is higher",
        "the new thread had not run when pthread_create returned, although its priority is higher"};
    if (own->wrong_count == 0)
        return;
    arena_event(own->run->arena, "not_the_case", -1, "%s: %s (%llu times; not recorded)",
                case_names[own->kind], wrongs[own->kind], (unsigned long long)own->wrong_count);
    outcome_set(&own->run->outcome, STATUS_FAILED, "see THR-B-NEW for the order of new threads",
                "%s: %s", case_names[own->kind], wrongs[own->kind]);
}

/* Up to BURST lives, `at_ns` after the start. */
static int live_burst(struct own *own, int place, uint64_t limit, int64_t at_ns)
{
    const struct record *create = arena_record(own->run->arena, place);
    struct life life;
    int error = 0;
    occupancy_begin(&own->occupancy);
    for (int i = 0; i < BURST && !error && (limit == 0 || create->count < limit); i++) {
        error = live_once(own, &life);
        if (!error)
            record_life(own, &life, place, at_ns);
    }
    occupancy_end(&own->occupancy, own->run);
    return error;
}

static int live_and_die(struct own *own, int place)
{
    struct run *run = own->run;
    struct record *create = arena_record(run->arena, place);
    struct run_budget budget = run_budget(run, run_param(run, "cases")->count);
    struct life first;
    int error = live_once(own, &first);
    int64_t now_ns = breathe(&run->breath);
    while (!error && own->wrong_count < BURST && run_budget_left(&budget, create->count, now_ns)) {
        error = live_burst(own, place, budget.samples, run_at_ns(run, now_ns));
        now_ns = breathe(&run->breath);
    }
    tell_wrong_case(own);
    if (error)
        outcome_set_errno(&run->outcome, error, case_names[own->kind], NULL);
    return error;
}

static int make_attributes(struct own *own)
{
    struct actor_setup above = thread_setup(own->run, own->run->setup.policy, 0);
    struct actor_setup below = thread_setup(own->run, own->run->setup.policy, LEVELS - 1);
    own->low_priority = below.priority;
    int error = actor_attributes(&own->above, &above, ACTOR_STACK_BYTES);
    if (error)
        return error;
    error = actor_attributes(&own->below, &below, ACTOR_STACK_BYTES);
    if (error)
        pthread_attr_destroy(&own->above);
    return error;
}

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    sem_init(&own->never, 0, 0);
    int error = make_attributes(own);
    if (!error)
        return 0;
    run->own = NULL;
    free(own);
    return outcome_set_errno(&run->outcome, error, "attributes of threads", NULL);
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    const struct param_value *cases = run_param(run, "cases");
    occupancy_open(&own->occupancy);
    int error = actor_set_self(run->setup.policy, run->setup.priority - 1);
    if (error)
        return outcome_set_errno(&run->outcome, error, "lowering the creator by one", NULL);
    for (int i = 0; i < cases->count && !error && !run_should_stop(); i++) {
        own->kind = (enum new_case)cases->number[i];
        own->wrong_count = 0;
        error = live_and_die(own, i * SERIES_PER_CASE);
    }
    actor_set_self(run->setup.policy, run->setup.priority);
    return error ? -1 : 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    return occupancy_judge(&own->occupancy, run);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    pthread_attr_destroy(&own->above);
    pthread_attr_destroy(&own->below);
}

const struct test thr_p_new = {
    .id = "THR-P-NEW",
    .title = "Creating and deleting threads",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
    .finish = finish,
};
