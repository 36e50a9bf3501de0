/* Cpusets of control groups, version 1.
 *
 * The root group has all CPUs and cannot be narrowed: the shield moves its threads to a group of
 * its own, and undo moves them back with all threads that they created. Every other group that has
 * a reserved CPU loses it; its threads stay in it. A group with only reserved CPUs gets the
 * others. The group of the reserved CPUs becomes exclusive, so that the kernel refuses them to new
 * groups. */
#include "port/linux/shield.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, MOST_PASSES = 16, MOST_REFUSED = 64 };

static const char setting[] = "cpuset";

struct walk {
    struct port_shield *shield;
    const struct linux_groups *groups;
    bool is_widening;
    int error;
};

/* Sets the CPUs of a group, unless it has them already. */
static void set_cpus(struct walk *walk, const char *group, const struct cpus *ours)
{
    char path[LINUX_PATH_BYTES], before[CPUS_TEXT_BYTES], after[CPUS_TEXT_BYTES];
    struct cpus now;
    if (!linux_groups_join(path, group, "cpuset.cpus") ||
        linux_shield_read(walk->shield, path, before, sizeof before) != 0 ||
        cpus_parse_list(before, &now) != 0 || cpus_same(&now, ours))
        return;
    cpus_format_list(ours, after, sizeof after);
    int error = linux_shield_set(walk->shield, path, before, after);
    if (error == EACCES || error == EPERM || error == EROFS)
        walk->error = error;
    else if (error)
        shield_note(walk->shield->notes, setting, group + strlen(walk->groups->mount),
                    "groups whose CPUs could not be changed: %s", strerror(error));
}

