#include "base/posix_source.h"

#include "work/scratch.h"

#include "port/file.h"
#include "port/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define LEAST_FREE_BYTES (INT64_C(256) << 20)

#define PREFIX "hardstone-load-"
#define LOCK "lock"
#define NEW_LOCK "lock.new"

enum { FREE_PARTS = 20, DEEPEST = 16, REMOVE_TRIES = 50, LONGEST_FOLDER = 180, MAKING_S = 60 };

bool scratch_is_disk(int descriptor)
{
    enum port_storage storage = port_storage(descriptor);
    return storage == PORT_STORAGE_DISK || storage == PORT_STORAGE_UNKNOWN;
}

static bool folder_is(const char *folder, bool wants_disk)
{
    if (access(folder, W_OK | X_OK) != 0)
        return false;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool is_good = !wants_disk || scratch_is_disk(descriptor);
    close(descriptor);
    return is_good;
}

static const char *choose_folder(void)
{
    static const char *const usual[] = {"/var/tmp", "/tmp"};
    const char *named = getenv("TMPDIR");
    if (named && *named == '/' && strlen(named) < SCRATCH_BYTES - 64 && folder_is(named, false))
        return named;
    for (int wants_disk = 1; wants_disk >= 0; wants_disk--)
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
            if (folder_is(usual[i], wants_disk))
                return usual[i];
    return NULL;
}

static bool has_anonymous_files(const char *folder)
{
    int file = port_anonymous_file(folder);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static void set(struct scratch *scratch, const char *folder, bool needs_names, uint64_t seed)
{
    scratch->locked_by = 0;
    snprintf(scratch->folder, sizeof scratch->folder, "%s", folder);
    if (needs_names || !has_anonymous_files(folder))
        snprintf(scratch->own, sizeof scratch->own, "%.*s/" PREFIX "%ld-%08lx", LONGEST_FOLDER,
                 folder, (long)getpid(), (unsigned long)(seed & 0xffffffffu));
}

int scratch_choose(struct scratch *scratch, bool needs_names, uint64_t seed)
{
    const char *folder = choose_folder();
    scratch->folder[0] = scratch->own[0] = '\0';
    if (!folder)
        return ENOENT;
    set(scratch, folder, needs_names, seed);
    return 0;
}

/* access() of root tells a file system that is read-only, but neither no folder nor one of NFS that
 * maps root away: making the files tells that. */
int scratch_choose_in(struct scratch *scratch, const char *folder, bool needs_names, uint64_t seed)
{
    struct stat facts;
    if (!folder)
        return scratch_choose(scratch, needs_names, seed);
    scratch->folder[0] = scratch->own[0] = '\0';
    if (strlen(folder) > LONGEST_FOLDER)
        return ENAMETOOLONG;
    if (stat(folder, &facts) != 0)
        return errno;
    if (!S_ISDIR(facts.st_mode))
        return ENOTDIR;
    if (access(folder, W_OK | X_OK) != 0)
        return errno;
    set(scratch, folder, needs_names, seed);
    return 0;
}

/* Opens and locks the lock file of a folder: descriptor, or -1 with errno (ENOENT: no such file;
 * EACCES or EAGAIN: locked by another process). */
static int lock_in(int folder, const char *name, int flags)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int lock = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (lock < 0 || fcntl(lock, F_SETLK, &whole) == 0)
        return lock;
    int error = errno;
    close(lock);
    errno = error;
    return -1;
}

/* The lock has its name only when it is held: one that is free belongs to nobody any more. */
static void make_lock(struct scratch *scratch, int folder)
{
    char fresh[SCRATCH_BYTES + 16], final[SCRATCH_BYTES + 16];
    snprintf(fresh, sizeof fresh, "%s/" NEW_LOCK, scratch->own);
    snprintf(final, sizeof final, "%s/" LOCK, scratch->own);
    int lock = lock_in(folder, NEW_LOCK, O_CREAT | O_EXCL);
    if (lock >= 0 && rename(fresh, final) == 0) {
        scratch->lock = lock;
        scratch->locked_by = getpid();
    } else if (lock >= 0) {
        close(lock);
    }
}

int scratch_make(struct scratch *scratch)
{
    if (scratch->own[0] == '\0')
        return 0;
    if (mkdir(scratch->own, 0700) != 0)
        return errno;
    int folder = open(scratch->own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        make_lock(scratch, folder);
        close(folder);
    }
    return 0;
}

static void empty(int folder, int depth);

