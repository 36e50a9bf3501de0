/* THR-B-RR on one made-up CPU: each access to the spinners' shared data and each reading of the
 * clock is a step, a slice is a number of steps, and preemption happens between any two of them.
 * One thread runs at a time, chosen here. */
#include "base/posix_source.h"

#include "command/args.h"
#include "command/commands.h"
#include "family/thread/scenario.h"
#include "run/run.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

enum {
    MEASURING_THREAD = 0,
    MOST_THREADS_MADE_UP = 128,
    SLICE_STEPS = 200,
    SWEPT = 12,
    THREAD_COUNT = 3
};
enum { ROUNDS_DUE = 2, FOREVER = 1 << 30, MOST_PREEMPTIONS = 256, LOOP_STEPS = 4 };

#define STEP_NS INT64_C(1000)
#define BURST_SLICES_10 76 /* a burst is 7.6 slices */

struct made_up_thread {
    const struct rt_thread *rt_thread;
    pthread_t thread;
    sem_t baton;           /* it runs */
    const void *waits_for; /* NULL: it is ready, or has ended */
    bool has_ended;
    int steps_left; /* of its slice */
    void (*body)(void *argument);
    void *argument;
};

static struct {
    int64_t now_ns;
    int64_t sleeps_until_ns; /* of the measuring thread */
    int claimed_steps, slice_steps, first_slice_steps;
    bool is_starving; /* all but the first two of those that are ready */
    int stalls_left;  /* bursts that pass before a thread of several is given the CPU */
    int64_t stall_ns;
    int stalled_slice; /* in the middle of this slice of the run, from 1, time passes; 0: in none */
    int64_t preempted_ns[MOST_PREEMPTIONS]; /* when a slice ended */
    int preemption_count;
    int current, thread_count;
    struct made_up_thread threads[MOST_THREADS_MADE_UP];
    int ready[MOST_THREADS_MADE_UP]; /* first who has the CPU when the measuring thread waits */
    int ready_count;
} kernel;

/* ---- who runs ---- */

static void remove_first(void)
{
    kernel.ready_count--;
    memmove(kernel.ready, kernel.ready + 1, (size_t)kernel.ready_count * sizeof kernel.ready[0]);
}

static void make_ready(int thread)
{
    kernel.threads[thread].waits_for = NULL;
    if (thread != MEASURING_THREAD)
        kernel.ready[kernel.ready_count++] = thread;
}

static void wake_measuring_thread_in_time(void)
{
    bool sleeps = kernel.threads[MEASURING_THREAD].waits_for == &kernel.sleeps_until_ns;
    if (sleeps && kernel.ready_count == 0)
        kernel.now_ns = kernel.sleeps_until_ns;
    if (sleeps && kernel.now_ns >= kernel.sleeps_until_ns)
        make_ready(MEASURING_THREAD);
}

/* Gives the CPU to whom it is due, and returns when the caller has it again. */
static void schedule(int caller)
{
    wake_measuring_thread_in_time();
    int next = kernel.threads[MEASURING_THREAD].waits_for ? kernel.ready[0] : MEASURING_THREAD;
    bool has_ended = kernel.threads[caller].has_ended;
    if (next == caller)
        return;
    if (caller == MEASURING_THREAD && kernel.ready_count > 1 && kernel.stalls_left > 0) {
        kernel.stalls_left--;
        kernel.now_ns += kernel.stall_ns;
    }
    kernel.current = next;
    sem_post(&kernel.threads[next].baton);
    while (!has_ended && sem_wait(&kernel.threads[caller].baton) != 0)
        ;
}

static void block_on(const void *object)
{
    int caller = kernel.current;
    kernel.threads[caller].waits_for = object;
    if (caller != MEASURING_THREAD)
        remove_first();
    schedule(caller);
}

static void wake_all(const void *object)
{
    for (int i = 0; i < kernel.thread_count; i++)
        if (kernel.threads[i].waits_for == object)
            make_ready(i);
    schedule(kernel.current);
}

