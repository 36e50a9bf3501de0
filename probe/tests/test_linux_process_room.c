/* How many processes may still be made, by limits that are made up as files. The linker wraps what
 * says who the user is (--wrap). */
#include "linux_machine.h"
#include "port/port.h"

#include <sys/resource.h>
#include <unistd.h>

static bool is_root;
static rlim_t most = RLIM_INFINITY;

WRAP_IF(true, is_root ? 0 : 4321, uid_t, geteuid, (void), ());
WRAP_IF(true, is_root ? 0 : 4321, uid_t, getuid, (void), ());

static int tell_limit(struct rlimit *limit)
{
    *limit = (struct rlimit){most, most};
    return 0;
}

WRAP_IF(true, tell_limit(limit), int, getrlimit, (int resource, struct rlimit *limit),
        (resource, limit));
WRAP_IF(true, tell_limit(limit), int, getrlimit64, (int resource, struct rlimit *limit),
        (resource, limit));

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

TEST_IN(make_up(), machine_close(), the_kernel_has_limits)
{
    check(32468, "pid_max");
    machine_put("/proc/sys/kernel/threads-max", "1000\n");
    check(700, "threads-max");
    machine_put("/proc/sys/kernel/threads-max", "200\n");
    check(0, "threads-max");
}

TEST_IN(make_up(), machine_close(), a_group_and_those_above_it_have_limits)
{
    machine_put("/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.max", "500\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.current", "80\n");
    check(420, "control group");
    machine_put("/sys/fs/cgroup/c/pids.max", "90\n");
    machine_put("/sys/fs/cgroup/c/pids.current", "40\n");
    check(50, "control group");
}

TEST_IN(make_up(), machine_close(), the_user_has_a_limit_and_root_has_none)
{
    machine_put("/proc/7/status", "Name:\ta\nUid:\t4321\t4321\t4321\t4321\nThreads:\t3\n");
    machine_put("/proc/8/status", "Name:\tb\nUid:\t4321\t4321\t4321\t4321\nThreads:\t1\n");
    machine_put("/proc/9/status", "Name:\tc\nUid:\t1\t1\t1\t1\nThreads:\t9\n");
    most = 64;
    check(32468, "pid_max");
    is_root = false;
    check(60, "ulimit -u");
    most = RLIM_INFINITY;
    check(32468, "pid_max");
}

TEST(without_files_nothing_is_known)
{
    if (!make_up())
        return;
    machine_close();
    snprintf(machine_root, sizeof machine_root, "/nowhere");
    check(-1, "");
}
