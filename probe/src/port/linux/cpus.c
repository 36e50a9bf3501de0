/* CPUs: which may be used, binding to them, and their idle states. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "base/cpus.h"
#include "port/linux/cpus.h"
#include "port/linux/files.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- affinity of any thread ---- */

/* A kernel refuses a set that is smaller than its own (EINVAL), which has a bit for each possible
 * CPU: 8192 at most on x86-64. */
enum {
    LONG_BITS = 8 * sizeof(unsigned long),
    LEAST_WORDS = (PORT_CPUS + LONG_BITS - 1) / LONG_BITS,
    MOST_WORDS = 65536 / LONG_BITS,
};

static int get_words(pid_t id, unsigned long words[MOST_WORDS])
{
    for (size_t count = LEAST_WORDS;; count *= 2) {
        if (count > MOST_WORDS)
            count = MOST_WORDS;
        memset(words, 0, count * sizeof *words);
        if (sched_getaffinity(id, count * sizeof *words, (cpu_set_t *)(void *)words) == 0)
            return 0;
        if (errno != EINVAL || count == MOST_WORDS)
            return errno;
    }
}

int linux_affinity_get(pid_t id, struct cpus *cpus)
{
    unsigned long words[MOST_WORDS];
    cpus_clear(cpus);
    int error = get_words(id, words);
    for (int cpu = 0; error == 0 && cpu < PORT_CPUS; cpu++)
        if (words[cpu / LONG_BITS] >> cpu % LONG_BITS & 1)
            cpus_add(cpus, cpu);
    return error;
}

/* The kernel takes a set of any size; what is missing is none. */
int linux_affinity_set(pid_t id, const struct cpus *cpus)
{
    unsigned long words[LEAST_WORDS] = {0};
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu))
        words[cpu / LONG_BITS] |= 1UL << cpu % LONG_BITS;
    return sched_setaffinity(id, sizeof words, (const cpu_set_t *)(const void *)words) == 0 ? 0
                                                                                            : errno;
}

int linux_affinity_set_again(pid_t id)
{
    unsigned long words[MOST_WORDS] = {0};
    int error = get_words(id, words);
    if (error)
        return error;
    return sched_setaffinity(id, sizeof words, (const cpu_set_t *)(const void *)words) == 0 ? 0
                                                                                            : errno;
}

/* ---- affinity, as the contract has it ---- */

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
