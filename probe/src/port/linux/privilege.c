#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/limits.h"

#include "port/linux/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

enum {
    IO_CLASS_SHIFT = 13,
    IO_CLASS_REALTIME = 1,
    IO_LEVEL = 4,
    IO_WHO_PROCESS = 1,
    NICE_RANGE = 20
};

/* ---- becoming ordinary ---- */

static bool has_capability(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

bool port_may_switch_user(void)
{
    return has_capability(CAP_SETUID) && has_capability(CAP_SETGID);
}

static int switch_user(uid_t user)
{
    if (!port_may_switch_user())
        return 0;
    if (setgroups(0, NULL) != 0 || setresgid((gid_t)user, (gid_t)user, (gid_t)user) != 0 ||
        setresuid(user, user, user) != 0)
        return errno;
    return 0;
}

static int keep_only(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    if (capability >= 0)
        data[capability / 32].effective = data[capability / 32].permitted = 1U << capability % 32;
    return syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

static int capability_of(int right)
{
    switch (right) {
    case PORT_RIGHT_REALTIME:
        return CAP_SYS_NICE;
    case PORT_RIGHT_MEMORY_LOCK:
        return CAP_IPC_LOCK;
    default:
        return -1;
    }
}

/* Without SECBIT_KEEP_CAPS a switch from root drops all capabilities. */
int port_become_ordinary(uid_t user, int kept)
{
    if (prctl(PR_SET_KEEPCAPS, kept != PORT_RIGHT_NONE, 0, 0, 0) != 0)
        return errno;
    int error = switch_user(user);
    return error ? error : keep_only(capability_of(kept));
}

/* ---- limits ---- */

int port_limit_right(enum port_right right, int64_t most)
{
    static const int resources[PORT_RIGHTS] = {
        [PORT_RIGHT_REALTIME] = RLIMIT_RTPRIO,
        [PORT_RIGHT_MEMORY_LOCK] = RLIMIT_MEMLOCK,
        [PORT_RIGHT_NICE] = RLIMIT_NICE,
    };
    rlim_t value = (rlim_t)(right == PORT_RIGHT_NICE ? NICE_RANGE - most : most);
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit(resources[right], &limit) == 0 ? 0 : errno;
}

/* ---- attempts ---- */

int port_try_io_realtime(void)
{
    int priority = IO_CLASS_REALTIME << IO_CLASS_SHIFT | IO_LEVEL;
    return syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, priority) == 0 ? 0 : errno;
}

int port_try_affinity(pid_t process)
{
    return linux_affinity_set_again(process);
}

static int try_open(const char *path)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

/* CPU 0 seldom has such a file. */
int port_try_offline(void)
{
    char path[64];
    int error = ENOENT;
    for (int cpu = 0; cpu < PORT_CPUS && error == ENOENT; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
        error = try_open(path);
    }
    return error;
}

/* Version 2, then version 1. */
int port_try_cpuset(void)
{
    int error = try_open("/sys/fs/cgroup/cgroup.subtree_control");
    return error == ENOENT ? try_open("/sys/fs/cgroup/cpuset/tasks") : error;
}
