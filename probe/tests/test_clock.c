/* The counter of this machine against CLOCK_MONOTONIC, within the bounds of readings before and
 * after. What is made of a counter that is wrong: test_clock_made_up.c. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "tap.h"

#include <math.h>

enum { DIFFERENCES = 20000 };

/* CLOCK_MONOTONIC may be steered between the calibration and its check. */
#define STEERING 50e-6

static const struct clock *counter;

/* Calibrated once: it takes a second. */
static bool has_counter(void)
{
    static struct clock calibrated;
    counter = &calibrated;
    if (!counter->name)
        clock_open(&calibrated, true, 0);
    if (!counter->use_counter)
        tap_skip("the processor's counter is not trusted here");
    return counter->use_counter;
}

#define COUNTER_TEST(what) TEST_IN(has_counter(), (void)0, what)

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

static struct bracket bracket_take(void)
{
    struct bracket bracket;
    bracket.before_ns = clock_monotonic_ns();
    bracket.ticks = clock_begin(counter);
    bracket.after_ns = clock_monotonic_ns();
    return bracket;
}

COUNTER_TEST(calibration)
{
    CHECK(counter->calibration_ppb >= 0);
    for (int i = 0; i < 10; i++) {
        struct bracket from = bracket_take();
        sleep_ns(30000000);
        struct bracket to = bracket_take();
        double told_ns = (double)clock_ns(counter, to.ticks - from.ticks);
        double error = counter->calibration_ppb / 1e9 + STEERING;
        CHECK(told_ns >= (double)(to.before_ns - from.after_ns) * (1 - error) - 1);
        CHECK(told_ns <= (double)(to.after_ns - from.before_ns) * (1 + error) + 1);
    }
}

COUNTER_TEST(quantum_divides_differences)
{
    static uint64_t differences[DIFFERENCES];
    double quantum_ns = clock_quantum_ns(counter);
    uint64_t quantum = (uint64_t)(quantum_ns * (double)counter->counter_hz / 1e9 + 0.5);
    uint64_t shortest = UINT64_MAX, previous = clock_ticks(counter), strangers = 0;
    for (int i = 0; i < DIFFERENCES; i++) {
        uint64_t now = clock_ticks(counter);
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

COUNTER_TEST(readings_do_not_fall)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t begin = clock_begin(counter), end = clock_end(counter);
        CHECK((int64_t)(end - begin) >= 0);
    }
}
