/* A run whose CPU goes offline while it measures: it ends, says so, and keeps what it has. The
 * kernel's files are made up; the test that measures changes them. */
#include "base/posix_source.h"

#include "child_run.h"
#include "linux_machine.h"
#include "port/port.h"
#include "run/counter_watch.h"
#include "run/run.h"

#include <stdatomic.h>
#include <time.h>

static const char *online_then;
static int wanted_looks; /* at the counters, after which the test ends by itself; 0: never */
static atomic_int looks;

WRAP(void, counter_watch_look, struct counter_watch *watch)
{
    __real_counter_watch_look(watch);
    atomic_fetch_add(&looks, 1);
}

static const struct series_spec series[] = {{"value", "ns", "", "nothing", NULL}, {0}};

static int measure(struct run *run)
{
    static const struct timespec rest = {0, 10000000};
    record_value(arena_record(run->arena, 0), 4711, 0);
    machine_put("/sys/devices/system/cpu/online", online_then);
    while (!run_should_stop() && (wanted_looks == 0 || atomic_load(&looks) < wanted_looks))
        nanosleep(&rest, NULL); /* who looks, once a second, may wait for a CPU */
    return 0;
}

static void take_test(struct request *request)
{
    static struct test invented = {.id = "INVENTED",
                                   .title = "loses its CPU",
                                   .needs = TEST_NEEDS_A_CPU,
                                   .setup_ns = 1000000,
                                   .series = series,
                                   .measure = measure};
    request->test = &invented;
}

/* NULL where no CPU is left to look from. */
static const char *stream_of(bool is_lost, int wanted)
{
    char cpu[16], others[CPUS_TEXT_BYTES], all[CPUS_TEXT_BYTES];
    char *words[] = {"hardstone-probe", "run",   "SEM-P-SIG", "--clock", "monotonic",
                     "--policy",        "other", "--cpu",     cpu,       NULL};
    struct cpus allowed;
    int code;
    if (port_allowed_cpus(&allowed) < 2) {
        tap_skip("a second CPU has to look");
        return NULL;
    }
    snprintf(cpu, sizeof cpu, "%d", cpus_last(&allowed));
    cpus_format_list(&allowed, all, sizeof all);
    cpus_remove(&allowed, cpus_last(&allowed));
    cpus_format_list(&allowed, others, sizeof others);
    machine_open();
    machine_put("/sys/devices/system/cpu/online", all);
    online_then = is_lost ? others : all;
    wanted_looks = is_lost ? 0 : 2;
    const char *text = child_run(words, take_test, &code);
    CHECK_SAME(code, wanted);
    machine_close();
    return text;
}

TEST(a_cpu_that_goes_offline)
{
    const char *text = stream_of(true, 3);
    if (!text)
        return;
    CHECK_HOLDS(text, "\"name\":\"cpu_went_offline\"");
    CHECK_HOLDS(text, "\"status\":\"failed\",\"reason\":\"CPU ");
    CHECK_HOLDS(text, "went offline while it was measured; what was measured until then is kept");
    CHECK_HOLDS(text, "\"max\":4711");
    CHECK_HOLDS(text, "\"interrupted\":false");
}

TEST(one_that_stays)
{
    const char *text = tap_is_wrapped() ? stream_of(false, 0) : NULL;
    if (!text)
        return;
    CHECK(strstr(text, "cpu_went_offline") == NULL);
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"type\":\"interval\"");
}
