/* The semaphore tests on systems without fork, without shared memory, or without some kinds: what
 * is missing is reported, and all the rest is measured in full. The port is a fake; the linker
 * wraps calls of the C library where it can (--wrap). */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "fake_port.h"
#include "one_cpu_run.h"

#include <sched.h>
#include <unistd.h>

static struct {
    bool has_no_memory, has_no_sets;
    off_t memory_bytes; /* room for one object; 0: any */
} fake_library;

WRAP_IF(fake_library.has_no_memory, tap_fail(ENOSYS), int, shm_open,
        (const char *name, int flags, mode_t mode), (name, flags, mode));
WRAP_IF(fake_library.has_no_sets, tap_fail(ENOSYS), int, semget, (key_t key, int count, int flags),
        (key, count, flags));
WRAP_IF_LARGE(fake_library.memory_bytes > 0 && bytes > fake_library.memory_bytes, tap_fail(ENOSPC),
              int, ftruncate, (int file, off_t bytes), (file, bytes));

/* What the system lacks. */
enum lack { PROCESSES = 1, FORK = 2, MEMORY = 4, SETS = 8, LONG_MEMORY = 16, OF_LIBRARY = 28 };

static void have_all_but(unsigned lacks)
{
    fake_port = (struct fake_port){.is_counter_trusted = true,
                                   .cpu_count = 1,
                                   .has_no_processes = lacks & PROCESSES,
                                   .refuses_fork = lacks & FORK};
    fake_library.has_no_memory = lacks & MEMORY;
    fake_library.has_no_sets = lacks & SETS;
    fake_library.memory_bytes = lacks & LONG_MEMORY ? 8192 : 0;
}

static bool lacks_rights(void)
{
    struct rt_thread_setup setup = {SCHED_FIFO, sched_get_priority_max(SCHED_FIFO) - 1, -1};
    if (rt_thread_try(&setup) == 0)
        return false;
    tap_skip("no right to real-time priorities");
    return true;
}

enum { MOST_PARAMETERS = 3, MOST_PARTS = 6, SAMPLES = 50 };

/* A run, and what its stream says. A kind that is missing stands before one that is there. */
struct row {
    unsigned lacks;
    const char *id, *parameters[MOST_PARAMETERS];
    const char *status;
    /* Series with all samples, and with none, as "NAME/KIND/SCOPE". */
    const char *whole[MOST_PARTS], *empty[MOST_PARTS];
    const char *told[MOST_PARTS], *untold[MOST_PARTS]; /* parts of the stream */
    bool is_for_anybody;                               /* also without real-time priorities */
};

/* Values of a series "NAME/KIND/SCOPE"; 0: none, or no such series. */
static int64_t count_of(const char *text, const char *series)
{
    char head[200], name[40], kind[40];
    const char *scope = strrchr(series, '/') + 1;
    if (sscanf(series, "%39[^/]/%39[^/]", name, kind) != 2)
        abort();
    snprintf(head, sizeof head,
             "\"series\",\"name\":\"%s\",\"labels\":{\"kind\":\"%s\",\"scope\":\"%s\"", name, kind,
             scope);
    const char *line = strstr(text, head);
    const char *count = line ? strstr(line, "\"count\":") : NULL;
    return count ? strtoll(count + 8, NULL, 10) : 0;
}

static void check_row(const struct row *row)
{
    char status[40];
    char *words[20] = {"hardstone-probe", "run",      (char *)row->id, "--samples", "50",
                       "--clock",         "monotonic"};
    int count = 7;
    if ((!row->is_for_anybody && lacks_rights()) || (row->lacks & OF_LIBRARY && !tap_is_wrapped()))
        return;
    for (int i = 0; i < MOST_PARAMETERS && row->parameters[i]; i++) {
        words[count++] = "-p";
        words[count++] = (char *)row->parameters[i];
    }
    if (row->is_for_anybody) { /* others may take the CPU without a failure */
        words[count++] = "--policy";
        words[count++] = "other";
    }
    tap_row(row->id);
    have_all_but(row->lacks);
    const char *text = one_cpu_run(words);
    if (!text)
        return;
    snprintf(status, sizeof status, "\"status\":\"%s\"", row->status);
    CHECK_HOLDS(text, status);
    for (int i = 0; i < MOST_PARTS && row->whole[i]; i++)
        CHECK_SAME(count_of(text, row->whole[i]), SAMPLES);
    for (int i = 0; i < MOST_PARTS && row->empty[i]; i++)
        CHECK_SAME(count_of(text, row->empty[i]), 0);
    for (int i = 0; i < MOST_PARTS && row->told[i]; i++)
        CHECK_HOLDS(text, row->told[i]);
    for (int i = 0; i < MOST_PARTS && row->untold[i]; i++)
        if (strstr(text, row->untold[i]))
            CHECK_TEXT(row->untold[i], "not told");
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++)                                    \
    check_row(&(rows)[i])

#define NO_SCOPE "\"scope_unsupported\""
#define NO_KIND "\"kind_unsupported\""
#define NO_CLEANUP "\"no_cleanup_process\""
#define ROUND_TRIPS                                                                                \
    .id = "SEM-P-RTP", .parameters = {"kinds=unnamed,eventfd,named"}, .status = "measured",        \
    .whole = {"round_trip/unnamed/thread", "round_trip/named/thread"},                             \
    .empty = {"round_trip/unnamed/process", "round_trip/named/process"}