static bool get_cpus(const struct walk *walk, const char *group, struct cpus *cpus)
{
    char path[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    return linux_groups_join(path, group, "cpuset.cpus") &&
           linux_shield_read(walk->shield, path, text, sizeof text) == 0 &&
           cpus_parse_list(text, cpus) == 0;
}

/* Changes all descendants of `group`; one with only reserved CPUs gets `instead`. Two passes, so
 * that no group ever has a CPU that its parent lacks: widening goes top down, narrowing bottom
 * up. */
static void narrow_below(struct walk *walk, const char *group, const struct cpus *instead,
                         int depth)
{
    char full[LINUX_PATH_BYTES], child[LINUX_PATH_BYTES];
    linux_shield_path(walk->shield, group, full);
    DIR *folder = depth < MOST_DEPTH ? opendir(full) : NULL;
    struct dirent *entry;
    while (folder && walk->error == 0 && (entry = readdir(folder)) != NULL) {
        struct cpus now;
        if (entry->d_name[0] == '.' || !linux_groups_join(child, group, entry->d_name) ||
            !linux_groups_is_group(walk->shield, child) ||
            linux_groups_is_ours(walk->groups, child) || !get_cpus(walk, child, &now))
            continue;
        bool has_reserved = cpus_overlap(&now, &walk->shield->reserved);
        struct cpus left = cpus_without(&now, &walk->shield->reserved);
        struct cpus wide = cpus_union(&now, instead);
        bool is_all_reserved = has_reserved && cpus_first(&left) < 0;
        if (walk->is_widening && is_all_reserved)
            set_cpus(walk, child, &wide);
        narrow_below(walk, child, is_all_reserved ? instead : &left, depth + 1);
        if (!walk->is_widening && has_reserved)
            set_cpus(walk, child, &left);
    }
    if (folder)
        closedir(folder);
}

static int copy_value(struct port_shield *shield, const char *from, const char *to,
                      const char *name)
{
    char source[LINUX_PATH_BYTES], target[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    if (!linux_groups_join(source, from, name) || !linux_groups_join(target, to, name))
        return ENAMETOOLONG;
    int error = linux_shield_read(shield, source, text, sizeof text);
    return error ? error : linux_shield_write(shield, target, text);
}

static int make(struct port_shield *shield, const struct linux_groups *groups, const char *name,
                const char *origin, const struct cpus *cpus)
{
    char path[LINUX_PATH_BYTES], file[LINUX_PATH_BYTES], list[CPUS_TEXT_BYTES];
    if (!linux_groups_join(path, groups->mount, name) ||
        !linux_groups_join(file, path, "cpuset.cpus"))
        return ENAMETOOLONG;
    int error = linux_groups_make(shield, path, origin);
    if (error)
        return error;
    cpus_format_list(cpus, list, sizeof list);
    error = copy_value(shield, groups->mount, path, "cpuset.mems");
    return error ? error : linux_shield_change(shield, file, list);
}

/* ---- the threads of the root ---- */

struct refused {
    int count;
    pid_t id[MOST_REFUSED];
};

static bool was_refused(const struct refused *refused, pid_t id)
{
    for (int i = 0; i < refused->count; i++)
        if (refused->id[i] == id)
            return true;
    return false;
}

static void refuse(struct port_shield *shield, struct refused *refused,
                   const struct linux_task *task, int error)
{
    if (refused->count < MOST_REFUSED)
        refused->id[refused->count++] = task->id;
    shield_note(shield->notes, setting, task->name, "threads that could not change their group: %s",
                strerror(error));
}

static int move_once(struct port_shield *shield, const char *from, const char *to,
                     struct refused *refused)
{
    char full[LINUX_PATH_BYTES], line[32];
    int moved = 0;
    linux_shield_path(shield, from, full);
    FILE *file = fopen(full, "re");
    while (file && fgets(line, sizeof line, file)) {
        struct linux_task task;
        pid_t id = (pid_t)strtol(line, NULL, 10);
        if (was_refused(refused, id) || !linux_task_read(shield, id, &task) ||
            linux_task_is_kernel(&task))
            continue;
        snprintf(line, sizeof line, "%ld", (long)id);
        int error = linux_shield_write(shield, to, line);
        moved += error == 0 ? 1 : 0;
        if (error != 0 && error != ESRCH)
            refuse(shield, refused, &task, error);
    }
    if (file)
        fclose(file);
    return moved;
}

/* Repeat until no thread moves: new ones are created meanwhile. */
static int move_root(struct port_shield *shield, const struct linux_groups *groups)
{
    char from[LINUX_PATH_BYTES], to[LINUX_PATH_BYTES];
    struct refused refused = {0};
    int moved = 0, moved_now = 1;
    linux_groups_join(from, groups->mount, "tasks");
    if (!linux_groups_join(to, groups->mount, LINUX_GROUP_OTHERS "/tasks"))
        return 0;
    for (int i = 0; i < MOST_PASSES && moved_now > 0; i++) {
        moved_now = move_once(shield, from, to, &refused);
        moved += moved_now;
    }
    return moved;
}

int linux_groups_narrow(struct port_shield *shield, const struct linux_groups *groups,
                        const struct cpus *instead)
{
    struct walk walk = {shield, groups, true, 0};
    narrow_below(&walk, groups->mount, instead, 0);
    walk.is_widening = false;
    if (walk.error == 0)
        narrow_below(&walk, groups->mount, instead, 0);
    return walk.error;
}

void linux_shield_v1_exclusive(struct port_shield *shield, const struct linux_groups *groups)
{
    char path[LINUX_PATH_BYTES];
    if (!linux_groups_join(path, groups->mount, LINUX_GROUP_RESERVED "/" LINUX_EXCLUSIVE))
        return;
    int error = linux_shield_change(shield, path, "1");
    if (error)
        shield_note(shield->notes, setting, NULL,
                    "new groups of others may take the CPU (cpu_exclusive: %s)", strerror(error));
}

int linux_shield_v1(struct port_shield *shield, const struct linux_groups *groups, int *moved,
                    char *reason, size_t reason_bytes)
{
    char holder[LINUX_PATH_BYTES];
    struct cpus held = linux_groups_held(shield, groups, &shield->reserved, holder);
    struct cpus rest = cpus_without(&shield->others, &held);
    if (holder[0]) {
        snprintf(reason, reason_bytes, "%.150s has the CPU to itself (cpu_exclusive)", holder);
        return PORT_SHIELD_HELD;
    }
    if (cpus_first(&rest) < 0) {
        linux_groups_held(shield, groups, &shield->others, holder);
        snprintf(reason, reason_bytes,
                 "%.120s has the only CPUs left for other tasks to itself (cpu_exclusive)", holder);
        return PORT_SHIELD_HELD;
    }
    int error = linux_groups_narrow(shield, groups, &rest);
    if (error == 0)
        error = make(shield, groups, LINUX_GROUP_RESERVED, groups->origin, &shield->reserved);
    if (error == 0)
        linux_shield_v1_exclusive(shield, groups);
    if (error == 0)
        error = make(shield, groups, LINUX_GROUP_OTHERS, groups->mount, &rest);
    if (error == 0)
        *moved += move_root(shield, groups);
    return error;
}
