/* Only pages of the device that the user named are mapped, and a register must lie within its
 * memory: a small BAR shares its page with those of other devices. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/posix_source.h"

#include "port/linux/uio_memory.h"

#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RESOURCE_IO = 0x100, RESOURCE_MEMORY = 0x200, REGISTER_BYTES = 4 };

/* The first memory of a device: `offset` of its begin in its page. */
struct memory {
    bool is_bar;
    uint64_t offset, bytes;
};

const char *uio_path(int number, const char *name, char path[UIO_PATH_BYTES])
{
    snprintf(path, UIO_PATH_BYTES, "/sys/class/uio/uio%d/%s", number, name);
    return path;
}

static bool is_locked_down(void)
{
    char text[128];
    return linux_read("/sys/kernel/security/lockdown", text, sizeof text) &&
           !strstr(text, "[none]");
}

int uio_refuse(struct outcome *outcome, int error, int number, const char *what)
{
    char whole[160];
    snprintf(whole, sizeof whole, "uio%d: %s", number, what);
    bool is_refused = error == EPERM || error == EACCES;
    if (is_refused && is_locked_down())
        return outcome_set(outcome, STATUS_DENIED, "boot without lockdown=",
                           "%s: the kernel is locked down, and keeps devices from programs", whole);
    return outcome_set_errno(outcome, error, whole, is_refused ? "run it as root (sudo)" : NULL);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes a number in hex from `text`. Not with sscanf, which brings 80 KB of the C library along. */
static bool next_hex(const char **text, uint64_t *number)
{
    char *end;
    *number = strtoull(*text, &end, 16);
    bool is_number = end != *text;
    *text = end;
    return is_number;
}

/* The first line of `resource`: first and last address of BAR 0, and its flags. */
static int find_bar(const struct port_uio *uio, struct memory *memory, struct outcome *outcome)
{
    char path[UIO_PATH_BYTES], text[4096];
    const char *rest = text;
    uint64_t first, last, flags;
    if (!linux_read(uio_path(uio->number, "device/resource", path), text, sizeof text) ||
        !next_hex(&rest, &first) || !next_hex(&rest, &last) || !next_hex(&rest, &flags))
        return uio_refuse(outcome, errno ? errno : EIO, uio->number, "cannot read its resources");
    if (!(flags & RESOURCE_MEMORY) || last <= first)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "take a device with registers in memory",
                           "uio%d: its BAR 0 is %s", uio->number,
                           flags & RESOURCE_IO ? "a range of I/O ports" : "empty");
    *memory = (struct memory){true, first % page_bytes(), last - first + 1};
    return 0;
}

static bool read_hex(const struct port_uio *uio, const char *name, uint64_t *number)
{
    char path[UIO_PATH_BYTES], text[64];
    const char *rest = text;
    return linux_read(uio_path(uio->number, name, path), text, sizeof text) &&
           next_hex(&rest, number);
}

static int find_map(const struct port_uio *uio, struct memory *memory, struct outcome *outcome)
{
    memory->is_bar = false;
    if (!read_hex(uio, "maps/map0/size", &memory->bytes) || memory->bytes == 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "take a device with registers in memory",
                           "uio%d: its driver offers no memory, so nothing can raise its interrupt",
                           uio->number);
    if (!read_hex(uio, "maps/map0/offset", &memory->offset))
        memory->offset = 0; /* kernels before 2.6.30 */
    return 0;
}

static int check_register(const struct port_uio *uio, const struct memory *memory, int64_t offset,
                          struct outcome *outcome)
{
    if (offset >= 0 && offset % REGISTER_BYTES == 0 && memory->bytes >= REGISTER_BYTES &&
        (uint64_t)offset <= memory->bytes - REGISTER_BYTES)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED,
                       "give a multiple of 4 below the size, from the device's manual",
                       "uio%d: %" PRId64 " is no register of its memory of %" PRIu64 " bytes",
                       uio->number, offset, memory->bytes);
}

/* BAR 0 has a file of its own; map 0 is the begin of /dev/uioN. */
static int map(struct port_uio *uio, const struct memory *memory, uint64_t end_bytes)
{
    char path[UIO_PATH_BYTES], place[LINUX_PLACE_BYTES];
    size_t page = page_bytes(), bytes = (size_t)((memory->offset + end_bytes + page - 1) / page);
    int file = uio->file;
    if (memory->is_bar)
        file = open(linux_rooted(uio_path(uio->number, "device/resource0", path), place),
                    O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    bytes *= page;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = mapped == MAP_FAILED ? errno : 0;
    if (memory->is_bar)
        close(file);
    if (!error) {
        uio->memory = mapped;
        uio->memory_bytes = bytes;
    }
    return error;
}

static volatile uint32_t *at(const struct port_uio *uio, const struct memory *memory,
                             int64_t offset)
{
    unsigned char *begin = (unsigned char *)uio->memory + memory->offset;
    return (volatile uint32_t *)(void *)(begin + offset);
}

int uio_memory_map(struct port_uio *uio, const struct port_uio_registers *registers,
                   struct outcome *outcome)
{
    struct memory memory = {0};
    bool has_acknowledge = registers->acknowledge_offset != PORT_UIO_NOT_GIVEN;
    int64_t raise = registers->raise_offset;
    int64_t acknowledge = has_acknowledge ? registers->acknowledge_offset : raise;
    if ((uio->vendor >= 0 ? find_bar : find_map)(uio, &memory, outcome) != 0 ||
        check_register(uio, &memory, raise, outcome) != 0 ||
        check_register(uio, &memory, acknowledge, outcome) != 0)
        return -1;
    int64_t last = raise > acknowledge ? raise : acknowledge;
    int error = map(uio, &memory, (uint64_t)last + REGISTER_BYTES);
    if (error == EINVAL)
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "use a kernel whose driver lets it be mapped",
                           "uio%d: the kernel does not map its registers", uio->number);
    if (error)
        return uio_refuse(outcome, error, uio->number, "cannot map its registers");
    uio->raise = at(uio, &memory, raise);
    uio->acknowledge = has_acknowledge ? at(uio, &memory, acknowledge) : NULL;
    uio->raise_value = registers->raise_value;
    uio->acknowledge_value = registers->acknowledge_value;
    return 0;
}