static void end_slice(int thread)
{
    kernel.threads[thread].steps_left = kernel.slice_steps;
    if (kernel.ready_count < 2)
        return;
    if (kernel.preemption_count < MOST_PREEMPTIONS)
        kernel.preempted_ns[kernel.preemption_count++] = kernel.now_ns;
    if (kernel.is_starving) {
        kernel.ready[0] = kernel.ready[1];
        kernel.ready[1] = thread;
        return;
    }
    remove_first();
    make_ready(thread);
}

static void step(void)
{
    int caller = kernel.current;
    struct made_up_thread *thread = &kernel.threads[caller];
    kernel.now_ns += STEP_NS;
    if (caller == MEASURING_THREAD)
        return;
    if (kernel.preemption_count + 1 == kernel.stalled_slice &&
        thread->steps_left == kernel.slice_steps / 2) {
        kernel.stalled_slice = 0;
        kernel.now_ns += kernel.stall_ns;
    }
    if (--thread->steps_left <= 0)
        end_slice(caller);
    schedule(caller);
}

/* ---- the calls that THR-B-RR makes ---- */

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    step();
    *time = clock_ns_timespec(kernel.now_ns);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    kernel.sleeps_until_ns = kernel.now_ns + clock_timespec_ns(wanted);
    block_on(&kernel.sleeps_until_ns);
    return 0;
}

int sched_rr_get_interval(pid_t process, struct timespec *interval)
{
    (void)process;
    *interval = clock_ns_timespec(kernel.claimed_steps * STEP_NS);
    return 0;
}

static int made_up_post(sem_t *semaphore)
{
    sem_post(semaphore);
    wake_all(semaphore);
    return 0;
}

static void made_up_wait(sem_t *semaphore)
{
    while (sem_trywait(semaphore) != 0)
        block_on(semaphore);
}

static void *run_thread(void *argument)
{
    struct made_up_thread *thread = argument;
    while (sem_wait(&thread->baton) != 0)
        ;
    thread->body(thread->argument);
    thread->has_ended = true;
    remove_first();
    wake_all(thread);
    return NULL;
}

static int made_up_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                         void (*body)(void *), void *argument)
{
    struct made_up_thread *thread = &kernel.threads[kernel.thread_count++];
    (void)setup;
    *thread = (struct made_up_thread){rt_thread, .waits_for = rt_thread, .body = body};
    thread->argument = argument;
    thread->steps_left = kernel.first_slice_steps;
    sem_init(&thread->baton, 0, 0);
    pthread_create(&thread->thread, NULL, run_thread, thread);
    return 0;
}

static void made_up_go(struct rt_thread *rt_thread)
{
    wake_all(rt_thread);
}

static void made_up_join(struct rt_thread *rt_thread)
{
    int i = kernel.thread_count - 1;
    while (kernel.threads[i].rt_thread != rt_thread)
        i--;
    while (!kernel.threads[i].has_ended)
        block_on(&kernel.threads[i]);
    pthread_join(kernel.threads[i].thread, NULL);
}

static int made_up_check(struct run *run, int levels)
{
    (void)run, (void)levels;
    return 0;
}

/* ---- what the spinners share ---- */

static unsigned load(atomic_uint *word)
{
    return atomic_load(word);
}

static bool ping_pong(atomic_uint *word, unsigned *seen, unsigned wanted)
{
    return atomic_compare_exchange_strong(word, seen, wanted);
}

static int load_int(atomic_int *word)
{
    return atomic_load(word);
}

static bool load_bool(atomic_bool *word)
{
    return atomic_load(word);
}

#undef atomic_load_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_explicit(word, order)                                                          \
    (step(), _Generic((word), atomic_uint *                                                        \
                      : load, atomic_int *                                                         \
                      : load_int, atomic_bool *                                                    \
                      : load_bool)(word))
#define atomic_compare_exchange_strong_explicit(word, seen, wanted, success, failure)              \
    (step(), ping_pong(word, seen, wanted))
#define rt_thread_start made_up_start
#define rt_thread_go made_up_go
#define rt_thread_join made_up_join
#undef sem_post
#define sem_post made_up_post
#define thread_wait made_up_wait
#define one_cpu_require_levels made_up_check
#include "family/thread/slice_log.c"
#include "family/thread/thr_b_rr.c"

