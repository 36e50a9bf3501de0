/* interrupt: timer interrupts on the CPU of the load.
 *
 * Each is a kernel timer that is armed ahead by a process bound to that CPU, where its
 * interrupt comes then, whether the process is running or not: a source that only a new
 * timer at each interrupt could keep going would be slowed down by the rest of the load.
 * Ahead is more than a second, since beside a test that computes at a real-time priority all
 * others get their part of a CPU once in a second only (throttling, the fair server). One that
 * was due before it could be armed is missed, and not caught up.
 *
 * What is counted is what came: a timer shoots once, its interrupt sends a blocked signal that
 * names it, and nothing else sends one; the signals are drained later, when the process has its
 * CPU again. So what counts is not when one was drained but when it was due: those due within
 * the measurement count (map.h), and after its end the load waits until all before it are drained.
 * Counters read at both ends would be wrong by a second's worth beside such a test.
 * Whether each had an interrupt of its own is in the kernel's counters, read at both ends. */
#include "base/posix_source.h"

#include "load/duty.h"
#include "load/element.h"
#include "load/rate.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DELIVERED = COUNTER_OWN, MISSED };
enum { TIMERS = 4096, LEAST_TIMERS = 8 };

#define AHEAD_NS INT64_C(1200000000) /* throttling has periods of 1 s */
#define LOOK_NS INT64_C(20000000)    /* how old the count may be */
#define WINDOW_NS INT64_C(1000000)

struct interrupts {
    int count;
    timer_t timers[TIMERS];
    int64_t due_ns[TIMERS];
    bool is_out[TIMERS];  /* armed, and its signal has not come */
    uint64_t armed, gone; /* so many were armed; of those before `gone` none is out */
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

/* Half of what the user's signals may be: the test beside the load needs some, too. */
static int fair_part(const struct loader *loader)
{
    long most = sysconf(_SC_SIGQUEUE_MAX);
    long part = most > 0 ? most / 2 / (loader->peers > 0 ? loader->peers : 1) : TIMERS;
    return part > TIMERS ? TIMERS : part < LEAST_TIMERS ? LEAST_TIMERS : (int)part;
}

static int prepare(struct loader *loader)
{
    struct interrupts *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    loader->own = own;
    int64_t per_s = loader->degree->number;
    int64_t full = per_s * (AHEAD_NS / 1000000) / 1000 + LEAST_TIMERS;
    int wanted = full < TIMERS ? (int)full : TIMERS, fair = fair_part(loader);
    int error = make_timers(own, wanted < fair ? wanted : fair);
    if (own->count == 0) {
        loader_note(loader, "no timer could be made: %s", strerror(error));
        return error;
    }
    if (own->count < wanted)
        loader_note(loader, "%d of %d timers (%s): armed %.2g s ahead; raise the limit (ulimit -i)",
                    own->count, wanted, strerror(error ? error : EAGAIN),
                    own->count / (double)per_s);
    return 0;
}

/* Not while it moves: it is set to a moment after this call. */
static int64_t bound_ns(const struct loader *loader, const _Atomic int64_t *bound)
{
    int64_t ns;
    while ((ns = atomic_load(bound)) == WINDOW_MOVES && !loader_should_stop(loader))
        duty_sleep_until(duty_now_ns() + WINDOW_NS);
    return ns;
}

static bool is_in_window(const struct loader *loader, int64_t due_ns)
{
    int64_t begin_ns = bound_ns(loader, &loader->map->window_begin_ns);
    int64_t end_ns = bound_ns(loader, &loader->map->window_end_ns);
    return begin_ns > 0 && due_ns >= begin_ns && (end_ns <= 0 || due_ns < end_ns);
}

/* True: one of the timers of this process has come. Others may send the signal, too. */
static bool is_delivery(const struct interrupts *own, const siginfo_t *info)
{
    int place = info->si_value.sival_int;
    return info->si_code == SI_TIMER && place >= 0 && place < own->count && own->is_out[place];
}

static void count_delivered(struct loader *loader, struct interrupts *own)
{
    static const struct timespec at_once = {0, 0};
    int64_t begun_ns = duty_now_ns();
    siginfo_t info;
    sigset_t set;
    int number;
    signals_of_timers(&set);
    while ((number = sigtimedwait(&set, &info, &at_once)) > 0 || errno == EINTR) {
        if (number <= 0 || !is_delivery(own, &info))
            continue;
        int place = info.si_value.sival_int;
        own->is_out[place] = false;
        if (is_in_window(loader, own->due_ns[place]))
            loader_count(loader, DELIVERED, 1);
        loader_works(loader);
    }
    while (own->gone < own->armed && !own->is_out[own->gone % (unsigned)own->count])
        own->gone++;
    int64_t oldest_ns = own->due_ns[own->gone % (unsigned)own->count];
    bool is_waiting = own->gone < own->armed && oldest_ns < begun_ns;
    atomic_store(&loader->slot->counted_ns, is_waiting ? oldest_ns : begun_ns);
}

/* False: the kernel did not take it. */
static bool arm_next(struct loader *loader, struct interrupts *own)
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
    loader_note(loader, "a timer could not be armed: %s", strerror(errno));
    loader_count(loader, MISSED, 1);
    return false;
}

static void arm(struct loader *loader, struct interrupts *own)
{
    int64_t missed = rate_skip(&own->rate, duty_now_ns(), 0);
    if (missed > 0)
        loader_count(loader, MISSED, (uint64_t)missed);
    while (own->armed - own->gone < (uint64_t)own->count && arm_next(loader, own))
        ;
}

/* Long before those that are armed run out. */
static int64_t next_look_ns(const struct interrupts *own)
{
    int64_t soon_ns = duty_now_ns() + LOOK_NS;
    if (own->armed == own->gone)
        return soon_ns;
    uint64_t half = own->gone + (own->armed - own->gone) / 2;
    int64_t half_ns = own->due_ns[half % (unsigned)own->count];
    return half_ns < soon_ns ? half_ns : soon_ns;
}

static void work(struct loader *loader)
{
    struct interrupts *own = loader->own;
    rate_start(&own->rate, loader->degree->number, duty_now_ns());
    while (!loader_should_stop(loader)) {
        count_delivered(loader, own);
        arm(loader, own);
        duty_sleep_until(next_look_ns(own));
    }
}

const struct load_element load_interrupt = {
    .name = "interrupt",
    .title = "timer interrupts on each CPU of the load",
    .kind = LOAD_RATE,
    .default_degree = "1000/s",
    .counters = {NULL, "cpu_ns", NULL, NULL, "delivered_count", "missed_count"},
    .prepare = prepare,
    .work = work,
};
