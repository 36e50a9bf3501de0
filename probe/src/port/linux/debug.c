/* Reads files of debugfs and tracefs, mounted or not. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Finds where `system` is mounted. */
static bool mount_point(const char *system, char *place, size_t bytes)
{
    FILE *file = linux_open("/proc/self/mounts");
    char line[1024];
    struct linux_mount mount;
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file))
        is_found = linux_mount_read(line, &mount) && strcmp(mount.kind, system) == 0 &&
                   (size_t)snprintf(place, bytes, "%s", mount.place) < bytes;
    if (file)
        fclose(file);
    return is_found;
}

#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
enum {
    CREATE = 6,
    CLOSE_ON_EXEC = 1,
    READ_ONLY = 1
}; /* from linux/mount.h, which older C libraries lack */

/* A detached mount: visible to nobody else, and gone when its descriptor is closed, even by a
 * kill. -1 with errno. */
static int detached(const char *system, unsigned attributes)
{
    int context = (int)syscall(SYS_fsopen, system, CLOSE_ON_EXEC);
    int mount = -1;
    if (context < 0)
        return -1;
    if (syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, attributes);
    int error = errno;
    close(context);
    errno = error;
    return mount;
}
#else
enum { READ_ONLY = 1 };

static int detached(const char *system, unsigned attributes)
{
    (void)system, (void)attributes;
    errno = ENOSYS;
    return -1;
}
#endif

int linux_open_detached(const char *system, const char *path, int flags)
{
    bool is_read = (flags & O_ACCMODE) == O_RDONLY;
    int mount = detached(system, is_read ? READ_ONLY : 0);
    if (mount < 0)
        return -1;
    int file = openat(mount, path, flags | O_CLOEXEC);
    int error = errno;
    close(mount);
    errno = error;
    return file;
}

static bool read_detached(const char *system, const char *path, char *text, size_t bytes)
{
    int file = linux_open_detached(system, path, O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, bytes - 1);
    if (file >= 0)
        close(file);
    while (got > 0 && text[got - 1] == '\n')
        got--;
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

bool linux_read_debug(const char *system, const char *path, char *text, size_t bytes)
{
    char place[256], whole[512];
    if (mount_point(system, place, sizeof place)) {
        snprintf(whole, sizeof whole, "%s/%s", place, path);
        return linux_read(whole, text, bytes);
    }
    return !*linux_root() && geteuid() == 0 && read_detached(system, path, text, bytes);
}

static bool is_in_kernel(const char *system)
{
    FILE *file = linux_open("/proc/filesystems");
    char line[128];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        const char *name = strchr(line, '\t');
        line[strcspn(line, "\n")] = '\0';
        is_found = name && strcmp(name + 1, system) == 0;
    }
    if (file)
        fclose(file);
    return is_found;
}

static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES;
}

const char *linux_debug_state(const char *system, const char *path)
{
    char place[256], whole[512], text[16];
    if (mount_point(system, place, sizeof place)) {
        snprintf(whole, sizeof whole, "%s/%s", place, path);
        return !linux_read(whole, text, sizeof text) && is_refusal(errno) ? "refused" : "mounted";
    }
    if (!is_in_kernel(system))
        return "none";
    int mount = *linux_root() ? -1 : detached(system, READ_ONLY);
    int file = mount < 0 ? -1 : openat(mount, path, O_RDONLY | O_CLOEXEC);
    bool is_refused = mount >= 0 && file < 0 && is_refusal(errno);
    if (file >= 0)
        close(file);
    if (mount >= 0)
        close(mount);
    return is_refused ? "refused" : "not mounted";
}
