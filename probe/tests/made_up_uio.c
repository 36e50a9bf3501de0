#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/posix_source.h"

#include "made_up_uio.h"

#include "made_up_files.h"
#include "tap.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct made_up_uio machine;

const char *linux_root(void);
const char *linux_root(void)
{
    return machine.root;
}

int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __real_read(int file, void *bytes, size_t count);
void *__real_mmap(void *at, size_t bytes, int may, int flags, int file, off_t offset);
void *__real_mmap64(void *at, size_t bytes, int may, int flags, int file, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
ssize_t __wrap_read(int file, void *bytes, size_t count);
void *__wrap_mmap(void *at, size_t bytes, int may, int flags, int file, off_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int may, int flags, int file, off_t offset);

static bool is_refused(const char *path)
{
    size_t length = strlen(path), tail = machine.refused ? strlen(machine.refused) : length + 1;
    if (length < tail || strcmp(path + length - tail, machine.refused) != 0)
        return false;
    errno = machine.error;
    return true;
}

int __wrap_open(const char *path, int flags, ...)
{
    return is_refused(path) ? -1 : __real_open(path, flags, 0600);
}

int __wrap_open64(const char *path, int flags, ...)
{
    return is_refused(path) ? -1 : __real_open64(path, flags, 0600);
}

static bool is_device(int file)
{
    struct stat state, zero;
    return fstat(file, &state) == 0 && stat("/dev/zero", &zero) == 0 && S_ISCHR(state.st_mode) &&
           state.st_rdev == zero.st_rdev;
}

ssize_t __wrap_write(int file, const void *bytes, size_t count)
{
    if (!is_device(file))
        return __real_write(file, bytes, count);
    machine.writes++;
    if (count == sizeof machine.written)
        memcpy(&machine.written, bytes, count);
    errno = machine.write_error;
    return machine.write_error ? -1 : (ssize_t)count;
}

ssize_t __wrap_read(int file, void *bytes, size_t count)
{
    if (!is_device(file))
        return __real_read(file, bytes, count);
    CHECK_SAME(count, sizeof machine.count);
    memcpy(bytes, &machine.count, sizeof machine.count);
    errno = machine.read_error;
    return machine.read_error ? -1 : machine.read_bytes;
}

void *__wrap_mmap(void *at, size_t bytes, int may, int flags, int file, off_t offset)
{
    errno = machine.map_error;
    return machine.map_error ? MAP_FAILED : __real_mmap(at, bytes, may, flags, file, offset);
}

void *__wrap_mmap64(void *at, size_t bytes, int may, int flags, int file, off_t offset)
{
    errno = machine.map_error;
    return machine.map_error ? MAP_FAILED : __real_mmap64(at, bytes, may, flags, file, offset);
}

char *below(const char *path)
{
    static char full[300];
    snprintf(full, sizeof full, "%s%s", machine.root, path);
    return full;
}

void put(const char *path, const char *text)
{
    made_up_file(machine.root, path, text);
}

/* A file of `bytes` bytes that all are `value`. */
void fill(const char *path, size_t bytes, int value)
{
    put(path, "");
    FILE *file = fopen(below(path), "w");
    for (size_t i = 0; file && i < bytes; i++)
        fputc(value, file);
    if (CHECK(file != NULL))
        fclose(file);
}

void fetch(const char *path, unsigned char *bytes, size_t count)
{
    FILE *file = fopen(below(path), "r");
    memset(bytes, 0xee, count);
    if (CHECK(file != NULL)) {
        CHECK_SAME(fread(bytes, 1, count, file), count);
        fclose(file);
    }
}

/* QEMU's edu, as uio_pci_generic shows it. */
void make_up(void)
{
    memset(&machine, 0, sizeof machine);
    machine.write_error = ENOSYS;
    machine.read_bytes = sizeof machine.count;
    snprintf(machine.root, sizeof machine.root, "/tmp/hardstone-uio-XXXXXX");
    CHECK(mkdtemp(machine.root) != NULL);
    put(UIO_FOLDER "/name", "uio_pci_generic\n");
    put(UIO_FOLDER "/dev", "1:5\n"); /* of /dev/zero */
    put(UIO_FOLDER "/event", "41\n");
    put(UIO_FOLDER "/device/vendor", "0x1234\n");
    put(UIO_FOLDER "/device/device", "0x11e8\n");
    put(UIO_FOLDER "/device/irq", "11\n");
    put(UIO_FOLDER "/device/resource", UIO_MEMORY_LINE);
    fill(UIO_REGISTERS, UIO_REGISTERS_BYTES, UIO_REGISTERS_FILL);
    fill(UIO_CONFIG, UIO_CONFIG_BYTES, 0xff);
    (void)mkdir(below("/dev"), 0755);
    CHECK_SAME(symlink("/dev/zero", below("/dev/uio0")), 0);
}

static int remove_one(const char *path, const struct stat *state, int kind, struct FTW *where)
{
    (void)state, (void)kind, (void)where;
    return remove(path);
}

void take_away(void)
{
    CHECK_SAME(nftw(machine.root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
