/* Bursts in which no thread of the test ran, with the run time and run delay that the kernel
 * reports for the threads. The port is a fake, which reports what the tests choose, and time passes
 * as they say. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "realtime/burst.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define LOST_NS INT64_C(60000000)

static struct run run;
static struct burst burst;
static int64_t fake_now_ns; /* no thread has CPU time */

int clock_gettime(clockid_t id, struct timespec *time)
{
    *time = clock_ns_timespec(id == CLOCK_MONOTONIC ? fake_now_ns : 0);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted);
    return 0;
}

static int64_t stolen_before_ns; /* 0: steal time is not known */
static double stolen_part;       /* of a loss */
static int64_t stolen_untold_ns;

static void begin(bool is_listed, bool has_budget, bool counts_waits)
{
    memset(&run, 0, sizeof run);
    fake_now_ns += 5000 * CLOCK_NS_PER_S;
    fake_port = (struct fake_port){.cpu_count = 1, .counts_waits = counts_waits};
    fake_port.has_budget = has_budget;
    fake_port.runtime_ns = 950000000;
    fake_port.period_ns = 1000000000;
    fake_port.steal_ns = stolen_before_ns;
    run.is_realtime = true;
    run.setup.cpu = -1;
    run.arena = arena_create(&run.plan, NULL, &run.outcome);
    rt_budget_init(&run.rt_budget);
    burst_begin(&burst, &run, 0);
    if (!is_listed)
        burst_ignore_sleep(&burst);
}

/* The burst is lost and comes to its end. Of what was lost others of the test ran for the part
 * `ran`, and a thread was ready for the part `waited`. */
static void lose(double ran, double waited)
{
    fake_now_ns += LOST_NS;
    fake_port.ran_ns += (int64_t)(ran * (double)LOST_NS);
    fake_port.waited_ns += (int64_t)(waited * (double)LOST_NS);
    fake_port.steal_ns += (int64_t)(stolen_part * (double)LOST_NS) - stolen_untold_ns;
    burst_next(&burst);
}

/* A real-time test that begins a burst and loses it. */
static void lose_a_burst_of(bool is_listed, bool has_budget, bool counts_waits, double ran,
                            double waited)
{
    begin(is_listed, has_budget, counts_waits);
    lose(ran, waited);
}

static void lose_a_burst(bool has_budget, bool counts_waits, double ran, double waited)
{
    lose_a_burst_of(true, has_budget, counts_waits, ran, waited);
}

static bool was_told(const char *event)
{
    for (uint32_t i = 0; i < run.arena->event_count; i++)
        if (strcmp(run.arena->events[i].name, event) == 0)
            return true;
    return false;
}

static void check_taken(void)
{
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the CPU was not given to the test");
    CHECK(was_told("throttled"));
    CHECK(!was_told("idle_gap"));
    arena_free(run.arena);
}

static void check_kept(void)
{
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK(was_told("idle_gap"));
    CHECK(!was_told("throttled"));
    arena_free(run.arena);
}

TEST(ready)
{
    lose_a_burst(true, true, 0, 1);
    check_taken();
}

TEST(ready_without_limit)
{
    lose_a_burst(false, true, 0, 1);
    check_taken();
    lose_a_burst(false, false, 0, 0);
    check_taken();
}

TEST(asleep)
{
    lose_a_burst(true, true, 0, 0);
    check_kept();
    lose_a_burst(false, true, 0, 0);
    check_kept();
}

TEST(ready_for_a_part)
{
    lose_a_burst(true, true, 0, 0.5);
    check_taken();
}

TEST(behind_another_of_the_test)
{
    lose_a_burst(true, true, 0.5, 0.5);
    check_kept();
    lose_a_burst(true, true, 0.5, 1);
    check_taken();
}

TEST(unknown)
{
    lose_a_burst(true, false, 0, 0);
    check_taken();
}

TEST(threads_come_and_go)
{
    lose_a_burst_of(false, true, true, 0, 0);
    check_taken();
}

/* ---- steal time ---- */

/* Loses a burst, of which the host took the part `stolen`, less `untold_ns`. */
static void lose_to_host(double stolen, int64_t untold_ns)
{
    stolen_part = stolen;
    stolen_untold_ns = untold_ns;
    lose(0, 1);
    stolen_part = 0;
    stolen_untold_ns = 0;
}

TEST(stolen)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    lose_to_host(1, 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK(was_told("throttled"));
    arena_free(run.arena);
}

/* Steal time is counted in steps, and may lack one. */
TEST(stolen_but_for_a_step)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    lose_to_host(1, 10000000);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    arena_free(run.arena);
}

/* The other half is as much as throttling takes. */
TEST(stolen_in_part)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    lose_to_host(0.5, 0);
    check_taken();
}

/* What was stolen before the last rest explains nothing. */
TEST(stolen_before)
{
    stolen_before_ns = 100 * LOST_NS;
    begin(true, true, true);
    fake_port.steal_ns += 100 * LOST_NS;
    run.rt_budget.rested_ns++;
    burst_next(&burst);
    lose_to_host(0, 0);
    check_taken();
}

/* The same ns of steal do not explain two losses. */
TEST(stolen_once)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    lose_to_host(1, 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    lose_to_host(0, 0);
    check_taken();
}

/* Of a thread that is not bound: the CPU that it is on has the steal time that explains it. */
TEST(stolen_on_its_cpu)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    fake_port.current_cpu = fake_port.steal_cpu = 2;
    burst_next(&burst);
    lose_to_host(1, 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    arena_free(run.arena);
}

TEST(stolen_on_another_cpu)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    fake_port.current_cpu = 1;
    fake_port.steal_cpu = 2;
    burst_next(&burst);
    lose_to_host(1, 0);
    check_taken();
}

/* Which of its CPUs the host took is not known. */
TEST(stolen_and_moved)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    fake_port.current_cpu = 1;
    burst_next(&burst);
    fake_port.current_cpu = 2;
    lose_to_host(1, 0);
    check_taken();
}
