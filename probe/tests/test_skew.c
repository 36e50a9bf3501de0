/* A run on a machine whose CPUs' counters are skewed. Counter and port are made up: builds clock.c
 * and instrument.c anew, with a counter that has an offset on each CPU. */
#include "base/posix_source.h"

#include "fake_port.h"

#include <stdint.h>

#define HS_BASE_COUNTER_H
#define COUNTER_NAME "made up"
static uint64_t counter_read(void);
static uint64_t counter_begin(void);
static uint64_t counter_end(void);

#include "base/clock.c"
#include "run/instrument.c"

#include "child_run.h"
#include "run/run.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { CPUS = 3, NOWHERE_CPU = 7 };

/* Far from CLOCK_MONOTONIC, so that one is not taken for the other. */
#define AHEAD_NS (INT64_C(1) << 50)

static int64_t offset_ns[CPUS + 1];

static uint64_t counter_read(void)
{
    return (uint64_t)(clock_monotonic_ns() + AHEAD_NS + offset_ns[fake_port_cpu]);
}

static uint64_t counter_begin(void)
{
    return counter_read();
}

static uint64_t counter_end(void)
{
    return counter_read();
}

static int use_no_other(struct run *run)
{
    (void)run;
    return 0;
}

static int use_all(struct run *run)
{
    port_allowed_cpus(&run->uses_cpu);
    return 0;
}

static int use_one_that_is_not_there(struct run *run)
{
    cpus_add(&run->uses_cpu, NOWHERE_CPU);
    return 0;
}

/* Tells which of the two its clock reads, and whether a second is a second of it. */
static int look_at_clock(struct run *run)
{
    const struct clock *clock = &run->clock;
    int64_t ahead_ns = (int64_t)clock_begin(clock) - clock_monotonic_ns();
    int64_t second_ns = clock_ns(clock, clock_ticks_of_ns(clock, 1000000000));
    arena_event(run->arena, "reads", -1, NO_DATA, "%s",
                ahead_ns > AHEAD_NS / 2 ? "counter" : "monotonic");
    arena_verdict(run->arena, second_ns > 999999000 && second_ns <= 1000000000, "second", "%lld",
                  (long long)second_ns);
    return 0;
}

static const struct test compares = {.id = "COMPARES",
                                     .title = "compares",
                                     .needs = TEST_COMPARES_CPUS | TEST_NEEDS_A_CPU,
                                     .setup_ns = 1000000,
                                     .check = use_all,
                                     .measure = look_at_clock};

static const struct test *fake_test;

static void take_fake_test(struct request *request)
{
    request->test = fake_test;
}

static const char *stream_of(const struct test *test)
{
    int code;
    fake_test = test;
    const char *text = child_run((char *const[]){"hardstone-probe", "run", "SEM-P-SIG", "--policy",
                                                 "other", "--counter-hz", "1000000000", NULL},
                                 take_fake_test, &code);
    fake_test = NULL; /* it may be its caller's */
    CHECK_SAME(code, 0);
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"name\":\"second\",\"pass\":true");
    return text;
}

static void reset(void)
{
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = CPUS};
    memset(offset_ns, 0, sizeof offset_ns);
}

static void check_counter(const char *text)
{
    CHECK_HOLDS(text, "\"text\":\"counter\"");
    CHECK_HOLDS(text, "\"clock\":\"made up\",\"trusted\":true,\"reason\":null");
    CHECK(strstr(text, "counter_not_used") == NULL);
    CHECK(strstr(text, "\"clock\":\"monotonic\"") == NULL);
}

static void check_monotonic(const char *text)
{
    CHECK_HOLDS(text, "\"text\":\"monotonic\"");
    CHECK_HOLDS(text, "\"counter_not_used\"");
    CHECK_HOLDS(text, "CLOCK_MONOTONIC is used instead");
    CHECK_HOLDS(text, "\"clock\":\"monotonic\",\"trusted\":false");
    CHECK_HOLDS(text, "\"counter_hz\":null,\"calibration_ppb\":null");
    CHECK(strstr(text, "\"clock\":\"made up\"") == NULL);
}

