/* What limits a process on Linux: memory, processes and CPU time, of the machine, the user and
 * control groups; and groups of memory, where one can be made, what is written to it, and what is
 * swept. Machine and groups are made up as files; the linker wraps what says who the user is
 * (--wrap). */
#include "linux_machine.h"
#include "port/limits.h"
#include "port/linux/facts.h"
#include "port/linux/files.h"
#include "port/port.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory ---- */

#define MIB (INT64_C(1) << 20)
#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

/* 1600 MiB, of which 1000 can be had. */
static bool have_memory(const char *groups)
{
    machine_open();
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n");
    machine_put("/proc/self/cgroup", groups);
    return true;
}

static void check_memory(int64_t bytes, int64_t of_bytes)
{
    int64_t of = 0;
    CHECK_SAME(port_available_bytes(&of), bytes);
    CHECK_SAME(of, of_bytes);
    CHECK_SAME(port_available_bytes(NULL), bytes);
}

static void put_group(const char *folder, bool is_second, const char *limit, const char *usage)
{
    machine_put_in(folder, is_second ? "memory.max" : "memory.limit_in_bytes", limit);
    machine_put_in(folder, is_second ? "memory.current" : "memory.usage_in_bytes", usage);
}

TEST_IN(have_memory("0::/\n"), machine_close(), a_machine_without_groups)
{
    check_memory(1000 * MIB, 1600 * MIB);
    put_group(V2, true, "max\n", "1\n");
    check_memory(1000 * MIB, 1600 * MIB);
}

