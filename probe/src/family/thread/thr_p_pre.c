/* THR-P-PRE: preemption (Rhealstone; Garre et al. 2014).
 *
 * What: low spins in user space and reads the counter; high is made ready and preempts it.
 * Begin, end: by=thread: low's stamp right before its sem_post, high's first stamp after its
 *   sem_wait, by fenced reads of the counter. by=timer: the programmed expiry (clock_nanosleep,
 *   absolute, CLOCK_MONOTONIC, 50 to 150 us ahead at random, so not in phase with the tick), high's
 *   first reading of that clock; also the timer's own lateness and its interrupt.
 * Threads: high is the measuring thread, at the run's priority; low is one below. Low spins in
 *   chunks of 64 samples and blocks between them, so that high can rest. The first chunk of a
 *   variant and after each rest is not recorded.
 * Wrong if: low was not the thread that was preempted. By thread, high must have run before low's
 *   sem_post returned: one other value fails the result (event not_at_once). By timer, low must
 *   have made turns while high slept: before its first turn in a chunk the sample is left out and
 *   repeated (low_not_started; failed after twenty such chunks in a row), later it is recorded
 *   (nobody_to_preempt; failed above one in a hundred). Throttling or a thread of higher priority
 *   would be in a value (event throttled, the result fails); interrupts are.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/thread/scenario.h"

#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SAMPLES = 20000, CHUNK = 64, LEVELS = 2, IDLE_PARTS = 100, MOST_UNSTARTED = 20 };

#define SPIN_NS INT64_C(10000) /* how long low spins before it makes high ready */
#define LEAST_AHEAD_NS 50000
#define MORE_AHEAD_NS 100000 /* random part */
#define SAMPLE_NS 150000
#define CHUNK_NS (CHUNK * SAMPLE_NS)
#define NOT_RUNNING_REMEDY                                                                         \
    "find out what keeps it from running: steal time, interrupts, threads of a higher priority"

enum pre_variant { BY_THREAD, BY_TIMER };

static const char *const variant_names[] = {"thread", "timer", NULL};

static const struct param_spec params[] = {
    {"by", PARAM_NAME, true, "thread,timer", 0, 0, variant_names,
     "what makes the high-priority thread ready", "by"},
    {0},
};

static const struct series_spec series[] = {
    {"preemption", "ns", "by",
     "thread: the low-priority thread, right before the sem_post that makes the other ready; "
     "timer: the programmed expiry",
     "first reading of the high-priority thread in user space"},
    {0},
};
enum { PREEMPTION };

struct own {
    struct run *run;
    struct rt_thread low;
    sem_t start, ready, parked;
    enum pre_variant variant;
    atomic_bool is_over, is_resting;
    atomic_uint_fast64_t begin_ticks; /* by=thread: low's stamp */
    atomic_uint_fast64_t turns;       /* turns of low's loop */
    atomic_uint_fast64_t served;      /* wake-ups of high */
    uint64_t late_count, idle_count;
    uint64_t turns_before;    /* `turns` at the start of the chunk */
    uint64_t unstarted_count; /* samples before low's first turn in a chunk */
    int64_t unstarted_ns;     /* the longest of them */
    int unstarted_chunks;     /* chunks in a row without a turn of low */
    struct random random;
};

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    random_start(&own->random, run->seed);
    sem_init(&own->start, 0, 0);
    sem_init(&own->ready, 0, 0);
    sem_init(&own->parked, 0, 0);
    return 0;
}

/* Low, by=thread: CHUNK times spins for SPIN_NS, then makes high ready. */
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

/* Low, by=timer: spins and reads the counter until high ends the chunk. */
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

static void record_stamp(struct record *record, int64_t ns, int64_t at_ns, uint64_t limit)
{
    if (limit == 0 || record->count < limit)
        record_value(record, ns, at_ns);
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
        record_stamp(record, clock_ns(clock, end - begin), run_at_ticks(own->run, end), limit);
    }
    thread_wait(&own->parked);
}

static void leave_out(struct own *own, int64_t ns)
{
    own->unstarted_count += own->run->is_warm_up ? 0 : 1;
    if (ns > own->unstarted_ns)
        own->unstarted_ns = ns;
}

static void take_one_by_timer(struct own *own, struct record *record, uint64_t limit)
{
    uint64_t turns = atomic_load_explicit(&own->turns, memory_order_relaxed);
    int64_t ahead_ns = LEAST_AHEAD_NS + random_below(&own->random, MORE_AHEAD_NS);
    int64_t release_ns = clock_monotonic_ns() + ahead_ns;
    struct timespec release = clock_ns_timespec(release_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL) == EINTR)
        ;
    int64_t now_ns = clock_monotonic_ns();
    uint64_t turns_now = atomic_load_explicit(&own->turns, memory_order_relaxed);
    bool is_early = now_ns < release_ns; /* it may have left low no time to start */
    if (turns_now == own->turns_before && !is_early) {
        leave_out(own, now_ns - release_ns);
        return;
    }
    if (turns_now == turns && !is_early)
        own->idle_count += own->run->is_warm_up ? 0 : 1;
    record_stamp(record, now_ns - release_ns, run_at_ns(own->run, now_ns), limit);
}

