/* A run whose CPU is taken while it measures: it ends, says so, and gives the figures until the
 * last look at which it had that CPU; none where there was no look before. The kernel's files and
 * the affinity are made up; the test that measures changes them. */
#include "base/posix_source.h"

#include "child_run.h"
#include "linux_machine.h"
#include "port/port.h"
#include "run/run.h"
#include "run/watch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum loss { NONE, OFFLINE, CPUSET, GROUP, FOR_A_WHILE, ON_ITS_WAY };

static enum loss loss;
static int own_cpu;
static atomic_bool is_taken, is_moved; /* from the cpuset; the threads, by that */
static const char *online_then;
static int wanted_looks; /* at the counters, after which the test ends by itself; 0: never */
static int looks_before; /* it loses its CPU after that many */
static atomic_int looks;
static bool is_unbound; /* the test starts a thread that may go anywhere */
static struct cpus anywhere;
static bool is_readable = true; /* the list of its threads */
static bool is_bound = true;    /* the run */

WRAP(void, counter_watch_look, struct counter_watch *watch)
{
    __real_counter_watch_look(watch);
    atomic_fetch_add(&looks, 1);
}

WRAP(int, sched_getaffinity, pid_t thread, size_t bytes, cpu_set_t *set)
{
    int error = __real_sched_getaffinity(thread, bytes, set);
    if (atomic_load(&is_moved) && thread == 0 && CPU_COUNT(set) == 1) {
        CPU_ZERO(set);
        CPU_SET((size_t)(own_cpu == 0), set);
    }
    if (atomic_load(&is_taken) && !is_bound)
        CPU_CLR((size_t)own_cpu, set);
    return error;
}

WRAP(int, sched_setaffinity, pid_t thread, size_t bytes, const cpu_set_t *set)
{
    errno = EINVAL;
    bool is_refused = atomic_load(&is_taken) && CPU_COUNT(set) == 1 && CPU_ISSET(own_cpu, set);
    return is_refused ? -1 : __real_sched_setaffinity(thread, bytes, set);
}

static const struct series_spec series[] = {{"value", "ns", "", "nothing", NULL}, {0}};

static void lose(void)
{
    if (loss == OFFLINE || loss == NONE)
        machine_put("/sys/devices/system/cpu/online", online_then);
    if (loss == GROUP)
        machine_put("/proc/self/cpuset", "/other\n");
    if (loss == ON_ITS_WAY) {
        char file[64];
        snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu%d/online", own_cpu);
        machine_put(file, "0\n");
    }
    atomic_store(&is_moved, loss >= CPUSET);
    atomic_store(&is_taken, loss == CPUSET || loss == GROUP || loss == ON_ITS_WAY);
}

static const struct timespec rest = {0, 10000000};

static void *stray(void *is_loose)
{
    port_bind_self(&anywhere);
    atomic_store((atomic_bool *)is_loose, true);
    while (!run_should_stop())
        nanosleep(&rest, NULL);
    return NULL;
}

static int measure(struct run *run)
{
    pthread_t unbound;
    atomic_bool is_loose = !is_unbound;
    if (is_unbound)
        CHECK_SAME(pthread_create(&unbound, NULL, stray, &is_loose), 0);
    while (!atomic_load(&is_loose))
        nanosleep(&rest, NULL);
    record_value(arena_record(run->arena, 0), 4711, 0);
    while (atomic_load(&looks) < looks_before)
        nanosleep(&rest, NULL);
    arena_verdict(run->arena, true, 1, "order", "of all values");
    lose();
    if (looks_before > 0)
        record_value(arena_record(run->arena, 0), 80523, 1);
    if (loss >= CPUSET) /* as a test whose next thread cannot be started there */
        return outcome_set_errno(&run->outcome, EINVAL, "starting the waiters", "raise ulimit -u");
    while (!run_should_stop() && (wanted_looks == 0 || atomic_load(&looks) < wanted_looks))
        nanosleep(&rest, NULL); /* who looks, once a second, may wait for a CPU */
    if (is_unbound)
        pthread_join(unbound, NULL);
    return 0;
}

