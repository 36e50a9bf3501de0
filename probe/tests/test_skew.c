/* A run on a machine whose CPUs' counters are skewed. Counter and port are made up: builds clock.c
 * and instrument.c anew, with a counter that has an offset on each CPU. */
#include "base/posix_source.h"

#include "fake_port.h"

#include <stdint.h>

#define COUNTER_NAME "made up"
static uint64_t counter_read(void);
static uint64_t counter_begin(void);
static uint64_t counter_end(void);

#include "base/clock.c"
#include "run/instrument.c"

#include "child_run.h"
#include "tap.h"

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
    arena_verdict(run->arena, second_ns > 999999000 && second_ns <= 1000000000, 1, "second", "%lld",
                  (long long)second_ns);
    return 0;
}

static struct test fake_test = {
    .id = "COMPARES", .title = "compares", .setup_ns = 1000000, .measure = look_at_clock};

static const char *stream(void)
{
    child_test = &fake_test;
    const char *text = child_run((char *const[]){"hardstone-probe", "run", "SEM-P-SIG", "--policy",
                                                 "other", "--counter-hz", "1000000000", NULL},
                                 take_child_test);
    CHECK_SAME(child_code, 0);
    CHECK_HOLDS(text, "\"status\":\"measured\"", "\"name\":\"second\",\"pass\":true");
    return text;
}

static void check_clock(const char *text, bool is_counter)
{
    const char *counter = "\"clock\":\"made up\"", *monotonic = "\"clock\":\"monotonic\"";
    CHECK(strstr(text, is_counter ? monotonic : counter) == NULL);
    if (is_counter) {
        CHECK_HOLDS(text, "\"text\":\"counter\"");
        CHECK_HOLDS(text, "\"clock\":\"made up\",\"trusted\":true,\"reason\":null");
        CHECK_LACKS(text, "counter_not_used", "\"consistent\":false");
    } else {
        CHECK_HOLDS(text, "\"text\":\"monotonic\"");
        CHECK_HOLDS(text, "\"counter_not_used\"", "CLOCK_MONOTONIC is used instead",
                    "\"clock\":\"monotonic\",\"trusted\":false",
                    "\"counter_hz\":null,\"calibration_ppb\":null");
    }
}

#define FAR_NS (1000 * CLOCK_NS_PER_S)
#define A_AND_B(a, b) "{\"cpu_a\":" #a ",\"cpu_b\":" #b ","
#define AND_THEN ",\"consistent\":true},"

TEST(counters_of_cpus)
{
    enum { COMPARES = TEST_COMPARES_CPUS | TEST_NEEDS_A_CPU };
    static const struct {
        const char *name;
        int64_t offset_1_ns, offset_2_ns; /* of these CPUs */
        bool cannot_bind;
        unsigned needs;
        int (*check)(struct run *run);
        bool is_counter;
        const char *part, *other, *third; /* of the stream */
    } rows[] = {
        {"counters that agree", 0, 0, false, COMPARES, use_all, true, "\"skew\":[" A_AND_B(2, 0),
         AND_THEN A_AND_B(2, 1)},
        {"one that is ahead", FAR_NS, 0, false, COMPARES, use_all, false,
         "the counters of CPU 2 and 1 differ by", AND_THEN A_AND_B(2, 1), "\"consistent\":false}]"},
        {"one that is behind", -FAR_NS, 0, false, COMPARES, use_all, false,
         "the counters of CPU 2 and 1 differ by", AND_THEN A_AND_B(2, 1), "\"consistent\":false}]"},
        /* the pairs that were measured stay in the stream */
        {"a CPU that cannot be chosen", 0, 0, false, COMPARES, use_one_that_is_not_there, false,
         "could not be measured: Invalid argument", "\"skew\":[]"},
        {"no CPU can be chosen", 0, 0, true, COMPARES, use_all, false,
         "could not be measured: this port cannot choose a CPU"},
        /* its threads may move between two stamps */
        {"nobody can be bound", 0, 0, true, 0, use_all, false},
        {"one CPU in use", FAR_NS, 0, false, COMPARES, use_no_other, true, "\"skew\":[]"},
        {"a test that compares none", FAR_NS, 0, false, TEST_NEEDS_ONE_CPU, use_all, true,
         "\"skew\":[]"},
        /* its thread may have stamps of all CPUs */
        {"a thread that is not bound", 0, 0, false, 0, use_no_other, true, "\"cpu\":null",
         "\"skew\":[" A_AND_B(0, 1), AND_THEN A_AND_B(0, 2)},
        {"one that is not bound, and a skew", 0, FAR_NS, false, 0, use_no_other, false,
         "the counters of CPU 0 and 2 differ by"},
    };
    foreach (row, rows, row->name) {
        const char *const parts[] = {row->part, row->other, row->third};
        /* whether those are all the CPUs there are is for the system to say */
        bool is_of_one_cpu = row->cannot_bind && sysconf(_SC_NPROCESSORS_ONLN) == 1;
        offset_ns[1] = row->offset_1_ns;
        offset_ns[2] = row->offset_2_ns;
        fake_test.needs = row->needs;
        fake_test.check = row->check;
        fake_port = (struct fake_port){.is_counter_trusted = true,
                                       .lacks_cpu = NOWHERE_CPU,
                                       .cpu_count = row->cannot_bind ? -1 : CPUS,
                                       .pin_error = row->cannot_bind ? ENOTSUP : 0};
        const char *text = stream();
        check_clock(text, row->is_counter || is_of_one_cpu);
        for (int j = 0; j < 3 && parts[j] && !is_of_one_cpu; j++)
            CHECK_HOLDS(text, parts[j]);
    }
}
