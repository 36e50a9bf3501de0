/* Breaches of non-blocking and asynchronous I/O; broken.c says how they are used.
 *   read_blocks    a non-blocking read of nothing waits
 *   read_fills     a non-blocking read of ASKED bytes waits until all of them are there
 *   write_blocks   a non-blocking write to a full end waits
 *   write_loses    a write of a block to a channel loses half of it
 *   fionread_off   FIONREAD tells one byte too many
 *   select_early, select_never, poll_early, poll_never
 *                  they say that everything, or nothing, is ready
 *   sigio_lost     no SIGIO comes
 *   sigio_early    SIGIO comes when O_ASYNC is set
 *   aio_blocks     aio_read returns when the request is complete
 *   aio_early      aio_error is always 0
 *   suspend_early  aio_suspend returns at once
 *   aio_lost       aio_write does nothing
 *   lio_lost       lio_listio does nothing
 *   cancel_lies    aio_cancel says that it has cancelled and has not
 *   pread_wrong    pread gives other bytes than are there
 *   ring_blocks    io_uring_enter returns when the requests are complete
 *   ring_keeps     io_uring cancels nothing
 * No breaches, but systems that lack something:
 *   no_aio         there is no aio_read
 *   no_ring        there is no io_uring
 *   ring_denied    io_uring may not be used
 *   fifo_stays     the name of a FIFO is not removed, so that a kill finds it
 */
#define _GNU_SOURCE
#include "broken.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASKED = 100, BLOCK = 4096 }; /* as channel_claims.c and channel.c have them */
enum { RING_SETUP = 425, RING_ENTER = 426, RING_REQUEST_BYTES = 64, RING_CANCEL = 14 };
#define RING_AT_REQUESTS 0x10000000

/* ---- channels ---- */

static bool is_channel(int file)
{
    struct stat facts;
    int flags = REAL(fcntl)(file, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK && fstat(file, &facts) == 0 && !S_ISREG(facts.st_mode);
}

static void wait_until(int file, short event)
{
    struct pollfd wanted = {.fd = file, .events = event};
    REAL(poll)(&wanted, 1, -1);
}

/* Returns whether it has read. */
bool broken_read_channel(int file, void *buffer, size_t bytes, ssize_t *got)
{
    bool fills = bytes == ASKED && breaks("read_fills");
    if ((!fills && !breaks("read_blocks")) || !is_channel(file) || bytes > ASKED)
        return false;
    *got = 0;
    do {
        wait_until(file, POLLIN);
        ssize_t part = REAL(read)(file, (char *)buffer + *got, bytes - (size_t)*got);
        if (part <= 0)
            return true;
        *got += part;
    } while (fills && *got < ASKED);
    return true;
}

bool broken_write_channel(int file, const void *bytes, size_t count, ssize_t *put)
{
    if (count != BLOCK || !is_channel(file))
        return false;
    if (breaks("write_blocks"))
        wait_until(file, POLLOUT);
    if (!breaks("write_blocks") && !breaks("write_loses"))
        return false;
    *put = REAL(write)(file, bytes, breaks("write_loses") ? count / 2 : count);
    if (*put == BLOCK / 2)
        *put = BLOCK;
    return true;
}

int ioctl(int file, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int answer = REAL(ioctl)(file, request, argument);
    if (answer == 0 && request == FIONREAD && breaks("fionread_off"))
        ++*(int *)argument;
    return answer;
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time)
{
    if (breaks("select_early"))
        return 1;
    if (!breaks("select_never"))
        return REAL(select)(count, reads, writes, others, time);
    if (reads)
        FD_ZERO(reads);
    if (writes)
        FD_ZERO(writes);
    return 0;
}

int poll(struct pollfd *files, nfds_t count, int wait_ms)
{
    if (breaks("poll_never"))
        return 0;
    if (!breaks("poll_early"))
        return REAL(poll)(files, count, wait_ms);
    files[0].revents = files[0].events;
    return 1;
}

int sigtimedwait(const sigset_t *wanted, siginfo_t *info, const struct timespec *time)
{
    if (!breaks("sigio_lost") || !sigismember(wanted, SIGIO))
        return REAL(sigtimedwait)(wanted, info, time);
    errno = EAGAIN;
    return -1;
}

int fcntl(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    if (broken_refuses_direct(command, argument))
        return -1;
    int answer = REAL(fcntl)(file, command, argument);
    if (answer == 0 && command == F_SETFL && argument & O_ASYNC && breaks("sigio_early"))
        kill(getpid(), SIGIO);
    return answer;
}

int unlink(const char *path)
{
    return breaks("fifo_stays") && strstr(path, "/fifo") ? 0 : REAL(unlink)(path);
}

/* ---- POSIX requests ---- */

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}

int aio_read(struct aiocb *block)
{
    const struct aiocb *const list[1] = {block};
    if (breaks("no_aio"))
        return refuse();
    int answer = REAL(aio_read)(block);
    while (answer == 0 && breaks("aio_blocks") && REAL(aio_error)(block) == EINPROGRESS)
        REAL(aio_suspend)(list, 1, NULL);
    return answer;
}

int aio_write(struct aiocb *block)
{
    if (breaks("no_aio"))
        return refuse();
    return breaks("aio_lost") ? 0 : REAL(aio_write)(block);
}

int aio_error(const struct aiocb *block)
{
    return breaks("aio_early") ? 0 : REAL(aio_error)(block);
}

int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *time)
{
    return breaks("suspend_early") ? 0 : REAL(aio_suspend)(list, count, time);
}

int lio_listio(int mode, struct aiocb *const list[], int count, struct sigevent *event)
{
    return breaks("lio_lost") ? 0 : REAL(lio_listio)(mode, list, count, event);
}

int aio_cancel(int file, struct aiocb *block)
{
    return breaks("cancel_lies") ? AIO_CANCELED : REAL(aio_cancel)(file, block);
}

ssize_t pread(int file, void *buffer, size_t bytes, off_t at)
{
    ssize_t got = REAL(pread)(file, buffer, bytes, at);
    if (got > 0 && breaks("pread_wrong"))
        ++*(unsigned char *)buffer;
    return got;
}

/* ---- the ring ---- */

/* The requests of the ring that was opened last. */
static unsigned char *requests;

void *mmap(void *wanted, size_t bytes, int protection, int flags, int file, off_t at)
{
    void *memory = REAL(mmap)(wanted, bytes, protection, flags, file, at);
    if (file >= 0 && at == RING_AT_REQUESTS && memory != MAP_FAILED)
        requests = memory;
    return memory;
}

/* Requests to cancel become requests for nothing. */
static void keep_all(void)
{
    for (int i = 0; requests && i < 8; i++)
        if (requests[i * RING_REQUEST_BYTES] == RING_CANCEL)
            requests[i * RING_REQUEST_BYTES] = 0;
}

bool broken_ring(long number, long words[6], long *answer)
{
    if (number == RING_SETUP && (breaks("no_ring") || breaks("ring_denied"))) {
        errno = breaks("no_ring") ? ENOSYS : EPERM;
        *answer = -1;
        return true;
    }
    if (number == RING_ENTER && breaks("ring_keeps"))
        keep_all();
    if (number == RING_ENTER && breaks("ring_blocks")) {
        words[2] = words[1]; /* as many complete as are sent */
        words[3] |= 1;       /* IORING_ENTER_GETEVENTS */
    }
    return false;
}
