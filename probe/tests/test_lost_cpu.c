/* A run whose CPU is taken while it measures: it ends, says so, and gives the figures until the
 * last look at which it had that CPU; none where there was no look before. The kernel's files and
 * the affinity are made up; the test that measures changes them. */
#include "base/posix_source.h"

#include "child_run.h"
#include "linux_machine.h"
#include "patient_stop.h"
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

static int own_cpu;
static atomic_bool is_taken, is_moved; /* from the cpuset; the threads, by that */
static const char *online_then;
static int wanted_looks; /* at the counters, after which the test ends by itself; 0: never */
static atomic_int looks;
static struct cpus anywhere;

struct loss_row {
    const char *name;
    enum loss loss;
    int looks_before;     /* it loses its CPU after that many */
    bool may_be_anywhere; /* the run is bound to no CPU */
    bool is_unbound;      /* the test starts a thread that may go anywhere */
    bool is_unreadable;   /* the list of its threads */
    int (*prepare)(struct run *run);
    const char *holds[8], *lacks[4];
};
static const struct loss_row *row;

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

/* A CPU that is back is found by the thread itself only, however late it is at its end. */
WRAP(void, counter_watch_look, struct counter_watch *watch)
{
    pthread_mutex_lock(&looking);
    if (row->loss != FOR_A_WHILE || !atomic_load(&is_moved))
        __real_counter_watch_look(watch);
    pthread_mutex_unlock(&looking);
    atomic_fetch_add(&looks, 1);
}

WRAP(int, sched_getaffinity, pid_t thread, size_t bytes, cpu_set_t *set)
{
    int error = __real_sched_getaffinity(thread, bytes, set);
    if (atomic_load(&is_moved) && thread == 0 && CPU_COUNT(set) == 1) {
        CPU_ZERO(set);
        CPU_SET((size_t)(own_cpu == 0), set);
    }
    if (atomic_load(&is_taken) && row->may_be_anywhere)
        CPU_CLR((size_t)own_cpu, set);
    return error;
}

WRAP(int, sched_setaffinity, pid_t thread, size_t bytes, const cpu_set_t *set)
{
    errno = EINVAL;
    bool is_refused = atomic_load(&is_taken) && CPU_COUNT(set) == 1 && CPU_ISSET(own_cpu, set);
    return is_refused ? -1 : __real_sched_setaffinity(thread, bytes, set);
}

static void lose(void)
{
    if (row->loss == OFFLINE || row->loss == NONE)
        machine_put("/sys/devices/system/cpu/online", online_then);
    if (row->loss == GROUP)
        machine_put("/proc/self/cpuset", "/other\n");
    if (row->loss == ON_ITS_WAY) {
        char file[64];
        snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu%d/online", own_cpu);
        machine_put(file, "0\n");
    }
    pthread_mutex_lock(&looking);
    atomic_store(&is_moved, row->loss >= CPUSET);
    pthread_mutex_unlock(&looking);
    atomic_store(&is_taken, row->loss == CPUSET || row->loss == GROUP || row->loss == ON_ITS_WAY);
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
    atomic_bool is_loose = !row->is_unbound;
    if (row->is_unbound)
        CHECK_SAME(pthread_create(&unbound, NULL, stray, &is_loose), 0);
    while (!atomic_load(&is_loose))
        nanosleep(&rest, NULL);
    record_value(arena_record(run->arena, 0), 4711, 0);
    while (atomic_load(&looks) < row->looks_before)
        nanosleep(&rest, NULL);
    arena_verdict(run->arena, true, 1, "order", "of all values");
    lose();
    if (row->looks_before > 0)
        record_value(arena_record(run->arena, 0), 80523, 1);
    if (row->loss >= CPUSET) /* as a test whose next thread cannot be started there */
        return outcome_set_errno(&run->outcome, EINVAL, "starting the waiters", "raise ulimit -u");
    while (!run_should_stop() && (wanted_looks == 0 || atomic_load(&looks) < wanted_looks))
        nanosleep(&rest, NULL); /* who looks, once a second, may wait for a CPU */
    if (row->is_unbound)
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
                               .series = child_series,
                               .measure = measure};

static void take_test(struct request *request)
{
    char own[32];
    snprintf(own, sizeof own, "/proc/%ld", (long)getpid());
    if (!row->is_unreadable)
        CHECK_SAME(symlink("/proc/self", machine_path(own)), 0);
    request->test = &invented;
}

