/* The semaphore tests on systems without fork, without shared memory, or without some kinds: what
 * is missing is reported, and all the rest is measured in full. The port is a fake; the linker
 * wraps calls of the C library where it can (--wrap). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "fake_port.h"
#include "one_cpu_run.h"
#include "run/run.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { NO_SERIES = -1 };

static struct {
    bool has_no_memory, has_no_sets;
    off_t memory_bytes; /* room for one object; 0: any */
} fake_library;

#ifdef WRAPPED
int __real_shm_open(const char *name, int flags, mode_t mode);
int __wrap_shm_open(const char *name, int flags, mode_t mode);
int __real_semget(key_t key, int count, int flags);
int __wrap_semget(key_t key, int count, int flags);

int __wrap_shm_open(const char *name, int flags, mode_t mode)
{
    if (!fake_library.has_no_memory)
        return __real_shm_open(name, flags, mode);
    errno = ENOSYS;
    return -1;
}

int __wrap_semget(key_t key, int count, int flags)
{
    if (!fake_library.has_no_sets)
        return __real_semget(key, count, flags);
    errno = ENOSYS;
    return -1;
}

int __real_ftruncate(int file, off_t bytes);
int __wrap_ftruncate(int file, off_t bytes);
int __wrap_ftruncate64(int file, off_t bytes);

int __wrap_ftruncate(int file, off_t bytes)
{
    if (fake_library.memory_bytes == 0 || bytes <= fake_library.memory_bytes)
        return __real_ftruncate(file, bytes);
    errno = ENOSPC;
    return -1;
}

/* As the linker knows it where files may be large. */
int __wrap_ftruncate64(int file, off_t bytes)
{
    return __wrap_ftruncate(file, bytes);
}
#endif

static void reset(void)
{
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = 1};
    memset(&fake_library, 0, sizeof fake_library);
}

#define STREAM(id, ...)                                                                            \
    one_cpu_run((char *const[]){"hardstone-probe", "run", id, "--samples", "50", "--clock",        \
                                "monotonic", __VA_ARGS__, NULL})

static bool lacks_rights(void)
{
    struct rt_thread_setup setup = {SCHED_FIFO, sched_get_priority_max(SCHED_FIFO) - 1, -1};
    if (rt_thread_try(&setup) == 0)
        return false;
    tap_skip("no right to real-time priorities");
    return true;
}

/* Values of a series; NO_SERIES where there is none. */
static int64_t count_of(const char *text, const char *name, const char *kind, const char *scope)
{
    char head[200];
    snprintf(head, sizeof head,
             "\"series\",\"name\":\"%s\",\"labels\":{\"kind\":\"%s\",\"scope\":\"%s\"", name, kind,
             scope);
    const char *line = strstr(text, head);
    const char *count = line ? strstr(line, "\"count\":") : NULL;
    return count ? strtoll(count + 8, NULL, 10) : NO_SERIES;
}

static void check_told(const char *text, const char *event, bool is_told)
{
    char name[80];
    snprintf(name, sizeof name, "\"%s\"", event);
    if (is_told)
        CHECK_HOLDS(text, name);
    else
        CHECK(strstr(text, name) == NULL);
}

static void check_round_trips(const char *text)
{
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "round_trip", "unnamed", "thread"), 50);
    CHECK_SAME(count_of(text, "round_trip", "named", "thread"), 50);
    CHECK(count_of(text, "round_trip", "unnamed", "process") <= 0);
    CHECK(count_of(text, "round_trip", "named", "process") <= 0);
    check_told(text, "scope_unsupported", true);
    check_told(text, "kind_unsupported", true);
}

/* A kind that is missing stands before one that is there. */
#define ROUND_TRIPS STREAM("SEM-P-RTP", "-p", "kinds=unnamed,eventfd,named")