static void remove_entry(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0)
        return;
    int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0 && depth < DEEPEST)
        empty(below, depth + 1);
    else if (below >= 0)
        close(below);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static void empty(int folder, int depth)
{
    DIR *listing = fdopendir(folder);
    if (!listing) {
        close(folder);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(folder, entry->d_name, depth);
    closedir(listing);
}

/* A board without a clock of its own may have begun in the past. */
static bool is_still_made(const struct stat *facts)
{
    return llabs((long long)time(NULL) - facts->st_mtime) < MAKING_S;
}

/* True for a folder of this user whose process is gone. The process id alone does not suffice: it
 * may belong to a process of another container, so the lock must be free, too. A folder without a
 * lock may just be made there. */
static bool is_left(int place, const char *name)
{
    struct stat facts;
    char *end;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return false;
    long id = strtol(name + sizeof PREFIX - 1, &end, 10);
    if (*end != '-' || id <= 0 || kill((pid_t)id, 0) == 0 || errno != ESRCH)
        return false;
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return false;
    bool is_own = fstat(folder, &facts) == 0 && facts.st_uid == geteuid();
    int lock = is_own ? lock_in(folder, LOCK, 0) : -1;
    is_own = is_own && (lock >= 0 || (errno == ENOENT && !is_still_made(&facts)));
    if (lock >= 0)
        close(lock);
    close(folder);
    return is_own;
}

void scratch_sweep(const struct scratch *scratch)
{
    DIR *listing = scratch->folder[0] ? opendir(scratch->folder) : NULL;
    struct dirent *entry;
    while (listing && (entry = readdir(listing)) != NULL)
        if (is_left(dirfd(listing), entry->d_name))
            remove_entry(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
}

/* Tries several times: a process that was killed may still be making a file. */
static void remove_own(const struct scratch *scratch)
{
    struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < REMOVE_TRIES && scratch->own[0]; i++) {
        struct stat facts;
        if (lstat(scratch->own, &facts) != 0 || facts.st_uid != geteuid() ||
            !S_ISDIR(facts.st_mode))
            return;
        int folder = open(scratch->own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0)
            empty(folder, 0);
        if (rmdir(scratch->own) == 0)
            return;
        nanosleep(&moment, NULL);
    }
}

void scratch_remove(struct scratch *scratch)
{
    remove_own(scratch);
    if (scratch->locked_by == 0 || scratch->locked_by != getpid())
        return;
    close(scratch->lock);
    scratch->locked_by = 0;
}

static void name_room(const struct scratch *scratch, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/room", scratch->own);
}

int scratch_enter_room(const struct scratch *scratch)
{
    char path[SCRATCH_BYTES + 16];
    if (scratch->own[0] == '\0')
        return ENOENT;
    name_room(scratch, path, sizeof path);
    return mkdir(path, 0700) == 0 && chdir(path) == 0 ? 0 : errno;
}

bool scratch_clear_room(const struct scratch *scratch)
{
    char path[SCRATCH_BYTES + 16];
    if (scratch->own[0] == '\0')
        return true;
    name_room(scratch, path, sizeof path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        empty(folder, 0);
    return rmdir(path) == 0 || errno == ENOENT;
}

/* A file whose name is taken away at once. */
static int named_file(const struct scratch *scratch, int flags)
{
    char name[SCRATCH_BYTES + 16];
    snprintf(name, sizeof name, "%s/XXXXXX", scratch->own);
    int file = mkstemp(name);
    if (file < 0)
        return -1;
    if (flags) {
        close(file);
        file = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags);
    }
    int error = errno;
    unlink(name);
    errno = error;
    return file;
}

int scratch_file_with(const struct scratch *scratch, int flags)
{
    if (scratch->folder[0] == '\0') {
        errno = ENOENT;
        return -1;
    }
    int file = port_anonymous_file_with(scratch->folder, flags);
    return file >= 0 || scratch->own[0] == '\0' ? file : named_file(scratch, flags);
}

int scratch_file(const struct scratch *scratch)
{
    return scratch_file_with(scratch, 0);
}

/* A file system that grows with the heap: a quarter of the memory is the reserve. */
static int64_t memory_room_bytes(int kept_parts)
{
    int64_t of_bytes = -1, available = port_available_bytes(&of_bytes);
    return available < 0 || of_bytes < 0 ? -1 : available - of_bytes / 4 / kept_parts;
}

/* Free bytes for this user, less reserve / kept_parts; -1: not known. */
static int64_t room_bytes(int descriptor, int kept_parts)
{
    struct statvfs facts;
    if (!HS_HAS_MEMORY_FREE_SPACE && port_storage(descriptor) == PORT_STORAGE_MEMORY)
        return memory_room_bytes(kept_parts);
    if (fstatvfs(descriptor, &facts) != 0)
        return -1;
    int64_t unit = (int64_t)(facts.f_frsize ? facts.f_frsize : facts.f_bsize);
    int64_t kept = (int64_t)facts.f_blocks / FREE_PARTS * unit;
    kept = kept > LEAST_FREE_BYTES ? kept : LEAST_FREE_BYTES;
    return (int64_t)facts.f_bavail * unit - kept / kept_parts;
}

int64_t scratch_room_bytes(int descriptor)
{
    int64_t room = room_bytes(descriptor, 1);
    return room > 0 ? room : 0;
}

bool scratch_is_short(int descriptor)
{
    return room_bytes(descriptor, 1) < 0;
}

bool scratch_is_very_short(int descriptor)
{
    return room_bytes(descriptor, 2) < 0;
}
