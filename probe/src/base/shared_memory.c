#include "base/posix_source.h"

#include "base/shared_memory.h"

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int write_zeros(int file, size_t bytes)
{
    static const char zeros[4096];
    while (bytes > 0) {
        ssize_t written = write(file, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
        if (written < 0)
            return errno;
        bytes -= (size_t)written;
    }
    return 0;
}

int file_reserve(int file, size_t bytes)
{
#if HS_HAS_FILE_ALLOCATION
    int error = posix_fallocate(file, 0, (off_t)bytes);
    if (error != EOPNOTSUPP && error != ENOSYS)
        return error;
#endif
    return write_zeros(file, bytes);
}

void *shared_memory_create(const char *name, size_t bytes)
{
#if HS_HAS_SHARED_MEMORY
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        return NULL;
    shm_unlink(name);
    int error = file_reserve(file, bytes);
    void *memory = MAP_FAILED;
    if (error == 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = errno;
    }
    close(file);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
#else
    (void)name, (void)bytes;
    errno = ENOSYS;
    return NULL;
#endif
}

void shared_memory_free(void *memory, size_t bytes)
{
#if HS_HAS_SHARED_MEMORY
    munmap(memory, bytes);
#else
    (void)memory, (void)bytes;
#endif
}
