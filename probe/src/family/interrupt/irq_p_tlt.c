/* IRQ-P-TLT: from an interrupt to a blocked thread that runs (Dedicated Systems 2012).
 *
 * What: an interrupt makes high, which is blocked, ready, and high preempts low, which spins.
 * Begin, end: the sender reads CLOCK_MONOTONIC before it posts or raises; with the timer it is the
 *     programmed expiry. to_thread begins at the entry of the handler, stamped by the kernel, so it
 *     has the handler's run time. Both intervals end with high's first reading of that clock.
 *       ipi       a thread on another CPU posts the semaphore that high waits for
 *       timer     high sleeps (clock_nanosleep, absolute) until 50 to 150 us ahead at random
 *       external  that thread raises the interrupt of the device whose file high polls; without
 *                 another CPU low does, 20 to 100 us after high has blocked (event raised_here)
 * Threads: high, the measuring thread; low, at the lowest priority of the policy, on the same CPU;
 *     the waker, of high's priority, on another CPU. It sends when low has made a turn since high
 *     last ran, and 20 to 100 us later at random: high is blocked then, and low has the CPU.
 * Wrong if: the waker is interrupted between its reading and the send (in send_to_thread, as is the
 *     call that posts); the clocks of two CPUs differ; low did not run before a timer expired
 *     (nobody_to_preempt: more than one in a hundred fail the result); throttling or a higher
 *     priority takes the CPU (throttled, which fails it).
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/interrupt/sources.h"
#include "run/scheduling.h"
#include "run/shield_run.h"
#include "run/variant.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000, LEVELS = 2, IDLE_PARTS = 100, MOST_UNSEEN = 20, WAIT_MS = 1000 };
enum { BURST = 64 };

#define LEAST_AHEAD_NS INT64_C(50000)
#define MOST_AHEAD_NS INT64_C(3200000)
#define LEAST_PAUSE_NS INT64_C(20000)
#define MORE_PAUSE_NS 80000.0  /* random part */
#define MORE_AHEAD_NS 100000.0 /* random part */
#define SAMPLE_NS 150000
#define BURST_NS INT64_C(50000000)

#define EARLY_NS INT64_C(10000)        /* how early a timer's handler may begin */
#define PATIENCE_NS INT64_C(200000000) /* for low's next turn */

/* CLOCK_MONOTONIC: the send or the expiry, and high's first reading. */
struct wake_up {
    int64_t sent_ns, user_ns;
};

static const struct param_spec params[] = {INTERRUPT_SOURCE_PARAMS, HANDLER_PARAM, {0}};

static const struct series_spec series[] = {
    {"send_to_thread", "ns", "source",
     "ipi, external: the sender, right before the call that sends; timer: the programmed expiry",
     "first clock reading of the woken thread in user space"},
    {"to_thread", "ns", "source",
     "entry (not exit) of the interrupt's handler, stamped by the kernel",
     "first clock reading of the woken thread in user space"},
    {0},
};
enum { SEND_TO_THREAD, TO_THREAD };

/* ---- low ---- */

