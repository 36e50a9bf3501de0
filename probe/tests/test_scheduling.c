/* Which tests are bound to a CPU, and what a run that is not bound tells. The port is a fake. */
#include "base/posix_source.h"

#include "child_run.h"
#include "fake_port.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "tap.h"

#include <errno.h>

enum { CPUS = 3, LAST = CPUS - 1, STOLEN_NS = 5 };

static int isolated_cpu = -1; /* -1: the real ones */

WRAP(void, port_isolated_cpus, struct cpus *isolated, struct cpus *tickless)
{
    if (isolated_cpu < 0) {
        __real_port_isolated_cpus(isolated, tickless);
        return;
    }
    cpus_clear(isolated);
    cpus_clear(tickless);
    cpus_add(isolated, isolated_cpu);
}

static void reset(void)
{
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = CPUS};
}

/* The CPU that is chosen for `test`. */
static int cpu_of(const struct test *test, const struct request *request)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.test = test;
    run.request = request;
    CHECK_SAME(scheduling_choose_cpu(&run), 0);
    return run.setup.cpu;
}

static struct request shared(void)
{
    return (struct request){.cpu = -1, .cpu_config = CPU_CONFIG_SHARED};
}

static bool is_free(const char *id)
{
    static const char *const ids[] = {
        "CLK-P-BIN", "TMR-P-JIT", "TMR-B-EDGE", "SEM-P-NEW", "SEM-P-ARN", "SEM-P-SIG",
        "MUT-P-ARN", "RSP-P-FIX", "SIG-B-QUE",  "PRV-B-GRP", "FIO-P-SYN", "FIO-P-PRE",
        "FIO-P-STR", "FIO-P-PRI", "POS-B-INV",  "SIM-S-RT",  "SIM-P-RF"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return false;
}

TEST(shared)
{
    struct request request = shared();
    reset();
    for (int i = 0; test_register[i]; i++)
        if (!CHECK_SAME(cpu_of(test_register[i], &request),
                        is_free(test_register[i]->id) ? -1 : LAST))
            printf("# %s\n", test_register[i]->id);
}

/* Levels from the lowest priority to that of the request, both counted. */
TEST(as_many_levels_as_wanted)
{
    static struct run run;
    struct request request = {.policy = ARGS_FIFO};
    for (int levels = 2; levels <= 4; levels++) {
        request.priority = sched_get_priority_min(SCHED_FIFO) + levels - 1;
        run_init(&run, &request);
        CHECK_SAME(one_cpu_levels(&run), levels);
        CHECK_SAME(one_cpu_require_levels(&run, 3), levels < 3 ? -1 : 0);
        CHECK_SAME(run.outcome.status, levels < 3 ? STATUS_DENIED : 0);
    }
}

TEST(a_cpu_is_named)
{
    struct request request = shared();
    reset();
    request.cpu = 1;
    for (int i = 0; test_register[i]; i++)
        CHECK_SAME(cpu_of(test_register[i], &request), 1);
}

/* The default affinity lacks it; a cpuset that lacks it too refuses it. */
WRAP_TEST(an_isolated_cpu_is_named)
{
    static struct run run;
    struct request request = shared();
    reset();
    isolated_cpu = request.cpu = CPUS + 1;
    CHECK_SAME(cpu_of(test_find("TMR-P-LAT"), &request), CPUS + 1);
    request.cpu = CPUS;
    run = (struct run){.test = test_find("TMR-P-LAT"), .request = &request};
    CHECK_SAME(scheduling_choose_cpu(&run), -1);
    request.cpu = CPUS + 1;
    fake_port.pin_error = EINVAL;
    run = (struct run){.test = test_find("TMR-P-LAT"), .request = &request};
    CHECK_SAME(scheduling_choose_cpu(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_DENIED);
    request.cpu = -1; /* nor is it a default */
    fake_port.pin_error = 0;
    CHECK_SAME(cpu_of(test_find("TMR-P-LAT"), &request), LAST);
    isolated_cpu = -1;
}

TEST(one_cpu_by_the_request)
{
    const struct test *test = test_find("SEM-P-SIG");
    struct request request = shared();
    reset();
    request.cpu_config = CPU_CONFIG_SINGLE;
    CHECK(cpu_of(test, &request) >= 0); /* which one, the machine says */
    request = shared();
    request.has_settings = true;
    CHECK_SAME(cpu_of(test, &request), LAST);
    request = shared();
    fake_port.cpu_count = 1;
    CHECK_SAME(cpu_of(test, &request), 0);
}

/* ---- what it tells ---- */

static int lose_time_on_each(struct run *run)
{
    arena_verdict(run->arena, true, 1, "ran", "it ran");
    fake_port.steal_ns += STOLEN_NS;
    return 0;
}

static const char *stream_of(unsigned needs)
{
    static struct test test = {
        .id = "LOSES", .title = "loses time", .setup_ns = 1000000, .measure = lose_time_on_each};
    reset();
    fake_port.steal_ns = 1000;
    test.needs = needs;
    const char *text = child_run_of(&test, (const char *const[]){NULL});
    CHECK_SAME(child_code, 0);
    return text;
}

/* Of all CPUs that the thread may use, each once. */
TEST(environment)
{
    const char *text = stream_of(0);
    CHECK_HOLDS(text, "\"cpu\":null", "\"steal_ns\":15");
    CHECK_LACKS(text, "memory_touched_elsewhere");
    text = stream_of(TEST_NEEDS_A_CPU);
    CHECK_HOLDS(text, "\"cpu\":2", "\"steal_ns\":5");
}
