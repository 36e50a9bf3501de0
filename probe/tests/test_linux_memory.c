/* Available memory, on machines and in control groups made up as files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "made_up_files.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

static char root[64] = "";

const char *linux_root(void)
{
    return root;
}

static void put(const char *path, const char *text)
{
    made_up_file(root, path, text);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK_SAME(system(command), 0);
    root[0] = '\0';
}

/* 1600 MiB, of which 1000 can be had. */
static bool make_up(const char *groups)
{
    snprintf(root, sizeof root, "/tmp/hardstone-test-XXXXXX");
    if (!CHECK(mkdtemp(root) != NULL))
        return false;
    put("/proc/meminfo", "MemTotal: 1638400 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n");
    put("/proc/self/cgroup", groups);
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
    put(path, limit);
    snprintf(path, sizeof path, "%s/memory.%s", folder, is_second ? "current" : "usage_in_bytes");
    put(path, usage);
}

static void test_a_machine_without_groups(void)
{
    if (!make_up("0::/\n"))
        return;
    check(1000 * MIB, 1600 * MIB);
    put_group("/sys/fs/cgroup", true, "max\n", "1\n");
    check(1000 * MIB, 1600 * MIB);
    remove_all();
}

static void test_a_group_of_version_1(void)
{
    static const char group[] = "/sys/fs/cgroup/memory/a/b";
    if (!make_up("5:cpu:/\n4:memory,other:/a/b\n0::/\n"))
        return;
    put_group(group, false, "9223372036854771712\n", "1048576\n");
    check(1000 * MIB, 1600 * MIB);
    put_group(group, false, "67108864\n", "62914560\n"); /* 60 of 64 MiB */
    check(4 * MIB, 64 * MIB);
    put("/sys/fs/cgroup/memory/a/b/memory.stat",
        "inactive_file 7\nactive_file 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
    check(7 * MIB, 64 * MIB);
    put_group("/sys/fs/cgroup/memory/a", false, "33554432\n", "31457280\n"); /* 30 of 32 */
    check(2 * MIB, 32 * MIB);
    put_group("/sys/fs/cgroup/memory", false, "4194304\n", "5242880\n"); /* more than all */
    check(0, 4 * MIB);
    remove_all();
}

static void test_a_group_of_version_2(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (int i = 0; i < 2 && make_up("0::/a/b\n"); i++) {
        char group[128];
        snprintf(group, sizeof group, "%s/a/b", mounts[i]);
        put_group(group, true, "67108864\n", "62914560\n");
        check(4 * MIB, 64 * MIB);
        snprintf(group, sizeof group, "%s/a/b/memory.stat", mounts[i]);
        put(group, "file 99\ninactive_file 1048576\nactive_file 2097152\n");
        check(7 * MIB, 64 * MIB);
        snprintf(group, sizeof group, "%s/a", mounts[i]);
        put_group(group, true, "33554432\n", "31457280\n");
        check(2 * MIB, 32 * MIB);
        remove_all();
    }
}

/* The path is that of the host, of which the container sees its own group as the mount. */
static void test_a_group_that_is_seen_as_the_mount(void)
{
    if (!make_up("4:memory:/docker/0123\n"))
        return;
    put_group("/sys/fs/cgroup/memory", false, "67108864\n", "62914560\n");
    check(4 * MIB, 64 * MIB);
    remove_all();
}

static void test_nothing_is_known(void)
{
    if (!make_up("nonsense\n"))
        return;
    put("/proc/meminfo", "MemTotal: 1638400 kB\n");
    check(-1, -1);
    remove_all();
}

TAP_MAIN({"a machine without groups", test_a_machine_without_groups},
         {"a group of version 1", test_a_group_of_version_1},
         {"a group of version 2", test_a_group_of_version_2},
         {"a group that is seen as the mount", test_a_group_that_is_seen_as_the_mount},
         {"nothing is known", test_nothing_is_known})
