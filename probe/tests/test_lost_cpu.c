/* A run whose CPU goes offline while it measures: it ends, says so, and keeps what it has. The
 * kernel's files are made up; the test that measures changes them. */
#include "base/posix_source.h"

#include "child_run.h"
#include "made_up_files.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "run/run.h"
#include "tap.h"

#include <time.h>

static char root[64];
static const char *online_then;
static int most_rests; /* of the test, where nobody tells it to stop */

/* In the place of the port's. */
const char *linux_root(void);
const char *linux_root(void)
{
    return root;
}

static const struct series_spec series[] = {{"value", "ns", "", "nothing", NULL}, {0}};

/* Lasts until it is told to stop, or for some looks, of which there is one a second. */
static int measure(struct run *run)
{
    static const struct timespec rest = {0, 10000000};
    record_value(arena_record(run->arena, 0), 4711, 0);
    made_up_file(root, "/sys/devices/system/cpu/online", online_then);
    for (int i = 0; i < most_rests && !run_should_stop(); i++)
        nanosleep(&rest, NULL);
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
    snprintf(root, sizeof root, "/tmp/hs-test-XXXXXX");
    if (!mkdtemp(root))
        abort();
    made_up_file(root, "/sys/devices/system/cpu/online", all);
    online_then = is_lost ? others : all;
    most_rests = is_lost ? 6000 : 230; /* on a busy host who looks may wait for a CPU */
    const char *text = child_run(words, take_test, &code);
    CHECK_SAME(code, wanted);
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_SAME(system(command), 0);
    return text;
}

static void test_a_cpu_that_goes_offline(void)
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

static void test_one_that_stays(void)
{
    const char *text = stream_of(false, 0);
    if (!text)
        return;
    CHECK(strstr(text, "cpu_went_offline") == NULL);
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"type\":\"interval\"");
}

TAP_MAIN({"a CPU that goes offline", test_a_cpu_that_goes_offline},
         {"one that stays", test_one_that_stays})
