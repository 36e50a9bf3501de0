/* io_uring by its system calls. The kernel's header may be missing where the probe is built, so
 * what is used of it stands here: it is the kernel's binary interface. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/file.h"

#include "port/linux/files.h"

#include <errno.h>
#include <linux/types.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALL_SETUP = 425, CALL_ENTER = 426 };
enum { REQUEST_CANCEL = 14, REQUEST_READ = 22, REQUEST_WRITE = 23 };

#define AT_SENT 0
#define AT_DONE 0x8000000
#define AT_REQUESTS 0x10000000

struct sent_offsets {
    __u32 head, tail, mask, entries, flags, dropped, array, reserved;
    __u64 user;
};

struct done_offsets {
    __u32 head, tail, mask, entries, overflow, completions, flags, reserved;
    __u64 user;
};

struct ring_setup {
    __u32 sent_entries, done_entries, flags, cpu, idle, features, wq_file, reserved[3];
    struct sent_offsets sent;
    struct done_offsets done;
};

struct request {
    __u8 what, flags;
    __u16 priority;
    __s32 file;
    __u64 offset, address;
    __u32 length, operation_flags;
    __u64 tag, rest[3];
};

struct completion {
    __u64 tag;
    __s32 result;
    __u32 flags;
};

_Static_assert(sizeof(struct ring_setup) == 120, "the kernel's io_uring_params");
_Static_assert(sizeof(struct request) == 64, "the kernel's io_uring_sqe");
_Static_assert(sizeof(struct completion) == 16, "the kernel's io_uring_cqe");

static _Atomic __u32 *word_at(void *memory, __u32 at)
{
    return (_Atomic __u32 *)((char *)memory + at);
}

static void *map_part(const struct port_io_ring *ring, size_t bytes, off_t at)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->file, at);
    return memory == MAP_FAILED ? NULL : memory;
}

static int map_ring(struct port_io_ring *ring, const struct ring_setup *setup)
{
    ring->sent_bytes = setup->sent.array + setup->sent_entries * sizeof(__u32);
    ring->done_bytes = setup->done.completions + setup->done_entries * sizeof(struct completion);
    ring->requests_bytes = setup->sent_entries * sizeof(struct request);
    ring->sent = map_part(ring, ring->sent_bytes, AT_SENT);
    ring->done = ring->sent ? map_part(ring, ring->done_bytes, AT_DONE) : NULL;
    ring->requests = ring->done ? map_part(ring, ring->requests_bytes, AT_REQUESTS) : NULL;
    if (!ring->requests)
        return errno;
    ring->sent_tail_at = setup->sent.tail;
    ring->sent_array_at = setup->sent.array;
    ring->sent_mask = *word_at(ring->sent, setup->sent.mask);
    ring->done_head_at = setup->done.head;
    ring->done_tail_at = setup->done.tail;
    ring->done_mask = *word_at(ring->done, setup->done.mask);
    ring->done_entries_at = setup->done.completions;
    return 0;
}

int port_io_ring_open(struct port_io_ring *ring)
{
    struct ring_setup setup;
    memset(ring, 0, sizeof *ring);
    memset(&setup, 0, sizeof setup);
    long file = syscall(CALL_SETUP, PORT_RING_ENTRIES, &setup);
    if (file < 0)
        return errno;
    ring->file = (int)file;
    ring->is_open = true;
    int error = map_ring(ring, &setup);
    if (error)
        port_io_ring_close(ring);
    return error;
}

const char *port_io_ring_refusal(int error)
{
    int64_t disabled = 0;
    if (error == ENOSYS)
        return "this kernel has none, or a system call filter hides it";
    if (linux_read_number("/proc/sys/kernel/io_uring_disabled", &disabled) && disabled > 0)
        return disabled == 1 ? "the sysctl kernel.io_uring_disabled=1 limits it to one group and "
                               "to CAP_SYS_ADMIN"
                             : "switched off by the sysctl kernel.io_uring_disabled=2";
    if (error == ENOMEM)
        return "the limit on locked memory is too low (ulimit -l)";
    return error == EPERM || error == EACCES ? "a system call filter refuses it"
                                             : "the kernel refuses it";
}

void port_io_ring_close(struct port_io_ring *ring)
{
    if (!ring->is_open)
        return;
    if (ring->requests)
        munmap(ring->requests, ring->requests_bytes);
    if (ring->done)
        munmap(ring->done, ring->done_bytes);
    if (ring->sent)
        munmap(ring->sent, ring->sent_bytes);
    close(ring->file);
    memset(ring, 0, sizeof *ring);
}

static int send_request(struct port_io_ring *ring, const struct request *request)
{
    _Atomic __u32 *tail = word_at(ring->sent, ring->sent_tail_at);
    uint32_t place = atomic_load(tail) & ring->sent_mask;
    memcpy((struct request *)ring->requests + place, request, sizeof *request);
    *word_at(ring->sent, ring->sent_array_at + place * (__u32)sizeof(__u32)) = place;
    atomic_fetch_add(tail, 1);
    long sent;
    do
        sent = syscall(CALL_ENTER, ring->file, 1, 0, 0, NULL, 0);
    while (sent < 0 && errno == EINTR);
    return sent == 1 ? 0 : sent < 0 ? errno : EAGAIN;
}

static struct request transfer(int what, int file, uint64_t address, size_t bytes, int64_t offset)
{
    return (struct request){.what = (uint8_t)what,
                            .file = file,
                            .offset = (uint64_t)offset,
                            .address = address,
                            .length = (uint32_t)bytes};
}

int port_io_ring_read(struct port_io_ring *ring, int file, void *buffer, size_t bytes,
                      int64_t offset, uint64_t tag)
{
    struct request request =
        transfer(REQUEST_READ, file, (uint64_t)(uintptr_t)buffer, bytes, offset);
    request.tag = tag;
    return send_request(ring, &request);
}

int port_io_ring_write(struct port_io_ring *ring, int file, const void *buffer, size_t bytes,
                       int64_t offset, uint64_t tag)
{
    struct request request =
        transfer(REQUEST_WRITE, file, (uint64_t)(uintptr_t)buffer, bytes, offset);
    request.tag = tag;
    return send_request(ring, &request);
}

int port_io_ring_cancel(struct port_io_ring *ring, uint64_t target, uint64_t tag)
{
    struct request request = {.what = REQUEST_CANCEL, .file = -1, .address = target, .tag = tag};
    return send_request(ring, &request);
}

bool port_io_ring_take(struct port_io_ring *ring, uint64_t *tag, int32_t *result)
{
    _Atomic __u32 *head = word_at(ring->done, ring->done_head_at);
    uint32_t at = atomic_load(head);
    if (at == atomic_load(word_at(ring->done, ring->done_tail_at)))
        return false;
    const struct completion *completions =
        (const struct completion *)((const char *)ring->done + ring->done_entries_at);
    *tag = completions[at & ring->done_mask].tag;
    *result = completions[at & ring->done_mask].result;
    atomic_store(head, at + 1);
    return true;
}
