/* POSIX knows no interrupts: none can be sent or counted. */
#include "port/port.h"

#include <errno.h>

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