static int lose_early(struct run *run)
{
    lose();
    return outcome_set_errno(&run->outcome, EINVAL, "preparing", NULL);
}

static struct test invented = {.id = "INVENTED",
                               .title = "loses its CPU",
                               .needs = TEST_NEEDS_A_CPU,
                               .setup_ns = 1000000,
                               .series = series,
                               .measure = measure};

static void take_test(struct request *request)
{
    char own[32];
    snprintf(own, sizeof own, "/proc/%ld", (long)getpid());
    if (is_readable)
        CHECK_SAME(symlink("/proc/self", machine_path(own)), 0);
    request->test = &invented;
}

/* NULL where no CPU is left to look from. */
static const char *stream_of(enum loss wanted_loss, int wanted)
{
    static char others[CPUS_TEXT_BYTES], all[CPUS_TEXT_BYTES];
    char cpu[16];
    char *words[] = {"hardstone-probe", "run",   "SEM-P-SIG", "--clock", "monotonic",
                     "--policy",        "other", "--cpu",     cpu,       NULL};
    struct cpus allowed;
    int code;
    if (port_allowed_cpus(&allowed) < 2) {
        tap_skip("a second CPU has to look");
        return NULL;
    }
    anywhere = allowed;
    own_cpu = cpus_last(&allowed);
    snprintf(cpu, sizeof cpu, "%d", own_cpu);
    if (!is_bound)
        words[7] = NULL;
    invented.needs = is_bound ? TEST_NEEDS_A_CPU : 0;
    cpus_format_list(&allowed, all, sizeof all);
    cpus_remove(&allowed, cpus_last(&allowed));
    cpus_format_list(&allowed, others, sizeof others);
    machine_open();
    machine_put("/sys/devices/system/cpu/online", all);
    machine_put("/proc/self/cpuset", "/measured\n");
    machine_put("/sys/fs/cgroup/cpuset/measured/cpuset.cpus", others);
    loss = wanted_loss;
    online_then = loss == OFFLINE ? others : all;
    wanted_looks = loss == NONE ? 2 : 0;
    const char *text = child_run(words, take_test, &code);
    CHECK_SAME(code, wanted);
    machine_close();
    return text;
}

TEST(a_cpu_that_goes_offline)
{
    const char *text = stream_of(OFFLINE, 3);
    if (!text)
        return;
    CHECK_HOLDS(text, "\"name\":\"cpu_went_offline\"");
    CHECK_HOLDS(text, "\"cause\":\"offline\"");
    CHECK_HOLDS(text, "\"sure_until_ns\":");
    CHECK_HOLDS(text, "\"status\":\"failed\",\"reason\":\"CPU ");
    CHECK_HOLDS(text, "went offline between ");
    CHECK_HOLDS(text, "no figures are given, because some may be of another CPU");
    CHECK(strstr(text, ":4711") == NULL);
    CHECK(strstr(text, "\"type\":\"series\"") == NULL);
    CHECK_HOLDS(text, "\"interrupted\":false");
}

/* The threads leave it before the list of CPUs does. */
TEST(a_cpu_on_its_way_offline)
{
    const char *text = tap_is_wrapped() ? stream_of(ON_ITS_WAY, 3) : NULL;
    if (!text)
        return;
    CHECK_HOLDS(text, "\"name\":\"cpu_went_offline\"");
    CHECK_HOLDS(text, "\"cause\":\"offline\"");
}

TEST(one_that_stays)
{
    const char *text = tap_is_wrapped() ? stream_of(NONE, 0) : NULL;
    if (!text)
        return;
    CHECK(strstr(text, "cpu_went_offline") == NULL && strstr(text, "cpu_was_left") == NULL);
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"max\":4711");
    CHECK_HOLDS(text, "\"type\":\"interval\"");
}

/* Its next thread could not be started: that is the consequence. */
TEST(one_that_the_cpuset_loses)
{
    const char *text = tap_is_wrapped() ? stream_of(CPUSET, 3) : NULL;
    if (!text)
        return;
    CHECK_HOLDS(text, "\"name\":\"cpu_was_left\"");
    CHECK_HOLDS(text, "\"cause\":\"cpuset\"");
    CHECK_HOLDS(text, "the cpuset of its control group /measured no longer has that CPU");
    CHECK_HOLDS(text, "\"command\":\"cat /sys/fs/cgroup/cpuset/measured/cpuset.cpus\"");
    CHECK(strstr(text, "starting the waiters") == NULL && strstr(text, "ulimit") == NULL);
    CHECK(strstr(text, ":4711") == NULL);
}

