/* IRQ-P-TLT: from an interrupt to a blocked thread that runs (Dedicated Systems 2012).
 *
 * High, the measuring thread at the run's priority, is blocked. Low, at the lowest of that policy,
 * spins on the same CPU, so that the CPU is not idle. An interrupt makes high ready, and it
 * preempts low:
 *
 *   source=ipi       a thread of high's priority on another CPU posts the semaphore that high waits
 *                    for; the kernel sends an interrupt to have the CPU choose anew
 *   source=timer     high sleeps (clock_nanosleep, absolute, CLOCK_MONOTONIC) until a moment 50 to
 *                    150 us ahead at random (more on a machine where low does not run by then)
 *   source=external  the thread on the other CPU raises the interrupt of a UIO device, whose file
 *                    high waits for (poll). Where there is no other CPU, low raises it itself
 * (event raised_here), 20 to 100 us after high has blocked
 *
 *   send_to_thread  begin = the sender's reading of CLOCK_MONOTONIC before it posts or raises, or
 *                   the programmed expiry; end = high's first reading of that clock
 *   to_thread       begin = the kernel's stamp at the entry of the handler, end = the same reading.
 *                   Only where the handler can be seen (parameter handler), which lengthens it
 *
 * The sender waits until low has made a turn since high last ran, and then 20 to 100 us at random:
 * high is blocked, and low has the CPU. With the timer low's turns are compared afterwards: a value
 * before which low made none is recorded (whatever kept low may keep high) and counted (event
 * nobody_to_preempt); more than one in a hundred fail the result.
 *
 * How it could be wrong: interruptions of the sender between its reading and the send are part of
 * send_to_thread, and so is the call that posts. The clocks of two CPUs are compared; their skew is
 * printed beside. Throttling or a thread of higher priority (event throttled) fails the result.
 */
#include "base/posix_source.h"

#include "family/interrupt/pause_watch.h"
#include "family/interrupt/rig.h"
#include "family/interrupt/waker.h"
#include "run/scheduling.h"
#include "run/variant.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000, LEVELS = 2, IDLE_PARTS = 100, MOST_UNSEEN = 20, WAIT_MS = 1000 };

#define LEAST_AHEAD_NS INT64_C(50000)
#define MOST_AHEAD_NS INT64_C(3200000)
#define LEAST_PAUSE_NS INT64_C(20000)
#define MORE_PAUSE_NS 80000.0  /* random part */
#define MORE_AHEAD_NS 100000.0 /* random part */
#define SAMPLE_NS 150000
#define BURST_NS INT64_C(50000000)

static const struct param_spec params[] = {INTERRUPT_SOURCE_PARAMS, HANDLER_PARAM, {0}};

static const struct series_spec series[] = {
    {"send_to_thread", "ns", "source",
     "ipi, external: the sender, right before the call that sends; timer: the programmed expiry",
     "first clock reading of the woken thread in user land"},
    {"to_thread", "ns", "source", "entry of the interrupt's handler, stamped by the kernel",
     "first clock reading of the woken thread in user land"},
    {0},
};
enum { SEND_TO_THREAD, TO_THREAD };

struct own {
    struct run *run;
    struct rig rig;
    struct pause_watch pause_watch;
    struct waker waker;
    bool has_waker;
    bool is_raised_here;         /* by low */
    struct interrupt_line *line; /* of the current source */
    struct handler_sight *sight;
    struct low_spinner low;
    uint64_t sent_count, idle_count, unserved_count;
    int unseen_bursts; /* in a row */
    int64_t ahead_ns;  /* least time from high's sleep to the expiry */
    struct wake_up wake_ups[WAKER_BURST];
    unsigned short random[3];
};

static int check(struct run *run)
{
    return rig_check(run, HANDLER_OF_WAKE_UP);
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    own->random[0] = 0x330e;
    own->random[1] = (unsigned short)run->seed;
    own->random[2] = (unsigned short)(run->seed >> 16);
    return rig_open(&own->rig, run, HANDLER_OF_WAKE_UP);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        rig_close(&own->rig);
}

static int judge(struct run *run)
{
    struct own *own = run->own;
    return rig_judge(&own->rig);
}

/* ---- woken from another CPU ---- */

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
        int64_t pause_ns = LEAST_PAUSE_NS + (int64_t)(erand48(own->random) * MORE_PAUSE_NS);
        low_spinner_ask(&own->low, &own->line->uio, pause_ns);
        has_come = wait_for_device(own->line, &now_ns);
        if (has_come)
            own->wake_ups[taken++] = (struct wake_up){low_spinner_sent_ns(&own->low), now_ns};
    }
    own->unserved_count += has_come ? 0 : 1;
    return taken;
}

static void tell_raised_here(const struct own *own)
{
    if (own->is_raised_here)
        arena_event(own->run->arena, "raised_here", -1,
                    DATA(data_text("source", own->line->source->name),
                         data_integer("cpu", own->run->setup.cpu)),
                    "%s: raised by the low-priority thread on CPU %d, since there is no other CPU",
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
        int64_t ahead_ns = own->ahead_ns + (int64_t)(erand48(own->random) * MORE_AHEAD_NS);
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
    int64_t from_ns = is_timer ? one->sent_ns - WAKER_EARLY_NS : one->sent_ns;
    if (handler_sight_find(own->sight, from_ns, one->user_ns, &handled) == HANDLER_SINGLE)
        record_value(run_record(run, TO_THREAD), one->user_ns - handled.entry_ns, at_ns);
}

static uint32_t wanted_count(const struct run *run)
{
    uint64_t taken = run_record(run, SEND_TO_THREAD)->count;
    if (run->is_warm_up)
        return WAKER_BURST / 4;
    return run->samples > 0 && run->samples - taken < WAKER_BURST ? (uint32_t)(run->samples - taken)
                                                                  : WAKER_BURST;
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
    handler_sight_read(own->sight);
    for (uint32_t i = 0; i < count; i++)
        take_wake_up(own, &own->wake_ups[i]);
    own->rig.sent[variant_number(run, "source")] += count;
    own->sent_count += run->is_warm_up ? 0 : count;
    own->unseen_bursts = count > 0 ? 0 : own->unseen_bursts + 1;
    return own->unseen_bursts >= MOST_UNSEEN ? -1 : 0;
}

/* ---- a variant ---- */

static void tell_idle(struct own *own)
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

static void tell_unserved(struct own *own)
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
    own->line = &own->rig.lines[source];
    own->sight = &own->rig.sights[source];
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
    int result = handler_sight_start(own->sight);
    if (result == 0)
        variant_sample(run, SEND_TO_THREAD, 1, take_burst);
    handler_sight_stop(own->sight);
    tell_idle(own);
    tell_unserved(own);
    tell_raised_here(own);
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
