/* Kestrel has one heap, and knows how much of it is free. */
#include "port/limits.h"

#include "port/port.h"

#include <errno.h>
#include <kestrel.h>

void *port_shared_memory(size_t bytes)
{
    (void)bytes;
    errno = ENOSYS;
    return NULL;
}

int64_t port_available_bytes(int64_t *of_bytes)
{
    if (of_bytes)
        *of_bytes = kes_mem_total();
    return kes_mem_free();
}

void port_trim_heap(void)
{
}

void port_keep_from_forks(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void port_give_to_forks(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

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
