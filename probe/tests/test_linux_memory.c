/* Available memory, and control groups of memory: where one can be made, what is written to it,
 * and what is swept. Machine and groups are made up as files. */
#include "linux_machine.h"
#include "port/limits.h"
#include "port/linux/files.h"
#include "port/port.h"

#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

/* 1600 MiB, of which 1000 can be had. */
static bool make_up(const char *groups)
{
    machine_open();
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n");
    machine_put("/proc/self/cgroup", groups);
    return true;
}

static void check(int64_t bytes, int64_t of_bytes)
{
    int64_t of = 0;
    CHECK_SAME(port_available_bytes(&of), bytes);
    CHECK_SAME(of, of_bytes);
    CHECK_SAME(port_available_bytes(NULL), bytes);
}

static void put_group(const char *folder, bool is_second, const char *limit, const char *usage)
{
    char path[256];
    snprintf(path, sizeof path, "%s/memory.%s", folder, is_second ? "max" : "limit_in_bytes");
    machine_put(path, limit);
    snprintf(path, sizeof path, "%s/memory.%s", folder, is_second ? "current" : "usage_in_bytes");
    machine_put(path, usage);
}

TEST_IN(make_up("0::/\n"), machine_close(), a_machine_without_groups)
{
    check(1000 * MIB, 1600 * MIB);
    put_group(V2, true, "max\n", "1\n");
    check(1000 * MIB, 1600 * MIB);
}

TEST_IN(make_up("5:cpu:/\n4:memory,other:/a/b\n0::/\n"), machine_close(), a_group_of_version_1)
{
    static const char group[] = V1 "/a/b";
    put_group(group, false, "9223372036854771712\n", "1048576\n");
    check(1000 * MIB, 1600 * MIB);
    put_group(group, false, "67108864\n", "62914560\n"); /* 60 of 64 MiB */
    check(4 * MIB, 64 * MIB);
    machine_put(
        V1 "/a/b/memory.stat",
        "inactive_file 7\nactive_file 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
    check(7 * MIB, 64 * MIB);
    put_group(V1 "/a", false, "33554432\n", "31457280\n"); /* 30 of 32 */
    check(2 * MIB, 32 * MIB);
    put_group(V1, false, "4194304\n", "5242880\n"); /* more than all */
    check(0, 4 * MIB);
}

TEST(a_group_of_version_2)
{
    static const char *const mounts[] = {V2, V2 "/unified"};
    for (int i = 0; i < 2; i++) {
        make_up("0::/a/b\n");
        char group[128];
        snprintf(group, sizeof group, "%s/a/b", mounts[i]);
        put_group(group, true, "67108864\n", "62914560\n");
        check(4 * MIB, 64 * MIB);
        snprintf(group, sizeof group, "%s/a/b/memory.stat", mounts[i]);
        machine_put(group, "file 99\ninactive_file 1048576\nactive_file 2097152\n");
        check(7 * MIB, 64 * MIB);
        snprintf(group, sizeof group, "%s/a", mounts[i]);
        put_group(group, true, "33554432\n", "31457280\n");
        check(2 * MIB, 32 * MIB);
        machine_close();
    }
}

/* The path is that of the host, of which the container sees its own group as the mount. */
TEST_IN(make_up("4:memory:/docker/0123\n"), machine_close(), a_group_that_is_seen_as_the_mount)
{
    put_group(V1, false, "67108864\n", "62914560\n");
    check(4 * MIB, 64 * MIB);
}

TEST_IN(make_up("nonsense\n"), machine_close(), nothing_is_known)
{
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\n");
    check(-1, -1);
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

TEST_IN(make_up("5:cpu:/\n4:cpu,memory:/a/b\n0::/\n"), machine_close(),
        version_1_has_one_in_each_group)
{
    char group[PORT_GROUP_BYTES];
    machine_put(V1 "/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1, group)); /* as in a container whose own path is not visible */
    machine_put(V1 "/a/b/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1 "/a/b", group));
}

TEST_IN(make_up("0::/user.slice/own.scope\n"), machine_close(),
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

TEST_IN(make_up("0::/a\n"), machine_close(), none_hands_memory_on)
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

static void put_in(const char *group, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", group, name);
    machine_put(path, text);
}

TEST_IN(make_up("0::/\n"), machine_close(), limits_of_both_versions)
{
    put_in(V2 "/g", "memory.max", "max\n");
    put_in(V2 "/g", "memory.current", "4096\n");
    put_in(V2 "/g", "memory.swap.max", "max\n");
    CHECK_SAME(port_memory_group_used(V2 "/g"), 4096);
    CHECK_SAME(port_memory_group_limit(V2 "/g", 123456), 0);
    CHECK(reads(V2 "/g", "memory.max", "123456"));
    CHECK(reads(V2 "/g", "memory.swap.max", "0"));
    put_in(V1 "/g", "memory.limit_in_bytes", "1\n");
    put_in(V1 "/g", "memory.usage_in_bytes", "8192\n");
    CHECK_SAME(port_memory_group_used(V1 "/g"), 8192);
    CHECK_SAME(port_memory_group_limit(V1 "/g", 777777), 0);
    CHECK(reads(V1 "/g", "memory.limit_in_bytes", "777777"));
    CHECK_SAME(port_memory_group_limit(V2 "/none", 1), ENOENT);
    CHECK_SAME(port_memory_group_used(V2 "/none"), -1);
}

/* A mount that has no memory: the folder is there, and not its files. */
TEST_IN(make_up("0::/\n"), machine_close(), a_group_without_memory_is_not_made)
{
    char place[LINUX_PLACE_BYTES];
    machine_put(V2 "/cgroup.subtree_control", "memory\n");
    CHECK_SAME(port_memory_group_make(V2 "/hardstone-memory-1-0"), ENOTSUP);
    CHECK(access(linux_rooted(V2 "/hardstone-memory-1-0", place), F_OK) != 0);
    CHECK_SAME(port_memory_group_make("/none/hardstone-memory-1-0"), ENOENT);
}

TEST_IN(make_up("0::/\n"), machine_close(), removes_no_group_of_others)
{
    char place[LINUX_PLACE_BYTES];
    put_in(V2, "cgroup.procs", "");
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

TEST_IN(make_up("0::/\n"), machine_close(), sweeps_groups_of_processes_that_are_gone)
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

TEST_IN(make_up(""), machine_close(), locked_bytes)
{
    CHECK_SAME(port_locked_bytes(), -1);
    machine_put("/proc/self/status", "Name:\tx\nVmLck:\t    10016 kB\nVmPin:\t 0 kB\n");
    CHECK_SAME(port_locked_bytes(), 10016 * 1024);
    machine_put("/proc/self/status", "Name:\tx\n");
    CHECK_SAME(port_locked_bytes(), -1);
}
