/* Asynchronous I/O by a ring of requests that the kernel shares with the process (io_uring).
 *
 * linux/io_ring.c; posix/io_ring.c answers ENOTSUP. */
#ifndef HS_PORT_IO_RING_H
#define HS_PORT_IO_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PORT_RING_ENTRIES = 8, PORT_RING_STREAM = -1 /* offset: files without one */ };

/* An open ring. The memory is the kernel's; a zeroed one is closed. */
struct port_io_ring {
    bool is_open;
    int file;
    void *sent, *done, *requests; /* mapped */
    size_t sent_bytes, done_bytes, requests_bytes;
    uint32_t sent_tail_at, sent_array_at, sent_mask;
    uint32_t done_head_at, done_tail_at, done_mask, done_entries_at;
};

/* Makes a ring: 0, or an errno value (ENOSYS: the kernel has none; EPERM: it may not be used;
 * ENOMEM: the limit on locked memory; ENOTSUP). */
int port_io_ring_open(struct port_io_ring *ring);

/* Why it was refused, and what would help, in words. */
const char *port_io_ring_refusal(int error);

/* Ends what is under way, and frees the ring; for a closed one nothing. */
void port_io_ring_close(struct port_io_ring *ring);

/* Starts a request; `tag` tells its completion from others. One system call. At most
 * PORT_RING_ENTRIES may be under way. 0, or an errno value. */
int port_io_ring_read(struct port_io_ring *ring, int file, void *buffer, size_t bytes,
                      int64_t offset, uint64_t tag);
int port_io_ring_write(struct port_io_ring *ring, int file, const void *buffer, size_t bytes,
                       int64_t offset, uint64_t tag);

/* Starts the cancelling of the request `target`. */
int port_io_ring_cancel(struct port_io_ring *ring, uint64_t target, uint64_t tag);

/* Takes a completion without waiting; `result`: bytes, or an errno value as a negative number.
 * False: there is none. */
bool port_io_ring_take(struct port_io_ring *ring, uint64_t *tag, int32_t *result);

#endif
