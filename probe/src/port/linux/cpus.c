/* CPUs: which may be used, binding to them, and their idle states. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "base/cpus.h"
#include "port/linux/affinity.h"
#include "port/linux/files.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- affinity ---- */

int port_allowed_cpus(struct cpus *allowed)
{
    /* of the main thread, which is never bound; the caller may be */
    return linux_affinity_get(getpid(), allowed) == 0 ? cpus_count(allowed) : -1;
}

bool port_thread_cpus(pid_t thread, struct cpus *cpus)
{
    return linux_affinity_get(thread, cpus) == 0;
}

static bool only(int cpu, struct cpus *set)
{
    cpus_clear(set);
    cpus_add(set, cpu);
    return cpus_has(set, cpu);
}

int port_pin_self(int cpu)
{
    struct cpus wanted;
    return only(cpu, &wanted) ? linux_affinity_set(0, &wanted) : EINVAL;
}

int port_pin_for_now(int cpu, struct cpus *before)
{
    struct cpus wanted;
    int error = linux_affinity_get(0, before);
    if (error || !only(cpu, &wanted))
        return error ? error : EINVAL;
    return cpus_same(before, &wanted) ? 0 : linux_affinity_set(0, &wanted);
}

static bool is_bound_to(const struct cpus *wanted)
{
    struct cpus now;
    return linux_affinity_get(0, &now) == 0 && cpus_same(&now, wanted);
}

int port_pin_back(const struct cpus *before)
{
    return is_bound_to(before) ? 0 : linux_affinity_set(0, before);
}

int port_bind_self(const struct cpus *cpus)
{
    return linux_affinity_set(0, cpus);
}

/* Words of the shell are cut at anything else than these. */
static bool is_plain(const char *path)
{
    return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "/._-:@+")] == '\0';
}

static void compose_command(const char *group, char *command, size_t bytes)
{
    static const char *const forms[] = {"/sys/fs/cgroup/cpuset%s/cpuset.cpus",
                                        "/sys/fs/cgroup%s/cpuset.cpus.effective"};
    char path[512];
    command[0] = '\0';
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && !command[0]; i++) {
        snprintf(path, sizeof path, forms[i], strcmp(group, "/") == 0 ? "" : group);
        if (is_plain(path) && strlen(path) + 5 <= bytes && linux_exists(path))
            snprintf(command, bytes, "cat %s", path);
    }
}

bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes)
{
    if (!linux_read("/proc/self/cpuset", group, bytes))
        return false;
    for (char *at = group; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = '?';
    if (command)
        compose_command(group, command, command_bytes);
    return true;
}

int port_current_cpu(void)
{
    return sched_getcpu();
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    char path[LINUX_PLACE_BYTES];
    snprintf(path, sizeof path, "%s/dev/cpu_dma_latency", linux_root());
    int error = linux_dma_latency_hold(path, us, descriptor, in_force_us);
    return error == ENOENT || error == ENODEV ? ENOTSUP : error;
}
