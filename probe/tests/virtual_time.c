/* A libc with virtual time, loaded before the real one (LD_PRELOAD). CLOCK_MONOTONIC advances only
 * when a thread sleeps until an absolute time, in nanosleep, or waits for a timer
 * (virtual_timers.c): the wait returns at once, and the clock shows that time plus a known lateness
 * (none of nanosleep). So a test's results are known to the nanosecond. The CPU time of the process
 * advances with it: nobody takes the CPU.
 *
 * HARDSTONE_LATE_NS: lateness of successive waits, separated by commas, repeated.
 * HARDSTONE_TICK_NS: waits end at multiples of it; by default at the time that was asked for. A
 *   sleep until a time that has passed returns at once all the same.
 * HARDSTONE_READ_NS: time of a reading of the clock.
 * HARDSTONE_CALL_NS: time of a call that sleeps or sets a timer, before it looks at the clock, or
 *   that asks for overruns; of successive calls, as above.
 * Other clocks and sleeps are real. */
#define _GNU_SOURCE
#include "virtual_time.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 64 };

static _Atomic int64_t now_ns = 1000 * (int64_t)NS_PER_S;
static int64_t tick_ns, read_ns;

/* Numbers of an environment variable, one after another. */
struct pattern {
    const char *name;
    int64_t steps[MOST_STEPS];
    int count, place;
};
static struct pattern late = {.name = "HARDSTONE_LATE_NS"}, call = {.name = "HARDSTONE_CALL_NS"};

int64_t virtual_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    tick_ns = virtual_number("HARDSTONE_TICK_NS", 1);
    read_ns = virtual_number("HARDSTONE_READ_NS", 0);
}

static int64_t next_of(struct pattern *pattern)
{
    char *text = pattern->count ? NULL : getenv(pattern->name);
    while (text && *text && pattern->count < MOST_STEPS) {
        pattern->steps[pattern->count++] = strtoll(text, &text, 10);
        text += *text == ',';
    }
    return pattern->count ? pattern->steps[pattern->place++ % pattern->count] : 0;
}

struct timespec virtual_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

int64_t virtual_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

int64_t virtual_now_ns(void)
{
    return atomic_load(&now_ns);
}

void virtual_pass(int64_t ns)
{
    atomic_fetch_add(&now_ns, ns);
}

void virtual_call(void)
{
    virtual_pass(next_of(&call));
}

int64_t virtual_expiry_ns(int64_t due_ns)
{
    return (due_ns + tick_ns - 1) / tick_ns * tick_ns;
}

void virtual_expire(int64_t due_ns)
{
    if (due_ns > virtual_now_ns())
        atomic_store(&now_ns, virtual_expiry_ns(due_ns) + next_of(&late));
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    if (id == CLOCK_MONOTONIC || id == CLOCK_PROCESS_CPUTIME_ID) {
        *time = virtual_timespec(atomic_fetch_add(&now_ns, read_ns) + read_ns);
        return 0;
    }
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "clock_gettime");
    return next(id, time);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    if (id == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
        virtual_call();
        virtual_expire(virtual_ns(wanted));
        return 0;
    }
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "clock_nanosleep");
    return next(id, flags, wanted, left);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    virtual_pass(virtual_ns(wanted));
    return 0;
}
