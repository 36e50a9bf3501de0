/* POSIX cannot tell CPUs apart, and has no idle states. */
#include "port/port.h"

#include <errno.h>

int port_allowed_cpus(struct cpus *allowed)
{
    cpus_clear(allowed);
    return -1;
}

bool port_thread_cpus(pid_t thread, struct cpus *cpus)
{
    (void)thread;
    cpus_clear(cpus);
    return false;
}

int port_pin_self(int cpu)
{
    (void)cpu;
    return ENOTSUP;
}

int port_pin_for_now(int cpu, struct cpus *before)
{
    (void)cpu, (void)before;
    return ENOTSUP;
}

int port_pin_back(const struct cpus *before)
{
    (void)before;
    return ENOTSUP;
}

int port_bind_self(const struct cpus *cpus)
{
    (void)cpus;
    return ENOTSUP;
}

bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes)
{
    (void)group, (void)bytes, (void)command, (void)command_bytes;
    return false;
}

int port_current_cpu(void)
{
    return -1;
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    (void)us, (void)descriptor, (void)in_force_us;
    return ENOTSUP;
}
