/* Breaches of files; broken.c says how they are used. Those of writes begin with the 40th write of
 * the process past its first MiB, so that the test has begun.
 *   made_up_device     files lie on a device of our own making: the number of bytes that it has
 *                      counted is what writes with O_SYNC, O_DSYNC or O_DIRECT and calls of
 *                      fdatasync have brought to it
 *   sync_dropped       open takes no notice of O_SYNC and O_DSYNC
 *   fdatasync_nothing  fdatasync does nothing
 *   allocates_nothing  fallocate does nothing
 *   no_allocation      the file system cannot allocate in advance
 *   no_direct          nor do direct I/O
 *   no_anonymous       nor make files without names
 *   full, over_quota, broken_disk  writes fail with ENOSPC, EDQUOT, EIO
 *   short_writes       each third write writes half
 *   read_only          making a file fails with EROFS
 *   little_space       less space is free than the reserve
 *   space_goes         the same from the 20th look on
 *   io_priority_kept   setting the I/O priority does nothing
 *   io_priority_refused  it fails with EPERM
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FIRST_BAD = 40, FIRST_SHORT_LOOK = 20, EXT4 = 0xef53, BIG = 1 << 20 };

static atomic_llong device_bytes = 1 << 20, dirty_bytes;
static atomic_int write_count, look_count;

static int text_file(const char *text)
{
    int file = memfd_create("made up", MFD_CLOEXEC);
    if (file >= 0 && pwrite(file, text, strlen(text), 0) < 0)
        return -1;
    return file;
}

/* A file of the made-up device, or -1. */
static int made_up(const char *path)
{
    char text[128];
    if (!breaks("made_up_device"))
        return -1;
    if (strncmp(path, "/proc/self/fdinfo/", 18) == 0)
        return text_file("pos:\t0\nmnt_id:\t7\n");
    if (strcmp(path, "/proc/self/mountinfo") == 0)
        return text_file("7 1 8:77 / / rw,relatime shared:1 - ext4 /dev/made-up rw\n");
    if (strcmp(path, "/sys/dev/block/8:77/stat") != 0)
        return -1;
    snprintf(text, sizeof text, "1 0 8 0 1 0 %lld 0 0 0 0 0 0 0 0 5 0\n",
             (long long)(atomic_load(&device_bytes) / 512));
    return text_file(text);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    int file = made_up(path);
    if (file >= 0)
        return file;
    bool is_anonymous = (flags & O_TMPFILE) == O_TMPFILE;
    if (is_anonymous && (breaks("read_only") || breaks("no_anonymous"))) {
        errno = breaks("read_only") ? EROFS : EOPNOTSUPP;
        return -1;
    }
    if (breaks("sync_dropped"))
        flags &= ~(O_SYNC | O_DSYNC);
    return REAL(open64)(path, flags, mode);
}

static int write_error(void)
{
    if (atomic_load(&write_count) < FIRST_BAD)
        return 0;
    return breaks("full")          ? ENOSPC
           : breaks("over_quota")  ? EDQUOT
           : breaks("broken_disk") ? EIO
                                   : 0;
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t place)
{
    struct stat facts;
    bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && bytes < BIG;
    int count = is_file ? atomic_fetch_add(&write_count, 1) : 0;
    errno = is_file ? write_error() : 0;
    if (errno)
        return -1;
    if (is_file && breaks("short_writes") && count % 3 == 0 && bytes > 1 && count > FIRST_BAD)
        bytes /= 2;
    ssize_t done = REAL(pwrite64)(file, data, bytes, place);
    int flags = fcntl(file, F_GETFL);
    bool is_through = flags & (O_SYNC | O_DSYNC | O_DIRECT);
    if (done > 0)
        atomic_fetch_add(is_through ? &device_bytes : &dirty_bytes, done);
    return done;
}

int fdatasync(int file)
{
    if (breaks("fdatasync_nothing"))
        return 0;
    atomic_fetch_add(&device_bytes, atomic_exchange(&dirty_bytes, 0));
    return REAL(fdatasync)(file);
}

int fallocate64(int file, int mode, off64_t place, off64_t bytes)
{
    errno = EOPNOTSUPP;
    if (breaks("no_allocation"))
        return -1;
    return breaks("allocates_nothing") ? 0 : REAL(fallocate64)(file, mode, place, bytes);
}

bool broken_refuses_direct(int command, long argument)
{
    errno = EINVAL;
    return breaks("no_direct") && command == F_SETFL && argument & O_DIRECT;
}

bool broken_refuses_folder(void)
{
    errno = EROFS;
    return breaks("read_only");
}

int fstatfs64(int file, struct statfs64 *facts)
{
    int answer = REAL(fstatfs64)(file, facts);
    if (answer == 0 && breaks("made_up_device"))
        facts->f_type = EXT4;
    return answer;
}

int fstatvfs64(int file, struct statvfs64 *facts)
{
    int answer = REAL(fstatvfs64)(file, facts);
    bool is_late = atomic_fetch_add(&look_count, 1) >= FIRST_SHORT_LOOK;
    if (breaks("little_space") || (breaks("space_goes") && is_late))
        facts->f_bavail = 1;
    return answer;
}

bool broken_io_priority(long *answer)
{
    bool is_refused = breaks("io_priority_refused");
    *answer = is_refused ? -1 : 0;
    errno = EPERM;
    return is_refused || breaks("io_priority_kept");
}
