/* The port's functions for load, on any POSIX system. */
#include "port/port.h"

#include "base/shared_memory.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { LAST_DESCRIPTOR = 65536 };

/* POSIX has only named shared memory. */
void *port_shared_memory(size_t bytes)
{
    char name[40];
    snprintf(name, sizeof name, "/hardstone-load-%ld", (long)getpid());
    return shared_memory_create(name, bytes);
}

int port_bind_self(const struct cpus *cpus)
{
    (void)cpus;
    return ENOTSUP;
}

int port_end_with(pid_t parent)
{
    (void)parent;
    return ENOTSUP;
}

int port_ordinary_io(void)
{
    return 0;
}

int port_adopt_orphans(void)
{
    return ENOTSUP;
}

int port_never_real_time(void)
{
    return ENOTSUP;
}

int64_t port_run_delay_ns(void)
{
    return -1;
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

int port_anonymous_file(const char *folder)
{
    (void)folder;
    errno = ENOTSUP;
    return -1;
}

enum port_storage port_storage(int descriptor)
{
    (void)descriptor;
    return PORT_STORAGE_UNKNOWN;
}

int port_own_executable(char *path, size_t bytes)
{
    (void)path, (void)bytes;
    return ENOTSUP;
}

int64_t port_available_bytes(int64_t *of_bytes)
{
    if (of_bytes)
        *of_bytes = -1;
    return -1;
}

/* How many of them the user has is not known. */
int64_t port_process_room(const char **limit)
{
    long most = sysconf(_SC_CHILD_MAX);
    if (most >= 0)
        *limit = "the user's limit (CHILD_MAX)";
    return most >= 0 ? most : -1;
}

int port_direct_io(int descriptor)
{
    (void)descriptor;
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

int64_t port_device_written_bytes(dev_t device)
{
    (void)device;
    return -1;
}

int64_t port_load_average_milli(void)
{
    return -1;
}