HOST_TEST(round_trips_without_processes)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    const char *text = ROUND_TRIPS;
    if (!text)
        return;
    check_round_trips(text);
    CHECK_SAME(count_of(text, "round_trip", "named", "process"), NO_SERIES);
    check_told(text, "no_cleanup_process", true);
}

HOST_TEST(round_trips_where_fork_does_nothing)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.refuses_fork = true;
    const char *text = ROUND_TRIPS;
    if (!text)
        return;
    check_round_trips(text);
    check_told(text, "no_cleanup_process", true);
}

HOST_TEST(round_trips_without_shared_memory)
{
    reset();
    if (lacks_rights() || !tap_is_wrapped())
        return;
    fake_library.has_no_memory = true;
    const char *text = ROUND_TRIPS;
    if (!text)
        return;
    check_round_trips(text);
    check_told(text, "no_cleanup_process", false);
    CHECK_HOLDS(text, "shm_open");
}

TEST(one_thread_without_processes)
{
    reset();
    fake_port.has_no_processes = true;
    const char *text = STREAM("SEM-P-SIG", "-p", "kinds=unnamed,futex,named,mutex");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "signal_wait", "unnamed", "thread"), 50);
    CHECK_SAME(count_of(text, "signal_wait", "named", "both"), 50);
    CHECK_SAME(count_of(text, "signal_wait", "mutex", "thread"), 50);
    CHECK_SAME(count_of(text, "signal_wait", "mutex", "process"), NO_SERIES);
    check_told(text, "scope_unsupported", true);
    check_told(text, "no_cleanup_process", true);
}

TEST(one_thread_without_shared_memory)
{
    reset();
    if (!tap_is_wrapped())
        return;
    fake_library.has_no_memory = true;
    const char *text = STREAM("SEM-P-SIG", "-p", "kinds=unnamed,named,mutex");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "signal_wait", "mutex", "thread"), 50);
    CHECK_SAME(count_of(text, "signal_wait", "mutex", "process"), 0);
    check_told(text, "scope_unsupported", true);
}

TEST(a_kind_that_is_missing)
{
    reset();
    if (!tap_is_wrapped())
        return;
    fake_library.has_no_sets = true;
    const char *text = STREAM("SEM-P-SIG", "-p", "kinds=sysv,unnamed", "-p", "scopes=thread");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "signal_wait", "unnamed", "thread"), 50);
    CHECK_SAME(count_of(text, "signal_wait", "sysv", "both"), 0);
    check_told(text, "kind_unsupported", true);
    check_told(text, "scope_unsupported", false);
}

/* Nothing that a kill would leave: nothing to tell. */
TEST(nothing_to_clean_up)
{
    reset();
    fake_port.has_no_processes = true;
    const char *text = STREAM("SEM-P-SIG", "-p", "kinds=unnamed", "-p", "scopes=thread");
    if (!text)
        return;
    CHECK_SAME(count_of(text, "signal_wait", "unnamed", "thread"), 50);
    check_told(text, "no_cleanup_process", false);
    check_told(text, "scope_unsupported", false);
}

HOST_TEST(a_mutex_without_shared_memory)
{
    reset();
    if (lacks_rights() || !tap_is_wrapped())
        return;
    fake_library.has_no_memory = true;
    const char *text = STREAM("SEM-P-SHF", "-p", "kinds=mutex");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "shuffle", "mutex", "thread"), 50);
    CHECK_SAME(count_of(text, "shuffle", "mutex", "process"), 0);
    check_told(text, "scope_unsupported", true);
}

static void check_verdicts(const char *text, const char *claim)
{
    char name[80];
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    check_told(text, "scope_unsupported", true);
    check_told(text, "kind_unsupported", true);
    snprintf(name, sizeof name, "\"%s/unnamed/thread\"", claim);
    CHECK_HOLDS(text, name);
    snprintf(name, sizeof name, "\"%s/named/thread\"", claim);
    CHECK_HOLDS(text, name);
    CHECK(strstr(text, "/process\"") == NULL);
}

