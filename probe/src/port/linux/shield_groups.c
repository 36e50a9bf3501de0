/* Control groups: finds the hierarchy of cpusets, who uses CPUs exclusively, and makes and undoes
 * the shield's own groups. */
#include "base/posix_source.h"

#include "port/linux/cpus.h"
#include "port/linux/files.h"
#include "port/linux/shield.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, MOST_DEPTH = 32 };

/* Whether a list such as "rw,relatime,cpuset" contains `word`. */
static bool has_word(const char *list, const char *word, const char *between)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, between)) {
        size_t this_length = strcspn(at, between);
        if (this_length == length && strncmp(at, word, length) == 0)
            return true;
        at += this_length;
    }
    return false;
}

static bool has_controller(const struct port_shield *shield, const char *mount)
{
    char path[LINUX_PATH_BYTES], text[LINE_BYTES];
    return linux_groups_join(path, mount, "cgroup.controllers") &&
           linux_shield_read(shield, path, text, sizeof text) == 0 && has_word(text, "cpuset", " ");
}

static void take_mount(const struct port_shield *shield, char *line, struct linux_groups *groups)
{
    struct linux_mount mount;
    if (!linux_mount_read(line, &mount) || strlen(mount.place) >= sizeof groups->mount)
        return;
    if (strchr(mount.place, '\\')) /* escaped white space: no usual mount point */
        return;
    if (strcmp(mount.kind, "cgroup") == 0 && has_word(mount.options, "cpuset", ","))
        groups->kind = LINUX_GROUPS_V1;
    else if (strcmp(mount.kind, "cgroup2") == 0 && has_controller(shield, mount.place))
        groups->kind = LINUX_GROUPS_V2;
    else
        return;
    snprintf(groups->mount, sizeof groups->mount, "%s", mount.place);
}

/* Path of this process's group, from a line "4:cpuset:/path" (version 1) or "0::/path". */
static void take_origin(char *line, struct linux_groups *groups)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    controllers++;
    bool is_it = groups->kind == LINUX_GROUPS_V1 ? has_word(controllers, "cpuset", ",")
                                                 : strcmp(line, "0:") == 0;
    if (is_it)
        snprintf(groups->origin, sizeof groups->origin, "%s%s", groups->mount,
                 strcmp(path, "/") == 0 ? "" : path);
}

static void each_line(const struct port_shield *shield, const char *path,
                      struct linux_groups *groups, bool is_mounts)
{
    char full[LINUX_PATH_BYTES], line[LINE_BYTES];
    linux_shield_path(shield, path, full);
    FILE *file = fopen(full, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (!is_mounts)
            take_origin(line, groups);
        else if (groups->kind == LINUX_GROUPS_NONE)
            take_mount(shield, line, groups);
    }
    if (file)
        fclose(file);
}

void linux_groups_find(const struct port_shield *shield, struct linux_groups *groups)
{
    memset(groups, 0, sizeof *groups);
    each_line(shield, "/proc/self/mounts", groups, true);
    if (groups->kind == LINUX_GROUPS_NONE)
        return;
    each_line(shield, "/proc/self/cgroup", groups, false);
    /* in some containers the path is not visible in this mount */
    if (groups->origin[0] == '\0' || !linux_shield_exists(shield, groups->origin))
        groups->kind = LINUX_GROUPS_NONE;
}

/* ---- paths that a journal may name ---- */

