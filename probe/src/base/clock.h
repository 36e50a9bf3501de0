/* Time stamps: the processor's counter where it passes its checks, else
 * clock_gettime(CLOCK_MONOTONIC).
 *
 * Use clock_monotonic_ns for values that are compared with a timer or passed between
 * processes. Use clock_ticks, clock_begin and clock_end for gaps and short intervals, and
 * convert with clock_ns outside the timed section.
 *
 * Calibration (docs/method.md): an anchor is the tightest of 50 bracketed reads (clock,
 * counter, clock). The rate is taken from several anchors over at least 1 s.
 */
#ifndef HS_BASE_CLOCK_H
#define HS_BASE_CLOCK_H

#include "base/posix_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* ---- the processor's monotonic counter: the only place that knows architectures ----
 *
 * counter_read: cheapest read, may be reordered with neighbouring instructions.
 * counter_begin, counter_end: fenced, for short intervals. Instructions before
 * counter_begin complete before it reads; those after counter_end start after it has read. */

#if !defined(COUNTER_NAME) /* a test has its own */
#if defined(__x86_64__) || defined(__i386__)
#define COUNTER_NAME "tsc"
static inline uint64_t counter_read(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
static inline uint64_t counter_begin(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define COUNTER_NAME "cntvct"
static inline uint64_t counter_read(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
static inline uint64_t counter_begin(void)
{
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
    return value;
}
#elif defined(__riscv) && __riscv_xlen == 64
#define COUNTER_NAME "rdtime"
static inline uint64_t counter_read(void)
{
    uint64_t value;
    __asm__ volatile("rdtime %0" : "=r"(value));
    return value;
}
static inline uint64_t counter_begin(void)
{
    uint64_t value;
    __asm__ volatile("fence\n\trdtime %0\n\tfence" : "=r"(value)::"memory");
    return value;
}
#elif defined(__riscv) && __riscv_xlen == 32
#define COUNTER_NAME "rdtime"
/* Read the upper half twice: if it changed, the lower half wrapped in between. */
static inline uint64_t counter_read(void)
{
    uint32_t high, low, again;
    do
        __asm__ volatile("rdtimeh %0\n\trdtime %1\n\trdtimeh %2"
                         : "=&r"(high), "=&r"(low), "=&r"(again));
    while (high != again);
    return (uint64_t)high << 32 | low;
}
static inline uint64_t counter_begin(void)
{
    __asm__ volatile("fence" ::: "memory");
    uint64_t value = counter_read();
    __asm__ volatile("fence" ::: "memory");
    return value;
}
#else
#define COUNTER_NAME ""
static inline uint64_t counter_read(void)
{
    return 0;
}
static inline uint64_t counter_begin(void)
{
    return 0;
}
#endif
/* On x86 not rdtscp: hypervisors may mask it, and rdtsc after lfence waits for the same. */
static inline uint64_t counter_end(void)
{
    return counter_begin();
}
#endif

/* ---- the clock ---- */

#define CLOCK_NS_PER_S INT64_C(1000000000)

/* A counter reading and the CLOCK_MONOTONIC time at which it was taken, known to
 * within half of bracket_ns. */
struct clock_anchor {
    uint64_t ticks;
    int64_t at_ns;
    int64_t bracket_ns;
};

enum { CLOCK_REASON_BYTES = 200 };

struct clock {
    bool use_counter;
    const char *name;       /* "tsc", "cntvct", "rdtime" or "monotonic" */
    uint64_t counter_hz;    /* 0: no counter in use */
    uint64_t mult;          /* ns = ticks * mult >> 32 */
    double calibration_ppb; /* bound of the calibration error; < 0: unknown */
    double drift_ppb;       /* rate at the end against the rate in use; only if has_drift */
    bool has_drift;
    struct clock_anchor first;
    char reason[CLOCK_REASON_BYTES]; /* why the counter is not used; empty when it is */
};

static inline int64_t clock_timespec_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * CLOCK_NS_PER_S + time->tv_nsec;
}

static inline struct timespec clock_ns_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
                             .tv_nsec = (long)(ns % CLOCK_NS_PER_S)};
}

