/* Restores a file that a shield has changed. */
#include "port/linux/shield.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

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