static bool is_inside(const char *mount, const char *path)
{
    size_t length = strlen(mount);
    if (length == 0 || strncmp(path, mount, length) != 0 ||
        (path[length] != '/' && path[length] != '\0'))
        return false;
    return strstr(path, "/../") == NULL && strstr(path, "//") == NULL &&
           (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

bool linux_groups_has_cpus_file(const struct linux_groups *groups, const char *path)
{
    const char *name = strrchr(path, '/');
    return groups->kind != LINUX_GROUPS_NONE && is_inside(groups->mount, path) &&
           strcmp(name, "/cpuset.cpus") == 0 && (size_t)(name - path) > strlen(groups->mount);
}

bool linux_groups_is_ours(const struct linux_groups *groups, const char *path)
{
    char reserved[LINUX_PATH_BYTES], others[LINUX_PATH_BYTES];
    return groups->kind != LINUX_GROUPS_NONE &&
           linux_groups_join(reserved, groups->mount, LINUX_GROUP_RESERVED) &&
           linux_groups_join(others, groups->mount, LINUX_GROUP_OTHERS) &&
           (strcmp(path, reserved) == 0 || strcmp(path, others) == 0);
}

/* ---- CPUs that others use exclusively ---- */

static bool is_apart(const struct port_shield *shield, const char *group)
{
    char path[LINUX_PATH_BYTES], text[256];
    if (linux_groups_join(path, group, LINUX_EXCLUSIVE) &&
        linux_shield_read(shield, path, text, sizeof text) == 0)
        return strcmp(text, "1") == 0;
    return linux_groups_join(path, group, LINUX_PARTITION) &&
           linux_shield_read(shield, path, text, sizeof text) == 0 &&
           (strcmp(text, "root") == 0 || strcmp(text, "isolated") == 0);
}

struct holders {
    const struct port_shield *shield;
    const struct linux_groups *groups;
    const struct cpus *wanted;
    struct cpus held;
    char *name;
    int depth;
};

/* Visits descendants too: in version 2 a partition may be below a group that is not one. */
static void look_for_holders(const char *group, void *context)
{
    struct holders *holders = context;
    char path[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    struct cpus cpus;
    if (linux_groups_is_ours(holders->groups, group))
        return;
    if (is_apart(holders->shield, group) && linux_groups_join(path, group, "cpuset.cpus") &&
        linux_shield_read(holders->shield, path, text, sizeof text) == 0 &&
        cpus_parse_list(text, &cpus) == 0) {
        holders->held = cpus_union(&holders->held, &cpus);
        if (cpus_overlap(&cpus, holders->wanted) && !holders->name[0])
            snprintf(holders->name, LINUX_PATH_BYTES, "%s", group);
    }
    if (holders->depth++ < MOST_DEPTH)
        linux_groups_each_inside(holders->shield, group, look_for_holders, holders);
    holders->depth--;
}

/* The CPUs that other people's groups use exclusively (cpu_exclusive, partitions). `name`: the
 * first such group that has a CPU of `wanted`, else empty. */
static struct cpus held_by_others(const struct port_shield *shield,
                                  const struct linux_groups *groups, const struct cpus *wanted,
                                  char name[LINUX_PATH_BYTES])
{
    struct holders holders = {.shield = shield, .groups = groups, .wanted = wanted, .name = name};
    name[0] = '\0';
    linux_groups_each_inside(shield, groups->mount, look_for_holders, &holders);
    return holders.held;
}

/* ---- leaving a group ----
 *
 * Removes control groups that a shield has made: moves their members back, removes their
 * descendants too, and gives all CPUs to a group that cannot be removed. */

enum {
    QUICK_TRIES = 10,
    MOST_TRIES = 170,
    FIRST_WAIT_NS = 2000000,
    LONGEST_WAIT_NS = 64000000,
    FORK_WAIT_NS = 10000000, /* copying the pages of a large process takes milliseconds */
    MOST_FORKED = 64
};

/* Whether `path` is a folder, not a symbolic link. */
static bool is_group(const struct port_shield *shield, const char *path)
{
    char full[LINUX_PATH_BYTES];
    struct stat facts;
    return linux_shield_path(shield, path, full) && lstat(full, &facts) == 0 &&
           S_ISDIR(facts.st_mode);
}

void linux_groups_each_inside(const struct port_shield *shield, const char *group,
                              void (*visit)(const char *inside, void *context), void *context)
{
    char full[LINUX_PATH_BYTES], inside[LINUX_PATH_BYTES];
    DIR *folder = linux_shield_path(shield, group, full) ? opendir(full) : NULL;
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && linux_groups_join(inside, group, entry->d_name) &&
            is_group(shield, inside))
            visit(inside, context);
    if (folder)
        closedir(folder);
}

/* ---- moving members back ---- */

struct leaving {
    const struct port_shield *shield;
    const char *origin, *list; /* "tasks" or "cgroup.procs" */
    int depth, count, error;   /* members seen, and last errno value of a refused move */
};

static void send_home(struct leaving *leaving, const char *group)
{
    char from[LINUX_PATH_BYTES], to[LINUX_PATH_BYTES], full[LINUX_PATH_BYTES], id[32];
    if (!linux_groups_join(from, group, leaving->list) ||
        !linux_groups_join(to, leaving->origin, leaving->list) ||
        !linux_shield_path(leaving->shield, from, full))
        return;
    FILE *file = fopen(full, "re");
    while (file && fgets(id, sizeof id, file)) {
        id[strcspn(id, "\n")] = '\0';
        int failed = linux_shield_write(leaving->shield, to, id);
        if (failed != 0 && failed != ESRCH)
            leaving->error = failed;
        leaving->count++;
    }
    if (file)
        fclose(file);
}

/* Innermost groups first. Groups below MOST_DEPTH stay, and so do their ancestors. */
static void clear_inside(const char *group, void *context)
{
    struct leaving *leaving = context;
    char full[LINUX_PATH_BYTES];
    if (leaving->depth < MOST_DEPTH) {
        leaving->depth++;
        linux_groups_each_inside(leaving->shield, group, clear_inside, leaving);
        leaving->depth--;
    }
    send_home(leaving, group);
    if (leaving->depth > 0 && linux_shield_path(leaving->shield, group, full))
        rmdir(full);
}

/* ---- children whose fork the move interrupted ---- */

/* A fork copies the caller's affinity first and joins its group last. If the caller returned to the
 * root group in between, the child is there with the CPUs of ours, and the kernel leaves it so
 * (cpuset_fork). Moving the child into the group and out again makes the kernel compute its
 * affinity; one that the child has set itself stays. */
struct forked {
    uint64_t since;
    int count;
    pid_t id[MOST_FORKED];
};

static bool is_forked(const struct port_shield *shield, const struct forked *forked, pid_t id,
                      const struct cpus *cpus)
{
    struct linux_task task;
    struct cpus mask;
    for (int i = 0; i < forked->count; i++)
        if (forked->id[i] == id)
            return false;
    return linux_task_read(shield, id, &task) && !linux_task_is_kernel(&task) &&
           task.start >= forked->since && linux_affinity_get(id, &mask) == 0 &&
           cpus_same(&mask, cpus);
}

/* Moves them into `group`, each once; returns how many. */
static int take_in_forked(const struct port_shield *shield, const char *group, const char *origin,
                          struct forked *forked)
{
    char from[LINUX_PATH_BYTES], to[LINUX_PATH_BYTES], full[LINUX_PATH_BYTES];
    char list[CPUS_TEXT_BYTES], id[32];
    struct cpus cpus;
    int before = forked->count;
    if (!linux_groups_join(from, group, "cpuset.cpus") ||
        linux_shield_read(shield, from, list, sizeof list) != 0 ||
        cpus_parse_list(list, &cpus) != 0 || !linux_groups_join(from, origin, "tasks") ||
        !linux_groups_join(to, group, "tasks") || !linux_shield_path(shield, from, full))
        return 0;
    FILE *file = fopen(full, "re");
    while (file && forked->count < MOST_FORKED && fgets(id, sizeof id, file)) {
        pid_t number = (pid_t)strtol(id, NULL, 10);
        id[strcspn(id, "\n")] = '\0';
        if (is_forked(shield, forked, number, &cpus) && linux_shield_write(shield, to, id) == 0)
            forked->id[forked->count++] = number;
    }
    if (file)
        fclose(file);
    return forked->count - before;
}

/* ---- releasing CPUs ---- */

/* End the partition before removing its group: otherwise the kernel returns the CPUs some time
 * after the removal, and then overwrites affinities that have been restored meanwhile. */
/* Ends the exclusive use of CPUs by `group`. */
static void end_partition(const struct port_shield *shield, const char *group)
{
    char path[LINUX_PATH_BYTES];
    if (linux_groups_join(path, group, LINUX_PARTITION) && linux_shield_exists(shield, path))
        linux_shield_write(shield, path, "member");
    /* version 1: releases the CPUs even if the group cannot be removed */
    if (linux_groups_join(path, group, LINUX_EXCLUSIVE) && linux_shield_exists(shield, path))
        linux_shield_write(shield, path, "0");
}

struct widening {
    const struct port_shield *shield;
    const char *cpus;
    int depth;
    bool is_all; /* every group left has these CPUs */
};

/* Bottom up: a group cannot be exclusive unless its parent is. */
static void end_partitions(const char *group, void *context)
{
    struct widening *widening = context;
    if (widening->depth++ < MOST_DEPTH)
        linux_groups_each_inside(widening->shield, group, end_partitions, widening);
    widening->depth--;
    end_partition(widening->shield, group);
}

/* Top down: a group cannot have a CPU that its parent lacks. */
static void widen(const char *group, void *context)
{
    struct widening *widening = context;
    char path[LINUX_PATH_BYTES];
    if (!linux_groups_join(path, group, "cpuset.cpus") ||
        linux_shield_change(widening->shield, path, widening->cpus) != 0)
        widening->is_all = false;
    if (widening->depth++ < MOST_DEPTH)
        linux_groups_each_inside(widening->shield, group, widen, widening);
    widening->depth--;
}

/* For a group that cannot be removed: gives it and its descendants all CPUs back. False: the
 * kernel refuses that for one of them. */
static bool let_go(const struct port_shield *shield, const struct linux_groups *groups,
                   const char *group)
{
    char path[LINUX_PATH_BYTES], cpus[CPUS_TEXT_BYTES] = "";
    struct widening widening = {shield, cpus, 0, true};
    /* version 2: an empty list means the CPUs of the parent */
    if (groups->kind == LINUX_GROUPS_V1 &&
        (!linux_groups_join(path, groups->mount, "cpuset.cpus") ||
         linux_shield_read(shield, path, cpus, sizeof cpus) != 0))
        return false;
    if (linux_groups_join(path, groups->mount, LINUX_GROUP_RESERVED) &&
        linux_shield_exists(shield, path)) /* a sibling that may still hold the CPUs */
        end_partitions(path, &widening);
    end_partitions(group, &widening);
    widen(group, &widening);
    return widening.is_all;
}

/* Members may fork meanwhile, and an exiting one cannot be moved: retry for about 10 s, at
 * increasing intervals. */
/* Moves all members of `group` and its descendants to `origin`, and removes these groups. Retries
 * for up to 10 s; an errno value says what prevented it. Version 1: threads of `origin` that
 * started at `since` (clock ticks after boot) or later, and have kept the CPUs of `group` because
 * the move interrupted the fork that made them, get those of `origin`. */
static int leave(const struct port_shield *shield, const char *group, const char *origin,
                 uint64_t since)
{
    static const struct timespec fork_wait = {.tv_nsec = FORK_WAIT_NS};
    struct timespec wait = {.tv_nsec = FIRST_WAIT_NS};
    struct forked forked = {.since = since};
    char full[LINUX_PATH_BYTES], tasks[LINUX_PATH_BYTES];
    int error = 0;
    if (!linux_shield_path(shield, group, full) || !linux_groups_join(tasks, group, "tasks"))
        return ENAMETOOLONG;
    bool is_v1 = linux_shield_exists(shield, tasks);
    const char *list = is_v1 ? "tasks" : "cgroup.procs";
    for (int i = 0; i < MOST_TRIES; i++) {
        struct leaving leaving = {.shield = shield, .origin = origin, .list = list};
        clear_inside(group, &leaving);
        if (is_v1 && leaving.count > 0 && leaving.error == 0) {
            nanosleep(&fork_wait, NULL);
            if (take_in_forked(shield, group, origin, &forked) > 0)
                continue;
        }
        if (rmdir(full) == 0 || errno == ENOENT)
            return 0;
        error = leaving.error ? leaving.error : errno;
        if (leaving.count > 0 && i < QUICK_TRIES)
            continue;
        nanosleep(&wait, NULL);
        wait.tv_nsec = wait.tv_nsec < LONGEST_WAIT_NS ? wait.tv_nsec * 2 : LONGEST_WAIT_NS;
    }
    return error;
}

/* ---- making and undoing groups ---- */

/* The group that a journal names, or its nearest ancestor that still exists. */
static void nearest(const struct port_shield *shield, const char *mount, const char *origin,
                    char found[LINUX_PATH_BYTES])
{
    snprintf(found, LINUX_PATH_BYTES, "%s", origin);
    while (strlen(found) > strlen(mount) && !linux_shield_exists(shield, found))
        *strrchr(found, '/') = '\0';
}

/* Journals and creates a group, after removing one of that name that an earlier shield has left.
 * Undo moves its members to `origin`. */
static int make_group(struct port_shield *shield, const char *path, const char *origin)
{
    char full[LINUX_PATH_BYTES];
    const char *fields[] = {"group", path, origin};
    if (linux_shield_note(shield, 3, fields) != 0 || !linux_shield_path(shield, path, full))
        return EINVAL;
    int error = linux_shield_sync(shield);
    if (error)
        return error;
    if (linux_shield_exists(shield, path)) { /* left by a shield that could not be undone */
        char above[LINUX_PATH_BYTES];
        snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
        end_partition(shield, path);
        error = leave(shield, path, above, 0);
    }
    if (error)
        return error;
    return mkdir(full, 0755) == 0 ? 0 : errno;
}

enum port_undo linux_shield_undo_group(struct port_shield *shield,
                                       const struct port_changes *changes,
                                       const struct port_change *record, char *text, size_t bytes)
{
    struct linux_groups groups;
    char origin[LINUX_PATH_BYTES];
    linux_groups_find(shield, &groups);
    if (groups.kind == LINUX_GROUPS_NONE) {
        snprintf(text, bytes, "the control groups of this process cannot be found");
        return PORT_UNDO_FAILED;
    }
    if (record->count != 3 || !linux_groups_is_ours(&groups, record->field[1]) ||
        strlen(record->field[2]) >= sizeof origin || !is_inside(groups.mount, record->field[2])) {
        snprintf(text, bytes, "a line about a control group is damaged");
        return PORT_UNDO_REFUSED;
    }
    if (!linux_shield_exists(shield, record->field[1]))
        return PORT_UNDO_NOTHING;
    nearest(shield, groups.mount, record->field[2], origin);
    end_partition(shield, record->field[1]);
    int error = leave(shield, record->field[1], origin, changes->owner_start);
    if (error) {
        bool is_wide = let_go(shield, &groups, record->field[1]);
        snprintf(text, bytes, "group %s could not be emptied and removed: %s%s", record->field[1],
                 strerror(error),
                 is_wide ? "; it now has all CPUs" : "; its CPUs could not be changed either");
        return PORT_UNDO_FAILED;
    }
    if (strcmp(origin, record->field[2]) == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "group %.100s no longer exists: its threads are now in %.100s",
             record->field[2], origin);
    return PORT_UNDO_FOREIGN;
}

/* ---- version 1 ----
 *
 * Cpusets of control groups, version 1.
 *
 * The root group has all CPUs and cannot be narrowed: the shield moves its threads to a group of
 * its own, and undo moves them back with all threads that they created. Every other group that has
 * a reserved CPU loses it; its threads stay in it. A group with only reserved CPUs gets the
 * others. The group of the reserved CPUs becomes exclusive, so that the kernel refuses them to new
 * groups. */

enum { NARROW_DEPTH = 16, MOST_PASSES = 16, MOST_REFUSED = 64 };

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
        linux_shield_refused(walk->shield, setting, group + strlen(walk->groups->mount),
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
    DIR *folder = depth < NARROW_DEPTH ? opendir(full) : NULL;
    struct dirent *entry;
    while (folder && walk->error == 0 && (entry = readdir(folder)) != NULL) {
        struct cpus now;
        if (entry->d_name[0] == '.' || !linux_groups_join(child, group, entry->d_name) ||
            !is_group(walk->shield, child) || linux_groups_is_ours(walk->groups, child) ||
            !get_cpus(walk, child, &now))
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
    int error = make_group(shield, path, origin);
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
    linux_shield_refused(shield, setting, task->name,
                         "threads that could not change their group: %s", strerror(error));
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

/* Makes the reserved group cpu_exclusive, so that the kernel refuses its CPUs to new groups; notes
 * a failure. Needs no journal line: the setting ends with the group. */
static void make_exclusive(struct port_shield *shield, const struct linux_groups *groups)
{
    char path[LINUX_PATH_BYTES];
    if (!linux_groups_join(path, groups->mount, LINUX_GROUP_RESERVED "/" LINUX_EXCLUSIVE))
        return;
    int error = linux_shield_change(shield, path, "1");
    if (error)
        linux_shield_refused(shield, setting, NULL,
                             "new groups of others may take the CPU (cpu_exclusive: %s)",
                             strerror(error));
}

int linux_shield_v1(struct port_shield *shield, const struct linux_groups *groups, int *moved,
                    char *reason, size_t reason_bytes)
{
    char holder[LINUX_PATH_BYTES];
    struct cpus held = held_by_others(shield, groups, &shield->reserved, holder);
    struct cpus rest = cpus_without(&shield->others, &held);
    if (holder[0]) {
        snprintf(reason, reason_bytes, "%.150s has the CPU to itself (cpu_exclusive)", holder);
        return PORT_SHIELD_HELD;
    }
    if (cpus_first(&rest) < 0) {
        held_by_others(shield, groups, &shield->others, holder);
        snprintf(reason, reason_bytes,
                 "%.120s has the only CPUs left for other tasks to itself (cpu_exclusive)", holder);
        return PORT_SHIELD_HELD;
    }
    int error = linux_groups_narrow(shield, groups, &rest);
    if (error == 0)
        error = make(shield, groups, LINUX_GROUP_RESERVED, groups->origin, &shield->reserved);
    if (error == 0)
        make_exclusive(shield, groups);
    if (error == 0)
        error = make(shield, groups, LINUX_GROUP_OTHERS, groups->mount, &rest);
    if (error == 0)
        *moved += move_root(shield, groups);
    return error;
}

/* ---- version 2 ----
 *
 * Cpusets of control groups, version 2: one partition takes the reserved CPUs from all other groups
 * at once, and ending it returns them. Only threads that run on the reserved CPUs change their
 * group. */

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
    linux_shield_note(shield, 2, fields);
    error = linux_shield_sync(shield);
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
    held_by_others(shield, groups, &shield->reserved, holder);
    if (holder[0]) {
        snprintf(reason, reason_bytes, "%.150s has the CPU to itself (cpuset.cpus.partition)",
                 holder);
        return PORT_SHIELD_HELD;
    }
    int error = enable(shield, groups);
    if (error == 0) /* a sibling that lists these CPUs would invalidate the partition */
        error = linux_groups_narrow(shield, groups, &shield->others);
    if (error == 0)
        error = make_group(shield, path, groups->origin);
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
                                         const struct port_change *record, char *text, size_t bytes)
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
