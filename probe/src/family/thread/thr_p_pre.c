/* THR-P-PRE: preemption (Rhealstone; Garre 2014). A thread of low priority spins in user
 * land and reads the counter all the while; one of high priority is made ready and takes
 * the CPU from it. Both of the run's policy, on one CPU: high at the run's priority, low
 * one below.
 *
 *   by=thread  low makes high ready itself. begin = low's stamp right before its sem_post,
 *              end = high's first stamp after its sem_wait. In the figure: the call that
 *              makes it ready, the choice of the thread, the switch, the return to user
 *              land. Both stamps are readings of the counter.
 *   by=timer   a timer makes high ready while low spins. begin = the programmed expiry
 *              (clock_nanosleep, absolute, CLOCK_MONOTONIC, at random distances, so that it
 *              keeps no phase with the tick), end = high's first reading of that clock. In
 *              the figure, besides: the timer's own lateness and its interrupt.
 *
 * That low was the one preempted is looked for in every value: by=thread, high must have
 * run before low's sem_post returned (else event not_at_once); by=timer, low must have
 * made turns while high slept (else event nobody_to_preempt). Such values are recorded like
 * all others: they are still from making ready to running, and may well be the worst. One
 * that was not at once breaks a promise, and fails the result. Nobody to preempt there may be
 * by chance (an interrupt, or a hypervisor, from before high's sleep until its end); when it
 * is more than one value in a hundred the result fails: it is not preemption that was measured.
 *
 * Low spins in chunks of a few ms and blocks between them, so that the director (high)
 * can rest. How it could be wrong: throttling or a thread above the two (event throttled,
 * the result fails); interrupts that come in between are part of the values.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "realtime/cpu_loss.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SAMPLES = 20000, CHUNK = 64, LEVELS = 2, IDLE_PARTS = 100 };

#define SPIN_NS INT64_C(10000) /* of low before it makes high ready */
#define LEAST_AHEAD_NS 50000
#define MORE_AHEAD_NS 100000 /* at random */
#define SAMPLE_NS 150000
#define CHUNK_NS (CHUNK * SAMPLE_NS)

enum variant { BY_THREAD, BY_TIMER };

static const char *const variant_names[] = {"thread", "timer", NULL};

static const struct param_spec params[] = {
    {"by", PARAM_NAME, true, "thread,timer", 0, 0, variant_names,
     "what makes the high-priority thread ready"},
    {0},
};

static const struct series_spec series[] = {
    {"preemption", "ns", "by",
     "thread: the low-priority thread, right before the sem_post that makes the other ready; "
     "timer: the programmed expiry",
     "first reading of the high-priority thread in user land"},
    {0},
};

struct own {
    struct run *run;
    struct occupancy occupancy;
    struct actor low;
    sem_t start, ready, parked;
    enum variant variant;
    atomic_bool is_over, is_resting;
    atomic_uint_fast64_t begin_ticks; /* by=thread: low's stamp */
    atomic_uint_fast64_t turns;       /* of low's spinning */
    atomic_uint_fast64_t served;      /* wake-ups that high has answered */
    uint64_t late_count, idle_count;
    unsigned short random[3];
};

static int64_t expected_ns(const struct run *run)
{
    return thread_expected_ns(run, run_param(run, "by")->count, SAMPLE_NS);
}

static int size(struct run *run)
{
    const struct param_value *by = run_param(run, "by");
    for (int i = 0; i < by->count; i++)
        if (run_add_series(run, "preemption", "ns", "by", variant_names[by->number[i]]) < 0)
            return -1;
    return 0;
}

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    own->random[0] = 0x330e;
    own->random[1] = (unsigned short)run->request->seed;
    own->random[2] = (unsigned short)(run->request->seed >> 16);
    sem_init(&own->start, 0, 0);
    sem_init(&own->ready, 0, 0);
    sem_init(&own->parked, 0, 0);
    return 0;
}

/* Low, by=thread: spins for a moment, then makes high ready; that often in a chunk. */
static void wake_high(struct own *own)
{
    const struct clock *clock = &own->run->clock;
    uint64_t spin_ticks = clock_ticks_of_ns(clock, SPIN_NS);
    for (int i = 0; i < CHUNK; i++) {
        uint64_t served = atomic_load_explicit(&own->served, memory_order_relaxed);
        uint64_t from = clock_ticks(clock);
        while (clock_ticks(clock) - from < spin_ticks)
            ;
        atomic_store_explicit(&own->begin_ticks, clock_begin(clock), memory_order_release);
        sem_post(&own->ready);
        if (atomic_load_explicit(&own->served, memory_order_acquire) == served)
            own->late_count++;
        while (atomic_load_explicit(&own->served, memory_order_acquire) == served &&
               !run_should_stop())
            sched_yield();
    }
}

/* Low, by=timer: spins and reads the counter until high lets it rest. */
static void spin_for_timer(struct own *own)
{
    const struct clock *clock = &own->run->clock;
    while (!atomic_load_explicit(&own->is_resting, memory_order_relaxed)) {
        (void)clock_ticks(clock);
        atomic_fetch_add_explicit(&own->turns, 1, memory_order_relaxed);
    }
}

