/* THR-P-NEW: creating and deleting a thread (Dedicated Systems 2012). The paper has the cases and
 * creation; it leaves open what deletion is: here cancel and join.
 *
 * What: never-run: the new thread has the lower priority and is cancelled before it runs;
 *   run-and-terminate: the higher one, and it ends at once; run-and-block: the higher one, and it
 *   then lowers its priority below the creator's.
 * Begin, end: create: from before pthread_create until it has returned (never-run) or to the new
 *   thread's first stamp. delete: from before pthread_cancel (run-and-terminate: pthread_join of
 *   the ended thread) until pthread_join has returned. Attributes are made before.
 * Threads: the creator is the measuring thread, one below the run's priority; the new thread is one
 *   above or below it, of the same policy, on the same CPU. One exists at a time, and the next may
 *   reuse its stack. The first 4 of a case and after each rest are not recorded.
 * Wrong if: a thread that should never run did, or one of higher priority had not run when
 *   pthread_create returned: its values are left out and the result fails (event not_the_case).
 *   Some libraries set the priority by further system calls after the thread exists: these are in
 *   the figure.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "run/run.h"
#include "run/scheduling.h"
#include "run/variant.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 1000, LEVELS = 3, BURST = 16, MOST_WRONG = 16, WARM_UP = 4 };

enum new_case { NEVER_RUN, RUN_AND_TERMINATE, RUN_AND_BLOCK };

static const char *const case_names[] = {"never-run", "run-and-terminate", "run-and-block", NULL};

static const struct param_spec params[] = {
    {"cases", PARAM_NAME, true, "never-run,run-and-terminate,run-and-block", 0, 0, case_names,
     "what the new thread does before it is deleted", "case"},
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
enum { CREATE, DELETE };

struct own {
    struct run *run;
    enum new_case kind;
    pthread_attr_t above, below;
    int low_priority;
    atomic_uint_fast64_t first_ticks; /* stamp of the new thread; 0: it has not run */
    atomic_int error;                 /* errno of pthread_setschedprio in the new thread */
    sem_t never;
    atomic_bool has_waited; /* the new thread has returned from its wait for `never` */
    uint64_t wrong_count;
};

/* The stamps of one thread. */
struct life {
    uint64_t create, created, delete, deleted;
    uint64_t first_ticks; /* 0: had not run when pthread_create returned */
};

/* A cancelled thread that has never run ends at pthread_testcancel. */
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
    atomic_store(&own->has_waited, true);
    return NULL;
}

static void *(*const bodies[])(void *) = {live_never_run, live_and_terminate, live_and_block};

/* Creates and deletes one thread. 0, or the errno value of the call that failed. */
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

static void record_life(struct run *run, const struct life *life)
{
    const struct own *own = run->own;
    uint64_t begun = own->kind == NEVER_RUN ? life->created : life->first_ticks;
    run_take(run, CREATE, life->create, begun);
    run_take(run, DELETE, life->delete, life->deleted);
}

static void report_wrong_case(struct own *own)
{
    static const char *const wrongs[] = {
        "the new thread ran although the creator, of higher priority, had not blocked",
        "the new thread had not run when pthread_create returned, although its priority is higher",
        "the new thread had not run when pthread_create returned, although its priority is higher"};
    if (own->wrong_count == 0)
        return;
    arena_event(own->run->arena, "not_the_case", -1,
                DATA(data_text("variant", case_names[own->kind]),
                     data_integer("count", (int64_t)own->wrong_count)),
                "%s: %s (%llu times; not recorded)", case_names[own->kind], wrongs[own->kind],
                (unsigned long long)own->wrong_count);
    outcome_set(&own->run->outcome, STATUS_FAILED,
                "run THR-B-NEW, which tests the order of new threads", "%s: %s",
                case_names[own->kind], wrongs[own->kind]);
}

static int take_life(struct run *run)
{
    struct own *own = run->own;
    struct life life;
    int error = live_once(own, &life);
    if (error)
        return outcome_set_errno(&run->outcome, error, case_names[own->kind], NULL);
    if (is_the_case(own, &life))
        record_life(run, &life);
    else
        own->wrong_count++;
    return own->wrong_count < MOST_WRONG ? 0 : -1;
}

/* A case that fails does not stop the others. */
static int measure_case(struct run *run)
{
    struct own *own = run->own;
    own->kind = (enum new_case)variant_number(run, "cases");
    if (own->kind == RUN_AND_BLOCK && !HS_HAS_UNNAMED_SEMAPHORES)
        return variant_lacks(run, LACKS_UNNAMED_SEMAPHORES);
    if (own->kind == RUN_AND_BLOCK && atomic_load(&own->has_waited))
        return variant_lacks(run, "pthread_cancel does not end a wait in sem_wait here");
    own->wrong_count = 0;
    int result = variant_sample(run, CREATE, BURST, take_life);
    report_wrong_case(own);
    return own->wrong_count < MOST_WRONG ? result : 0;
}

/* The first pthread_cancel of glibc loads the unwinder from a file. Where the file is not in memory
 * the creator blocks there, and a thread that should never run runs. 0 or an errno value. */
static int cancel_once(struct own *own)
{
    pthread_t thread;
    int error = pthread_create(&thread, &own->below, live_never_run, own);
    if (error)
        return error;
    pthread_cancel(thread);
    return pthread_join(thread, NULL);
}

/* Whether a thread that waits for a semaphore is cancelled, as POSIX promises; else the creator
 * would wait for its end for ever. 0 or an errno value. */
static int cancel_waiting(struct own *own)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    pthread_t thread;
    int error = pthread_create(&thread, &own->above, live_and_block, own);
    if (error)
        return error;
    nanosleep(&pause, NULL);
    pthread_cancel(thread);
    nanosleep(&pause, NULL);
    sem_post(&own->never);
    error = pthread_join(thread, NULL);
    while (sem_trywait(&own->never) == 0)
        ;
    return error;
}

static int make_attributes(struct own *own)
{
    struct rt_thread_setup above = thread_setup(own->run, own->run->setup.policy, 0);
    struct rt_thread_setup below = thread_setup(own->run, own->run->setup.policy, LEVELS - 1);
    own->low_priority = below.priority;
    int error = rt_thread_attributes(&own->above, &above, RT_THREAD_STACK_BYTES);
    if (error)
        return error;
    error = rt_thread_attributes(&own->below, &below, RT_THREAD_STACK_BYTES);
    if (error)
        pthread_attr_destroy(&own->above);
    return error;
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
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
    int error = cancel_once(own);
    if (!error && HS_HAS_UNNAMED_SEMAPHORES)
        error = cancel_waiting(own);
    if (error)
        return outcome_set_errno(&run->outcome, error, "a thread that is cancelled", NULL);
    if (scheduling_step_down(run, 1) != 0)
        return -1;
    burst_begin(run, 0);
    burst_ignore_sleep(run);
    int result = variants_measure(run);
    return scheduling_step_up(run) != 0 ? -1 : result;
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
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 300000000,
    .sample_ns = 100000,
    .warm_up_samples = WARM_UP,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_case,
    .finish = finish,
};