/* Keeps the CPU under test busy and counts its turns; it blocks between bursts. */
struct low_spinner {
    struct run *run;
    struct rt_thread rt_thread;
    sem_t start, parked;
    atomic_bool is_over, is_resting;
    atomic_uint_fast64_t turns;
    const struct port_uio *device; /* whose interrupt it raises when it is asked to */
    atomic_bool is_asked;
    int64_t pause_ns;
    atomic_int_fast64_t sent_ns;
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static void raise_one(struct low_spinner *low)
{
    int64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + low->pause_ns;
    atomic_store_explicit(&low->is_asked, false, memory_order_relaxed);
    while (now_ns < until_ns)
        now_ns = clock_monotonic_ns();
    atomic_store_explicit(&low->sent_ns, now_ns, memory_order_release);
    port_uio_raise(low->device);
}

static void spin(void *argument)
{
    struct low_spinner *low = argument;
    for (;;) {
        wait_for(&low->start);
        if (atomic_load(&low->is_over))
            return;
        while (!atomic_load_explicit(&low->is_resting, memory_order_relaxed)) {
            (void)clock_ticks(&low->run->clock);
            atomic_fetch_add_explicit(&low->turns, 1, memory_order_relaxed);
            if (atomic_load_explicit(&low->is_asked, memory_order_acquire))
                raise_one(low);
        }
        sem_post(&low->parked);
    }
}

/* Below the threads that handle interrupts on PREEMPT_RT. 0, or an errno value. */
static int low_spinner_start(struct low_spinner *low, struct run *run)
{
    struct rt_thread_setup setup = run->setup;
    setup.priority = sched_get_priority_min(setup.policy);
    memset(low, 0, sizeof *low);
    low->run = run;
    sem_init(&low->start, 0, 0);
    sem_init(&low->parked, 0, 0);
    int error = rt_thread_start(&low->rt_thread, &setup, spin, low);
    if (error == 0)
        rt_thread_go(&low->rt_thread);
    return error;
}

static void low_spinner_begin(struct low_spinner *low)
{
    atomic_store(&low->is_resting, false);
    sem_post(&low->start);
}

static void low_spinner_end(struct low_spinner *low)
{
    atomic_store(&low->is_resting, true);
    wait_for(&low->parked);
}

/* Has it raise the interrupt of `device` when it has run for `pause_ns`. For a caller that blocks
 * now: until then low does not run. */
static void low_spinner_ask(struct low_spinner *low, const struct port_uio *device,
                            int64_t pause_ns)
{
    low->device = device;
    low->pause_ns = pause_ns;
    atomic_store_explicit(&low->is_asked, true, memory_order_release);
}

/* CLOCK_MONOTONIC right before the last one. */
static int64_t low_spinner_sent_ns(struct low_spinner *low)
{
    return atomic_load_explicit(&low->sent_ns, memory_order_acquire);
}

static uint64_t low_spinner_turns(struct low_spinner *low)
{
    return atomic_load_explicit(&low->turns, memory_order_relaxed);
}

static void low_spinner_stop(struct low_spinner *low)
{
    atomic_store(&low->is_over, true);
    sem_post(&low->start);
    rt_thread_join(&low->rt_thread);
    sem_destroy(&low->start);
    sem_destroy(&low->parked);
}

/* ---- begin: the waker on another CPU ---- */

struct waker {
    struct run *run;
    const struct interrupt_line *line;
    struct low_spinner *low;
    struct rt_thread rt_thread;
    sem_t start, parked;
    sem_t ready; /* that the blocked thread waits for, unless it waits for a device */
    atomic_bool is_over, has_ended, is_left; /* left: by the blocked thread */
    atomic_int_fast64_t sent_ns;
    atomic_uint_fast64_t served; /* wake-ups of the blocked thread */
    uint32_t wanted_count;       /* of the burst */
    struct random random;
};

static void pause_at_random(struct waker *waker)
{
    int64_t until_ns =
        clock_monotonic_ns() + LEAST_PAUSE_NS + random_below(&waker->random, MORE_PAUSE_NS);
    while (clock_monotonic_ns() < until_ns)
        ;
}

static bool is_ended(struct waker *waker)
{
    return atomic_load_explicit(&waker->is_left, memory_order_relaxed) || run_should_stop();
}

/* Waits until the counter has passed `value`; at most until a moment of CLOCK_MONOTONIC. */
static bool has_passed(struct waker *waker, atomic_uint_fast64_t *counter, uint64_t value,
                       int64_t until_ns)
{
    while (atomic_load_explicit(counter, memory_order_acquire) == value)
        if (is_ended(waker) || clock_monotonic_ns() > until_ns)
            return false;
    return true;
}

static bool low_has_run(struct waker *waker)
{
    return has_passed(waker, &waker->low->turns, low_spinner_turns(waker->low),
                      clock_monotonic_ns() + PATIENCE_NS);
}

/* High ran last before `served` was counted, so a turn of low after that finds it blocked. */
static bool wake_one(struct waker *waker)
{
    uint64_t served = atomic_load_explicit(&waker->served, memory_order_acquire);
    if (!low_has_run(waker))
        return false;
    pause_at_random(waker);
    int64_t now_ns = clock_monotonic_ns();
    atomic_store_explicit(&waker->sent_ns, now_ns, memory_order_release);
    if (waker->line->source == &interrupt_external)
        port_uio_raise(&waker->line->uio);
    else
        sem_post(&waker->ready);
    return has_passed(waker, &waker->served, served,
                      INT64_MAX); /* the longest wait is a value too */
}

static void wake_burst(struct waker *waker)
{
    uint32_t count = 0;
    while (count < waker->wanted_count && wake_one(waker))
        count++;
    atomic_store_explicit(&waker->has_ended, true, memory_order_release);
    sem_post(&waker->ready);
}

static void be_waker(void *argument)
{
    struct waker *waker = argument;
    for (;;) {
        wait_for(&waker->start);
        if (atomic_load(&waker->is_over))
            return;
        wake_burst(waker);
        sem_post(&waker->parked);
    }
}

static int waker_start(struct waker *waker, struct run *run, const struct interrupt_line *line,
                       struct low_spinner *low)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = shield_run_other_cpu(run);
    memset(waker, 0, sizeof *waker);
    waker->run = run;
    waker->line = line;
    waker->low = low;
    random_start(&waker->random, run->seed);
    sem_init(&waker->start, 0, 0);
    sem_init(&waker->parked, 0, 0);
    sem_init(&waker->ready, 0, 0);
    int error = rt_thread_start(&waker->rt_thread, &setup, be_waker, waker);
    if (error == 0)
        rt_thread_go(&waker->rt_thread);
    return error;
}