TEST_IN(have_memory("5:cpu:/\n4:memory,other:/a/b\n0::/\n"), machine_close(), a_group_of_version_1)
{
    static const char group[] = V1 "/a/b";
    put_group(group, false, "9223372036854771712\n", "1048576\n");
    check_memory(1000 * MIB, 1600 * MIB);
    put_group(group, false, "67108864\n", "62914560\n"); /* 60 of 64 MiB */
    check_memory(4 * MIB, 64 * MIB);
    machine_put(
        V1 "/a/b/memory.stat",
        "inactive_file 7\nactive_file 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
    check_memory(7 * MIB, 64 * MIB);
    put_group(V1 "/a", false, "33554432\n", "31457280\n"); /* 30 of 32 */
    check_memory(2 * MIB, 32 * MIB);
    put_group(V1, false, "4194304\n", "5242880\n"); /* more than all */
    check_memory(0, 4 * MIB);
}

TEST(a_group_of_version_2)
{
    static const char *const mounts[] = {V2, V2 "/unified"};
    for (int i = 0; i < 2; i++) {
        have_memory("0::/a/b\n");
        char group[128];
        snprintf(group, sizeof group, "%s/a/b", mounts[i]);
        put_group(group, true, "67108864\n", "62914560\n");
        check_memory(4 * MIB, 64 * MIB);
        machine_put_in(group, "memory.stat",
                       "file 99\ninactive_file 1048576\nactive_file 2097152\n");
        check_memory(7 * MIB, 64 * MIB);
        snprintf(group, sizeof group, "%s/a", mounts[i]);
        put_group(group, true, "33554432\n", "31457280\n");
        check_memory(2 * MIB, 32 * MIB);
        machine_close();
    }
}

/* The path is that of the host, of which the container sees its own group as the mount. */
TEST_IN(have_memory("4:memory:/docker/0123\n"), machine_close(), a_group_that_is_seen_as_the_mount)
{
    put_group(V1, false, "67108864\n", "62914560\n");
    check_memory(4 * MIB, 64 * MIB);
}

TEST_IN(have_memory("nonsense\n"), machine_close(), nothing_is_known)
{
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\n");
    check_memory(-1, -1);
}

/* ---- groups of the load ---- */

/* Whether a group can be chosen that lies in `parent`, and has a name of this process. */
static bool chooses_in(const char *parent, char group[PORT_GROUP_BYTES])
{
    char wanted[PORT_GROUP_BYTES];
    int error = port_memory_group_choose(group, 7);
    snprintf(wanted, sizeof wanted, "%s/hardstone-memory-%ld-00000007", parent, (long)getpid());
    return error == 0 && strcmp(group, wanted) == 0;
}

static bool refuses(int error)
{
    char group[PORT_GROUP_BYTES];
    return port_memory_group_choose(group, 7) == error && group[0] == '\0';
}

TEST_IN(have_memory("5:cpu:/\n4:cpu,memory:/a/b\n0::/\n"), machine_close(),
        version_1_has_one_in_each_group)
{
    char group[PORT_GROUP_BYTES];
    machine_put(V1 "/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1, group)); /* as in a container whose own path is not visible */
    machine_put(V1 "/a/b/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1 "/a/b", group));
}

TEST_IN(have_memory("0::/user.slice/own.scope\n"), machine_close(),
        version_2_has_one_where_memory_is_handed_on)
{
    char group[PORT_GROUP_BYTES];
    machine_put(V2 "/user.slice/own.scope/cgroup.subtree_control", "\n");
    machine_put(V2 "/user.slice/cgroup.subtree_control", "cpu pids\n");
    machine_put(V2 "/cgroup.subtree_control", "cpu memory pids\n");
    CHECK(chooses_in(V2, group));
    machine_put(V2 "/user.slice/cgroup.subtree_control", "memory\n");
    CHECK(chooses_in(V2 "/user.slice", group));
    machine_put(V2 "/user.slice/own.scope/cgroup.subtree_control", "io memory\n");
    CHECK(chooses_in(V2 "/user.slice/own.scope", group));
}

TEST_IN(have_memory("0::/a\n"), machine_close(), none_hands_memory_on)
{
    static const char *const groups[] = {"0::/\n", "", "damaged\n4:memory\n:\n"};
    machine_put(V2 "/a/cgroup.subtree_control", "cpu\n");
    machine_put(V2 "/cgroup.subtree_control", "memory_other\n");
    CHECK(refuses(ENOTSUP));
    unlink(machine_path(V2 "/cgroup.subtree_control"));
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        tap_row(groups[i]);
        machine_put("/proc/self/cgroup", groups[i]);
        CHECK(refuses(ENOTSUP));
    }
}

static bool reads(const char *group, const char *name, const char *wanted)
{
    char path[LINUX_PLACE_BYTES], text[64];
    snprintf(path, sizeof path, "%s/%s", group, name);
    return linux_read(path, text, sizeof text) && strcmp(text, wanted) == 0;
}

TEST_IN(have_memory("0::/\n"), machine_close(), limits_of_both_versions)
{
    machine_put_in(V2 "/g", "memory.max", "max\n");
    machine_put_in(V2 "/g", "memory.current", "4096\n");
    machine_put_in(V2 "/g", "memory.swap.max", "max\n");
    CHECK_SAME(port_memory_group_used(V2 "/g"), 4096);
    CHECK_SAME(port_memory_group_limit(V2 "/g", 123456), 0);
    CHECK(reads(V2 "/g", "memory.max", "123456"));
    CHECK(reads(V2 "/g", "memory.swap.max", "0"));
    machine_put_in(V1 "/g", "memory.limit_in_bytes", "1\n");
    machine_put_in(V1 "/g", "memory.usage_in_bytes", "8192\n");
    CHECK_SAME(port_memory_group_used(V1 "/g"), 8192);
    CHECK_SAME(port_memory_group_limit(V1 "/g", 777777), 0);
    CHECK(reads(V1 "/g", "memory.limit_in_bytes", "777777"));
    CHECK_SAME(port_memory_group_limit(V2 "/none", 1), ENOENT);
    CHECK_SAME(port_memory_group_used(V2 "/none"), -1);
}

/* A mount that has no memory: the folder is there, and not its files. */
TEST_IN(have_memory("0::/\n"), machine_close(), a_group_without_memory_is_not_made)
{
    char place[LINUX_PLACE_BYTES];
    machine_put(V2 "/cgroup.subtree_control", "memory\n");
    CHECK_SAME(port_memory_group_make(V2 "/hardstone-memory-1-0"), ENOTSUP);
    CHECK(access(linux_rooted(V2 "/hardstone-memory-1-0", place), F_OK) != 0);
    CHECK_SAME(port_memory_group_make("/none/hardstone-memory-1-0"), ENOENT);
}

TEST_IN(have_memory("0::/\n"), machine_close(), removes_no_group_of_others)
{
    char place[LINUX_PLACE_BYTES];
    machine_put_in(V2, "cgroup.procs", "");
    CHECK_SAME(mkdir(linux_rooted(V2 "/others", place), 0700), 0);
    CHECK_SAME(port_memory_group_remove(V2 "/others"), 0);
    CHECK(access(place, F_OK) == 0);
    CHECK_SAME(mkdir(linux_rooted(V2 "/hardstone-memory-1-0", place), 0700), 0);
    CHECK_SAME(port_memory_group_remove(V2 "/hardstone-memory-1-0"), 0);
    CHECK(access(place, F_OK) != 0);
    CHECK_SAME(port_memory_group_remove(V2 "/hardstone-memory-1-0"), 0);
    CHECK_SAME(port_memory_group_remove(""), 0);
}

/* Of a process that has gone: it was waited for. */
static long gone_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return (long)child;
}

static bool is_there_after_choosing(const char *name)
{
    char path[LINUX_PLACE_BYTES], place[LINUX_PLACE_BYTES], group[PORT_GROUP_BYTES];
    snprintf(path, sizeof path, V2 "/%s", name);
    mkdir(linux_rooted(path, place), 0700);
    CHECK_SAME(port_memory_group_choose(group, 1), 0);
    bool is_there = access(place, F_OK) == 0;
    rmdir(place);
    return is_there;
}

TEST_IN(have_memory("0::/\n"), machine_close(), sweeps_groups_of_processes_that_are_gone)
{
    char name[64];
    machine_put(V2 "/cgroup.subtree_control", "memory\n");
    snprintf(name, sizeof name, "hardstone-memory-%ld-0000000a", gone_process());
    CHECK(!is_there_after_choosing(name));
    snprintf(name, sizeof name, "hardstone-memory-%ld-0000000a", (long)getppid());
    CHECK(is_there_after_choosing(name));
    snprintf(name, sizeof name, "others-%ld", gone_process());
    CHECK(is_there_after_choosing(name));
    CHECK(is_there_after_choosing("hardstone-memory-x"));
}

TEST_IN(have_memory(""), machine_close(), locked_bytes)
{
    CHECK_SAME(port_locked_bytes(), -1);
    machine_put("/proc/self/status", "Name:\tx\nVmLck:\t    10016 kB\nVmPin:\t 0 kB\n");
    CHECK_SAME(port_locked_bytes(), 10016 * 1024);
    machine_put("/proc/self/status", "Name:\tx\n");
    CHECK_SAME(port_locked_bytes(), -1);
}

/* ---- processes ---- */

static bool is_root = true;
static rlim_t most = RLIM_INFINITY;

WRAP_IF(true, is_root ? 0 : 4321, uid_t, geteuid, (void), ());
WRAP_IF(true, is_root ? 0 : 4321, uid_t, getuid, (void), ());

static int tell_limit(struct rlimit *limit)
{
    *limit = (struct rlimit){most, most};
    return 0;
}

WRAP_IF_LARGE(true, tell_limit(limit), int, getrlimit, (int resource, struct rlimit *limit),
              (resource, limit));

/* 300 of 32768 identities and of 100000 threads are in use. */
static bool have_processes(void)
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

static void check_room(int64_t room, const char *words)
{
    const char *limit = "";
    CHECK_SAME(port_process_room(&limit), room);
    CHECK_HOLDS(limit, words);
}

TEST_IN(have_processes(), machine_close(), the_kernel_has_limits)
{
    check_room(32468, "pid_max");
    machine_put("/proc/sys/kernel/threads-max", "1000\n");
    check_room(700, "threads-max");
    machine_put("/proc/sys/kernel/threads-max", "200\n");
    check_room(0, "threads-max");
}

TEST_IN(have_processes(), machine_close(), a_group_and_those_above_it_have_limits)
{
    machine_put("/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.max", "500\n");
    machine_put("/sys/fs/cgroup/pids/a/pids.current", "80\n");
    check_room(420, "control group");
    machine_put("/sys/fs/cgroup/c/pids.max", "90\n");
    machine_put("/sys/fs/cgroup/c/pids.current", "40\n");
    check_room(50, "control group");
}

TEST_IN(have_processes(), machine_close(), the_user_has_a_limit_and_root_has_none)
{
    machine_put("/proc/7/status", "Name:\ta\nUid:\t4321\t4321\t4321\t4321\nThreads:\t3\n");
    machine_put("/proc/8/status", "Name:\tb\nUid:\t4321\t4321\t4321\t4321\nThreads:\t1\n");
    machine_put("/proc/9/status", "Name:\tc\nUid:\t1\t1\t1\t1\nThreads:\t9\n");
    most = 64;
    check_room(32468, "pid_max");
    is_root = false;
    check_room(60, "ulimit -u");
    most = RLIM_INFINITY;
    check_room(32468, "pid_max");
}

TEST(without_files_nothing_is_known)
{
    if (!have_processes())
        return;
    machine_close();
    snprintf(machine_root, sizeof machine_root, "/nowhere");
    check_room(-1, "");
}

/* ---- CPU time: the tightest limit on the way to the root group is the one in force ---- */

#define CPU_GROUPS "/sys/fs/cgroup/cpu"

static void put_system(const char *runtime_us)
{
    machine_put("/proc/sys/kernel/sched_rt_runtime_us", runtime_us);
    machine_put("/proc/sys/kernel/sched_rt_period_us", "1000000");
    machine_put("/proc/self/cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a/b\n0::/c/d\n");
}

static void put_budget(const char *group, const char *runtime_us, const char *period_us)
{
    machine_put_in(group, "cpu.rt_runtime_us", runtime_us);
    machine_put_in(group, "cpu.rt_period_us", period_us);
}

MACHINE_TEST(the_tightest_budget_is_in_force)
{
    static const struct {
        const char *system, *root, *a, *b, *group;
        int64_t runtime_ns, most_ns;
    } rows[] = {
        {"950000", "950000", "950000", "100000", CPU_GROUPS "/a/b", 100000000, 950000000},
        {"950000", "950000", "100000", "100000", CPU_GROUPS "/a", 100000000, 950000000},
        {"950000", "950000", "500000", "100000", CPU_GROUPS "/a/b", 100000000, 500000000},
        {"950000", "950000", "100000", "-1", CPU_GROUPS "/a", 100000000, 950000000},
        {"950000", "950000", "950000", "950000", "", 950000000, 950000000},
        {"300000", "950000", "950000", "500000", "", 300000000, 300000000},
        {"950000", "950000", "950000", "0", "", 950000000, 950000000}, /* no thread is held to it */
    };
    struct port_realtime_budget budget;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_system(rows[i].system);
        put_budget(CPU_GROUPS, rows[i].root, "1000000");
        put_budget(CPU_GROUPS "/a", rows[i].a, "1000000");
        put_budget(CPU_GROUPS "/a/b", rows[i].b, "1000000");
        CHECK(port_realtime_budget(&budget));
        CHECK_TEXT(budget.group, rows[i].group);
        CHECK_SAME(budget.runtime_ns, rows[i].runtime_ns);
        CHECK_SAME(budget.period_ns, 1000000000);
        CHECK_SAME(budget.most_ns, rows[i].most_ns);
    }
}