static void take_chunk_by_timer(struct own *own, struct record *record, uint64_t limit)
{
    own->turns_before = atomic_load(&own->turns);
    atomic_store(&own->is_resting, false);
    sem_post(&own->start);
    for (int i = 0; i < CHUNK && !run_should_stop(); i++)
        take_one_by_timer(own, record, limit);
    bool has_started = atomic_load(&own->turns) != own->turns_before;
    own->unstarted_chunks = has_started ? 0 : own->unstarted_chunks + 1;
    atomic_store(&own->is_resting, true);
    thread_wait(&own->parked);
}

struct doubt {
    const char *event, *what;
    uint64_t most_parts; /* one in this many values may be like this; 0: none may */
    const char *finding, *remedy;
};

static const struct doubt not_at_once = {
    "not_at_once",
    "the low-priority thread continued after making the other ready, before that one ran", 0,
    "no preemption", "run THR-B-PRI, which tests whether priorities are honoured"};

static const struct doubt nobody_to_preempt = {
    "nobody_to_preempt", "the low-priority thread did not run before the expiry", IDLE_PARTS,
    "not measured whether it is preempted", NOT_RUNNING_REMEDY};

static void report_doubt(struct own *own, const struct record *record, uint64_t count,
                         const struct doubt *doubt)
{
    if (count == 0)
        return;
    arena_event(own->run->arena, doubt->event, -1,
                DATA(data_integer("count", (int64_t)count),
                     data_integer("value_count", (int64_t)record->count)),
                "%llu times %s (%llu values)", (unsigned long long)count, doubt->what,
                (unsigned long long)record->count);
    if (doubt->most_parts == 0 || count > record->count / doubt->most_parts)
        outcome_set(&own->run->outcome, STATUS_FAILED, doubt->remedy,
                    "%s: in %llu of %llu values %s", doubt->finding, (unsigned long long)count,
                    (unsigned long long)record->count, doubt->what);
}

static bool has_given_up(const struct own *own)
{
    return own->unstarted_chunks >= MOST_UNSTARTED;
}

static void report_unstarted(struct own *own, const struct record *record)
{
    static const char what[] = "the low-priority thread had not started when the timer expired";
    unsigned long long count = own->unstarted_count;
    if (count == 0)
        return;
    arena_event(own->run->arena, "low_not_started", -1,
                DATA(data_integer("count", (int64_t)own->unstarted_count),
                     data_integer("longest_ns", own->unstarted_ns)),
                "%llu times %s: these samples, up to %lld us, are left out and repeated", count,
                what, (long long)(own->unstarted_ns / 1000));
    if (has_given_up(own) || record->count == 0)
        outcome_set(&own->run->outcome, STATUS_FAILED, NOT_RUNNING_REMEDY,
                    "not measured whether it is preempted: %llu times %s (%llu values)", count,
                    what, (unsigned long long)record->count);
}

static void report_doubts(struct own *own, const struct record *record)
{
    report_doubt(own, record, own->late_count, &not_at_once);
    report_doubt(own, record, own->idle_count, &nobody_to_preempt);
    report_unstarted(own, record);
}

static int take_chunk(struct run *run)
{
    struct own *own = run->own;
    struct record *record = run_record(run, PREEMPTION);
    if (own->variant == BY_THREAD)
        take_chunk_by_thread(own, record, run->samples);
    else
        take_chunk_by_timer(own, record, run->samples);
    return has_given_up(own) ? -1 : 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    own->variant = (enum pre_variant)variant_number(run, "by");
    if (own->variant == BY_THREAD && !HS_HAS_UNNAMED_SEMAPHORES)
        return variant_lacks(run, LACKS_UNNAMED_SEMAPHORES);
    if (own->variant == BY_TIMER && !HS_HAS_CLOCK_NANOSLEEP)
        return variant_lacks(run, LACKS_CLOCK_NANOSLEEP);
    own->late_count = own->idle_count = own->unstarted_count = 0;
    own->unstarted_chunks = 0;
    own->unstarted_ns = 0;
    variant_sample(run, PREEMPTION, 1, take_chunk);
    report_doubts(own, run_record(run, PREEMPTION));
    return 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    struct rt_thread_setup low = thread_setup(run, run->setup.policy, 1);
    int error = rt_thread_start(&own->low, &low, be_low, own);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the low-priority thread", NULL);
    rt_thread_go(&own->low);
    burst_begin(run, 0);
    burst_plan(run, 2 * CHUNK_NS); /* a chunk, and one of warm-up */
    int result = variants_measure(run);
    atomic_store(&own->is_over, true);
    sem_post(&own->start);
    rt_thread_join(&own->low);
    return result;
}

const struct test thr_p_pre = {
    .id = "THR-P-PRE",
    .title = "Preemption of a spinning thread",
    .source = "[G] Garre et al. 2014, Rhealstone",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 300000000,
    .sample_ns = SAMPLE_NS,
    .warm_up_samples = 1,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_variant,
};