static inline int64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return clock_timespec_ns(&now);
}

static inline uint64_t clock_ticks(const struct clock *clock)
{
    return clock->use_counter ? counter_read() : (uint64_t)clock_monotonic_ns();
}

static inline uint64_t clock_begin(const struct clock *clock)
{
    return clock->use_counter ? counter_begin() : (uint64_t)clock_monotonic_ns();
}

static inline uint64_t clock_end(const struct clock *clock)
{
    return clock->use_counter ? counter_end() : (uint64_t)clock_monotonic_ns();
}

/* Converts an interval in ticks to ns; negative if the counter ran backwards. */
static inline int64_t clock_ns(const struct clock *clock, uint64_t ticks)
{
    if (!clock->use_counter)
        return (int64_t)ticks;
    if ((int64_t)ticks < 0)
        return -(int64_t)((double)-(int64_t)ticks * (double)clock->mult / 4294967296.0);
    uint64_t upper = ticks >> 32, lower = ticks & UINT32_MAX;
    return (int64_t)(upper * clock->mult + (lower * (clock->mult >> 32)) +
                     ((lower * (clock->mult & UINT32_MAX)) >> 32));
}

/* Sleeps until a CLOCK_MONOTONIC time, also through signals: 0, or the errno value of
 * clock_nanosleep. Inline, for tests of which it is the call under test. */
static inline int clock_sleep_until(int64_t until_ns)
{
    struct timespec until = clock_ns_timespec(until_ns);
    int error;
    while ((error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) == EINTR)
        ;
    return error;
}

/* Sleeps for `ns`, also through signals: 0, or the errno value of nanosleep. */
int clock_sleep(int64_t ns);

/* Tries both calls that tests and load sleep with: 0, or an errno value and the name of the call. A
 * loop around a call that is refused would spin instead of sleeping. */
int clock_check_sleep(const char **call);
#define CLOCK_SLEEP_REMEDY                                                                         \
    "let this process sleep: a system call filter (seccomp) refuses it; of a container "           \
    "--security-opt seccomp=unconfined, for a systemd unit SystemCallFilter="

/* Whether CLOCK_MONOTONIC is another after at most 100 ms: nothing can be measured by one that
 * stands still, and no wait until a moment ends. */
bool clock_advances(void);
#define CLOCK_STANDS_STILL "CLOCK_MONOTONIC stands still"
#define CLOCK_STANDS_STILL_REMEDY "correct this system's clock"

/* Converts a threshold of `ns` to ticks, rounded down. */
uint64_t clock_ticks_of_ns(const struct clock *clock, int64_t ns);

/* Chooses the clock. `want_counter` false forces CLOCK_MONOTONIC. `known_hz` is a frequency
 * measured earlier (0: none): it is used if every part of a 20 ms check agrees with it within
 * 100 ppm. Otherwise the counter is calibrated over 1 s. Both ways compare the counter with
 * CLOCK_MONOTONIC, on every architecture. Never fails: if the counter is rejected,
 * clock->reason says why. */
void clock_open(struct clock *clock, bool want_counter, uint64_t known_hz);

/* Converts from now on by this rate of the counter, which is known to within `ppb`. */
void clock_set_rate(struct clock *clock, double hz, double ppb);

/* Switches to CLOCK_MONOTONIC because of `reason`. Earlier counter readings can no longer be
 * converted. */
void clock_refuse(struct clock *clock, const char *reason);

/* Compares the counter's rate since clock_open with the rate in use, if at least 1 s has
 * passed (has_drift). A drift above 500 ppm makes the clock untrusted: clock->reason is set. */
void clock_check_drift(struct clock *clock);

/* Quantum in ns: greatest common divisor of 1e5 differences between consecutive readings; below
 * 1 for a fast counter. Digits below the quantum are meaningless. */
double clock_quantum_ns(const struct clock *clock);

#endif
