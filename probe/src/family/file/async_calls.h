/* Calls of non-blocking and asynchronous I/O that a small system may lack (posix_optional.h). There
 * each one fails with ENOSYS. Those that return int return 0 or an errno value. */
#ifndef HS_FAMILY_FILE_ASYNC_CALLS_H
#define HS_FAMILY_FILE_ASYNC_CALLS_H

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>

/* select for one descriptor: 1 if it is ready, 0 after the time, -1 with errno. */
static inline int async_select(int file, bool to_write, int wait_ms)
{
    fd_set wanted;
    struct timeval time = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (file >= FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    FD_ZERO(&wanted);
    FD_SET(file, &wanted);
    return select(file + 1, to_write ? NULL : &wanted, to_write ? &wanted : NULL, NULL, &time);
}

/* ---- bytes that can be read ---- */

#if HS_HAS_QUEUED_BYTES
#include <sys/ioctl.h>

static inline int async_queued_bytes(int file, int *count)
{
    return ioctl(file, FIONREAD, count) == 0 ? 0 : errno;
}
#else
static inline int async_queued_bytes(int file, int *count)
{
    (void)file, (void)count;
    return ENOSYS;
}
#endif

/* ---- a signal when bytes arrive ---- */

#if HS_HAS_READY_SIGNAL
enum { ASYNC_SIGNAL = SIGIO };

/* Has the kernel send ASYNC_SIGNAL to this process when `file` becomes readable, or no more. */
static inline int async_signal_on(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags | O_ASYNC) != 0)
        return errno;
    return fcntl(file, F_SETOWN, getpid()) == 0 ? 0 : errno;
}

static inline void async_signal_off(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags >= 0)
        fcntl(file, F_SETFL, flags & ~O_ASYNC);
}
#else
enum { ASYNC_SIGNAL = SIGUSR1 };

static inline int async_signal_on(int file)
{
    (void)file;
    return ENOSYS;
}

static inline void async_signal_off(int file)
{
    (void)file;
}
#endif

/* ---- pseudo-terminals ---- */

#if HS_HAS_TERMINALS
#include <termios.h>

/* Bytes pass as they are, each at once. */
static inline int async_make_raw(int terminal)
{
    struct termios modes;
    if (tcgetattr(terminal, &modes) != 0)
        return errno;
    modes.c_iflag = 0;
    modes.c_oflag &= ~(tcflag_t)OPOST;
    modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    return tcsetattr(terminal, TCSANOW, &modes) == 0 ? 0 : errno;
}

/* ends[0]: the terminal, ends[1]: its master. */
static inline int async_terminal_open(int ends[2])
{
    ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
    if (ends[1] < 0)
        return errno;
    const char *name = grantpt(ends[1]) == 0 && unlockpt(ends[1]) == 0 ? ptsname(ends[1]) : NULL;
    ends[0] = name ? open(name, O_RDWR | O_NOCTTY) : -1;
    int error = ends[0] < 0 ? errno : async_make_raw(ends[0]);
    if (!error)
        return 0;
    if (ends[0] >= 0)
        close(ends[0]);
    close(ends[1]);
    return error;
}
#else
static inline int async_terminal_open(int ends[2])
{
    (void)ends;
    return ENOSYS;
}
#endif

#endif
