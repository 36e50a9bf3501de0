/* interrupt: timer interrupts, or those of a device that the user names.
 *
 * Timers: a process arms one-shot timers ahead of time, on the CPU where it is then; with @cpu it
 * is bound to one. Their interrupts come there whether or not the process runs. Timers armed one at
 * a time, at each expiry, would be slowed down by the rest of the load. The process arms more than
 * 1 s ahead: beside a test that computes at a real-time priority, other tasks get the CPU only once
 * per second (throttling, fair server). Timers due before they could be armed are counted as missed
 * and not caught up.
 *
 * Each expiry sends a blocked signal that names its timer. The process drains the signals when it
 * gets the CPU again. An expiry counts if its due time lies within the measurement. After
 * the end, load_stop waits, at most 0.3 s, until all signals due before it are drained. Counting at
 * the time of draining would be wrong by up to 1 s of interrupts beside such a test.
 * Timers may share an interrupt. The kernel's interrupt counters, read at begin and end of the
 * measurement, show that.
 *
 * A device (/dev/uioN): a process raises its interrupt, waits until the driver has counted it, and
 * lets the next one through. One that nothing here can raise is served when it interrupts by
 * itself. Counted is what the driver counts, at once. The process needs a CPU for each interrupt:
 * beside a test that computes on its only CPU it reaches little, and what it did not raise in time
 * is missed and not caught up. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "load/element.h"
#include "port/device.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DELIVERED = COUNTER_OWN, MISSED };
enum { TIMERS = 4096, LEAST_TIMERS = 8 };

#define AHEAD_NS INT64_C(1200000000) /* more than the throttling period of 1 s */
#define LOOK_NS INT64_C(20000000)    /* interval of draining */
#define WINDOW_NS INT64_C(1000000)

struct interrupts {
    int count;
    timer_t timers[TIMERS];
    int64_t due_ns[TIMERS];
    bool is_out[TIMERS];  /* armed, signal not yet drained */
    uint64_t armed, gone; /* number ever armed; the first `gone` of them are drained */
    struct rate rate;
};

static void signals_of_timers(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGRTMIN);
}

