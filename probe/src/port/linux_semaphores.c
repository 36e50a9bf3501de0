/* What Linux has beside the semaphores of POSIX, and ties between processes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 32-bit processors with 64-bit time have only the newer name; no time is passed here. */
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

int port_semaphore_descriptor(void)
{
    return eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
}

int port_word_wait(atomic_int *word, int value, bool is_shared)
{
    int what = is_shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
    return syscall(SYS_futex, word, what, value, NULL, NULL, 0) == 0 ? 0 : errno;
}

int port_word_wake(atomic_int *word, bool is_shared)
{
    int what = is_shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
    return syscall(SYS_futex, word, what, 1, NULL, NULL, 0) >= 0 ? 0 : errno;
}

int port_die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    return getppid() == parent ? 0 : ESRCH; /* it may have ended just before */
}