/* Begins a burst of `count` wake-ups at most. Each follows when high has called waker_served and
 * low has run. A burst that ends early posts `ready` once more. */
static void waker_begin(struct waker *waker, uint32_t count)
{
    while (sem_trywait(&waker->ready) == 0) /* of the end of the burst before */
        ;
    waker->wanted_count = count;
    atomic_store(&waker->has_ended, false);
    atomic_store(&waker->is_left, false);
    sem_post(&waker->start);
}

static bool waker_has_ended(struct waker *waker)
{
    return atomic_load_explicit(&waker->has_ended, memory_order_acquire);
}

static int64_t waker_sent_ns(struct waker *waker)
{
    return atomic_load_explicit(&waker->sent_ns, memory_order_acquire);
}

static void waker_served(struct waker *waker)
{
    atomic_fetch_add_explicit(&waker->served, 1, memory_order_release);
}

/* Ends the burst, and waits until it has. */
static void waker_end(struct waker *waker)
{
    atomic_store(&waker->is_left, true);
    wait_for(&waker->parked);
}

static void waker_stop(struct waker *waker)
{
    atomic_store(&waker->is_over, true);
    sem_post(&waker->start);
    rt_thread_join(&waker->rt_thread);
    sem_destroy(&waker->start);
    sem_destroy(&waker->parked);
    sem_destroy(&waker->ready);
}

/* ---- the steps ---- */

struct own {
    struct run *run;
    struct interrupt_sources sources;
    struct pause_watch pause_watch;
    struct waker waker;
    bool has_waker;
    bool is_raised_here;         /* by low */
    struct interrupt_line *line; /* of the current source */
    struct handler_trace *trace;
    struct low_spinner low;
    uint64_t sent_count, idle_count, unserved_count;
    int unseen_bursts; /* in a row */
    int64_t ahead_ns;  /* least time from high's sleep to the expiry */
    struct wake_up wake_ups[BURST];
    struct random random;
};

static int check(struct run *run)
{
    if (!HS_HAS_CLOCK_NANOSLEEP)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, LACKS_CLOCK_NANOSLEEP);
    if (interrupt_sources_check(run) != 0)
        return -1;
    return handler_trace_check(run, HANDLER_OF_WAKE_UP);
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    random_start(&own->random, run->seed);
    return interrupt_sources_open(&own->sources, run, HANDLER_OF_WAKE_UP);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        interrupt_sources_close(&own->sources);
}

static int judge(struct run *run)
{
    struct own *own = run->own;
    return interrupt_sources_judge(&own->sources);
}

/* ---- end: high, woken from another CPU ---- */

/* Whether the interrupt has come; takes it back. */
static bool wait_for_device(const struct interrupt_line *line, int64_t *now_ns)
{
    struct pollfd served = {.fd = line->uio.file, .events = POLLIN};
    uint32_t count;
    int ready = poll(&served, 1, WAIT_MS);
    *now_ns = clock_monotonic_ns();
    bool has_come = ready > 0 && port_uio_wait(&line->uio, &count) == 0;
    port_uio_acknowledge(&line->uio);
    (void)port_uio_enable(&line->uio);
    return has_come;
}

/* What came after it was given up belongs to no later send. */
static void drain_device(const struct interrupt_line *line)
{
    struct pollfd served = {.fd = line->uio.file, .events = POLLIN};
    uint32_t count;
    if (line->source != &interrupt_external)
        return;
    if (poll(&served, 1, 0) > 0)
        (void)port_uio_wait(&line->uio, &count);
}

