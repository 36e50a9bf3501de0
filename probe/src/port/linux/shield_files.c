/* Reads, journals, changes, reads back and restores one value in a file of the kernel. */
#include "base/posix_source.h"

#include "port/linux/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REASON_BYTES = 200 };

bool linux_shield_path(const struct port_shield *shield, const char *path,
                       char full[LINUX_PATH_BYTES])
{
    return snprintf(full, LINUX_PATH_BYTES, "%s%s", shield->root, path) < LINUX_PATH_BYTES;
}

bool linux_groups_join(char path[LINUX_PATH_BYTES], const char *group, const char *name)
{
    return snprintf(path, LINUX_PATH_BYTES, "%s/%s", group, name) < LINUX_PATH_BYTES;
}

int linux_shield_read(const struct port_shield *shield, const char *path, char *text, size_t bytes)
{
    char full[LINUX_PATH_BYTES];
    text[0] = '\0';
    if (!linux_shield_path(shield, path, full))
        return ENAMETOOLONG;
    int file = open(full, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < bytes && (got = read(file, text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    int error = got < 0 ? errno : used + 1 == bytes ? EMSGSIZE : 0;
    close(file);
    while (used > 0 && (text[used - 1] == '\n' || text[used - 1] == ' '))
        used--;
    text[used] = '\0';
    return error;
}

int linux_shield_write(const struct port_shield *shield, const char *path, const char *text)
{
    char full[LINUX_PATH_BYTES], line[CPUS_TEXT_BYTES];
    int length = snprintf(line, sizeof line, "%s\n", text);
    if (!linux_shield_path(shield, path, full) || length >= (int)sizeof line)
        return ENAMETOOLONG;
    int file = open(full, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t done = write(file, line, (size_t)length);
    int error = done < 0 ? errno : done != length ? EIO : 0;
    close(file);
    return error;
}

bool linux_shield_exists(const struct port_shield *shield, const char *path)
{
    char full[LINUX_PATH_BYTES];
    return linux_shield_path(shield, path, full) && access(full, F_OK) == 0;
}

int linux_shield_note(struct port_shield *shield, int count, const char *const fields[])
{
    return shield->log->add(shield->journal, count, fields);
}

int linux_shield_sync(struct port_shield *shield)
{
    return shield->log->sync(shield->journal);
}

void linux_shield_refused(struct port_shield *shield, const char *setting, const char *name,
                          const char *format, ...)
{
    char reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    shield->log->refused(shield->notes, setting, name, reason);
}

bool linux_shield_same(const char *a, const char *b)
{
    struct cpus of_a, of_b;
    if (strcmp(a, b) == 0)
        return true;
    if (cpus_parse_list(a, &of_a) == 0 && cpus_parse_list(b, &of_b) == 0 && cpus_same(&of_a, &of_b))
        return true;
    return cpus_parse_mask(a, &of_a) == 0 && cpus_parse_mask(b, &of_b) == 0 &&
           cpus_same(&of_a, &of_b);
}

/* Journals one change of a file, unsynced. */
static int note_file(struct port_shield *shield, const char *path, const char *before,
                     const char *ours)
{
    const char *fields[] = {"file", path, before, ours};
    return linux_shield_note(shield, 4, fields) == 0 ? 0 : EINVAL;
}

int linux_shield_change(const struct port_shield *shield, const char *path, const char *ours)
{
    char now[CPUS_TEXT_BYTES];
    int error = linux_shield_write(shield, path, ours);
    if (error == 0)
        error = linux_shield_read(shield, path, now, sizeof now);
    if (error == 0 && !linux_shield_same(now, ours))
        error = EAGAIN; /* accepted but not kept */
    return error;
}

int linux_shield_set(struct port_shield *shield, const char *path, const char *before,
                     const char *ours)
{
    int error = note_file(shield, path, before, ours);
    if (error == 0)
        error = linux_shield_sync(shield);
    return error ? error : linux_shield_change(shield, path, ours);
}

/* ---- restoring a file ---- */

static bool is_known_file(const struct port_shield *shield, const char *path)
{
    static const char *const patterns[] = {
        "/proc/irq/default_smp_affinity",
        "/proc/sys/kernel/watchdog_cpumask",
        "/proc/sys/kernel/timer_migration",
        "/sys/devices/virtual/workqueue/cpumask",
        "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (fnmatch(patterns[i], path, FNM_PATHNAME | FNM_PERIOD) == 0)
            return true;
    struct linux_groups groups;
    linux_groups_find(shield, &groups);
    return linux_groups_has_cpus_file(&groups, path);
}

bool linux_shield_is_value(const char *value)
{
    return value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_,-")] == '\0';
}

enum port_undo linux_shield_undo_file(struct port_shield *shield, const char *path,
                                      const char *before, const char *ours, char *text,
                                      size_t bytes)
{
    char now[CPUS_TEXT_BYTES];
    if (!is_known_file(shield, path) || !linux_shield_is_value(before) ||
        !linux_shield_is_value(ours)) {
        snprintf(text, bytes, "%.100s is not a file that a shield changes", path);
        return PORT_UNDO_REFUSED;
    }
    int error = linux_shield_read(shield, path, now, sizeof now);
    if (error == ENOENT || (error == 0 && linux_shield_same(now, before)))
        return PORT_UNDO_NOTHING;
    if (error == 0 && !linux_shield_same(now, ours)) {
        snprintf(text, bytes, "%s is %.60s now, not the %.60s that the shield set: left alone",
                 path, now, ours);
        return PORT_UNDO_FOREIGN;
    }
    if (error == 0)
        error = linux_shield_change(shield, path, before);
    if (error == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "%s could not be restored to %.60s: %s", path, before, strerror(error));
    return PORT_UNDO_FAILED;
}
