/* THR-B-NEW: place of new threads, and of threads that lower their priority, among the ready ones
 * (Dedicated Systems 2012), under SCHED_FIFO and SCHED_RR.
 *
 * What: lower: a new thread of lower priority does not run before its creator blocks; equal: it
 *   goes behind one that was ready before it, and does not run before its creator blocks; yield: it
 *   runs when its creator yields; higher: it runs before pthread_create returns.
 *   lowered_setschedprio, lowered_setschedparam: a thread lowers itself to a priority at which two
 *   are ready. POSIX: pthread_setschedprio puts it at the head of the list, any other call at its
 *   tail.
 * Begin, end: none; the order of readings of the counter (order_log.h) is the evidence, and the
 *   first round that breaks a promise is the one shown.
 * Threads: all on one CPU, below the measuring thread, and new in each round, so that slices are
 *   whole. A creator that should keep the CPU spins for 10 ms, but at most a quarter of its slice.
 * Wrong if: a new thread on another CPU would run at once: each one checks its CPU, and the result
 *   fails if it is not the one under test.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 10, TOP = 1, MIDDLE = 2, BOTTOM = 3, LEVELS = 5, OTHERS = 2 };

#define SPIN_NS INT64_C(10000000)
#define ROUND_NS (2 * SPIN_NS)

struct own;

struct scenario {
    const char *name;
    int creator_below, new_below; /* below the run's */
    int other_count;              /* threads that the scenario makes ready first */
    void (*act)(struct own *own);
    const char *promised;
};

struct own {
    struct run *run;
    struct order_log log;
    const struct scenario *scenario;
    int policy;
    struct rt_thread creator, others[OTHERS];
    sem_t gates[OTHERS];
    pthread_t thread; /* the new one */
    atomic_bool is_elsewhere;
    int error;       /* errno of pthread_create: no verdict then */
    int lower_error; /* errno of the call that lowers the priority */
};

/* ---- the threads ---- */

static void *be_new(void *argument)
{
    struct own *own = argument;
    order_log_add(&own->log, "new", "ran");
    if (port_current_cpu() != own->run->setup.cpu)
        atomic_store(&own->is_elsewhere, true);
    return NULL;
}

static void be_first(void *argument)
{
    struct own *own = argument;
    thread_wait(&own->gates[0]);
    order_log_add(&own->log, "first", "ran");
}

static void be_second(void *argument)
{
    struct own *own = argument;
    thread_wait(&own->gates[1]);
    order_log_add(&own->log, "second", "ran");
}

static void create(struct own *own)
{
    struct rt_thread_setup setup = thread_setup(own->run, own->policy, own->scenario->new_below);
    own->error = thread_create_bare(&own->thread, &setup, be_new, own);
}

static void join(struct own *own)
{
    if (own->error == 0)
        pthread_join(own->thread, NULL);
}

/* At most a quarter of a slice of SCHED_RR. */
static int64_t spin_ns(void)
{
    struct timespec slice;
    if (sched_rr_get_interval(0, &slice) != 0 || clock_timespec_ns(&slice) <= 0)
        return SPIN_NS;
    int64_t part_ns = clock_timespec_ns(&slice) / 4;
    return part_ns < SPIN_NS ? part_ns : SPIN_NS;
}

static void create_and_keep_on(struct own *own)
{
    create(own);
    order_log_add(&own->log, "creator", "created new");
    thread_spin(spin_ns());
    order_log_add(&own->log, "creator", "blocked");
    join(own);
}

static void create_behind_other(struct own *own)
{
    sem_post(&own->gates[0]);
    order_log_add(&own->log, "creator", "made first ready");
    create_and_keep_on(own);
}

static void create_and_yield(struct own *own)
{
    create(own);
    order_log_add(&own->log, "creator", "created new");
    order_log_add(&own->log, "creator", "yielded");
    sched_yield();
    order_log_add(&own->log, "creator", "went on");
    join(own);
}

static void create_above(struct own *own)
{
    order_log_add(&own->log, "creator", "creates new");
    create(own);
    order_log_add(&own->log, "creator", "went on");
    join(own);
}

static void make_others_ready(struct own *own)
{
    sem_post(&own->gates[0]);
    sem_post(&own->gates[1]);
    order_log_add(&own->log, "mover", "made first and second ready");
    order_log_add(&own->log, "mover", "lowers itself");
}

static void lower_by_setschedprio(struct own *own)
{
    make_others_ready(own);
    own->lower_error = pthread_setschedprio(pthread_self(), own->run->setup.priority - MIDDLE);
    order_log_add(&own->log, "mover", "went on");
}

static void lower_by_setschedparam(struct own *own)
{
    make_others_ready(own);
    own->lower_error = rt_thread_set_self(own->policy, own->run->setup.priority - MIDDLE);
    order_log_add(&own->log, "mover", "went on");
}

