/* CPUs: which may be used, and binding to them (cpuset). */
#include "port/port.h"

#include <sys/param.h>

#include <sys/cpuset.h>

#include <errno.h>
#include <sched.h>

enum { MOST_CPUS = PORT_CPUS < CPU_SETSIZE ? PORT_CPUS : CPU_SETSIZE };

/* `thread`: -1 is the caller. 0, or an errno value. */
static int get_affinity(id_t thread, struct cpus *cpus)
{
    cpuset_t set;
    cpus_clear(cpus);
    if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, thread, sizeof set, &set) != 0)
        return errno;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus_add(cpus, cpu);
    return 0;
}

/* FreeBSD refuses a set with a CPU outside the process's own set with EDEADLK. */
static int set_own_affinity(const struct cpus *cpus)
{
    cpuset_t set;
    CPU_ZERO(&set);
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu))
        if (cpu < MOST_CPUS)
            CPU_SET(cpu, &set);
    if (cpuset_setaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof set, &set) == 0)
        return 0;
    return errno == EDEADLK ? EINVAL : errno;
}

static bool only(int cpu, struct cpus *cpus)
{
    cpus_clear(cpus);
    if (cpu >= 0 && cpu < MOST_CPUS)
        cpus_add(cpus, cpu);
    return cpus_count(cpus) == 1;
}

int port_allowed_cpus(struct cpus *allowed)
{
    cpuset_t set;
    cpus_clear(allowed);
    if (cpuset_getaffinity(CPU_LEVEL_CPUSET, CPU_WHICH_PID, -1, sizeof set, &set) != 0)
        return -1;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus_add(allowed, cpu);
    return cpus_count(allowed);
}

bool port_thread_cpus(pid_t thread, struct cpus *cpus)
{
    return get_affinity(thread == 0 ? -1 : thread, cpus) == 0;
}

int port_pin_self(int cpu)
{
    struct cpus wanted;
    return only(cpu, &wanted) ? set_own_affinity(&wanted) : EINVAL;
}

int port_pin_for_now(int cpu, struct cpus *before)
{
    struct cpus wanted;
    int error = get_affinity(-1, before);
    if (error || !only(cpu, &wanted))
        return error ? error : EINVAL;
    return cpus_same(before, &wanted) ? 0 : set_own_affinity(&wanted);
}

int port_pin_back(const struct cpus *before)
{
    struct cpus now;
    bool is_there = get_affinity(-1, &now) == 0 && cpus_same(&now, before);
    return is_there ? 0 : set_own_affinity(before);
}

int port_bind_self(const struct cpus *cpus)
{
    return set_own_affinity(cpus);
}

bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes)
{
    (void)group, (void)bytes, (void)command, (void)command_bytes;
    return false; /* a set of FreeBSD has a number, no name */
}

int port_current_cpu(void)
{
    return sched_getcpu();
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    (void)us, (void)descriptor, (void)in_force_us;
    return ENOTSUP;
}
