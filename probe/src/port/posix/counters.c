/* Counters of the kernel that only some systems tell: none of them is known. */
#include "port/port.h"

void port_steal(const struct cpus *cpus, int64_t *each)
{
    for (int i = cpus_count(cpus); i-- > 0;)
        each[i] = -1;
}

bool port_interrupt_lines(const struct cpus *cpus,
                          void (*take)(void *context, const struct port_interrupt_line *line),
                          void *context)
{
    (void)cpus, (void)take, (void)context;
    return false;
}

bool port_thread_counters(pid_t process, pid_t thread, struct port_thread_counters *counters)
{
    (void)process, (void)thread, (void)counters;
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

void port_softirqs(int cpu, struct port_softirqs *softirqs)
{
    (void)cpu;
    *softirqs = (struct port_softirqs){-1, -1, -1};
}