#include "fake_run.h" /* behind them: its `run` is the name of their parameters */

static int64_t burst_ns(void)
{
    return kernel.claimed_steps * STEP_NS * BURST_SLICES_10 / 10;
}

static void begin(int slice_steps)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.now_ns = 1000 * CLOCK_NS_PER_S;
    kernel.thread_count = 1;
    kernel.claimed_steps = kernel.slice_steps = kernel.first_slice_steps = slice_steps;
    kernel.stall_ns = burst_ns();
    sem_init(&kernel.threads[MEASURING_THREAD].baton, 0, 0);
    fake_port.has_budget = true;
}

/* NULL: there is none of that name. */
static const struct arena_verdict *verdict(const char *name)
{
    for (uint32_t i = 0; i < run.arena->verdict_count; i++)
        if (strcmp(run.arena->verdicts[i].name, name) == 0)
            return &run.arena->verdicts[i];
    return NULL;
}

/* The verdicts, one letter each: passed, failed, none. In the order of the names. */
static const char *letters(void)
{
    static const char *const names[] = {"rotates", "fair", "slice_length", "first_slice"};
    static char all[5];
    for (int i = 0; i < 4; i++)
        all[i] = !verdict(names[i]) ? '-' : verdict(names[i])->pass ? 'p' : 'f';
    return all;
}

static const struct arena_event *event_with(const char *name, const char *text)
{
    for (uint32_t i = 0; i < run.arena->event_count; i++)
        if (strcmp(run.arena->events[i].name, name) == 0 &&
            strncmp(run.arena->events[i].text, text, strlen(text)) == 0)
            return &run.arena->events[i];
    return NULL;
}

/* Why the verdict is missing. */
static const char *reason_without(const char *name)
{
    return event_with("not_seen", name) ? event_with("not_seen", name)->text : "";
}

static bool was_cut(void)
{
    return event("incomplete_burst") != NULL;
}

/* `wanted`: letters of the verdicts; none at all: the run fails. */
static void measure_bursts(int bursts, const char *wanted)
{
    static char *const words[] = {"THR-B-RR", "--clock", "monotonic", NULL};
    bool has_budget = fake_port.has_budget; /* as the test wants it */
    fake_run_parse(words, bursts * THREAD_COUNT * ROUNDS_DUE);
    fake_port.has_budget = has_budget;
    CHECK(fake_run_prepare());
    run.rt_budget.has_limit = has_budget;
    run.rt_budget.burst_ns = burst_ns();
    run.rt_budget.rest_ns = run.rt_budget.burst_ns / 4;
    run.rt_budget.started_ns = run.start_ns;
    if (run.test->measure(&run) == 0)
        run.test->judge(&run);
    CHECK_SAME(run.outcome.status, wanted[0] == '-' ? STATUS_FAILED : STATUS_MEASURED);
    CHECK_TEXT(letters(), wanted);
    CHECK_SAME(run.arena->verdict_count, strcspn(wanted, "-"));
}

/* `count` -1: any. */
static void check_slices(const struct record *record, int64_t count, int64_t length_ns)
{
    if (count >= 0)
        CHECK_SAME(record->count, count);
    CHECK_NEAR((double)record->min, (double)length_ns, (double)length_ns / 20);
    CHECK_NEAR((double)record->max, (double)length_ns, (double)length_ns / 20);
}

/* The slice's length decides at which step of its loop a thread loses the CPU. */
TEST(preempted_anywhere)
{
    enum { BURSTS = 4 };
    for (int steps = SLICE_STEPS; steps < SLICE_STEPS + SWEPT; steps++) {
        begin(steps);
        measure_bursts(BURSTS, "pppp");
        for (uint32_t i = 0; i < 2; i++)
            check_slices(arena_record(run.arena, (int)i), BURSTS * THREAD_COUNT, steps * STEP_NS);
        fake_run_end();
    }
}

