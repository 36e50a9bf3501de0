/* The clock against CLOCK_MONOTONIC, within the bounds of readings before and after. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "tap.h"

#include <math.h>

enum { DIFFERENCES = 20000 };

/* CLOCK_MONOTONIC may be steered between the calibration and its check. */
#define STEERING 50e-6

/* Calibrated once: it takes a second. test_clock_made_up has the cases. */
static const struct clock *counter(void)
{
    static struct clock clock;
    if (!clock.name)
        clock_open(&clock, true, 0);
    if (clock.use_counter)
        return &clock;
    tap_skip("the processor's counter is not trusted here");
    return NULL;
}

static void sleep_ns(int64_t ns)
{
    struct timespec rest = clock_ns_timespec(ns);
    nanosleep(&rest, NULL);
}

/* A counter reading between two of CLOCK_MONOTONIC. */
struct bracket {
    int64_t before_ns, after_ns;
    uint64_t ticks;
};

static struct bracket bracket_take(const struct clock *clock)
{
    struct bracket bracket;
    bracket.before_ns = clock_monotonic_ns();
    bracket.ticks = clock_begin(clock);
    bracket.after_ns = clock_monotonic_ns();
    return bracket;
}

TEST(calibration)
{
    const struct clock *clock = counter();
    if (!clock)
        return;
    CHECK(clock->calibration_ppb >= 0);
    for (int i = 0; i < 10; i++) {
        struct bracket from = bracket_take(clock);
        sleep_ns(30000000);
        struct bracket to = bracket_take(clock);
        double told_ns = (double)clock_ns(clock, to.ticks - from.ticks);
        double error = clock->calibration_ppb / 1e9 + STEERING;
        CHECK(told_ns >= (double)(to.before_ns - from.after_ns) * (1 - error) - 1);
        CHECK(told_ns <= (double)(to.after_ns - from.before_ns) * (1 + error) + 1);
    }
}

TEST(wrong_frequency_is_refused)
{
    const struct clock *clock = counter();
    struct clock other;
    if (!clock)
        return;
    clock_open(&other, true, clock->counter_hz / 100 * 99);
    CHECK(other.use_counter);
    CHECK(fabs((double)other.counter_hz / (double)clock->counter_hz - 1) < STEERING);
    CHECK(other.calibration_ppb >= 0);
}

TEST(known_frequency_is_used)
{
    const struct clock *clock = counter();
    struct clock other;
    if (!clock)
        return;
    clock_open(&other, true, clock->counter_hz);
    CHECK(other.use_counter);
    CHECK_SAME(other.counter_hz, clock->counter_hz);
    CHECK(other.calibration_ppb < 0);
    CHECK(!other.has_drift);
}

TEST(drift)
{
    const struct clock *clock = counter();
    if (!clock)
        return;
    struct clock checked = *clock;
    clock_check_drift(&checked);
    CHECK(checked.has_drift);
    CHECK(fabs(checked.drift_ppb) < 1e5);
    CHECK_TEXT(checked.reason, "");
}

TEST(a_counter_that_drifts_loses_trust)
{
    const struct clock *clock = counter();
    if (!clock)
        return;
    struct clock checked = *clock;
    checked.mult += checked.mult / 1000;
    clock_check_drift(&checked);
    CHECK_NEAR(checked.drift_ppb, 1e6, 1e5);
    CHECK_HOLDS(checked.reason, "the counter drifted by");
}

TEST(no_drift_is_told_too_early)
{
    const struct clock *clock = counter();
    struct clock other;
    if (!clock)
        return;
    clock_open(&other, true, clock->counter_hz);
    clock_check_drift(&other);
    CHECK(!other.has_drift);
}

TEST(quantum_divides_differences)
{
    static uint64_t differences[DIFFERENCES];
    const struct clock *clock = counter();
    if (!clock)
        return;
    double quantum_ns = clock_quantum_ns(clock);
    uint64_t quantum = (uint64_t)(quantum_ns * (double)clock->counter_hz / 1e9 + 0.5);
    uint64_t shortest = UINT64_MAX, previous = clock_ticks(clock), strangers = 0;
    for (int i = 0; i < DIFFERENCES; i++) {
        uint64_t now = clock_ticks(clock);
        differences[i] = now - previous;
        previous = now;
        if (differences[i] > 0 && differences[i] < shortest)
            shortest = differences[i];
    }
    if (!CHECK(quantum > 0))
        return;
    /* a virtual machine may come back from an interruption with another phase */
    for (int i = 0; i < DIFFERENCES; i++)
        if (differences[i] <= shortest * 16)
            strangers += differences[i] % quantum != 0;
    CHECK_SAME(strangers, 0);
    CHECK(quantum <= shortest);
}

TEST(readings_do_not_fall)
{
    const struct clock *clock = counter();
    if (!clock)
        return;
    for (int i = 0; i < 100000; i++) {
        uint64_t begin = clock_begin(clock), end = clock_end(clock);
        CHECK((int64_t)(end - begin) >= 0);
    }
}
