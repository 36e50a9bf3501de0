/* POSIX does not say what takes a CPU from a test: it counts nothing of it, knows no interrupts,
 * and no limit on the time of a CPU. */
#include "port/port.h"

#include <errno.h>
#include <string.h>

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

/* ---- interrupts ---- */

int port_interrupt_register(void)
{
    return ENOTSUP;
}

int port_interrupt_send(void)
{
    return ENOTSUP;
}

bool port_interrupt_lines(const struct cpus *cpus,
                          void (*take)(void *context, const struct port_interrupt_line *line),
                          void *context)
{
    (void)cpus, (void)take, (void)context;
    return false;
}

void port_softirqs(int cpu, struct port_softirqs *softirqs)
{
    (void)cpu;
    *softirqs = (struct port_softirqs){-1, -1, -1};
}

/* ---- limits on CPU time ---- */

bool port_realtime_budget(struct port_realtime_budget *budget)
{
    memset(budget, 0, sizeof *budget);
    return false;
}

bool port_throttling_group(char *group, size_t bytes)
{
    (void)group, (void)bytes;
    return false;
}

bool port_throttled(const char *group, int64_t *count, int64_t *ns)
{
    (void)group, (void)count, (void)ns;
    return false;
}
