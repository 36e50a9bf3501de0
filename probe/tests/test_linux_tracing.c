/* The kernel's tracing, with a folder in the place of tracefs: a new instance gets its files, the
 * removal of one takes them, and some calls are refused. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/linux/tracefs.h"
#include "port/shield.h"
#include "port/tracing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE "/sys/kernel/tracing"
#define OLD_PLACE "/sys/kernel/debug/tracing"
#define TIMERLAT_FD PLACE "/osnoise/per_cpu/cpu1/timerlat_fd"
#define LOCKDOWN "/sys/kernel/security/lockdown"
#define ENDED 4711       /* no process has this id */
#define HIDDEN 999999999 /* of a process of which /proc shows nothing */

enum { PAGE = 4096, HEADER = 16, ID = 318, OTHER_ID = 9, CPU = 1 };

static struct {
    const char *path;                                /* its end; NULL: nothing is refused */
    int error;                                       /* of open, or of a write if is_write */
    bool is_write, is_filling, is_busy, is_stubborn; /* stubborn: a written value is not kept */
    const char *leaves_out;                          /* of a new instance */
    int busy_count;                                  /* removals that are refused, then no more */
    int fork_error, end_with_error;
} machine;

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

static bool is_refused(const char *path, bool is_write)
{
    if (machine.is_filling || !machine.path || machine.is_write != is_write || !machine.error ||
        !ends_in(path, machine.path))
        return false;
    errno = machine.error;
    return true;
}

WRAP_IF_LARGE(is_refused(path, false), -1, int, open, (const char *path, int flags, ...),
              (path, flags, 0600));
WRAP_IF(process == ENDED || process == HIDDEN, tap_fail(process == ENDED ? ESRCH : EPERM), int,
        kill, (pid_t process, int number), (process, number));
WRAP_IF(machine.fork_error, tap_fail(machine.fork_error), pid_t, port_fork, (void), ());
WRAP_IF(machine.end_with_error, machine.end_with_error, int, port_end_with, (pid_t parent),
        (parent));

/* The kernel prints all clocks, with the chosen one in brackets. */
WRAP(ssize_t, write, int file, const void *bytes, size_t count)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (machine.is_filling || strncmp(path, machine_root, strlen(machine_root)) != 0)
        return __real_write(file, bytes, count);
    if (is_refused(path, true))
        return -1;
    if (machine.is_stubborn && machine.path && ends_in(path, machine.path))
        return (ssize_t)count;
    if (!ends_in(path, "trace_clock"))
        return __real_write(file, bytes, count);
    (void)!__real_write(file, "local [", 7);
    (void)!__real_write(file, bytes, count);
    (void)!__real_write(file, "]\n", 2);
    return (ssize_t)count;
}

/* A ring that is empty has nothing now; a file that is at its end has nothing at all. */
WRAP(ssize_t, read, int file, void *bytes, size_t count)
{
    ssize_t got = __real_read(file, bytes, count);
    if (got == 0 && count == PAGE && fcntl(file, F_GETFL) & O_NONBLOCK)
        return tap_fail(machine.path && ends_in(machine.path, "ring_error") ? EIO : EAGAIN);
    return got;
}

static void put(const char *path, const char *text)
{
    if (machine.leaves_out && ends_in(path, machine.leaves_out))
        return;
    machine.is_filling = true;
    machine_put(path, text);
    machine.is_filling = false;
}

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
static const char format[] = "name: sched_switch\nID: 318\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                             "\tfield:char prev_comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n";

static void put_in(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    put(path, text);
}

