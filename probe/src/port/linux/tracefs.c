#include "base/posix_source.h"

#include "port/linux/tracefs.h"

#include "port/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lockdown_path[] = "/sys/kernel/security/lockdown";
static const char as_root[] = "run it as root (sudo)";

/* Lockdown "confidentiality" refuses tracefs to everybody; "integrity" does not. */
static bool is_locked_down(void)
{
    char text[64];
    return linux_read(lockdown_path, text, sizeof text) && strstr(text, "[confidentiality]");
}

static int refuse_locked_down(struct outcome *outcome)
{
    return outcome_set(outcome, STATUS_DENIED, "boot without lockdown=confidentiality",
                       "the kernel is locked down (confidentiality): it lets nobody trace");
}

static int refuse_namespace(struct outcome *outcome)
{
    return outcome_set(outcome, STATUS_UNSUPPORTED, "run it outside of the user namespace",
                       "this process is in a user namespace (a rootless container), whose root may "
                       "neither mount nor open tracefs");
}

int tracefs_refuse(struct outcome *outcome, int error, const char *what)
{
    if (error == EPERM && is_locked_down())
        return refuse_locked_down(outcome);
    if ((error == EPERM || error == EACCES || error == EROFS) && linux_in_user_namespace())
        return refuse_namespace(outcome);
    if (error == EPERM || error == EACCES || error == EROFS)
        return outcome_set(outcome, STATUS_DENIED, as_root, "%s: %s", what, strerror(error));
    return outcome_set_errno(outcome, error, what, NULL);
}

static int try_place(const char *place)
{
    char path[TRACEFS_PATH_BYTES], full[LINUX_PLACE_BYTES];
    snprintf(path, sizeof path, "%s/instances", place);
    int folder = open(linux_rooted(path, full), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno;
    close(folder);
    snprintf(path, sizeof path, "%s/available_tracers", place);
    int file = open(linux_rooted(path, full), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

static bool is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

const char *tracefs_find(struct outcome *outcome)
{
    static const char *const places[] = {TRACEFS_PLACE, TRACEFS_OLD_PLACE};
    int refusal = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int error = try_place(places[i]);
        if (error == 0)
            return places[i];
        if (!is_missing(error) && refusal == 0)
            refusal = error;
    }
    if (refusal)
        tracefs_refuse(outcome, refusal, TRACEFS_PLACE);
    else if (is_locked_down())
        refuse_locked_down(outcome);
    else if (linux_exists(TRACEFS_PLACE) && linux_in_user_namespace())
        refuse_namespace(outcome);
    else if (linux_exists(TRACEFS_PLACE))
        outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                           (struct remedy){"mount it", "mount -t tracefs tracefs " TRACEFS_PLACE},
                           "tracefs is not mounted");
    else
        outcome_set(outcome, STATUS_UNSUPPORTED, "use a kernel with CONFIG_FTRACE",
                    "the kernel has no tracefs");
    return NULL;
}

int tracefs_write(const char *path, const char *text, const char *kept)
{
    char full[LINUX_PLACE_BYTES], now[TRACEFS_TEXT_BYTES];
    int file = open(linux_rooted(path, full), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    size_t length = strlen(text);
    ssize_t done = write(file, text, length);
    int error = done < 0 ? errno : done != (ssize_t)length ? EIO : 0;
    close(file);
    if (error || !kept)
        return error;
    if (!linux_read_any(path, now, sizeof now))
        return errno ? errno : EIO;
    return strstr(now, kept) ? 0 : EAGAIN;
}

int tracefs_open(const char *path, int flags)
{
    char full[LINUX_PLACE_BYTES];
    return open(linux_rooted(path, full), flags | O_CLOEXEC);
}

bool tracefs_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " \n")) {
        size_t span = strcspn(at, " \n");
        if (span == length && strncmp(at, word, length) == 0)
            return true;
        at += span;
    }
    return false;
}

/* ---- instances ---- */

void tracefs_instance_name(pid_t process, char *name, size_t bytes)
{
    snprintf(name, bytes, TRACEFS_INSTANCE "%ld-%" PRIu64, (long)process,
             port_process_start(process));
}

/* The start time tells a process from a later one with its id. */
bool tracefs_is_left(const char *name)
{
    char *end;
    size_t prefix = sizeof TRACEFS_INSTANCE - 1;
    if (strncmp(name, TRACEFS_INSTANCE, prefix) != 0 || name[prefix] < '1' || name[prefix] > '9')
        return false;
    errno = 0;
    long process = strtol(name + prefix, &end, 10);
    if (errno || process > INT32_MAX || *end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    uint64_t start = strtoull(end + 1, &end, 10);
    if (errno || (*end != '\0' && *end != '.'))
        return false;
    if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
        return true;
    uint64_t now = port_process_start((pid_t)process);
    return start > 0 && now > 0 && now != start;
}

int tracefs_remove(const char *path)
{
    char full[LINUX_PLACE_BYTES];
    return rmdir(linux_rooted(path, full)) == 0 || errno == ENOENT ? 0 : errno;
}

/* The kernel keeps an instance of which somebody has a file open (EBUSY): one whose owner is in
 * another PID namespace, and looks as if it had ended, loses nothing. */
int tracefs_remove_left(const char *place)
{
    char path[TRACEFS_PATH_BYTES + 256];
    snprintf(path, sizeof path, "%s/instances", place);
    int count = 0;
    DIR *folder = linux_open_folder(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!tracefs_is_left(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/instances/%s", place, entry->d_name);
        count += tracefs_remove(path) == 0 ? 1 : 0;
    }
    if (folder)
        closedir(folder);
    return count;
}