MACHINE_TEST(budgets_are_compared_by_their_share)
{
    struct port_realtime_budget budget;
    put_system("950000");
    put_budget(CPU_GROUPS, "950000", "1000000");
    put_budget(CPU_GROUPS "/a", "40000", "100000");
    put_budget(CPU_GROUPS "/a/b", "100000", "200000");
    CHECK(port_realtime_budget(&budget));
    CHECK_TEXT(budget.group, CPU_GROUPS "/a");
    CHECK_SAME(budget.runtime_ns, 40000000);
    CHECK_SAME(budget.period_ns, 100000000);
    CHECK_SAME(budget.most_ns, 95000000);
}

MACHINE_TEST(without_the_limit_of_the_system_groups_have_none)
{
    struct port_realtime_budget budget;
    put_system("-1");
    put_budget(CPU_GROUPS "/a/b", "100000", "1000000");
    CHECK(!port_realtime_budget(&budget));
}

MACHINE_TEST(quotas_of_both_versions)
{
    struct linux_group_limit quota;
    put_system("950000");
    CHECK(!linux_group_quota(&quota)); /* no group is seen */
    machine_put("/sys/fs/cgroup/c/d/cpu.stat", "usage_usec 1");
    machine_put("/sys/fs/cgroup/c/d/cpu.max", "max 100000");
    CHECK(linux_group_quota(&quota) && quota.limit_us == -1);
    machine_put("/sys/fs/cgroup/c/cpu.max", "20000 100000");
    CHECK(linux_group_quota(&quota));
    CHECK_SAME(quota.limit_us, 20000);
    CHECK_SAME(quota.period_us, 100000);
    CHECK_TEXT(quota.group, "/sys/fs/cgroup/c");
    machine_put(CPU_GROUPS "/a/b/cpu.cfs_quota_us", "-1"); /* version 1 has the controller */
    machine_put(CPU_GROUPS "/a/b/cpu.cfs_period_us", "100000");
    CHECK(linux_group_quota(&quota) && quota.limit_us == -1);
    machine_put(CPU_GROUPS "/a/cpu.cfs_quota_us", "30000");
    machine_put(CPU_GROUPS "/a/cpu.cfs_period_us", "100000");
    CHECK(linux_group_quota(&quota));
    CHECK_SAME(quota.limit_us, 30000);
    CHECK_TEXT(quota.group, CPU_GROUPS "/a");
}

/* Docker without a name space of control groups: the path is that of the host. */
MACHINE_TEST(the_group_that_is_mounted_where_the_path_is_not_seen)
{
    struct linux_group_limit limit;
    put_budget(CPU_GROUPS, "50000", "1000000");
    machine_put("/proc/self/cgroup", "2:cpu:/docker/4711\n");
    CHECK(linux_group_budget(&limit));
    CHECK_SAME(limit.limit_us, 50000);
    CHECK_TEXT(limit.group, CPU_GROUPS);
    machine_remove(CPU_GROUPS);
    CHECK(!linux_group_budget(&limit));
    machine_put("/proc/self/cgroup", "0::/\n"); /* version 2 has no such file */
    CHECK(linux_group_budget(&limit) && limit.limit_us == -1);
}