HOST_TEST(verdicts_without_processes)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    check_verdicts(STREAM("SEM-B-REL", "-p", "kinds=unnamed,eventfd,named"), "ascending");
    check_verdicts(STREAM("SEM-B-LCK", "-p", "kinds=unnamed,eventfd,named"), "increments");
    fake_port.has_no_processes = false;
    fake_port.refuses_fork = true;
    check_verdicts(STREAM("SEM-B-REL", "-p", "kinds=unnamed,eventfd,named"), "ascending");
}

static void check_messages(const char *text)
{
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "latency", "mq", "thread"), 50);
    CHECK_SAME(count_of(text, "latency", "ring", "thread"), 50);
    CHECK(count_of(text, "latency", "mq", "process") <= 0);
    check_told(text, "scope_unsupported", true);
}

static void check_waiters(const char *text)
{
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"receivers/mq/thread\",\"pass\":true");
    CHECK_HOLDS(text, "\"senders/mq/thread\",\"pass\":true");
    CHECK(strstr(text, "/mq/process\"") == NULL);
}

HOST_TEST(messages_without_processes)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    check_messages(STREAM("MSG-P-LAT", "-p", "kinds=mq,ring", "-p", "sizes_bytes=64"));
    check_waiters(STREAM("MSG-B-PRI", "-p", "kinds=mq"));
    fake_port.has_no_processes = false;
    fake_port.refuses_fork = true;
    check_messages(STREAM("MSG-P-LAT", "-p", "kinds=mq,ring", "-p", "sizes_bytes=64"));
}

static void check_unsupported(const char *text, const char *reason)
{
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, reason);
}

TEST(operations_of_the_kernel_need_a_process)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    check_unsupported(STREAM("KRN-P-PRE", "-p", "operation=pipe"), "second process (fork)");
    fake_port.has_no_processes = false;
    fake_port.refuses_fork = true;
    check_unsupported(STREAM("KRN-P-PRE", "-p", "operation=pipe"), "second process (fork)");
    fake_port.refuses_fork = false;
    fake_library.has_no_memory = true;
    if (tap_is_wrapped())
        check_unsupported(STREAM("KRN-P-PRE", "-p", "operation=pipe"), "shm_open");
}

TEST(a_background_writer_needs_a_process)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    check_unsupported(STREAM("FIO-P-PRI", "-p", "mode=time_shared"), "second process (fork)");
    fake_port.has_no_processes = false;
    fake_library.has_no_memory = true;
    if (tap_is_wrapped())
        check_unsupported(STREAM("FIO-P-PRI", "-p", "mode=time_shared"), "shm_open");
}

HOST_TEST(waiters_without_processes)
{
    reset();
    if (lacks_rights())
        return;
    fake_port.has_no_processes = true;
    const char *text = STREAM("SEM-P-ARC", "-p", "kinds=unnamed,eventfd,named", "-p", "waiters=2");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_SAME(count_of(text, "acquire", "named", "thread"), 50);
    CHECK_SAME(count_of(text, "release", "named", "process"), NO_SERIES);
    check_told(text, "scope_unsupported", true);
}

/* The row is as long as was asked for, not as it could have been. */
HOST_TEST(few_waiters_take_little_memory)
{
    reset();
    if (lacks_rights() || !tap_is_wrapped())
        return;
    fake_library.memory_bytes = 8192;
    const char *text = STREAM("SEM-P-ARC", "-p", "kinds=unnamed", "-p", "waiters=1,4");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

TEST(processes_alone_are_asked_for)
{
    reset();
    fake_port.has_no_processes = true;
    const char *text = STREAM("SEM-P-SIG", "-p", "kinds=unnamed", "-p", "scopes=process");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    check_told(text, "scope_unsupported", true);
    if (lacks_rights())
        return;
    text = STREAM("SEM-P-RTP", "-p", "scopes=process");
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    check_told(text, "scope_unsupported", true);
}
