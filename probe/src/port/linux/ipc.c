/* Semaphores beyond POSIX (eventfd, futex), what sem_open leaves behind, and limits on messages. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 32-bit architectures with only 64-bit time have just this name; no timeout is passed here. */
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

enum { MOST_UNFINISHED = 64 };

int port_semaphore_descriptor(void)
{
    return eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
}

int64_t port_message_limit(enum port_message_limit limit)
{
    int64_t number;
    const char *path = limit == PORT_QUEUE_MESSAGE_BYTES ? "/proc/sys/fs/mqueue/msgsize_max"
                                                         : "/proc/sys/kernel/msgmax";
    return linux_read_number(path, &number) ? number : -1;
}

int port_futex_wait(atomic_int *word, int value, bool is_shared)
{
    int what = is_shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
    return syscall(SYS_futex, word, what, value, NULL, NULL, 0) == 0 ? 0 : errno;
}

int port_futex_wake(atomic_int *word, bool is_shared)
{
    int what = is_shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
    return syscall(SYS_futex, word, what, 1, NULL, NULL, 0) >= 0 ? 0 : errno;
}

/* sem_open writes a temporary file, then links it to the name: glibc sem.XXXXXX, musl tmp-NUMBER.
 */
static bool is_unfinished(int folder, const char *name, time_t since, mode_t mode)
{
    struct stat facts;
    if (fnmatch("sem.??????", name, 0) != 0 && fnmatch("tmp-*", name, 0) != 0)
        return false;
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode) &&
           (facts.st_mode & 07777) == mode && facts.st_uid == geteuid() &&
           facts.st_size <= (off_t)sizeof(sem_t) && facts.st_mtime >= since;
}

/* Calls `act` with folder and name of each temporary file. */
static int for_unfinished(time_t since, mode_t mode, void (*act)(int, const char *, void *),
                          void *context)
{
    DIR *folder = opendir("/dev/shm");
    if (!folder)
        return errno;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        if (is_unfinished(dirfd(folder), entry->d_name, since, mode))
            act(dirfd(folder), entry->d_name, context);
    closedir(folder);
    return 0;
}

struct seen {
    int count;
    ino_t inodes[MOST_UNFINISHED];
};

static ino_t inode_of(int folder, const char *name)
{
    struct stat facts;
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts.st_ino : 0;
}

static void see(int folder, const char *name, void *context)
{
    struct seen *seen = context;
    ino_t inode = inode_of(folder, name);
    if (inode && seen->count < MOST_UNFINISHED)
        seen->inodes[seen->count++] = inode;
}

static void remove_seen(int folder, const char *name, void *context)
{
    const struct seen *seen = context;
    ino_t inode = inode_of(folder, name);
    for (int i = 0; i < seen->count; i++)
        if (seen->inodes[i] == inode)
            unlinkat(folder, name, 0);
}

/* Another probe may be in sem_open right now: remove only files that are still there after
 * 200 ms. */
int port_remove_semaphore_files(time_t since, mode_t mode)
{
    struct seen seen = {0};
    struct timespec moment = {.tv_nsec = 200000000};
    int error = for_unfinished(since, mode, see, &seen);
    if (error || seen.count == 0)
        return error;
    nanosleep(&moment, NULL);
    return for_unfinished(since, mode, remove_seen, &seen);
}