static void fill(const char *instance)
{
    static const char *const files[][2] = {{"tracing_on", "1\n"},
                                           {"trace_clock", "[local] mono\n"},
                                           {"buffer_size_kb", "7\n"},
                                           {"per_cpu/cpu1/buffer_size_kb", "7\n"},
                                           {"tracing_cpumask", "3\n"},
                                           {"current_tracer", "nop\n"},
                                           {"events/sched/sched_switch/enable", "0\n"},
                                           {"events/sched/sched_switch/filter", "none\n"},
                                           {"events/sched/sched_switch/format", format},
                                           {"per_cpu/cpu1/trace_pipe_raw", ""}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        put_in(instance, files[i][0], files[i][1]);
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
    int result = __real_mkdir(path, mode);
    const char *instance = path + strlen(machine_root);
    bool is_instance = strncmp(path, machine_root, strlen(machine_root)) == 0 &&
                       strncmp(instance, PLACE "/instances/", strlen(PLACE "/instances/")) == 0;
    if (result == 0 && is_instance && !machine.is_filling)
        fill(instance);
    return result;
}

WRAP(int, rmdir, const char *path)
{
    if (machine.is_busy || machine.busy_count-- > 0)
        return tap_fail(EBUSY);
    if (access(path, F_OK) == 0)
        machine_remove(path + strlen(machine_root));
    return 0;
}

/* ---- the machine ---- */

static bool open_machine(void)
{
    if (!tap_is_wrapped())
        return false;
    memset(&machine, 0, sizeof machine);
    machine_open();
    put(PLACE "/available_tracers", "timerlat osnoise function nop\n");
    put(PLACE "/current_tracer", "nop\n");
    put(PLACE "/instances/.keep", "");
    put(PLACE "/events/header_page", header_page);
    put(PLACE "/events/sched/sched_switch/format", format);
    put(PLACE "/osnoise/stop_tracing_us", "0\n");
    put(PLACE "/osnoise/stop_tracing_total_us", "0\n");
    put(TIMERLAT_FD, "");
    return true;
}

static const struct port_tracing_kind kinds[] = {
    {.system = "sched", .name = "sched_switch", .fields = {"next_pid"}, .text = "prev_comm"}};

static struct port_tracing_wish wish_for(const char *tracer)
{
    struct port_tracing_wish wish = {
        .tracer = tracer, .kinds = kinds, .kind_count = 1, .bytes_per_cpu = 100000};
    cpus_add(&wish.cpus, CPU);
    return wish;
}

static struct outcome outcome;

static struct port_tracing *open_tracing(const char *tracer)
{
    struct port_tracing_wish wish = wish_for(tracer);
    memset(&outcome, 0, sizeof outcome);
    return port_tracing_open(&wish, &outcome);
}

static const char *own_path(const char *file)
{
    static char path[400];
    char name[64];
    port_tracing_name(name, sizeof name);
    snprintf(path, sizeof path, PLACE "/instances/%s%s%s", name, *file ? "/" : "", file);
    return path;
}

static const char *text_of(const char *path)
{
    static char text[400];
    return linux_read_any(path, text, sizeof text) ? text : "-";
}

static int close_tracing(struct port_tracing *tracing)
{
    char path[320];
    int error = port_tracing_close(tracing, path, sizeof path);
    CHECK_TEXT(path, own_path(""));
    return error;
}

static void expect_refusal(const char *tracer, enum status status, const char *reason)
{
    CHECK(open_tracing(tracer) == NULL);
    CHECK_SAME(outcome.status, status);
    CHECK_HOLDS(outcome.reason, reason);
    CHECK(!linux_exists(own_path("")));
}

static void expect_life(const char *tracer)
{
    struct port_tracing *tracing = open_tracing(tracer);
    if (CHECK(tracing != NULL))
        CHECK_SAME(close_tracing(tracing), 0);
}

/* ---- tests ---- */

#define TRACING_TEST(what) TEST_IN(open_machine(), machine_close(), what)

TRACING_TEST(life)
{
    struct port_tracing *tracing = open_tracing("timerlat");
    if (!CHECK(tracing != NULL))
        return;
    CHECK_TEXT(text_of(own_path("tracing_on")), "0");
    CHECK_TEXT(text_of(own_path("trace_clock")), "local [mono]");
    CHECK_TEXT(text_of(own_path("buffer_size_kb")), "4"); /* of CPUs that are not traced */
    CHECK_TEXT(text_of(own_path("per_cpu/cpu1/buffer_size_kb")), "98");
    CHECK_TEXT(text_of(own_path("tracing_cpumask")), "2");
    CHECK_TEXT(text_of(own_path("current_tracer")), "timerlat");
    CHECK_TEXT(text_of(PLACE "/current_tracer"), "nop"); /* of the others: untouched */
    CHECK_SAME(port_tracing_filter(tracing, 0, "next_pid == 17"), 0);
    CHECK_TEXT(text_of(own_path("events/sched/sched_switch/filter")), "next_pid == 17");
    CHECK(!port_tracing_is_on(tracing));
    CHECK_SAME(port_tracing_start(tracing, &outcome), 0);
    CHECK_TEXT(text_of(own_path("events/sched/sched_switch/enable")), "1");
    CHECK(port_tracing_is_on(tracing));
    put(own_path("tracing_on"), "0\n"); /* somebody else */
    CHECK(!port_tracing_is_on(tracing));
    CHECK_SAME(port_tracing_start(tracing, &outcome), 0);
    CHECK_SAME(port_tracing_stop(tracing), 0);
    CHECK(!port_tracing_is_on(tracing));
    CHECK_SAME(close_tracing(tracing), 0);
    CHECK(!linux_exists(own_path("")));
}

TRACING_TEST(denied_or_not_there)
{
    machine.path = PLACE "/instances";
    machine.error = EACCES;
    expect_refusal(NULL, STATUS_DENIED, PLACE);
    CHECK_HOLDS(outcome.remedy, "root");
    machine.path = "/available_tracers";
    machine.error = EPERM;
    expect_refusal(NULL, STATUS_DENIED, "not permitted");
    put(LOCKDOWN, "none integrity [confidentiality]\n");
    expect_refusal(NULL, STATUS_DENIED, "locked down");
    put(LOCKDOWN, "none [integrity] confidentiality\n");
    expect_refusal(NULL, STATUS_DENIED, "not permitted");
    machine_remove(PLACE);
    expect_refusal(NULL, STATUS_UNSUPPORTED, "no tracefs");
    put(PLACE "/.keep", "");
    expect_refusal(NULL, STATUS_UNSUPPORTED, "not mounted");
    CHECK_TEXT(outcome.command, "mount -t tracefs tracefs " PLACE);
    put(LOCKDOWN, "none integrity [confidentiality]\n");
    expect_refusal(NULL, STATUS_DENIED, "locked down");
}

/* The initial namespace has a constant number; in another one no mount helps, and no root. */
static void be_in(const char *namespace)
{
    put("/proc/self/ns/.keep", "");
    (void)unlink(machine_path("/proc/self/ns/user"));
    CHECK_SAME(symlink(namespace, machine_path("/proc/self/ns/user")), 0);
}

static void expect_namespace(void)
{
    be_in("user:[4026532001]");
    expect_refusal(NULL, STATUS_UNSUPPORTED, "user namespace");
    CHECK_TEXT(outcome.remedy, "run it outside the user namespace");
    CHECK_TEXT(outcome.command, "");
}

TRACING_TEST(user_namespace)
{
    machine.path = "/available_tracers";
    machine.error = EACCES;
    expect_namespace();
    be_in("user:[4026531837]");
    expect_refusal(NULL, STATUS_DENIED, "Permission denied");
    machine_remove(PLACE);
    put(PLACE "/.keep", "");
    expect_refusal(NULL, STATUS_UNSUPPORTED, "not mounted");
    expect_namespace();
}

TRACING_TEST(missing)
{
    put(PLACE "/available_tracers", "timerlat_not function nop\n");
    expect_refusal("timerlat", STATUS_UNSUPPORTED, "no tracer timerlat");
    static const struct port_tracing_kind none[] = {{.system = "sched", .name = "sched_x"}};
    struct port_tracing_wish wish = wish_for(NULL);
    wish.kinds = none;
    memset(&outcome, 0, sizeof outcome);
    CHECK_SAME(port_tracing_look(&wish, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    CHECK_HOLDS(outcome.reason, "no event sched/sched_x");
}

/* Whatever is refused while the instance is made, nothing of it stays. */
TRACING_TEST(refused)
{
    static const struct {
        const char *path;
        int error;
        bool is_write, is_stubborn;
        enum status status;
        const char *reason;
    } cases[] = {
        {"/trace_clock", EINVAL, true, false, STATUS_UNSUPPORTED, "trace_clock"},
        {"/trace_clock", 0, true, true, STATUS_UNSUPPORTED, "did not keep the value 'mono'"},
        {"/buffer_size_kb", ENOMEM, true, false, STATUS_DENIED, "buffer_size_kb"},
        {"/tracing_cpumask", EINVAL, true, false, STATUS_UNSUPPORTED, "tracing_cpumask"},
        {"/current_tracer", EBUSY, true, false, STATUS_FAILED, "current_tracer"},
        {"/trace_pipe_raw", EBUSY, false, false, STATUS_FAILED, "trace_pipe_raw"},
        {"/tracing_on", EPERM, false, false, STATUS_DENIED, "tracing_on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tap_row(cases[i].path);
        machine.path = cases[i].path;
        machine.error = cases[i].error;
        machine.is_write = cases[i].is_write;
        machine.is_stubborn = cases[i].is_stubborn;
        expect_refusal("timerlat", cases[i].status, cases[i].reason);
    }
}

TRACING_TEST(no_instance)
{
    put(own_path("tracing_on"), "0\n"); /* of this very process: it is not ours to take */
    CHECK(open_tracing(NULL) == NULL);
    CHECK_HOLDS(outcome.reason, "instances/hardstone-");
    CHECK(linux_exists(own_path("tracing_on")));
    machine_remove(own_path(""));
    machine.leaves_out = "sched_switch/format";
    expect_refusal(NULL, STATUS_FAILED, "sched_switch/format");
}

/* It was on, and is off when it is looked at. */
TRACING_TEST(stays_off)
{
    struct port_tracing *tracing = open_tracing(NULL);
    if (!CHECK(tracing != NULL))
        return;
    machine.path = "/tracing_on";
    machine.is_stubborn = true;
    put(own_path("tracing_on"), "0\n");
    CHECK_SAME(port_tracing_start(tracing, &outcome), -1);
    CHECK_HOLDS(outcome.reason, "tracing_on did not keep the value '1'");
    close_tracing(tracing);
}

TRACING_TEST(left)
{
    char name[64], live[64], other[64];
    snprintf(name, sizeof name, PLACE "/instances/hardstone-%d-99", ENDED);
    snprintf(live, sizeof live, PLACE "/instances/hardstone-%ld-%llu", (long)getppid(),
             (unsigned long long)port_process_start(getppid()));
    snprintf(other, sizeof other, PLACE "/instances/hardstone-%d-99x", ENDED);
    put_in(name, "tracing_on", "1");
    put_in(live, "tracing_on", "1");
    put_in(other, "tracing_on", "1");
    put(PLACE "/instances/rtla/tracing_on", "1");
    struct port_tracing *tracing = open_tracing(NULL);
    if (!CHECK(tracing != NULL))
        return;
    CHECK(!linux_exists(name));
    CHECK(linux_exists(live));
    CHECK(linux_exists(other));
    CHECK(linux_exists(PLACE "/instances/rtla"));
    machine.is_busy = true;
    CHECK_SAME(close_tracing(tracing), EBUSY);
    machine.is_busy = false;
}

/* A later process with the id of an ended one, one that /proc hides, and names that nobody gives.
 */
TRACING_TEST(names)
{
    char name[64];
    snprintf(name, sizeof name, "hardstone-%ld-1", (long)getpid());
    CHECK(port_process_start(getpid()) == 0 || tracefs_is_left(name));
    port_tracing_name(name, sizeof name);
    CHECK(!tracefs_is_left(name));
    static const char *const names[] = {"hardstone-",     "hardstone-0-1",     "hardstone--1-1",
                                        "hardstone-4711", "hardstone-4711-",   "hardstone-4711--1",
                                        "hardstone-x-1",  "hardstone-4711-1/", "x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(!tracefs_is_left(names[i]));
    CHECK(tracefs_is_left("hardstone-4711-1"));
    CHECK(!tracefs_is_left("hardstone-999999999-1")); /* alive: nobody says whether it is that */
}

TRACING_TEST(left_in_debugfs)
{
    static const char left[] = OLD_PLACE "/instances/hardstone-4711-99";
    put_in(left, "tracing_on", "1");
    CHECK_SAME(port_tracing_remove_left(), 0); /* a look would mount it */
    CHECK(linux_exists(left));
    put("/proc/self/mounts", "proc /proc proc rw 0 0\ntracefs " OLD_PLACE " tracefs rw 0 0\n");
    CHECK_SAME(port_tracing_remove_left(), 1);
    CHECK(!linux_exists(left));
}

static void link_namespace(const char *target)
{
    put("/proc/self/ns/net", "");
    unlink(machine_path("/proc/self/ns/pid"));
    CHECK_SAME(symlink(target, machine_path("/proc/self/ns/pid")), 0);
}

TRACING_TEST(other_ids)
{
    link_namespace("pid:[4026532198]");
    expect_refusal(NULL, STATUS_UNSUPPORTED, "PID namespace");
    expect_life("timerlat"); /* its events have no ids */
    link_namespace("pid:[4026531836]");
    expect_life(NULL);
}

/* ---- the guard ---- */

/* A process that has an instance, whose path is stored. */
static pid_t start_owner(char path[200])
{
    int ready[2];
    char is_open = 0, name[64];
    if (pipe(ready) != 0)
        abort();
    pid_t owner = fork();
    if (owner == 0) {
        is_open = open_tracing(NULL) != NULL;
        (void)!write(ready[1], &is_open, 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    CHECK(read(ready[0], &is_open, 1) == 1 && is_open);
    close(ready[0]);
    tracefs_instance_name(owner, name, sizeof name);
    snprintf(path, 200, PLACE "/instances/%s", name);
    CHECK(linux_exists(path));
    return owner;
}

TRACING_TEST(a_kill)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    char path[200];
    for (int busy_count = 0; busy_count < 3; busy_count++) {
        machine.busy_count = busy_count; /* a process that ends too has a file open */
        pid_t owner = start_owner(path);
        kill(owner, SIGKILL);
        CHECK_SAME(waitpid(owner, NULL, 0), owner);
        while (linux_exists(path))
            nanosleep(&pause, NULL);
    }
}

TRACING_TEST(no_process_is_left)
{
    struct port_tracing *tracing = open_tracing(NULL);
    if (CHECK(tracing != NULL)) {
        CHECK_SAME(waitpid(-1, NULL, WNOHANG), 0);
        CHECK_SAME(close_tracing(tracing), 0);
    }
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_SAME(errno, ECHILD);
}

/* Nothing is traced then. timerlat has another guard. */
TRACING_TEST(no_guard)
{
    machine.fork_error = EAGAIN;
    expect_refusal(NULL, STATUS_DENIED, "after a kill");
    expect_life("timerlat");
    machine.fork_error = 0;
    machine.end_with_error = ENOTSUP;
    expect_refusal(NULL, STATUS_UNSUPPORTED, "after a kill");
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- events ---- */

static struct {
    int count, lost;
    int64_t at_ns[8], next[8], lost_count;
    char text[9];
    bool is_in_interrupt;
} seen;

static void see(const struct port_tracing_event *event, void *context)
{
    (void)context;
    if (event->kind == PORT_TRACING_LOST) {
        seen.lost++;
        seen.lost_count = event->field[0];
        return;
    }
    if (!CHECK(seen.count < 8))
        return;
    seen.at_ns[seen.count] = event->at_ns;
    seen.next[seen.count++] = event->field[0];
    memcpy(seen.text, event->text, event->text_bytes < 8 ? event->text_bytes : 8);
    seen.is_in_interrupt = event->is_in_interrupt;
}

static uint8_t page[PAGE];
static size_t used;

static void add(const void *bytes, size_t count)
{
    memcpy(page + used, bytes, count);
    used += count;
}

static void add_event(uint16_t id, uint32_t delta_ns, int32_t next, unsigned words)
{
    uint32_t head = delta_ns << 5 | words;
    uint8_t data[20] = {0};
    memcpy(data, &id, sizeof id);
    data[2] = 0x08;
    memcpy(data + 8, "cc1-fuss", 8);
    memcpy(data + 16, &next, sizeof next);
    add(&head, sizeof head);
    add(data, words * (size_t)4);
}

static void begin_page(void)
{
    int64_t time_ns = 1000;
    memset(page, 0, sizeof page);
    memcpy(page, &time_ns, sizeof time_ns);
    used = HEADER;
}

static struct port_tracing *ring;

static bool open_ring(void)
{
    begin_page();
    return open_machine() && CHECK((ring = open_tracing(NULL)) != NULL);
}

static void close_ring(void)
{
    CHECK_SAME(close_tracing(ring), 0);
    machine_close();
}

/* Adds `bytes` of the page to the ring, reads them, and begins another page. */
static void read_page(uint64_t flags, size_t bytes, int count, int lost)
{
    uint64_t commit = (used - HEADER) | flags;
    memcpy(page + 8, &commit, sizeof commit);
    memset(&seen, 0, sizeof seen);
    FILE *file = fopen(machine_path(own_path("per_cpu/cpu1/trace_pipe_raw")), "a");
    if (CHECK(file != NULL)) {
        CHECK(fwrite(page, 1, bytes, file) == bytes);
        fclose(file);
    }
    CHECK_SAME(port_tracing_read(ring, CPU, see, NULL), 0);
    CHECK_SAME(seen.count, count);
    CHECK_SAME(seen.lost, lost);
    begin_page();
}

TEST_IN(open_ring(), close_ring(), events)
{
    add_event(ID, 5, 17, 5);
    add_event(OTHER_ID, 5, 18, 5); /* of another kind: not delivered */
    add_event(ID, 5, -2, 5);
    read_page(0, PAGE, 2, 0);
    CHECK_SAME(seen.at_ns[0], 1005);
    CHECK_SAME(seen.next[0], 17);
    CHECK_SAME(seen.at_ns[1], 1015);
    CHECK_SAME(seen.next[1], -2);
    CHECK_TEXT(seen.text, "cc1-fuss");
    CHECK(seen.is_in_interrupt);
    CHECK_SAME(port_tracing_read(ring, CPU, see, NULL), 0);
    CHECK_SAME(seen.count, 2);
}

/* What cannot be read is told as lost, never guessed. */
TEST_IN(open_ring(), close_ring(), lost_and_damaged_events)
{
    uint64_t count = 33;
    add_event(ID, 5, 17, 5);
    memcpy(page + used, &count, sizeof count);
    read_page(UINT64_C(3) << 30, PAGE, 1, 1);
    CHECK_SAME(seen.lost_count, 33);
    add_event(ID, 5, 17, 5);
    add_event(ID, 5, 18, 4); /* shorter than its fields */
    add_event(ID, 5, 19, 5);
    read_page(0, PAGE, 1, 1);
    add_event(ID, 5, 17, 5);
    used += 4000; /* says that it has more than was read */
    read_page(0, 200, 0, 1);
    read_page(0, HEADER - 4, 0, 1); /* not even a header */
    machine.path = "ring_error";
    CHECK_SAME(port_tracing_read(ring, CPU, see, NULL), -1);
    CHECK_SAME(errno, EIO);
}

/* ---- timerlat ---- */

static void expect_timerlat(int64_t period_us, const char *reason)
{
    memset(&outcome, 0, sizeof outcome);
    CHECK_SAME(port_timerlat_look(period_us, &outcome), *reason ? -1 : 0);
    CHECK_SAME(outcome.status, *reason ? STATUS_UNSUPPORTED : STATUS_MEASURED);
    CHECK_HOLDS(outcome.reason, reason);
}

TRACING_TEST(timerlat)
{
    char left[64];
    expect_timerlat(10000, "");
    expect_timerlat(99, "period of 100");
    expect_timerlat(1000001, "period of 100");
    put(PLACE "/current_tracer", "osnoise\n");
    expect_timerlat(10000, "in use by another program (at the top)");
    put(PLACE "/current_tracer", "function\n");
    expect_timerlat(10000, "");
    put(PLACE "/instances/rtla/current_tracer", "timerlat\n");
    expect_timerlat(10000, "in the instance rtla");
    CHECK_TEXT(text_of(PLACE "/instances/rtla/current_tracer"), "timerlat");
    put(PLACE "/instances/rtla/current_tracer", "nop\n");
    snprintf(left, sizeof left, PLACE "/instances/hardstone-%d-99", ENDED);
    put_in(left, "current_tracer", "timerlat\n"); /* of a killed run: it is removed */
    expect_timerlat(10000, "");
    CHECK(!linux_exists(left));
    put(PLACE "/osnoise/stop_tracing_total_us", "50\n");
    expect_timerlat(10000, "stop_tracing_total_us is 50");
}

TRACING_TEST(timerlat_file)
{
    int file = port_timerlat_open(CPU);
    CHECK(file >= 0);
    if (file >= 0)
        close(file);
    CHECK_SAME(port_timerlat_open(7), -1);
    CHECK_SAME(errno, ENOENT);
    machine.path = "/timerlat_fd";
    machine.error = EBUSY;
    CHECK_SAME(port_timerlat_open(CPU), -1);
    CHECK_SAME(errno, EBUSY);
    put(PLACE "/available_tracers", "nop\n");
    expect_timerlat(10000, "no tracer timerlat");
}