static bool wait_for_waker(struct own *own, int64_t *now_ns)
{
    if (own->line->source == &interrupt_external)
        return wait_for_device(own->line, now_ns);
    while (sem_wait(&own->waker.ready) != 0)
        ;
    *now_ns = clock_monotonic_ns();
    return true;
}

static uint32_t burst_elsewhere(struct own *own, uint32_t count)
{
    struct waker *waker = &own->waker;
    uint32_t taken = 0;
    int64_t now_ns;
    drain_device(own->line);
    waker_begin(waker, count);
    while (taken < count && !waker_has_ended(waker)) {
        bool has_come = wait_for_waker(own, &now_ns);
        if (waker_has_ended(waker))
            break;
        if (has_come)
            own->wake_ups[taken++] = (struct wake_up){waker_sent_ns(waker), now_ns};
        else
            own->unserved_count++;
        waker_served(waker);
        if (!has_come)
            break;
    }
    waker_end(waker);
    return taken;
}

/* ---- woken by a device that low raises ---- */

static uint32_t burst_by_low(struct own *own, uint32_t count)
{
    uint32_t taken = 0;
    int64_t now_ns;
    bool has_come = true;
    drain_device(own->line);
    while (taken < count && has_come && !run_should_stop()) {
        int64_t pause_ns = LEAST_PAUSE_NS + random_below(&own->random, MORE_PAUSE_NS);
        low_spinner_ask(&own->low, &own->line->uio, pause_ns);
        has_come = wait_for_device(own->line, &now_ns);
        if (has_come)
            own->wake_ups[taken++] = (struct wake_up){low_spinner_sent_ns(&own->low), now_ns};
    }
    own->unserved_count += has_come ? 0 : 1;
    return taken;
}

static void report_raised_here(const struct own *own)
{
    if (own->is_raised_here)
        arena_event(own->run->arena, "raised_here", -1,
                    DATA(data_text("source", own->line->source->name),
                         data_integer("cpu", own->run->setup.cpu)),
                    "%s: raised by the low-priority thread on CPU %d, because there is no other "
                    "CPU",
                    own->line->source->name, own->run->setup.cpu);
}

/* ---- woken by the timer ---- */

/* Low has made no turn while high slept. On a slow machine it takes long until it runs: more time
 * from now on. */
static void note_idle(struct own *own)
{
    own->idle_count += own->run->is_warm_up ? 0 : 1;
    if (own->ahead_ns < MOST_AHEAD_NS)
        own->ahead_ns *= 2;
}

static uint32_t burst_by_timer(struct own *own, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (run_should_stop())
            return i;
        uint64_t turns = low_spinner_turns(&own->low);
        int64_t ahead_ns = own->ahead_ns + random_below(&own->random, MORE_AHEAD_NS);
        int64_t release_ns = clock_monotonic_ns() + ahead_ns;
        clock_sleep_until(release_ns);
        own->wake_ups[i] = (struct wake_up){release_ns, clock_monotonic_ns()};
        if (low_spinner_turns(&own->low) == turns)
            note_idle(own);
    }
    return count;
}

/* ---- bursts ---- */

static void take_wake_up(struct own *own, const struct wake_up *one)
{
    struct run *run = own->run;
    struct handled handled;
    int64_t at_ns = run_at_ns(run, one->user_ns);
    record_value(run_record(run, SEND_TO_THREAD), one->user_ns - one->sent_ns, at_ns);
    bool is_timer = own->line->source == &interrupt_timer;
    int64_t from_ns = is_timer ? one->sent_ns - EARLY_NS : one->sent_ns;
    if (handler_trace_find(own->trace, from_ns, one->user_ns, &handled) == HANDLER_SINGLE)
        record_value(run_record(run, TO_THREAD), one->user_ns - handled.entry_ns, at_ns);
}

static uint32_t wanted_count(const struct run *run)
{
    uint64_t taken = run_record(run, SEND_TO_THREAD)->count;
    if (run->is_warm_up)
        return BURST / 4;
    return run->samples > 0 && run->samples - taken < BURST ? (uint32_t)(run->samples - taken)
                                                            : BURST;
}

