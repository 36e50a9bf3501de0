/* Cpusets of control groups, version 2: one partition takes the reserved CPUs from all other groups
 * at once, and ending it returns them. Only threads that run on the reserved CPUs change their
 * group. */
#include "port/linux/shield.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Enables the cpuset controller below the root, unless it is enabled. */
static int enable(struct port_shield *shield, const struct linux_groups *groups)
{
    char path[LINUX_PATH_BYTES], text[512];
    if (!linux_groups_join(path, groups->mount, "cgroup.subtree_control"))
        return ENAMETOOLONG;
    int error = linux_shield_read(shield, path, text, sizeof text);
    if (error || strstr(text, "cpuset"))
        return error;
    const char *fields[] = {"control", path};
    journal_note(shield->journal, 2, fields);
    error = journal_sync(shield->journal);
    return error ? error : linux_shield_write(shield, path, "+cpuset");
}

static int set_up(struct port_shield *shield, const char *group)
{
    char path[LINUX_PATH_BYTES], list[CPUS_TEXT_BYTES];
    cpus_format_list(&shield->reserved, list, sizeof list);
    linux_groups_join(path, group, "cpuset.cpus");
    int error = linux_shield_change(shield, path, list);
    linux_groups_join(path, group, "cpuset.cpus.exclusive"); /* since Linux 6.7 */
    if (error == 0 && linux_shield_exists(shield, path))
        error = linux_shield_change(shield, path, list);
    return error;
}

static int ask_for(struct port_shield *shield, const char *group, const char *kind, char *reason,
                   size_t reason_bytes)
{
    char path[LINUX_PATH_BYTES], state[256];
    linux_groups_join(path, group, LINUX_PARTITION);
    int error = linux_shield_write(shield, path, kind);
    if (error == 0)
        error = linux_shield_read(shield, path, state, sizeof state);
    if (error == 0 && strcmp(state, kind) == 0)
        return 0;
    snprintf(reason, reason_bytes, "the kernel says '%.120s'", error ? strerror(error) : state);
    return ENOTSUP;
}

/* A "root" partition is tried first: it balances threads over the reserved CPUs. CPUs in isolcpus=
 * can only be in an "isolated" one. */
static int take_cpus(struct port_shield *shield, const char *group, char *reason,
                     size_t reason_bytes)
{
    char second[160];
    if (ask_for(shield, group, "root", reason, reason_bytes) == 0)
        return 0;
    return ask_for(shield, group, "isolated", second, sizeof second);
}

int linux_shield_v2(struct port_shield *shield, const struct linux_groups *groups, char *reason,
                    size_t reason_bytes)
{
    char path[LINUX_PATH_BYTES], full[LINUX_PATH_BYTES];
    if (!linux_groups_join(path, groups->mount, LINUX_GROUP_RESERVED) ||
        !linux_shield_path(shield, path, full))
        return ENAMETOOLONG;
    char holder[LINUX_PATH_BYTES];
    linux_groups_held(shield, groups, &shield->reserved, holder);
    if (holder[0]) {
        snprintf(reason, reason_bytes, "%.150s has the CPU to itself (cpuset.cpus.partition)",
                 holder);
        return PORT_SHIELD_HELD;
    }
    int error = enable(shield, groups);
    if (error == 0) /* a sibling that lists these CPUs would invalidate the partition */
        error = linux_groups_narrow(shield, groups, &shield->others);
    if (error == 0)
        error = linux_groups_make(shield, path, groups->origin);
    if (error == EACCES || error == EPERM || error == EROFS || error == EEXIST)
        return error;
    if (error == 0)
        error = set_up(shield, path);
    if (error)
        snprintf(reason, reason_bytes, "%s", strerror(error));
    else
        error = take_cpus(shield, path, reason, reason_bytes);
    if (error)
        rmdir(full); /* its journal line then has nothing to undo */
    return error ? ENOTSUP : 0;
}

/* Whether another group has set cpuset.cpus: disabling the controller would lose that. */
static bool is_used(const struct port_shield *shield, const struct linux_groups *groups)
{
    char full[LINUX_PATH_BYTES], group[LINUX_PATH_BYTES], file[LINUX_PATH_BYTES];
    char text[CPUS_TEXT_BYTES];
    linux_shield_path(shield, groups->mount, full);
    DIR *folder = opendir(full);
    struct dirent *entry;
    bool is_found = false;
    while (folder && !is_found && (entry = readdir(folder)) != NULL)
        is_found =
            entry->d_name[0] != '.' && linux_groups_join(group, groups->mount, entry->d_name) &&
            !linux_groups_is_ours(groups, group) && linux_groups_join(file, group, "cpuset.cpus") &&
            linux_shield_read(shield, file, text, sizeof text) == 0 && text[0];
    if (folder)
        closedir(folder);
    return is_found;
}

enum port_undo linux_shield_undo_control(struct port_shield *shield,
                                         const struct journal_record *record, char *text,
                                         size_t bytes)
{
    struct linux_groups groups;
    char path[LINUX_PATH_BYTES];
    linux_groups_find(shield, &groups);
    if (record->count != 2 || groups.kind != LINUX_GROUPS_V2 ||
        !linux_groups_join(path, groups.mount, "cgroup.subtree_control") ||
        strcmp(path, record->field[1]) != 0) {
        snprintf(text, bytes, "a line about control groups is damaged");
        return PORT_UNDO_REFUSED;
    }
    int error = is_used(shield, &groups) ? EBUSY : linux_shield_write(shield, path, "-cpuset");
    if (error == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "%s keeps the cpuset controller, which other groups use now: %s", path,
             strerror(error));
    return error == EBUSY ? PORT_UNDO_FOREIGN : PORT_UNDO_FAILED;
}
