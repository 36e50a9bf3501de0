/* How many processes may still be made, by limits that are made up as files. The linker wraps what
 * says who the user is (--wrap). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "made_up_files.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char root[64] = "";
static bool is_root;
static rlim_t most = RLIM_INFINITY;

const char *linux_root(void)
{
    return root;
}

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

static void put(const char *path, const char *text)
{
    made_up_file(root, path, text);
}

/* 300 of 32768 identities and of 100000 threads are in use. */
static bool make_up(void)
{
    snprintf(root, sizeof root, "/tmp/hardstone-test-XXXXXX");
    is_root = true;
    most = RLIM_INFINITY;
    if (!tap_is_wrapped() || !CHECK(mkdtemp(root) != NULL))
        return false;
    put("/proc/loadavg", "0.10 0.20 0.30 2/300 4000\n");
    put("/proc/sys/kernel/pid_max", "32768\n");
    put("/proc/sys/kernel/threads-max", "100000\n");
    put("/proc/self/cgroup", "3:cpu,cpuacct:/a\n2:pids:/a/b\n0::/c\n");
    return true;
}

static void check(int64_t room, const char *words)
{
    const char *limit = "";
    CHECK_SAME(port_process_room(&limit), room);
    CHECK_HOLDS(limit, words);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK_SAME(system(command), 0);
    root[0] = '\0';
}

static void test_the_kernel_has_limits(void)
{
    if (!make_up())
        return;
    check(32468, "pid_max");
    put("/proc/sys/kernel/threads-max", "1000\n");
    check(700, "threads-max");
    put("/proc/sys/kernel/threads-max", "200\n");
    check(0, "threads-max");
    remove_all();
}

static void test_a_group_and_those_above_it_have_limits(void)
{
    if (!make_up())
        return;
    put("/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    put("/sys/fs/cgroup/pids/a/pids.max", "500\n");
    put("/sys/fs/cgroup/pids/a/pids.current", "80\n");
    check(420, "control group");
    put("/sys/fs/cgroup/c/pids.max", "90\n");
    put("/sys/fs/cgroup/c/pids.current", "40\n");
    check(50, "control group");
    remove_all();
}

static void test_the_user_has_a_limit_and_root_has_none(void)
{
    if (!make_up())
        return;
    put("/proc/7/status", "Name:\ta\nUid:\t4321\t4321\t4321\t4321\nThreads:\t3\n");
    put("/proc/8/status", "Name:\tb\nUid:\t4321\t4321\t4321\t4321\nThreads:\t1\n");
    put("/proc/9/status", "Name:\tc\nUid:\t1\t1\t1\t1\nThreads:\t9\n");
    most = 64;
    check(32468, "pid_max");
    is_root = false;
    check(60, "ulimit -u");
    most = RLIM_INFINITY;
    check(32468, "pid_max");
    remove_all();
}

static void test_without_files_nothing_is_known(void)
{
    if (!make_up())
        return;
    remove_all();
    snprintf(root, sizeof root, "/nowhere");
    check(-1, "");
}

TAP_MAIN({"the kernel has limits", test_the_kernel_has_limits},
         {"a group and those above it have limits", test_a_group_and_those_above_it_have_limits},
         {"the user has a limit and root has none", test_the_user_has_a_limit_and_root_has_none},
         {"without files nothing is known", test_without_files_nothing_is_known})
