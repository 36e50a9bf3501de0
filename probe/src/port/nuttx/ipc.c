/* Semaphores of descriptors (eventfd), and the limit of a message. NuttX has no futex for programs.
 */
#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>

#ifdef CONFIG_EVENT_FD
#include <sys/eventfd.h>
#endif

int port_semaphore_descriptor(void)
{
#ifdef CONFIG_EVENT_FD
    return eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
#else
    errno = ENOTSUP;
    return -1;
#endif
}

/* One pool of messages, of one size, serves both kinds of queue. */
int64_t port_message_limit(enum port_message_limit limit)
{
    (void)limit;
#ifdef CONFIG_MQ_MAXMSGSIZE
    return CONFIG_MQ_MAXMSGSIZE;
#else
    return -1;
#endif
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
