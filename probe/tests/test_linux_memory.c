/* Available memory, on machines and in control groups made up as files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "linux_machine.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* 1600 MiB, of which 1000 can be had. */
static void make_up(const char *groups)
{
    machine_open();
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n");
    machine_put("/proc/self/cgroup", groups);
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

TEST(a_machine_without_groups)
{
    make_up("0::/\n");
    check(1000 * MIB, 1600 * MIB);
    put_group("/sys/fs/cgroup", true, "max\n", "1\n");
    check(1000 * MIB, 1600 * MIB);
    machine_close();
}

TEST(a_group_of_version_1)
{
    static const char group[] = "/sys/fs/cgroup/memory/a/b";
    make_up("5:cpu:/\n4:memory,other:/a/b\n0::/\n");
    put_group(group, false, "9223372036854771712\n", "1048576\n");
    check(1000 * MIB, 1600 * MIB);
    put_group(group, false, "67108864\n", "62914560\n"); /* 60 of 64 MiB */
    check(4 * MIB, 64 * MIB);
    machine_put(
        "/sys/fs/cgroup/memory/a/b/memory.stat",
        "inactive_file 7\nactive_file 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
    check(7 * MIB, 64 * MIB);
    put_group("/sys/fs/cgroup/memory/a", false, "33554432\n", "31457280\n"); /* 30 of 32 */
    check(2 * MIB, 32 * MIB);
    put_group("/sys/fs/cgroup/memory", false, "4194304\n", "5242880\n"); /* more than all */
    check(0, 4 * MIB);
    machine_close();
}

TEST(a_group_of_version_2)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
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
TEST(a_group_that_is_seen_as_the_mount)
{
    make_up("4:memory:/docker/0123\n");
    put_group("/sys/fs/cgroup/memory", false, "67108864\n", "62914560\n");
    check(4 * MIB, 64 * MIB);
    machine_close();
}

TEST(nothing_is_known)
{
    make_up("nonsense\n");
    machine_put("/proc/meminfo", "MemTotal: 1638400 kB\n");
    check(-1, -1);
    machine_close();
}
