/* Inter-processor interrupts by membarrier(2). Its numbers are not in every C library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static int membarrier(int command)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0) == 0 ? 0 : errno;
#else
    (void)command;
    return ENOSYS;
#endif
}

int port_interrupt_register(void)
{
    return membarrier(REGISTER_PRIVATE_EXPEDITED);
}

int port_interrupt_send(void)
{
    return membarrier(PRIVATE_EXPEDITED);
}
