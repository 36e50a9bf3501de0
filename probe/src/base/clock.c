#include "base/posix_source.h"

#include "base/clock.h"

#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    BRACKETS = 50,
    ANCHORS = 5,
    QUANTUM_READS = 100000,
    QUANTUM_CHUNK = 200,
    STEP_READS = 1000000,
    FIRST_READS = 1000,
    STEPS = 5,
};

#define CHECK_NS INT64_C(20000000)
#define BASE_NS INT64_C(1000000000)
#define STEP_NS INT64_C(100000000) /* a tick, of the slowest clock */
#define LEAST_HZ 500000.0
#define KNOWN_HZ_TOLERANCE 100e-6
#define KNOWN_HZ_BOUND_PPB 500000.0 /* a check with a wider bound proves nothing */
#define DRIFT_LIMIT_PPB 500000.0

/* At a step of the clock, which is known to within its size; within 0: the clock stands still. */
static struct clock_anchor anchor_at_next_step(void)
{
    int64_t before = clock_monotonic_ns(), now = before;
    uint64_t ticks = counter_begin();
    for (int i = 0; now == before && i < STEP_READS; i++) {
        ticks = counter_begin();
        now = clock_monotonic_ns();
    }
    return (struct clock_anchor){ticks, now, now - before};
}

/* The smallest: an interruption makes some of them wider. */
static struct clock_anchor anchor_at_step(void)
{
    struct clock_anchor best = anchor_at_next_step();
    for (int i = 1; i < STEPS && best.bracket_ns > 0; i++) {
        struct clock_anchor one = anchor_at_next_step();
        if (one.bracket_ns < best.bracket_ns)
            best = one;
    }
    return best;
}

/* A bracket of 0 is one step of a coarse clock wide, not 0. */
static struct clock_anchor anchor_take(void)
{
    struct clock_anchor best = {0, 0, INT64_MAX};
    for (int i = 0; i < BRACKETS; i++) {
        int64_t before = clock_monotonic_ns();
        uint64_t ticks = counter_begin();
        int64_t after = clock_monotonic_ns();
        if (after - before < best.bracket_ns)
            best = (struct clock_anchor){ticks, before + (after - before) / 2, after - before};
    }
    return best.bracket_ns > 0 ? best : anchor_at_step();
}