static void check_row(const struct cpus *allowed)
{
    static char others[CPUS_TEXT_BYTES], all[CPUS_TEXT_BYTES];
    char cpu[16];
    char *words[] = {"hardstone-probe", "run",   "SEM-P-SIG", "--clock", "monotonic",
                     "--policy",        "other", "--cpu",     cpu,       NULL};
    struct cpus left = *allowed;
    anywhere = *allowed;
    own_cpu = cpus_last(allowed);
    snprintf(cpu, sizeof cpu, "%d", own_cpu);
    if (row->may_be_anywhere)
        words[7] = NULL;
    invented.needs = row->may_be_anywhere ? 0 : TEST_NEEDS_A_CPU;
    invented.prepare = row->prepare;
    cpus_format_list(allowed, all, sizeof all);
    cpus_remove(&left, own_cpu);
    cpus_format_list(&left, others, sizeof others);
    machine_open();
    machine_put("/sys/devices/system/cpu/online", all);
    machine_put("/proc/self/cpuset", "/measured\n");
    machine_put("/sys/fs/cgroup/cpuset/measured/cpuset.cpus", others);
    online_then = row->loss == OFFLINE ? others : all;
    wanted_looks = row->loss == NONE ? 2 : 0;
    const char *text = child_run(words, take_test);
    CHECK_SAME(child_code, row->loss == NONE ? 0 : 3);
    for (int i = 0; row->holds[i]; i++)
        CHECK_HOLDS(text, row->holds[i]);
    for (int i = 0; row->lacks[i]; i++)
        CHECK_LACKS(text, row->lacks[i]);
    machine_close();
}

static void check_rows(const struct loss_row *rows, size_t count)
{
    struct cpus allowed;
    if (!tap_is_wrapped())
        return;
    if (port_allowed_cpus(&allowed) < 2) {
        tap_skip("a second CPU has to look");
        return;
    }
    for (row = rows; row < rows + count; row++) {
        tap_row(row->name);
        check_row(&allowed);
    }
}
#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof(rows)[0])

#define NO_FIGURES "no figures are given, because some may be of another CPU"

TEST(a_cpu_that_is_lost)
{
    static const struct loss_row rows[] = {
        {"goes offline", OFFLINE,
         .holds = {"\"name\":\"cpu_went_offline\"", "\"cause\":\"offline\"",
                   "\"sure_until_ns\":", "\"status\":\"failed\",\"reason\":\"CPU ",
                   "went offline between ", NO_FIGURES, "\"interrupted\":false"},
         .lacks = {":4711", "\"type\":\"series\""}},
        /* the threads leave it before the list of CPUs does */
        {"on its way offline", ON_ITS_WAY,
         .holds = {"\"name\":\"cpu_went_offline\"", "\"cause\":\"offline\""}},
        {"stays", NONE,
         .holds = {"\"status\":\"measured\"", "\"max\":4711", "\"type\":\"interval\""},
         .lacks = {"cpu_went_offline", "cpu_was_left"}},
        /* its next thread could not be started: that is the consequence */
        {"the cpuset loses it", CPUSET,
         .holds = {"\"name\":\"cpu_was_left\"", "\"cause\":\"cpuset\"",
                   "the cpuset of its control group /measured no longer has that CPU",
                   "\"command\":\"cat /sys/fs/cgroup/cpuset/measured/cpuset.cpus\""},
         .lacks = {"starting the waiters", "ulimit", ":4711"}},
        /* at the end such a test has fewer CPUs */
        {"a test of all CPUs loses it", CPUSET, .may_be_anywhere = true,
         .holds = {"\"name\":\"cpu_was_left\"", "\"status\":\"failed\",\"reason\":\"CPU ",
                   "; the figures include the time with fewer CPUs"}},
        {"the process is moved", GROUP,
         .holds = {"it was moved to the control group /other, whose cpuset does not have that",
                   "\"group\":\"/other\""}},
        {"is back", FOR_A_WHILE,
         .holds = {"\"cause\":\"affinity\"", "a thread of the test was moved off CPU "},
         .lacks = {":4711"}},
        {"is lost before", CPUSET, .prepare = lose_early,
         .holds = {"no longer has that CPU; nothing was measured"}, .lacks = {"preparing"}},
    };
    CHECK_ROWS(rows);
}

/* The last second may be of another CPU; those before it are not. */
TEST(the_figures_before_a_cpu_is_lost)
{
    static const struct loss_row sure = {
        .looks_before = 1,
        .holds = {"\"status\":\"failed\",\"reason\":\"", "; the figures are those of the first ",
                  "\"kept_ns\":", "\"count\":1,\"min\":4711", "\"max\":4711", "\"verdicts\":0"},
        .lacks = {":80523", "no figures are given"}};
    struct loss_row rows[] = {sure, sure, sure};
    rows[0].loss = OFFLINE, rows[0].name = "goes offline";
    rows[1].loss = CPUSET, rows[1].name = "the cpuset loses it";
    /* found by the thread itself only, at its end */
    rows[2].loss = FOR_A_WHILE, rows[2].name = "is back";
#ifdef __SANITIZE_THREAD__
    tap_skip("the sanitizer has a thread of its own, which is bound to no CPU");
#else
    CHECK_ROWS(rows);
#endif
}

/* What a thread recorded that might have been anywhere is of no CPU. */
TEST(no_figures_of_threads_that_may_have_been_anywhere)
{
    static const struct loss_row rows[] = {
        {"a thread that was not bound", OFFLINE, .looks_before = 1, .is_unbound = true,
         .holds = {NO_FIGURES}, .lacks = {":4711", "kept_ns"}},
        {"threads that could not be read", OFFLINE, .looks_before = 1, .is_unreadable = true,
         .holds = {NO_FIGURES}, .lacks = {":4711", "kept_ns"}},
    };
    CHECK_ROWS(rows);
}
