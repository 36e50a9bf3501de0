/* Kestrel has threads, whose times it knows, and no processes. */
#include "port/port.h"

#include <errno.h>
#include <kestrel.h>
#include <unistd.h>

#ifdef RUSAGE_HAS_COUNTS
#include <sys/resource.h>
#endif

bool port_has_processes(void)
{
    return false;
}

pid_t port_fork(void)
{
    errno = ENOSYS;
    return -1;
}

bool port_has_ended(pid_t process, bool *is_well)
{
    (void)process, (void)is_well;
    return false;
}

int port_wait_for(pid_t process)
{
    (void)process;
    return ECHILD;
}

void port_leave_session(void)
{
}

int port_kill_with_parent(pid_t parent)
{
    (void)parent;
    return ENOTSUP;
}

int port_stops_open(int end)
{
    (void)end;
    errno = ENOTSUP;
    return -1;
}

bool port_wait_for_stop(int stops)
{
    (void)stops;
    return false;
}

/* POSIX defines only the times of struct rusage; the build checks for the counts. */
void port_usage(struct port_usage *usage)
{
    *usage = (struct port_usage){-1, -1, -1, -1};
#ifdef RUSAGE_HAS_COUNTS
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        *usage = (struct port_usage){used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
#endif
}

/* ---- for load ---- */

enum { LAST_DESCRIPTOR = 65536 };

int port_end_with(pid_t parent)
{
    (void)parent;
    return ENOTSUP;
}

int port_adopt_orphans(void)
{
    return ENOTSUP;
}

int port_never_real_time(void)
{
    return ENOTSUP;
}

int port_processes(struct port_process *list, int most)
{
    (void)list, (void)most;
    return -1;
}

void port_name_self(const char *name)
{
    (void)name;
}

void port_close_from(int first)
{
    long last = sysconf(_SC_OPEN_MAX);
    for (int at = first; at < (last > 0 && last < LAST_DESCRIPTOR ? last : LAST_DESCRIPTOR); at++)
        close(at);
}

int port_own_executable(char *path, size_t bytes)
{
    (void)path, (void)bytes;
    return ENOTSUP;
}

int port_run_when_idle(void)
{
    return ENOTSUP;
}

bool port_is_ready(pid_t process)
{
    (void)process;
    return false;
}

int64_t port_tcp_segments_sent(void)
{
    return -1;
}

int64_t port_load_average_milli(void)
{
    return -1;
}

/* ---- threads, all of the one process ---- */

pid_t port_own_id(void)
{
    return kes_thread_self();
}

int port_threads(pid_t process, pid_t *threads, int most)
{
    (void)process;
    int count = kes_thread_list(threads, most);
    return count < 0 ? -1 : count < most ? count : most;
}

bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times)
{
    struct kes_thread info;
    (void)process;
    if (kes_thread_info((int)thread, &info) < 0)
        return false;
    *times = (struct port_thread_times){(int64_t)info.ran_ns, (int64_t)info.ready_ns};
    return true;
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
