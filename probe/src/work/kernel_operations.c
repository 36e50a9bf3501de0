#include "work/kernel_operations.h"

#include "port/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCANNED = 2000 };

static int ended_well(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECANCELED;
}

int kernel_in_child(int (*act)(void *argument), void *argument)
{
    pid_t parent = getpid(), child = port_fork();
    if (child == 0) {
        int error = port_kill_with_parent(parent);
        _exit(error != 0 && error != ENOTSUP ? 1 : act(argument));
    }
    return child < 0 ? errno : ended_well(child);
}

/* Anonymous memory: POSIX.1-2008 lacks MAP_ANONYMOUS, so it maps /dev/zero. */
static void *fresh_memory(size_t bytes)
{
    int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
    if (zero < 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    int error = errno;
    close(zero);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

static void *touched_memory(size_t bytes, size_t page_bytes)
{
    unsigned char *memory = fresh_memory(bytes);
    for (size_t at = 0; memory && at < bytes; at += page_bytes)
        ((volatile unsigned char *)memory)[at] = 1;
    return memory;
}

int kernel_map(size_t bytes, size_t page_bytes)
{
    void *memory = touched_memory(bytes, page_bytes);
    return memory && munmap(memory, bytes) == 0 ? 0 : errno;
}

int kernel_grow(size_t bytes, size_t page_bytes)
{
    return touched_memory(bytes, page_bytes) ? 0 : errno;
}

static int error_of(ssize_t transferred)
{
    return transferred < 0 ? errno : EIO;
}

int kernel_transfer(int to, int from, unsigned char *buffer, size_t bytes)
{
    ssize_t written = write(to, buffer, bytes);
    if (written != (ssize_t)bytes)
        return error_of(written);
    ssize_t got = read(from, buffer, bytes);
    return got == (ssize_t)bytes ? 0 : error_of(got);
}

int kernel_scan(const char *folder)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    struct stat facts;
    if (!listing)
        return errno;
    for (int i = 0; i < SCANNED && (entry = readdir(listing)) != NULL; i++)
        (void)fstatat(dirfd(listing), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW);
    closedir(listing);
    return 0;
}
