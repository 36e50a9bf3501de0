/* Calls of POSIX that RTEMS has only with a network stack (libbsd, lwIP): without one they answer
 * ENOSYS, as system calls that do not exist, but for a poll of pipes. With one its own are
 * linked. */
#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}

__attribute__((weak)) int socket(int domain, int type, int protocol)
{
    (void)domain, (void)type, (void)protocol;
    return refuse();
}

__attribute__((weak)) int socketpair(int domain, int type, int protocol, int *ends)
{
    (void)domain, (void)type, (void)protocol, (void)ends;
    return refuse();
}

__attribute__((weak)) int bind(int descriptor, const struct sockaddr *address, socklen_t bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

__attribute__((weak)) int connect(int descriptor, const struct sockaddr *address, socklen_t bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

__attribute__((weak)) int getsockname(int descriptor, struct sockaddr *address, socklen_t *bytes)
{
    (void)descriptor, (void)address, (void)bytes;
    return refuse();
}

__attribute__((weak)) ssize_t send(int descriptor, const void *data, size_t bytes, int flags)
{
    (void)descriptor, (void)data, (void)bytes, (void)flags;
    return refuse();
}

__attribute__((weak)) ssize_t recv(int descriptor, void *data, size_t bytes, int flags)
{
    (void)descriptor, (void)data, (void)bytes, (void)flags;
    return refuse();
}

__attribute__((weak)) int select(int count, fd_set *readers, fd_set *writers, fd_set *others,
                                 struct timeval *wait)
{
    (void)count, (void)readers, (void)writers, (void)others, (void)wait;
    return refuse();
}

/* Of pipes and FIFOs, at once: those the probe asks of. One is ready for writing when it is empty,
 * which is less than POSIX says. */
static short ready_for(const struct pollfd *one)
{
    int held = 0;
    if (ioctl(one->fd, FIONREAD, &held) != 0)
        return 0;
    return one->events & (held > 0 ? POLLIN : POLLOUT);
}

__attribute__((weak)) int poll(struct pollfd *list, nfds_t count, int wait_ms)
{
    int ready = 0;
    if (wait_ms != 0)
        return refuse();
    for (nfds_t i = 0; i < count; i++) {
        list[i].revents = ready_for(&list[i]);
        ready += list[i].revents != 0;
    }
    return ready;
}

/* ---- calls relative to a folder, and of a file system: RTEMS has none ---- */

__attribute__((weak)) int openat(int folder, const char *path, int flags, ...)
{
    (void)folder, (void)path, (void)flags;
    return refuse();
}

__attribute__((weak)) int unlinkat(int folder, const char *path, int flags)
{
    (void)folder, (void)path, (void)flags;
    return refuse();
}

__attribute__((weak)) int fstatat(int folder, const char *path, struct stat *facts, int flags)
{
    (void)folder, (void)path, (void)facts, (void)flags;
    return refuse();
}

__attribute__((weak)) int fstatvfs(int descriptor, struct statvfs *facts)
{
    (void)descriptor, (void)facts;
    return refuse();
}
