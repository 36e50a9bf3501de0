/* interrupt: timer interrupts on the CPU of the load.
 *
 * Each is a kernel timer that is armed ahead by a process bound to that CPU, where its
 * interrupt comes then, whether the process is running or not: a source that only a new
 * timer at each interrupt could keep going would be slowed down by the rest of the load.
 * The signals of the timers stay blocked; nothing but the interrupt is wanted. One that was
 * due before it could be armed is missed, and not caught up. Whether they came is in the
 * kernel's own counters, which are read at both ends of the measurement. */
#include "../posix_source.h"

#include "duty.h"
#include "element.h"
#include "rate.h"

#include "../clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SENT = COUNTER_OWN, MISSED };
enum { TIMERS = 256, LEAST_TIMERS = 8, AHEAD_PARTS = 10 }; /* a tenth of a second ahead */
#define AHEAD_NS (INT64_C(1000000000) / AHEAD_PARTS)

#define LOOK_NS INT64_C(5000000) /* how old the count may be */

struct interrupts {
    int count;
    timer_t timers[TIMERS];
    int64_t due_ns[TIMERS];
    uint64_t armed, gone; /* so many were armed, so many of them lie in the past */
    struct rate rate;
};

static int make_timers(struct interrupts *own, int wanted)
{
    struct sigevent event;
    sigset_t blocked;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (; own->count < wanted; own->count++)
        if (timer_create(CLOCK_MONOTONIC, &event, &own->timers[own->count]) != 0)
            return own->count > 0 ? 0 : errno;
    return 0;
}

static int prepare(struct loader *loader)
{
    struct interrupts *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    loader->own = own;
    int64_t wanted = loader->degree->number / AHEAD_PARTS + LEAST_TIMERS;
    int error = make_timers(own, wanted < TIMERS ? (int)wanted : TIMERS);
    if (error)
        loader_note(loader, "no timer could be made: %s", strerror(error));
    return error;
}

static void count_gone(struct loader *loader, struct interrupts *own)
{
    int64_t now_ns = duty_now_ns();
    uint64_t gone = own->gone;
    while (own->gone < own->armed && own->due_ns[own->gone % (unsigned)own->count] <= now_ns)
        own->gone++;
    if (own->gone == gone)
        return;
    loader_count(loader, SENT, own->gone - gone);
    loader_works(loader);
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
        count_gone(loader, own);
        arm(loader, own);
        duty_sleep_until(next_look_ns(own));
    }
}

const struct load_element load_interrupt = {
    .name = "interrupt",
    .title = "timer interrupts on each CPU of the load",
    .kind = LOAD_RATE,
    .default_degree = "1000/s",
    .counters = {NULL, "cpu_ns", NULL, NULL, "sent_count", "missed_count"},
    .late_ns = AHEAD_NS,
    .prepare = prepare,
    .work = work,
};
