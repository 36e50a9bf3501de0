/* How many processes may still be made, by limits that are made up as files. The linker wraps what
 * says who the user is (--wrap). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "linux_machine.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_root;
static rlim_t most = RLIM_INFINITY;

#ifdef WRAPPED
uid_t __wrap_geteuid(void);
uid_t __wrap_getuid(void);
int __wrap_getrlimit(int resource, struct rlimit *limit);
int __wrap_getrlimit64(int resource, struct rlimit *limit);

uid_t __wrap_geteuid(void)
{
    return is_root ? 0 : 4321;
}

uid_t __wrap_getuid(void)
{
    return is_root ? 0 : 4321;
}

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    *limit = (struct rlimit){most, most};
    return 0;
}

int __wrap_getrlimit64(int resource, struct rlimit *limit)
{
    return __wrap_getrlimit(resource, limit);
}
#endif

/* 300 of 32768 identities and of 100000 threads are in use. */
static bool make_up(void)
{
    is_root = true;
    most = RLIM_INFINITY;
    if (!tap_is_wrapped())
        return false;
    machine_open();
    machine_put("/proc/loadavg", "0.10 0.20 0.30 2/300 4000\n");
    machine_put("/proc/sys/kernel/pid_max", "32768\n");
    machine_put("/proc/sys/kernel/threads-max", "100000\n");
    machine_put("/proc/self/cgroup", "3:cpu,cpuacct:/a\n2:pids:/a/b\n0::/c\n");
    return true;
}

static void check(int64_t room, const char *words)
{
    const char *limit = "";
    CHECK_SAME(port_process_room(&limit), room);
    CHECK_HOLDS(limit, words);
}

TEST(the_kernel_has_limits)
{
    if (!make_up())
        return;
    check(32468, "pid_max");
    machine_put("/proc/sys/kernel/threads-max", "1000\n");
    check(700, "threads-max");
    machine_put("/proc/sys/kernel/threads-max", "200\n");
    check(0, "threads-max");
    machine_close();
}

TEST(a_group_and_those_above_it_have_limits)
{
    if (!make_up())
        return;
    machine_put("/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.max", "500\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.current", "80\n");
    check(420, "control group");
    machine_put("/sys/fs/cgroup/c/pids.max", "90\n");
    machine_put("/sys/fs/cgroup/c/pids.current", "40\n");
    check(50, "control group");
    machine_close();
}

TEST(the_user_has_a_limit_and_root_has_none)
{
    if (!make_up())
        return;
    machine_put("/proc/7/status", "Name:\ta\nUid:\t4321\t4321\t4321\t4321\nThreads:\t3\n");
    machine_put("/proc/8/status", "Name:\tb\nUid:\t4321\t4321\t4321\t4321\nThreads:\t1\n");
    machine_put("/proc/9/status", "Name:\tc\nUid:\t1\t1\t1\t1\nThreads:\t9\n");
    most = 64;
    check(32468, "pid_max");
    is_root = false;
    check(60, "ulimit -u");
    most = RLIM_INFINITY;
    check(32468, "pid_max");
    machine_close();
}

TEST(without_files_nothing_is_known)
{
    if (!make_up())
        return;
    machine_close();
    snprintf(machine_root, sizeof machine_root, "/nowhere");
    check(-1, "");
}
