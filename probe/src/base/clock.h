/* Time stamps: the processor's counter where it passes its checks, else
 * clock_gettime(CLOCK_MONOTONIC).
 *
 * Values that are compared with a timer or that cross processes are taken with
 * clock_monotonic_ns; gaps and short intervals with clock_ticks, clock_begin and
 * clock_end, converted outside the timed section with clock_ns.
 *
 * Calibration (METHOD, Time stamps): bracketed reads (clock, counter, clock), the
 * tightest of 50 at each anchor, several anchors over a base of at least 1 s.
 */
#ifndef HS_CLOCK_H
#define HS_CLOCK_H

#include "base/posix_source.h"

#include "base/counter.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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
    double calibration_ppb; /* bound of the calibration's own error; < 0: not known */
    double drift_ppb;       /* rate at the end against the rate in use; see has_drift */
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

/* Length of `ticks` in ns. A counter that ran backwards gives a negative length. */
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

/* Ticks in `ns`, rounded down; for thresholds. */
uint64_t clock_ticks_of_ns(const struct clock *clock, int64_t ns);

/* Chooses the clock. `want_counter` false forces CLOCK_MONOTONIC. `known_hz` is a
 * frequency found before (0: none): it is checked over `CLOCK_CHECK_NS` and used when
 * it holds within 100 ppm; otherwise the counter is calibrated over a second.
 * Never fails: a counter that does not pass leaves its cause in clock->reason. */
void clock_open(struct clock *clock, bool want_counter, uint64_t known_hz);

/* Compares the counter's rate since clock_open with the rate in use; needs a second
 * at least to say anything (has_drift). A drift above 500 ppm withdraws the trust:
 * clock->reason is set. */
void clock_check_drift(struct clock *clock);

/* Quantum: greatest common divisor of 1e5 differences of neighbouring readings, in ns (a
 * fraction of one for a fast counter). No digit below it means anything. */
double clock_quantum_ns(const struct clock *clock);

#endif
