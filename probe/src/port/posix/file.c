/* The place of a file, on any POSIX system: not known. */
#include "port/file.h"

#include "base/options.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void port_file_place(int descriptor, struct port_file_place *place)
{
    memset(place, 0, sizeof *place);
    place->storage = port_storage(descriptor);
}

void port_lock_place(int descriptor, char place[PORT_LOCK_PLACE_BYTES])
{
    (void)descriptor;
    *place = '\0';
}

int64_t port_device_written_bytes(dev_t device)
{
    (void)device;
    return -1;
}

int64_t port_device_flushes(dev_t device)
{
    (void)device;
    return -1;
}

int port_anonymous_file(const char *folder)
{
    (void)folder;
    errno = ENOTSUP;
    return -1;
}

int port_anonymous_file_with(const char *folder, int flags)
{
    (void)folder, (void)flags;
    errno = ENOTSUP;
    return -1;
}

int port_direct_io(int descriptor)
{
    (void)descriptor;
    return ENOTSUP;
}

/* Some libraries write zeros where the file system cannot: that takes space too. */
int port_preallocate(int descriptor, int64_t bytes)
{
#if HS_HAS_FILE_ALLOCATION
    int error = posix_fallocate(descriptor, 0, (off_t)bytes);
    return error == EINVAL || error == ENODEV || error == EOPNOTSUPP ? ENOTSUP : error;
#else
    (void)descriptor, (void)bytes;
    return ENOTSUP;
#endif
}

int port_file_extents(int descriptor, struct port_extents *extents)
{
    (void)descriptor, (void)extents;
    return ENOTSUP;
}

int port_ordinary_io(void)
{
    return 0;
}

int port_set_io_class(enum port_io_class io_class)
{
    (void)io_class;
    return ENOTSUP;
}

int port_io_class(void)
{
    errno = ENOTSUP;
    return -1;
}