/* A test whose threads may be anywhere: at the end it has fewer CPUs. */
TEST(one_that_a_test_of_all_cpus_loses)
{
    is_bound = false;
    const char *text = tap_is_wrapped() ? stream_of(CPUSET, 3) : NULL;
    is_bound = true;
    if (!text)
        return;
    CHECK_HOLDS(text, "\"name\":\"cpu_was_left\"");
    CHECK_HOLDS(text, "\"status\":\"failed\",\"reason\":\"CPU ");
    CHECK_HOLDS(text, "; the figures include the time with fewer CPUs");
}

TEST(one_whose_process_is_moved)
{
    const char *text = tap_is_wrapped() ? stream_of(GROUP, 3) : NULL;
    if (!text)
        return;
    CHECK_HOLDS(text, "it was moved to the control group /other, whose cpuset does not have that");
    CHECK_HOLDS(text, "\"group\":\"/other\"");
}

TEST(one_that_is_back)
{
    const char *text = tap_is_wrapped() ? stream_of(FOR_A_WHILE, 3) : NULL;
    if (!text)
        return;
    CHECK_HOLDS(text, "\"cause\":\"affinity\"");
    CHECK_HOLDS(text, "a thread of the test was moved off CPU ");
    CHECK(strstr(text, ":4711") == NULL);
}

TEST(one_that_is_lost_before)
{
    invented.prepare = lose_early;
    const char *text = tap_is_wrapped() ? stream_of(CPUSET, 3) : NULL;
    invented.prepare = NULL;
    if (!text)
        return;
    CHECK_HOLDS(text, "no longer has that CPU; nothing was measured");
    CHECK(strstr(text, "preparing") == NULL);
}

static bool has_own_threads_only(void)
{
#ifdef __SANITIZE_THREAD__
    tap_skip("the sanitizer has a thread of its own, which is bound to no CPU");
    return false;
#else
    return tap_is_wrapped();
#endif
}

/* The last second may be of another CPU; those before it are not. */
static void expect_sure_part(enum loss wanted)
{
    looks_before = 1;
    const char *text = has_own_threads_only() ? stream_of(wanted, 3) : NULL;
    looks_before = 0;
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"failed\",\"reason\":\"");
    CHECK_HOLDS(text, "; the figures are those of the first ");
    CHECK_HOLDS(text, "\"kept_ns\":");
    CHECK_HOLDS(text, "\"count\":1,\"min\":4711");
    CHECK_HOLDS(text, "\"max\":4711");
    CHECK_HOLDS(text, "\"verdicts\":0");
    CHECK(strstr(text, ":80523") == NULL && strstr(text, "no figures are given") == NULL);
}

TEST(the_figures_before_a_cpu_goes_offline)
{
    expect_sure_part(OFFLINE);
}

TEST(the_figures_before_the_cpuset_loses_it)
{
    expect_sure_part(CPUSET);
}

/* Found by the thread itself only, at its end. */
TEST(the_figures_before_it_is_moved)
{
    expect_sure_part(FOR_A_WHILE);
}

static void expect_no_sure_part(void)
{
    looks_before = 1;
    const char *text = tap_is_wrapped() ? stream_of(OFFLINE, 3) : NULL;
    looks_before = 0;
    if (!text)
        return;
    CHECK_HOLDS(text, "no figures are given, because some may be of another CPU");
    CHECK(strstr(text, ":4711") == NULL && strstr(text, "kept_ns") == NULL);
}

/* What a thread recorded that might have been anywhere is of no CPU. */
TEST(no_figures_of_a_thread_that_was_not_bound)
{
    is_unbound = true;
    expect_no_sure_part();
    is_unbound = false;
}

TEST(no_figures_of_threads_that_could_not_be_read)
{
    is_readable = false;
    expect_no_sure_part();
    is_readable = true;
}
