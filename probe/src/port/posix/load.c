/* What load needs of processes, and what it counts. */
#include "port/port.h"

#include <errno.h>
#include <unistd.h>

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
