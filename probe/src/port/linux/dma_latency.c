/* A request to /dev/cpu_dma_latency: the kernel drops it when its last descriptor is closed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int linux_dma_latency_hold(const char *path, int32_t us, int *descriptor, int32_t *in_force_us)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    int error = file < 0 ? errno : 0;
    if (!error && write(file, &us, sizeof us) != sizeof us)
        error = errno;
    if (!error &&
        (lseek(file, 0, SEEK_SET) < 0 ||
         read(file, in_force_us, sizeof *in_force_us) != sizeof *in_force_us || *in_force_us > us))
        error = EAGAIN;
    if (error && file >= 0)
        close(file);
    if (!error)
        *descriptor = file;
    return error;
}
