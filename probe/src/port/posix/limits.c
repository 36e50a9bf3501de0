/* The limits that sysconf knows. */
#include "port/limits.h"

#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

void port_signal_queue(struct port_signal_queue *queue)
{
    queue->used = -1;
    errno = 0;
    queue->limit = sysconf(_SC_SIGQUEUE_MAX);
    if (queue->limit < 0)
        queue->limit = errno == 0 ? INT64_MAX : -1;
}

int port_limit_signal_queue(int64_t limit, int64_t *soft_before, int64_t *hard_before)
{
    (void)limit, (void)soft_before, (void)hard_before;
    return ENOTSUP;
}

void port_restore_signal_queue(int64_t soft, int64_t hard)
{
    (void)soft, (void)hard;
}

/* Not in POSIX; System V had it, and its descendants have. */
int port_power_signal(void)
{
#ifdef SIGPWR
    return SIGPWR;
#else
    return -1;
#endif
}

/* How many of them the user has is not known. */
int64_t port_process_room(const char **limit)
{
    long most = sysconf(_SC_CHILD_MAX);
    if (most >= 0)
        *limit = "the user's limit (CHILD_MAX)";
    return most >= 0 ? most : -1;
}