int clock_sleep(int64_t ns)
{
    struct timespec rest = clock_ns_timespec(ns);
    while (nanosleep(&rest, &rest) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

int clock_check_sleep(const char **call)
{
    *call = "clock_nanosleep";
    int error = clock_sleep_until(1); /* which has passed */
    if (error)
        return error;
    *call = "nanosleep";
    return clock_sleep(1);
}

bool clock_advances(void)
{
    int64_t before = clock_monotonic_ns();
    for (int i = 0; i < FIRST_READS; i++)
        if (clock_monotonic_ns() != before)
            return true;
    (void)clock_sleep(STEP_NS);
    return clock_monotonic_ns() != before;
}

/* Rate between two anchors, in Hz; 0 when the counter did not move forward. */
static double rate_hz(const struct clock_anchor *from, const struct clock_anchor *to)
{
    if (to->ticks <= from->ticks || to->at_ns <= from->at_ns)
        return 0;
    return (double)(to->ticks - from->ticks) * 1e9 / (double)(to->at_ns - from->at_ns);
}

static double bound_ppb(const struct clock_anchor *from, const struct clock_anchor *to)
{
    double error_ns = (double)(from->bracket_ns + to->bracket_ns) / 2;
    return error_ns * 1e9 / (double)(to->at_ns - from->at_ns);
}

void clock_refuse(struct clock *clock, const char *reason)
{
    clock->use_counter = false;
    clock->name = "monotonic";
    clock->counter_hz = 0;
    clock->calibration_ppb = -1;
    snprintf(clock->reason, sizeof clock->reason, "%s", reason);
}

void clock_set_rate(struct clock *clock, double hz, double ppb)
{
    clock->counter_hz = (uint64_t)(hz + 0.5);
    clock->mult = (uint64_t)(1e9 * 4294967296.0 / hz + 0.5);
    clock->calibration_ppb = ppb;
    clock->use_counter = true;
    clock->name = COUNTER_NAME;
}

/* Whether the rate between any two neighbouring anchors agrees with `hz`. */
static bool is_even(const struct clock_anchor *anchors, double hz)
{
    for (int i = 1; i < ANCHORS; i++) {
        double part_hz = rate_hz(&anchors[i - 1], &anchors[i]);
        double allowed = bound_ppb(&anchors[i - 1], &anchors[i]) / 1e9 + KNOWN_HZ_TOLERANCE;
        if (part_hz < hz * (1 - allowed) || part_hz > hz * (1 + allowed))
            return false;
    }
    return true;
}

/* 0, or the error of a sleep between two anchors. */
static int take_anchors(const struct clock *clock, struct clock_anchor *anchors, int64_t base_ns)
{
    anchors[0] = clock->first;
    for (int i = 1; i < ANCHORS; i++) {
        int error = clock_sleep(base_ns / (ANCHORS - 1));
        if (error)
            return error;
        anchors[i] = anchor_take();
    }
    return 0;
}

static void calibrate(struct clock *clock)
{
    struct clock_anchor anchors[ANCHORS];
    char reason[CLOCK_REASON_BYTES];
    int error = take_anchors(clock, anchors, BASE_NS);
    if (error) {
        snprintf(reason, sizeof reason, "the counter could not be calibrated: nanosleep: %s",
                 strerror(error));
        clock_refuse(clock, reason);
        return;
    }
    double hz = rate_hz(&anchors[0], &anchors[ANCHORS - 1]);
    if (anchors[0].at_ns == anchors[ANCHORS - 1].at_ns)
        clock_refuse(clock, CLOCK_STANDS_STILL);
    else if (hz < LEAST_HZ)
        clock_refuse(clock, "the counter does not advance");
    else if (!is_even(anchors, hz))
        clock_refuse(clock, "the counter does not run at an even rate against CLOCK_MONOTONIC");
    else
        clock_set_rate(clock, hz, bound_ppb(&anchors[0], &anchors[ANCHORS - 1]));
}

/* Checks each part as well as the whole: a counter that stops and then runs too fast has the
 * right mean rate. */
static bool known_rate_holds(const struct clock *clock, double known_hz)
{
    struct clock_anchor anchors[ANCHORS];
    if (take_anchors(clock, anchors, CHECK_NS) != 0)
        return false;
    const struct clock_anchor *last = &anchors[ANCHORS - 1];
    double hz = rate_hz(&anchors[0], last);
    if (hz < LEAST_HZ || bound_ppb(&anchors[0], last) > KNOWN_HZ_BOUND_PPB)
        return false;
    double allowed = KNOWN_HZ_TOLERANCE + bound_ppb(&anchors[0], last) / 1e9;
    return hz > known_hz * (1 - allowed) && hz < known_hz * (1 + allowed) &&
           is_even(anchors, known_hz);
}

void clock_open(struct clock *clock, bool want_counter, uint64_t known_hz)
{
    memset(clock, 0, sizeof *clock);
    clock->calibration_ppb = -1;
    char reason[CLOCK_REASON_BYTES];
    if (!want_counter) {
        clock_refuse(clock, "CLOCK_MONOTONIC was asked for");
        return;
    }
    if (COUNTER_NAME[0] == '\0') {
        clock_refuse(clock, "no counter is known for this architecture");
        return;
    }
    if (!port_counter_is_trusted(reason, sizeof reason)) {
        clock_refuse(clock, reason);
        return;
    }
    clock->first = anchor_take();
    if (known_hz > 0 && known_rate_holds(clock, (double)known_hz))
        clock_set_rate(clock, (double)known_hz, -1);
    else
        calibrate(clock);
}

void clock_check_drift(struct clock *clock)
{
    if (!clock->use_counter)
        return;
    struct clock_anchor now = anchor_take();
    double hz = rate_hz(&clock->first, &now);
    clock->has_drift = now.at_ns - clock->first.at_ns >= BASE_NS;
    if (!clock->has_drift)
        return;
    clock->drift_ppb = (hz / (1e9 * 4294967296.0 / (double)clock->mult) - 1) * 1e9;
    double size = clock->drift_ppb < 0 ? -clock->drift_ppb : clock->drift_ppb;
    if (size > DRIFT_LIMIT_PPB + bound_ppb(&clock->first, &now))
        snprintf(clock->reason, sizeof clock->reason,
                 "the counter drifted by %.0f ppm against CLOCK_MONOTONIC", size / 1000);
}

uint64_t clock_ticks_of_ns(const struct clock *clock, int64_t ns)
{
    if (!clock->use_counter)
        return (uint64_t)ns;
    return (uint64_t)((double)ns * (double)clock->counter_hz / 1e9);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Skips differences that span an interruption: on a virtual machine the counter may resume
 * with another phase, and one such difference makes the divisor 1. */
static uint64_t divisor_of_short(const uint64_t *differences, uint64_t shortest)
{
    uint64_t divisor = 0;
    for (int i = 0; i < QUANTUM_CHUNK; i++)
        if (differences[i] <= shortest * 16)
            divisor = greatest_common_divisor(divisor, differences[i]);
    return divisor;
}

double clock_quantum_ns(const struct clock *clock)
{
    uint64_t differences[QUANTUM_CHUNK], divisor = 0;
    for (int chunk = 0; chunk < QUANTUM_READS / QUANTUM_CHUNK; chunk++) {
        uint64_t shortest = UINT64_MAX, previous = clock_ticks(clock);
        for (int i = 0; i < QUANTUM_CHUNK; i++) {
            uint64_t now = clock_ticks(clock);
            differences[i] = now - previous;
            previous = now;
            if (differences[i] > 0 && differences[i] < shortest)
                shortest = differences[i];
        }
        if (shortest < UINT64_MAX / 16)
            divisor = greatest_common_divisor(divisor, divisor_of_short(differences, shortest));
    }
    if (!clock->use_counter)
        return (double)divisor;
    return (double)divisor * 1e9 / (double)clock->counter_hz;
}
