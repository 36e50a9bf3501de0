/* POSIX has no groups of processes with memory of their own. */
#include "base/posix_source.h"

#include "port/limits.h"

#include <errno.h>

int port_memory_group_choose(char group[PORT_GROUP_BYTES], uint64_t seed)
{
    (void)seed;
    group[0] = '\0';
    return ENOTSUP;
}

int port_memory_group_make(const char *group)
{
    (void)group;
    return ENOTSUP;
}

int port_memory_group_enter(const char *group)
{
    (void)group;
    return ENOTSUP;
}

int64_t port_memory_group_used(const char *group)
{
    (void)group;
    return -1;
}

int port_memory_group_limit(const char *group, int64_t bytes)
{
    (void)group, (void)bytes;
    return ENOTSUP;
}

int port_memory_group_remove(const char *group)
{
    (void)group;
    return 0;
}

int port_end_first(void)
{
    return ENOTSUP;
}

int port_page_out(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    return ENOTSUP;
}

int64_t port_locked_bytes(void)
{
    return -1;
}
