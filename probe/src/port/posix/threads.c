/* POSIX lists no threads, and does not count what they do. */
#include "port/port.h"

#include <errno.h>

pid_t port_own_id(void)
{
    return 0;
}

int port_threads(pid_t process, pid_t *threads, int most)
{
    (void)process, (void)threads, (void)most;
    return -1;
}

bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times)
{
    (void)process, (void)thread, (void)times;
    return false;
}

bool port_thread_counters(pid_t process, pid_t thread, struct port_thread_counters *counters)
{
    (void)process, (void)thread, (void)counters;
    return false;
}

int64_t port_run_delay_ns(void)
{
    return -1;
}

int port_bound_processes(int cpu, pid_t *list, int most)
{
    (void)cpu, (void)list, (void)most;
    return -1;
}

int64_t port_stack_bytes(void)
{
    return -1;
}

int port_deadline_self(int64_t runtime_ns, int64_t period_ns)
{
    (void)runtime_ns, (void)period_ns;
    return ENOTSUP;
}

bool port_own_switches(int64_t *voluntary, int64_t *involuntary)
{
    *voluntary = *involuntary = -1;
    return false;
}