static int make_timers(struct interrupts *own, int wanted)
{
    struct sigevent event;
    sigset_t blocked;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    signals_of_timers(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (; own->count < wanted; own->count++) {
        event.sigev_value.sival_int = own->count;
        if (timer_create(CLOCK_MONOTONIC, &event, &own->timers[own->count]) != 0)
            return errno;
    }
    return 0;
}

/* This process's share of half the limit on queued signals; the rest is left to the test. */
static int fair_part(const struct worker *worker)
{
    long most = sysconf(_SC_SIGQUEUE_MAX);
    long part = most > 0 ? most / 2 / (worker->peers > 0 ? worker->peers : 1) : TIMERS;
    return part > TIMERS ? TIMERS : part < LEAST_TIMERS ? LEAST_TIMERS : (int)part;
}

static int prepare_timers(struct worker *worker)
{
    struct interrupts *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    int64_t per_s = worker->degree->number;
    int64_t full = per_s * (AHEAD_NS / 1000000) / 1000 + LEAST_TIMERS;
    int wanted = full < TIMERS ? (int)full : TIMERS, fair = fair_part(worker);
    int error = make_timers(own, wanted < fair ? wanted : fair);
    if (own->count == 0) {
        worker_note(worker, "no timer could be created: %s", strerror(error));
        return error;
    }
    if (own->count < wanted)
        worker_note(worker, "%d of %d timers (%s): armed %.2g s ahead; raise the limit (ulimit -i)",
                    own->count, wanted, strerror(error ? error : EAGAIN),
                    own->count / (double)per_s);
    return 0;
}

/* Waits while the bound is WINDOW_MOVES: its new value will be later than this call. */
static int64_t bound_ns(const struct worker *worker, const _Atomic int64_t *bound)
{
    int64_t ns;
    while ((ns = atomic_load(bound)) == WINDOW_MOVES && !worker_should_stop(worker))
        (void)clock_sleep_until(clock_monotonic_ns() + WINDOW_NS);
    return ns;
}

static bool is_in_window(const struct worker *worker, int64_t due_ns)
{
    int64_t begin_ns = bound_ns(worker, &worker->map->window_begin_ns);
    int64_t end_ns = bound_ns(worker, &worker->map->window_end_ns);
    return begin_ns > 0 && due_ns >= begin_ns && (end_ns <= 0 || due_ns < end_ns);
}

/* True for an expiry of an armed timer of this process; others may send the same signal. */
static bool is_delivery(const struct interrupts *own, const siginfo_t *info)
{
    int place = info->si_value.sival_int;
    return info->si_code == SI_TIMER && place >= 0 && place < own->count && own->is_out[place];
}

static void count_delivered(struct worker *worker, struct interrupts *own)
{
    static const struct timespec at_once = {0, 0};
    int64_t begun_ns = clock_monotonic_ns();
    siginfo_t info;
    sigset_t set;
    int number;
    signals_of_timers(&set);
    while ((number = sigtimedwait(&set, &info, &at_once)) > 0 || errno == EINTR) {
        if (number <= 0 || !is_delivery(own, &info))
            continue;
        int place = info.si_value.sival_int;
        own->is_out[place] = false;
        if (is_in_window(worker, own->due_ns[place]))
            worker_count(worker, DELIVERED, 1);
        worker_works(worker);
    }
    while (own->gone < own->armed && !own->is_out[own->gone % (unsigned)own->count])
        own->gone++;
    int64_t oldest_ns = own->due_ns[own->gone % (unsigned)own->count];
    bool is_waiting = own->gone < own->armed && oldest_ns < begun_ns;
    atomic_store(&worker->slot->counted_ns, is_waiting ? oldest_ns : begun_ns);
}

/* Arms the next timer; false if the kernel refuses it. */
static bool arm_next(struct worker *worker, struct interrupts *own)
{
    unsigned place = (unsigned)(own->armed % (unsigned)own->count);
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    own->due_ns[place] = rate_next_ns(&own->rate);
    when.it_value = clock_ns_timespec(own->due_ns[place]);
    rate_step(&own->rate);
    if (timer_settime(own->timers[place], TIMER_ABSTIME, &when, NULL) == 0) {
        own->is_out[place] = true;
        own->armed++;
        return true;
    }
    worker_note(worker, "a timer could not be armed: %s", strerror(errno));
    worker_count(worker, MISSED, 1);
    return false;
}

static void arm(struct worker *worker, struct interrupts *own)
{
    int64_t missed = rate_skip(&own->rate, clock_monotonic_ns(), 0);
    if (missed > 0)
        worker_count(worker, MISSED, (uint64_t)missed);
    while (own->armed - own->gone < (uint64_t)own->count && arm_next(worker, own))
        ;
}

/* At most LOOK_NS ahead, and no later than when half of the armed timers are due. */
static int64_t next_look_ns(const struct interrupts *own)
{
    int64_t soon_ns = clock_monotonic_ns() + LOOK_NS;
    if (own->armed == own->gone)
        return soon_ns;
    uint64_t half = own->gone + (own->armed - own->gone) / 2;
    int64_t half_ns = own->due_ns[half % (unsigned)own->count];
    return half_ns < soon_ns ? half_ns : soon_ns;
}

static void work_with_timers(struct worker *worker)
{
    struct interrupts *own = worker->own;
    rate_start(&own->rate, worker->degree->number, clock_monotonic_ns());
    while (!worker_should_stop(worker)) {
        count_delivered(worker, own);
        arm(worker, own);
        (void)clock_sleep_until(next_look_ns(own));
    }
}

/* ---- a device ---- */

enum { SERVE_MS = 50 };

#define BEHIND_NS INT64_C(10000000) /* what is due for longer is missed */

struct device_interrupts {
    struct port_uio uio;
    uint32_t count; /* the driver's, at the latest one */
    struct rate rate;
};

static int prepare_device(struct worker *worker)
{
    struct device_interrupts *own = calloc(1, sizeof *own);
    struct outcome outcome = {0};
    if (!own)
        return ENOMEM;
    worker->own = own;
    if (port_uio_open_to_serve(worker->degree->uio_number, &own->uio, &outcome) != 0) {
        worker_note(worker, "%.150s", outcome.reason);
        return ENODEV;
    }
    own->count = own->uio.first_count;
    if (!own->uio.raise)
        worker_note(worker,
                    PORT_UIO_PATH "%d (%.40s): it is not known how to raise its interrupt; those "
                                  "that come are served and counted",
                    own->uio.number, own->uio.name);
    return 0;
}

/* Waits for an interrupt and lets the next one through; whether one came. */
static bool serve(struct worker *worker, struct device_interrupts *own)
{
    struct pollfd served = {.fd = own->uio.file, .events = POLLIN};
    uint32_t count;
    bool has_come = poll(&served, 1, SERVE_MS) > 0 && port_uio_wait(&own->uio, &count) == 0;
    if (has_come) {
        worker_count(worker, DELIVERED, count - own->count);
        own->count = count;
    }
    port_uio_acknowledge(&own->uio);
    int error = port_uio_enable(&own->uio);
    if (error)
        worker_note(worker, PORT_UIO_PATH "%d: its interrupt could not be enabled: %s",
                    own->uio.number, strerror(error));
    worker_works(worker);
    return has_come;
}

static void raise_if_due(struct worker *worker, struct device_interrupts *own)
{
    int64_t now_ns = clock_monotonic_ns();
    int64_t missed = rate_skip(&own->rate, now_ns, BEHIND_NS);
    if (rate_next_ns(&own->rate) <= now_ns) {
        rate_step(&own->rate);
        port_uio_raise(&own->uio);
        missed += serve(worker, own) ? 0 : 1;
    }
    worker_count(worker, MISSED, (uint64_t)missed);
}

static void work_with_device(struct worker *worker)
{
    struct device_interrupts *own = worker->own;
    rate_start(&own->rate, worker->degree->number, clock_monotonic_ns());
    while (!worker_should_stop(worker)) {
        int64_t soon_ns = clock_monotonic_ns() + LOOK_NS;
        if (own->uio.raise)
            raise_if_due(worker, own);
        else if (serve(worker, own))
            continue;
        int64_t next_ns = own->uio.raise ? rate_next_ns(&own->rate) : soon_ns;
        (void)clock_sleep_until(next_ns < soon_ns ? next_ns : soon_ns);
    }
    port_uio_close(&own->uio);
}

/* ---- both ---- */

static int prepare(struct worker *worker)
{
    return worker->degree->has_device ? prepare_device(worker) : prepare_timers(worker);
}

static void work(struct worker *worker)
{
    if (worker->degree->has_device)
        work_with_device(worker);
    else
        work_with_timers(worker);
}

const struct load_element load_interrupt = {
    .name = "interrupt",
    .title = "interrupts of kernel timers, armed in advance; @" PORT_UIO_PATH "N: of that device",
    .kind = LOAD_RATE,
    .default_degree = "1000/s",
    .takes_device = true,
    .counters = {NULL, "cpu_ns", NULL, NULL, "delivered_count", "missed_count"},
    .prepare = prepare,
    .work = work,
};
