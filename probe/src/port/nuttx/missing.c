/* Calls of POSIX that the C library has only with an option that this configuration lacks: they
 * answer ENOSYS, as system calls that do not exist; getppid cannot fail. */
#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CONFIG_SCHED_HAVE_PARENT

/* As for a parent that another namespace hides. */
pid_t getppid(void)
{
    return 0;
}

#endif

#ifndef CONFIG_NET

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}

int socket(int domain, int type, int protocol)
{
    (void)domain, (void)type, (void)protocol;
    return refuse();
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    (void)domain, (void)type, (void)protocol, (void)ends;
    return refuse();
}

int bind(int descriptor, const struct sockaddr *address, socklen_t bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

int connect(int descriptor, const struct sockaddr *address, socklen_t bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

int getsockname(int descriptor, struct sockaddr *address, socklen_t *bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

ssize_t send(int descriptor, const void *data, size_t bytes, int flags)
{
    (void)descriptor, (void)data, (void)bytes, (void)flags;
    return refuse();
}

ssize_t recv(int descriptor, void *data, size_t bytes, int flags)
{
    (void)descriptor, (void)data, (void)bytes, (void)flags;
    return refuse();
}

#endif