static int take_burst(struct run *run)
{
    struct own *own = run->own;
    uint32_t count = wanted_count(run);
    low_spinner_begin(&own->low);
    pause_watch_begin(&own->pause_watch);
    count = own->has_waker        ? burst_elsewhere(own, count)
            : own->is_raised_here ? burst_by_low(own, count)
                                  : burst_by_timer(own, count);
    pause_watch_end(&own->pause_watch, 0);
    low_spinner_end(&own->low);
    handler_trace_read(own->trace);
    for (uint32_t i = 0; i < count; i++)
        take_wake_up(own, &own->wake_ups[i]);
    own->sources.sent[variant_number(run, "source")] += count;
    own->sent_count += run->is_warm_up ? 0 : count;
    own->unseen_bursts = count > 0 ? 0 : own->unseen_bursts + 1;
    return own->unseen_bursts >= MOST_UNSEEN ? -1 : 0;
}

/* ---- a variant ---- */

static void report_idle(struct own *own)
{
    unsigned long long count = own->idle_count, sent = own->sent_count;
    if (count == 0)
        return;
    arena_event(
        own->run->arena, "nobody_to_preempt", -1,
        DATA(data_integer("count", (int64_t)count), data_integer("value_count", (int64_t)sent)),
        "%llu times the low-priority thread did not run before the expiry (%llu values)", count,
        sent);
    if (count > sent / IDLE_PARTS)
        outcome_set(&own->run->outcome, STATUS_FAILED,
                    "find out what keeps it from running: steal time, interrupts, threads of a "
                    "higher priority",
                    "not measured on a busy CPU: in %llu of %llu values the low-priority thread "
                    "did not run before the expiry",
                    count, sent);
}

static void report_unserved(struct own *own)
{
    const char *name = own->line->source->name;
    if (own->unserved_count == 0 && own->unseen_bursts < MOST_UNSEEN)
        return;
    arena_event(own->run->arena, "interrupts_unserved", -1,
                DATA(data_text("source", name),
                     data_integer("unserved_count", (int64_t)own->unserved_count),
                     data_integer("value_count", (int64_t)own->sent_count),
                     data_bool("is_given_up", own->unseen_bursts >= MOST_UNSEEN)),
                "%s: %llu interrupts did not wake the thread within %d ms (%llu did)%s", name,
                (unsigned long long)own->unserved_count, WAIT_MS,
                (unsigned long long)own->sent_count,
                own->unseen_bursts >= MOST_UNSEEN ? "; given up" : "");
}

static void begin_variant(struct own *own)
{
    int64_t source = variant_number(own->run, "source");
    own->line = &own->sources.lines[source];
    own->trace = &own->sources.traces[source];
    own->sent_count = own->idle_count = own->unserved_count = 0;
    own->unseen_bursts = 0;
    own->ahead_ns = LEAST_AHEAD_NS;
}

static int start_waker(struct own *own)
{
    int64_t source = variant_number(own->run, "source");
    own->is_raised_here = interrupt_source_is_sent_here(own->run, source);
    own->has_waker = own->line->source->is_sent_elsewhere && !own->is_raised_here;
    if (!own->has_waker)
        return 0;
    int error = waker_start(&own->waker, own->run, own->line, &own->low);
    own->has_waker = error == 0;
    return error ? outcome_set_errno(&own->run->outcome, error, "starting the thread that sends",
                                     NULL)
                 : 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    begin_variant(own);
    if (!own->line->source)
        return 0;
    if (start_waker(own) != 0)
        return -1;
    int result = handler_trace_start(own->trace);
    if (result == 0)
        variant_sample(run, SEND_TO_THREAD, 1, take_burst);
    handler_trace_stop(own->trace);
    report_idle(own);
    report_unserved(own);
    report_raised_here(own);
    if (own->has_waker)
        waker_stop(&own->waker);
    return result;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    int error = low_spinner_start(&own->low, run);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the low-priority thread", NULL);
    burst_begin(run, 0);
    burst_plan(run, 2 * BURST_NS); /* a burst, and one of warm-up */
    pause_watch_open(&own->pause_watch, run, &own->low.rt_thread.thread);
    int result = variants_measure(run);
    low_spinner_stop(&own->low);
    return result;
}

const struct test irq_p_tlt = {
    .id = "IRQ-P-TLT",
    .title = "From an interrupt to a thread",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .setup_ns = 500000000,
    .sample_ns = SAMPLE_NS,
    .warm_up_samples = 1,
    .check = check,
    .has_variant = interrupt_source_has_variant,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};
