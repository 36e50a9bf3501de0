/* A libc with virtual time, loaded before the real one (LD_PRELOAD). CLOCK_MONOTONIC advances only
 * when a thread sleeps until an absolute time: the sleep returns at once, and the clock shows that
 * time plus a known lateness. So a test's results are known to the nanosecond.
 *
 * HARDSTONE_LATE_NS: lateness of successive sleeps, separated by commas, repeated. Only sleeps
 * until a time of CLOCK_MONOTONIC are virtual; other clocks and sleeps are real. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NS_PER_S = 1000000000, MOST_STEPS = 64 };

static _Atomic int64_t now_ns = 1000 * (int64_t)NS_PER_S;

int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    if (id == CLOCK_MONOTONIC) {
        int64_t now = atomic_load(&now_ns);
        *time = (struct timespec){.tv_sec = now / NS_PER_S, .tv_nsec = now % NS_PER_S};
        return 0;
    }
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "clock_gettime");
    return next(id, time);
}

static int64_t lateness(void)
{
    static int64_t steps[MOST_STEPS];
    static int count, place;
    char *text = count ? NULL : getenv("HARDSTONE_LATE_NS");
    while (text && *text && count < MOST_STEPS) {
        steps[count++] = strtoll(text, &text, 10);
        text += *text == ',';
    }
    return count ? steps[place++ % count] : 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    if (id == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
        int64_t until = (int64_t)wanted->tv_sec * NS_PER_S + wanted->tv_nsec;
        if (until > atomic_load(&now_ns)) /* a time that has passed costs nothing */
            atomic_store(&now_ns, until + lateness());
        return 0;
    }
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "clock_nanosleep");
    return next(id, flags, wanted, left);
}
