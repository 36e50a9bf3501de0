/* POSIX does not count what happens to a CPU. */
#include "port/port.h"

void port_environment(int cpu, struct port_environment *environment)
{
    (void)cpu;
    *environment = (struct port_environment){-1, -1, -1, -1};
}

void port_heat(int cpu, struct port_heat each[PORT_HEATS])
{
    (void)cpu;
    for (int i = 0; i < PORT_HEATS; i++)
        each[i] = (struct port_heat){-1, -1};
}

void port_steal(const struct cpus *cpus, int64_t *each)
{
    for (int i = cpus_count(cpus); i-- > 0;)
        each[i] = -1;
}