/* Whether a slice of that length ended then. */
static bool ended_then(int64_t length_ns, int64_t at_ns)
{
    int64_t most_ns = LOOP_STEPS * STEP_NS;
    int64_t begin_ns = run.start_ns + at_ns - length_ns, end_ns = run.start_ns + at_ns;
    for (int i = 0; i < kernel.preemption_count; i++)
        if (llabs(kernel.preempted_ns[i] - end_ns) <= most_ns &&
            (i == 0 || kernel.preempted_ns[i - 1] < begin_ns + most_ns))
            return true;
    return false;
}

#define RUN_TEST(what) TEST_IN((begin(SLICE_STEPS), true), fake_run_end(), what)

RUN_TEST(when_it_happened)
{
    measure_bursts(3, "pppp");
    for (uint32_t i = 0; i < 2; i++) {
        const struct record *record = arena_record(run.arena, (int)i);
        CHECK_SAME(record->count, 3 * THREAD_COUNT);
        for (uint32_t j = 0; j < record->count; j++)
            CHECK(ended_then(record->worst[j].value_ns, record->worst[j].at_ns));
    }
}

RUN_TEST(first_in_first_out)
{
    kernel.slice_steps = kernel.first_slice_steps = FOREVER;
    measure_bursts(2, "ff--");
    CHECK_HOLDS(reason_without("slice_length"), "no later slice ended");
    CHECK_HOLDS(reason_without("first_slice"), "no first slice ended");
}

RUN_TEST(one_starves)
{
    kernel.is_starving = true;
    measure_bursts(2, "ffpp");
}

/* Throttling requires a rest within each first slice: the rest of them is seen. */
RUN_TEST(first_slice_beyond_a_burst)
{
    kernel.first_slice_steps = LONG_SLICES * SLICE_STEPS;
    measure_bursts(2, "ppp-");
    CHECK_HOLDS(reason_without("first_slice"), "did not fit into the 1 ms");
    CHECK_HOLDS(reason_without("first_slice"), "it ran for 2.0");
    CHECK_SAME(arena_record(run.arena, FIRST_SLICE)->count, 0);
    CHECK(arena_record(run.arena, LATER_SLICE)->count > 0);
    check_slices(arena_record(run.arena, LATER_SLICE), -1, SLICE_STEPS * STEP_NS);
}

/* Without throttling a burst holds them. */
RUN_TEST(first_slice_ten_times_as_long)
{
    fake_port.has_budget = false;
    kernel.first_slice_steps = LONG_SLICES * SLICE_STEPS;
    measure_bursts(2, "pppf");
    CHECK_HOLDS(verdict("first_slice") ? verdict("first_slice")->evidence : "",
                "mean of the later ones 0.2");
    check_slices(arena_record(run.arena, FIRST_SLICE), 2 * THREAD_COUNT,
                 LONG_SLICES * SLICE_STEPS * STEP_NS);
    check_slices(arena_record(run.arena, LATER_SLICE), 2 * THREAD_COUNT, SLICE_STEPS * STEP_NS);
    CHECK(!was_cut());
}

/* Twice as long as claimed: six of them need two bursts' time. */
RUN_TEST(slices_that_do_not_fit)
{
    kernel.slice_steps = kernel.first_slice_steps = 2 * SLICE_STEPS;
    measure_bursts(2, "ppfp");
    CHECK(was_cut());
    check_slices(arena_record(run.arena, LATER_SLICE), -1, 2 * SLICE_STEPS * STEP_NS);
}

RUN_TEST(nobody_ran)
{
    kernel.stalls_left = FOREVER;
    measure_bursts(2, "----");
    CHECK_HOLDS(run.outcome.reason, "no verdict");
    CHECK_HOLDS(run.outcome.reason, "one got only 0");
    CHECK(was_cut());
}

/* The host takes time in the middle of a slice, which is recorded and proves nothing. */
TEST(a_slice_that_was_cut_fails_no_verdict)
{
    for (int slice = 1; slice <= THREAD_COUNT * ROUNDS_DUE; slice++) {
        begin(SLICE_STEPS);
        kernel.stalled_slice = slice;
        kernel.stall_ns = 3 * SLICE_STEPS * STEP_NS;
        measure_bursts(2, "pppp");
        CHECK_SAME(kernel.stalled_slice, 0);
        CHECK(was_cut());
        fake_run_end();
    }
}
