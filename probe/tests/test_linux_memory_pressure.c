/* Where a control group of memory can be made, what is written to it, and what is swept, in control
 * groups made up as files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "linux_machine.h"
#include "port/linux/files.h"
#include "port/memory_pressure.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

static void make_up(const char *groups)
{
    machine_open();
    machine_put("/proc/self/cgroup", groups);
}

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

TEST(version_1_has_one_in_each_group)
{
    char group[PORT_GROUP_BYTES];
    make_up("5:cpu:/\n4:memory:/a/b\n0::/\n");
    machine_put(V1 "/memory.limit_in_bytes", "1\n");
    machine_put(V1 "/a/b/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1 "/a/b", group));
    machine_close();
}

/* As in a container whose own path is not visible. */
TEST(a_group_that_is_not_visible)
{
    char group[PORT_GROUP_BYTES];
    make_up("4:cpu,memory:/a/b\n");
    machine_put(V1 "/memory.limit_in_bytes", "1\n");
    CHECK(chooses_in(V1, group));
    machine_close();
}

TEST(version_2_has_one_where_memory_is_handed_on)
{
    char group[PORT_GROUP_BYTES];
    make_up("0::/user.slice/own.scope\n");
    machine_put(V2 "/user.slice/own.scope/cgroup.subtree_control", "\n");
    machine_put(V2 "/user.slice/cgroup.subtree_control", "cpu pids\n");
    machine_put(V2 "/cgroup.subtree_control", "cpu memory pids\n");
    CHECK(chooses_in(V2, group));
    machine_put(V2 "/user.slice/cgroup.subtree_control", "memory\n");
    CHECK(chooses_in(V2 "/user.slice", group));
    machine_put(V2 "/user.slice/own.scope/cgroup.subtree_control", "io memory\n");
    CHECK(chooses_in(V2 "/user.slice/own.scope", group));
    machine_close();
}

TEST(none_hands_memory_on)
{
    make_up("0::/a\n");
    machine_put(V2 "/a/cgroup.subtree_control", "cpu\n");
    machine_put(V2 "/cgroup.subtree_control", "memory_other\n");
    CHECK(refuses(ENOTSUP));
    machine_close();
}

TEST(no_groups)
{
    make_up("0::/\n");
    CHECK(refuses(ENOTSUP));
    machine_put("/proc/self/cgroup", "");
    CHECK(refuses(ENOTSUP));
    machine_close();
    make_up("damaged\n4:memory\n:\n");
    CHECK(refuses(ENOTSUP));
    machine_close();
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

TEST(limits_of_both_versions)
{
    make_up("0::/\n");
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
    machine_close();
}

/* A mount that has no memory: the folder is there, and not its files. */
TEST(a_group_without_memory_is_not_made)
{
    char place[LINUX_PLACE_BYTES];
    make_up("0::/\n");
    machine_put(V2 "/cgroup.subtree_control", "memory\n");
    CHECK_SAME(port_memory_group_make(V2 "/hardstone-memory-1-0"), ENOTSUP);
    CHECK(access(linux_rooted(V2 "/hardstone-memory-1-0", place), F_OK) != 0);
    CHECK_SAME(port_memory_group_make("/none/hardstone-memory-1-0"), ENOENT);
    machine_close();
}

TEST(removes_no_group_of_others)
{
    char place[LINUX_PLACE_BYTES];
    make_up("0::/\n");
    put_in(V2, "cgroup.procs", "");
    CHECK_SAME(mkdir(linux_rooted(V2 "/others", place), 0700), 0);
    CHECK_SAME(port_memory_group_remove(V2 "/others"), 0);
    CHECK(access(place, F_OK) == 0);
    CHECK_SAME(mkdir(linux_rooted(V2 "/hardstone-memory-1-0", place), 0700), 0);
    CHECK_SAME(port_memory_group_remove(V2 "/hardstone-memory-1-0"), 0);
    CHECK(access(place, F_OK) != 0);
    CHECK_SAME(port_memory_group_remove(V2 "/hardstone-memory-1-0"), 0);
    CHECK_SAME(port_memory_group_remove(""), 0);
    machine_close();
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

TEST(sweeps_groups_of_processes_that_are_gone)
{
    char name[64];
    make_up("0::/\n");
    machine_put(V2 "/cgroup.subtree_control", "memory\n");
    snprintf(name, sizeof name, "hardstone-memory-%ld-0000000a", gone_process());
    CHECK(!is_there_after_choosing(name));
    snprintf(name, sizeof name, "hardstone-memory-%ld-0000000a", (long)getppid());
    CHECK(is_there_after_choosing(name));
    snprintf(name, sizeof name, "others-%ld", gone_process());
    CHECK(is_there_after_choosing(name));
    CHECK(is_there_after_choosing("hardstone-memory-x"));
    machine_close();
}

TEST(locked_bytes)
{
    make_up("");
    CHECK_SAME(port_locked_bytes(), -1);
    machine_put("/proc/self/status", "Name:\tx\nVmLck:\t    10016 kB\nVmPin:\t 0 kB\n");
    CHECK_SAME(port_locked_bytes(), 10016 * 1024);
    machine_put("/proc/self/status", "Name:\tx\n");
    CHECK_SAME(port_locked_bytes(), -1);
    machine_close();
}