static const struct scenario scenarios[] = {
    {"lower", MIDDLE, BOTTOM, 0, create_and_keep_on,
     "creator created new, creator blocked, new ran"},
    {"equal", MIDDLE, MIDDLE, 1, create_behind_other,
     "creator made first ready, creator created new, creator blocked, first ran, new ran"},
    {"yield", MIDDLE, MIDDLE, 0, create_and_yield,
     "creator created new, creator yielded, new ran, creator went on"},
    {"higher", MIDDLE, TOP, 0, create_above, "creator creates new, new ran, creator went on"},
    {"lowered_setschedprio", TOP, 0, 2, lower_by_setschedprio,
     "mover made first and second ready, mover lowers itself, mover went on, first ran, second "
     "ran"},
    {"lowered_setschedparam", TOP, 0, 2, lower_by_setschedparam,
     "mover made first and second ready, mover lowers itself, first ran, second ran, mover went "
     "on"},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static const int policies[] = {SCHED_FIFO, SCHED_RR};
static const char *const policy_names[] = {"fifo", "rr"};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static const struct verdict_spec verdicts[] = {
    {"lower", "a new thread of lower priority does not run before its creator blocks"},
    {"equal", "a new thread of equal priority goes behind those that are ready"},
    {"yield", "a new thread of equal priority runs when its creator yields"},
    {"higher", "a new thread of higher priority runs at once"},
    {"lowered_setschedprio",
     "a thread that lowers itself by pthread_setschedprio goes before its new equals (POSIX)"},
    {"lowered_setschedparam",
     "a thread that lowers itself by pthread_setschedparam goes behind its new equals (POSIX)"},
    {0},
};

/* ---- a round ---- */

static void be_creator(void *argument)
{
    struct own *own = argument;
    own->scenario->act(own);
}

static int start_others(struct own *own, int *started)
{
    static void (*const bodies[])(void *) = {be_first, be_second};
    struct rt_thread_setup setup = thread_setup(own->run, own->policy, MIDDLE);
    for (; *started < own->scenario->other_count && *started < OTHERS; (*started)++) {
        sem_init(&own->gates[*started], 0, 0);
        int error = rt_thread_start(&own->others[*started], &setup, bodies[*started], own);
        if (error)
            return error;
        rt_thread_go(&own->others[*started]);
    }
    return 0;
}

/* The measuring thread has the highest priority: the creator starts when it joins the creator. */
static int play_round(struct own *own)
{
    struct rt_thread_setup creator =
        thread_setup(own->run, own->policy, own->scenario->creator_below);
    int started = 0, error = start_others(own, &started);
    own->error = own->lower_error = 0;
    if (!error)
        error = thread_settle(own->run, BOTTOM);
    order_log_clear(&own->log, &own->run->clock);
    if (!error)
        error = rt_thread_start(&own->creator, &creator, be_creator, own);
    if (!error) {
        rt_thread_go(&own->creator);
        rt_thread_join(&own->creator);
    }
    for (int i = 0; i < started; i++) {
        sem_post(&own->gates[i]);
        rt_thread_join(&own->others[i]);
        sem_destroy(&own->gates[i]);
    }
    return error ? error : own->error;
}

static int rounds_of(const struct run *run)
{
    return run->samples < INT32_MAX ? (int)run->samples : INT32_MAX;
}

/* One round: 1 if the promise was kept, 0 if not, -1 with the outcome. */
static int try_round(struct own *own)
{
    struct run *run = own->run;
    rt_budget_rest_ahead(&run->rt_budget, ROUND_NS);
    int error = play_round(own);
    if (error)
        return outcome_set_errno(&run->outcome, error, "threads for the scenarios", NULL);
    return own->lower_error == 0 && order_log_is(&own->log, own->scenario->promised);
}

static int try_scenario(struct own *own, const struct scenario *scenario, int policy)
{
    char name[ARENA_NAME_BYTES];
    struct run *run = own->run;
    int kept = 1;
    own->scenario = scenario;
    own->policy = policies[policy];
    snprintf(name, sizeof name, "%s/%s", scenario->name, policy_names[policy]);
    for (int i = 0; i < rounds_of(run) && kept == 1 && !run_should_stop(); i++)
        kept = try_round(own);
    if (kept < 0 || run_should_stop())
        return kept < 0 ? -1 : 0;
    if (own->lower_error)
        arena_verdict(run->arena, false, 1, name, "the call that lowers it failed: %s",
                      strerror(own->lower_error));
    else
        order_log_verdict(&own->log, run->arena, name, scenario->promised);
    return 0;
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    return 0;
}

/* What stands for a missing pthread_setschedprio queues as pthread_setschedparam does. */
static bool is_possible(const struct run *run, const struct scenario *scenario)
{
    if (HS_HAS_SETSCHEDPRIO || scenario->act != lower_by_setschedprio)
        return true;
    arena_event_once(run->arena, "scenario_unsupported",
                     DATA(data_text("scenario", scenario->name)),
                     "%s: this system has no pthread_setschedprio", scenario->name);
    return false;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    for (int policy = 0; policy < POLICIES; policy++)
        for (int i = 0; i < SCENARIOS && !run_should_stop(); i++)
            if (is_possible(run, &scenarios[i]) && try_scenario(own, &scenarios[i], policy) != 0)
                return -1;
    if (atomic_load(&own->is_elsewhere))
        outcome_set(&run->outcome, STATUS_FAILED, "please report it: the port must bind them",
                    "a new thread ran on a different CPU from its creator, so no order could be "
                    "observed");
    return 0;
}

const struct test thr_b_new = {
    .id = "THR-B-NEW",
    .title = "Order of new and of lowered threads",
    .source = "[D] Dedicated Systems 2012",
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = ROUNDS,
    .counts_rounds = true,
    .setup_ns = 300000000,
    .sample_ns = 50000000,
    .prepare = prepare,
    .measure = measure,
};