TEST(counters_that_agree)
{
    reset();
    const char *text = stream_of(&compares);
    check_counter(text);
    CHECK_HOLDS(text, "\"skew\":[{\"cpu_a\":2,\"cpu_b\":0,");
    CHECK_HOLDS(text, ",\"consistent\":true},{\"cpu_a\":2,\"cpu_b\":1,");
    CHECK(strstr(text, "\"consistent\":false") == NULL);
}

TEST(counters_that_disagree)
{
    static const int64_t offsets_ns[] = {1000 * CLOCK_NS_PER_S, -1000 * CLOCK_NS_PER_S};
    for (size_t i = 0; i < sizeof offsets_ns / sizeof offsets_ns[0]; i++) {
        reset();
        offset_ns[1] = offsets_ns[i];
        const char *text = stream_of(&compares);
        check_monotonic(text);
        CHECK_HOLDS(text, "the counters of CPU 2 and 1 differ by");
        CHECK_HOLDS(text, ",\"consistent\":true},{\"cpu_a\":2,\"cpu_b\":1,");
        CHECK_HOLDS(text, "\"consistent\":false}]");
    }
}

/* The pairs that were measured stay in the stream. */
TEST(a_cpu_that_cannot_be_chosen)
{
    struct test test = compares;
    reset();
    fake_port.lacks_cpu = NOWHERE_CPU;
    test.check = use_one_that_is_not_there;
    const char *text = stream_of(&test);
    check_monotonic(text);
    CHECK_HOLDS(text, "could not be measured: Invalid argument");
    CHECK_HOLDS(text, "\"skew\":[]");
}

/* Whether that is all the CPUs there are is then for the system to say. */
TEST(no_cpu_can_be_chosen)
{
    reset();
    fake_port.cpu_count = -1;
    fake_port.pin_error = ENOTSUP;
    const char *text = stream_of(&compares);
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
        check_counter(text);
        return;
    }
    check_monotonic(text);
    CHECK_HOLDS(text, "could not be measured: this port cannot choose a CPU");
}

/* Its threads may move between two stamps. */
TEST(nobody_can_be_bound)
{
    struct test test = compares;
    reset();
    fake_port.cpu_count = -1;
    fake_port.pin_error = ENOTSUP;
    test.needs = 0;
    const char *text = stream_of(&test);
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
        check_counter(text);
    else
        check_monotonic(text);
}

TEST(one_cpu_in_use)
{
    struct test test = compares;
    reset();
    offset_ns[1] = 1000 * CLOCK_NS_PER_S;
    test.check = use_no_other;
    const char *text = stream_of(&test);
    check_counter(text);
    CHECK_HOLDS(text, "\"skew\":[]");
}

TEST(a_test_that_compares_none)
{
    struct test test = compares;
    reset();
    offset_ns[1] = 1000 * CLOCK_NS_PER_S;
    test.needs = TEST_NEEDS_ONE_CPU;
    const char *text = stream_of(&test);
    check_counter(text);
    CHECK_HOLDS(text, "\"skew\":[]");
}

/* Its thread is not bound, and may have stamps of all CPUs. */
TEST(a_thread_that_is_not_bound)
{
    struct test test = compares;
    reset();
    test.needs = 0;
    test.check = use_no_other;
    const char *text = stream_of(&test);
    check_counter(text);
    CHECK_HOLDS(text, "\"cpu\":null");
    CHECK_HOLDS(text, "\"skew\":[{\"cpu_a\":0,\"cpu_b\":1,");
    CHECK_HOLDS(text, ",\"consistent\":true},{\"cpu_a\":0,\"cpu_b\":2,");
    offset_ns[2] = 1000 * CLOCK_NS_PER_S;
    text = stream_of(&test);
    check_monotonic(text);
    CHECK_HOLDS(text, "the counters of CPU 0 and 2 differ by");
}
