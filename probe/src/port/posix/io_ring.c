/* POSIX has aio_read and no rings. */
#include "base/posix_source.h"

#include "port/file.h"

#include <errno.h>

int port_io_ring_open(struct port_io_ring *ring)
{
    ring->is_open = false;
    return ENOTSUP;
}

const char *port_io_ring_refusal(int error)
{
    (void)error;
    return "this system has none";
}

void port_io_ring_close(struct port_io_ring *ring)
{
    (void)ring;
}

int port_io_ring_read(struct port_io_ring *ring, int file, void *buffer, size_t bytes,
                      int64_t offset, uint64_t tag)
{
    (void)ring, (void)file, (void)buffer, (void)bytes, (void)offset, (void)tag;
    return ENOTSUP;
}

int port_io_ring_write(struct port_io_ring *ring, int file, const void *buffer, size_t bytes,
                       int64_t offset, uint64_t tag)
{
    (void)ring, (void)file, (void)buffer, (void)bytes, (void)offset, (void)tag;
    return ENOTSUP;
}

int port_io_ring_cancel(struct port_io_ring *ring, uint64_t target, uint64_t tag)
{
    (void)ring, (void)target, (void)tag;
    return ENOTSUP;
}

bool port_io_ring_take(struct port_io_ring *ring, uint64_t *tag, int32_t *result)
{
    (void)ring, (void)tag, (void)result;
    return false;
}
