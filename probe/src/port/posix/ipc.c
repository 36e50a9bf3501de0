/* POSIX has no semaphores of descriptors, no futexes, and does not limit messages. */
#include "port/port.h"

#include <errno.h>

int port_semaphore_descriptor(void)
{
    errno = ENOTSUP;
    return -1;
}

int64_t port_message_limit(enum port_message_limit limit)
{
    (void)limit;
    return -1;
}

int port_futex_wait(atomic_int *word, int value, bool is_shared)
{
    (void)word, (void)value, (void)is_shared;
    return ENOTSUP;
}

int port_futex_wake(atomic_int *word, bool is_shared)
{
    (void)word, (void)is_shared;
    return ENOTSUP;
}

int port_remove_semaphore_files(time_t since, mode_t mode)
{
    (void)since, (void)mode;
    return ENOTSUP;
}