static void be_low(void *argument)
{
    struct own *own = argument;
    for (;;) {
        thread_wait(&own->start);
        if (atomic_load(&own->is_over))
            return;
        if (own->variant == BY_THREAD)
            wake_high(own);
        else
            spin_for_timer(own);
        sem_post(&own->parked);
    }
}

static void record_stamp(struct own *own, struct record *record, int64_t ns, int64_t at_ns,
                         uint64_t limit)
{
    if (limit == 0 || record->count < limit)
        record_value(record, ns, run_at_ns(own->run, at_ns));
}

static void take_chunk_by_thread(struct own *own, struct record *record, uint64_t limit)
{
    const struct clock *clock = &own->run->clock;
    sem_post(&own->start);
    for (int i = 0; i < CHUNK; i++) {
        thread_wait(&own->ready);
        uint64_t end = clock_end(clock);
        uint64_t begin = atomic_load_explicit(&own->begin_ticks, memory_order_acquire);
        atomic_fetch_add_explicit(&own->served, 1, memory_order_release);
        record_stamp(own, record, clock_ns(clock, end - begin), clock_monotonic_ns(), limit);
    }
    thread_wait(&own->parked);
}

static void take_one_by_timer(struct own *own, struct record *record, uint64_t limit)
{
    uint64_t turns = atomic_load_explicit(&own->turns, memory_order_relaxed);
    int64_t ahead_ns = LEAST_AHEAD_NS + (int64_t)(erand48(own->random) * MORE_AHEAD_NS);
    int64_t release_ns = clock_monotonic_ns() + ahead_ns;
    struct timespec release = clock_ns_timespec(release_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL) == EINTR)
        ;
    int64_t now_ns = clock_monotonic_ns();
    if (atomic_load_explicit(&own->turns, memory_order_relaxed) == turns)
        own->idle_count++;
    record_stamp(own, record, now_ns - release_ns, now_ns, limit);
}

static void take_chunk_by_timer(struct own *own, struct record *record, uint64_t limit)
{
    atomic_store(&own->is_resting, false);
    sem_post(&own->start);
    for (int i = 0; i < CHUNK && !run_should_stop(); i++)
        take_one_by_timer(own, record, limit);
    atomic_store(&own->is_resting, true);
    thread_wait(&own->parked);
}

/* most_parts: one in so many values may be of that kind; 0: none. */
static void tell_doubt(struct own *own, const struct record *record, uint64_t count,
                       uint64_t most_parts, const char *event, const char *what)
{
    struct outcome *outcome = &own->run->outcome;
    if (count == 0)
        return;
    arena_event(own->run->arena, event, -1, "%llu times %s (%llu values)",
                (unsigned long long)count, what, (unsigned long long)record->count);
    if (most_parts == 0 || count > record->count / most_parts)
        outcome_set(outcome, STATUS_FAILED, "see THR-B-PRI for whether priorities are honoured",
                    "no preemption: in %llu of %llu values %s", (unsigned long long)count,
                    (unsigned long long)record->count, what);
}

static void tell_doubts(struct own *own, const struct record *record)
{
    tell_doubt(own, record, own->late_count, 0, "not_at_once",
               "the low-priority thread went on after it had made the other ready, before that "
               "one ran");
    tell_doubt(own, record, own->idle_count, IDLE_PARTS, "nobody_to_preempt",
               "the low-priority thread did not run before the expiry");
}

static void measure_variant(struct run *run, int place)
{
    struct own *own = run->own;
    struct record *record = arena_record(run->arena, place);
    struct run_budget budget = run_budget(run, run_param(run, "by")->count);
    own->variant = (enum variant)run_param(run, "by")->number[place];
    own->late_count = own->idle_count = 0;
    int64_t now_ns = breathe_ahead(&run->breath, CHUNK_NS);
    while (run_budget_left(&budget, record->count, now_ns)) {
        occupancy_begin(&own->occupancy);
        if (own->variant == BY_THREAD)
            take_chunk_by_thread(own, record, budget.samples);
        else
            take_chunk_by_timer(own, record, budget.samples);
        occupancy_end(&own->occupancy, run);
        now_ns = breathe_ahead(&run->breath, CHUNK_NS);
    }
    tell_doubts(own, record);
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    struct actor_setup low = thread_setup(run, run->setup.policy, 1);
    occupancy_open(&own->occupancy);
    int error = actor_start(&own->low, &low, be_low, own);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the low-priority thread", NULL);
    actor_go(&own->low);
    for (int i = 0; i < run_param(run, "by")->count && !run_should_stop(); i++)
        measure_variant(run, i);
    atomic_store(&own->is_over, true);
    sem_post(&own->start);
    actor_join(&own->low);
    return 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    return occupancy_judge(&own->occupancy, run);
}

const struct test thr_p_pre = {
    .id = "THR-P-PRE",
    .title = "Preemption of a spinning thread",
    .source = "[G] Garre 2014; Rhealstone",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};