#define VERDICTS(test, claim)                                                                      \
    .id = test, .parameters = {"kinds=unnamed,eventfd,named"}, .status = "measured",               \
    .told = {NO_SCOPE, NO_KIND, "\"" claim "/unnamed/thread\"", "\"" claim "/named/thread\""},     \
    .untold = {"/process\""}
#define MESSAGES                                                                                   \
    .id = "MSG-P-LAT", .parameters = {"kinds=mq,ring", "sizes_bytes=64"}, .status = "measured",    \
    .whole = {"latency/mq/thread", "latency/ring/thread"},                                         \
    .empty = {"latency/mq/process", "latency/ring/process"}, .told = {NO_SCOPE}
#define NEEDS(test, parameter, what)                                                               \
    .id = test, .parameters = {parameter}, .status = "unsupported", .told = {what}

/* Where priorities of threads matter. */
HOST_TEST(what_is_missing_is_reported)
{
    static const struct row rows[] = {
        {PROCESSES, ROUND_TRIPS, .told = {NO_SCOPE, NO_KIND, NO_CLEANUP}},
        {FORK, ROUND_TRIPS, .told = {NO_SCOPE, NO_KIND, NO_CLEANUP}},
        {MEMORY, ROUND_TRIPS, .told = {NO_SCOPE, NO_KIND, "shm_open"}, .untold = {NO_CLEANUP}},
        {MEMORY, .id = "SEM-P-SHF", .parameters = {"kinds=mutex"}, .status = "measured",
         .whole = {"shuffle/mutex/thread"}, .empty = {"shuffle/mutex/process"}, .told = {NO_SCOPE}},
        {PROCESSES, VERDICTS("SEM-B-REL", "ascending")},
        {PROCESSES, VERDICTS("SEM-B-LCK", "increments")},
        {FORK, VERDICTS("SEM-B-REL", "ascending")},
        {PROCESSES, MESSAGES},
        {FORK, MESSAGES},
        {PROCESSES, .id = "MSG-B-PRI", .parameters = {"kinds=mq"}, .status = "measured",
         .told = {"\"receivers/mq/thread\",\"pass\":true", "\"senders/mq/thread\",\"pass\":true"},
         .untold = {"/mq/process\""}},
        {PROCESSES, .id = "SEM-P-ARC", .parameters = {"kinds=unnamed,eventfd,named", "waiters=2"},
         .status = "measured", .whole = {"acquire/named/thread"},
         .empty = {"release/named/process"}, .told = {NO_SCOPE}},
        /* The row of waiters is as long as was asked for, not as it could have been. */
        {LONG_MEMORY, .id = "SEM-P-ARC", .parameters = {"kinds=unnamed", "waiters=1,4"},
         .status = "measured"},
    };
    CHECK_ROWS(rows);
}

#define ONE_THREAD(...)                                                                            \
    .id = "SEM-P-SIG", .status = "measured", .is_for_anybody = true, .parameters = {__VA_ARGS__}

TEST(what_one_thread_lacks_is_reported)
{
    static const struct row rows[] = {
        {PROCESSES, ONE_THREAD("kinds=unnamed,futex,named,mutex"),
         .whole = {"signal_wait/unnamed/thread", "signal_wait/named/both",
                   "signal_wait/mutex/thread"},
         .empty = {"signal_wait/mutex/process"}, .told = {NO_SCOPE, NO_CLEANUP}},
        {MEMORY, ONE_THREAD("kinds=unnamed,named,mutex"), .whole = {"signal_wait/mutex/thread"},
         .empty = {"signal_wait/mutex/process"}, .told = {NO_SCOPE}},
        {SETS, ONE_THREAD("kinds=sysv,unnamed", "scopes=thread"),
         .whole = {"signal_wait/unnamed/thread"}, .empty = {"signal_wait/sysv/both"},
         .told = {NO_KIND}, .untold = {NO_SCOPE}},
        /* Nothing that a kill would leave: nothing to tell. */
        {PROCESSES, ONE_THREAD("kinds=unnamed", "scopes=thread"),
         .whole = {"signal_wait/unnamed/thread"}, .untold = {NO_CLEANUP, NO_SCOPE}},
        {PROCESSES, .id = "SEM-P-SIG", .parameters = {"kinds=unnamed", "scopes=process"},
         .status = "unsupported", .told = {NO_SCOPE}, .is_for_anybody = true},
        {PROCESSES, NEEDS("SEM-P-RTP", "scopes=process", NO_SCOPE)},
        {PROCESSES, NEEDS("KRN-P-PRE", "operation=pipe", "second process (fork)")},
        {FORK, NEEDS("KRN-P-PRE", "operation=pipe", "second process (fork)")},
        {MEMORY, NEEDS("KRN-P-PRE", "operation=pipe", "shm_open")},
        {PROCESSES, NEEDS("FIO-P-PRI", "mode=time_shared", "second process (fork)")},
        {MEMORY, NEEDS("FIO-P-PRI", "mode=time_shared", "shm_open")},
    };
    CHECK_ROWS(rows);
}
