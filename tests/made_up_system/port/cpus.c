/* Kestrel binds a thread to one CPU or to none, and has no idle states. */
#include "port/port.h"

#include <errno.h>
#include <kestrel.h>

int port_allowed_cpus(struct cpus *allowed)
{
    int count = kes_cpu_count();
    cpus_clear(allowed);
    for (int cpu = 0; cpu < count; cpu++)
        cpus_add(allowed, cpu);
    return cpus_count(allowed);
}

bool port_thread_cpus(pid_t thread, struct cpus *cpus)
{
    int cpu;
    cpus_clear(cpus);
    if (kes_bound_cpu((int)thread, &cpu) < 0)
        return false;
    if (cpu < 0)
        return port_allowed_cpus(cpus) > 0;
    cpus_add(cpus, cpu);
    return true;
}

/* ENOTSUP for an error that Kestrel's manual does not have. */
static int bind(int cpu)
{
    int error = kes_bind_cpu(cpu);
    return error >= 0 ? 0 : error == -KES_EINVAL ? EINVAL : ENOTSUP;
}

int port_pin_self(int cpu)
{
    return cpu < 0 ? EINVAL : bind(cpu);
}

int port_bind_self(const struct cpus *cpus)
{
    struct cpus all;
    int count = cpus_count(cpus);
    if (count == 1)
        return bind(cpus_first(cpus));
    return port_allowed_cpus(&all) > 0 && cpus_same(cpus, &all) ? bind(-1) : ENOTSUP;
}

int port_pin_for_now(int cpu, struct cpus *before)
{
    if (!port_thread_cpus(0, before))
        return ENOTSUP;
    return cpus_count(before) == 1 && cpus_has(before, cpu) ? 0 : port_pin_self(cpu);
}

int port_pin_back(const struct cpus *before)
{
    struct cpus now;
    return port_thread_cpus(0, &now) && cpus_same(&now, before) ? 0 : port_bind_self(before);
}

bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes)
{
    (void)group, (void)bytes, (void)command, (void)command_bytes;
    return false;
}

int port_current_cpu(void)
{
    int cpu = kes_this_cpu();
    return cpu < 0 ? -1 : cpu;
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    (void)us, (void)descriptor, (void)in_force_us;
    return ENOTSUP;
}
