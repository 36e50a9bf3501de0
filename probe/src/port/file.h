/* Files beyond POSIX: their place (file system, device, extents), I/O priority, and a ring of
 * requests. Errors as in port.h.
 *
 * posix/file.c, posix/io_ring.c. */
#ifndef HS_PORT_FILE_H
#define HS_PORT_FILE_H

#include "base/posix_source.h"

#include "port/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PORT_FILE_NAME_BYTES = 64, PORT_FILE_OPTIONS_BYTES = 160 };

enum port_answer { PORT_NOT_KNOWN, PORT_NO, PORT_YES };

/* Where an open file lies. An empty text: not known. */
struct port_file_place {
    enum port_storage storage;              /* of an overlay, that of its upper layer */
    char system[PORT_FILE_NAME_BYTES];      /* "ext4" */
    char device[PORT_FILE_NAME_BYTES];      /* "/dev/vda", as it was mounted */
    char options[PORT_FILE_OPTIONS_BYTES];  /* of the mount and of the file system */
    char scheduler[PORT_FILE_NAME_BYTES];   /* of I/O: "mq-deadline", "none" */
    char write_cache[PORT_FILE_NAME_BYTES]; /* of the device: "write back", "write through" */
    enum port_answer heeds_io_priority;     /* the scheduler serves higher priorities first */
    bool are_options_cut;                   /* they did not fit */
    bool is_stacked;                        /* the device consists of others (RAID, LVM) */
    bool has_number;                        /* the file system is on this one block device */
    dev_t number;
};
void port_file_place(int descriptor, struct port_file_place *place);

/* How often the device was told to write its cache to its medium, by everybody since boot. -1: not
 * known, or not counted. */
int64_t port_device_flushes(dev_t device);

/* As port_anonymous_file, opened with `flags` (O_DSYNC, O_SYNC) too. */
int port_anonymous_file_with(const char *folder, int flags);

/* Writes how the system lists locks on the open file ("08:01:1234", as /proc/locks); "": it has no
 * such list. */
enum { PORT_LOCK_PLACE_BYTES = 64 };
void port_lock_place(int descriptor, char place[PORT_LOCK_PLACE_BYTES]);

/* Allocates the file's first `bytes` on its device: 0, or an errno value (ENOTSUP: the system or
 * the file system cannot do that; never by writing zeros). */
int port_preallocate(int descriptor, int64_t bytes);

/* Counts the extents of the file, and the pieces of consecutive blocks of the device that they make
 * up. Writes the file's data out first. 0, or an errno value (ENOTSUP: cannot be read here). */
struct port_extents {
    int64_t extents_count, pieces_count;
};
int port_file_extents(int descriptor, struct port_extents *extents);

/* I/O priority of the calling thread: the middle of the ordinary class, the highest of the
 * real-time class, or something else, as one that follows the thread's policy. set: 0, or an errno
 * value (ENOTSUP: the system has none; EPERM: refused). get: -1 with errno. */
enum port_io_class { PORT_IO_BEST_EFFORT, PORT_IO_REAL_TIME, PORT_IO_OTHER };
int port_set_io_class(enum port_io_class io_class);
int port_io_class(void);

/* ---- asynchronous I/O by a ring of requests that the kernel shares with the process (io_uring)
 * ---- */

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
