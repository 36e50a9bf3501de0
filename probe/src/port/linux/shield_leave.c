/* Removes control groups that a shield has made: moves their members back, removes their
 * descendants too, and gives all CPUs to a group that cannot be removed. */
#include "port/linux/shield.h"

#include "port/linux/affinity.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_DEPTH = 32,
    QUICK_TRIES = 10,
    MOST_TRIES = 170,
    FIRST_WAIT_NS = 2000000,
    LONGEST_WAIT_NS = 64000000,
    FORK_WAIT_NS = 10000000, /* copying the pages of a large process takes milliseconds */
    MOST_FORKED = 64
};

bool linux_groups_is_group(const struct port_shield *shield, const char *path)
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
            linux_groups_is_group(shield, inside))
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
void linux_groups_end_partition(const struct port_shield *shield, const char *group)
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
    linux_groups_end_partition(widening->shield, group);
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

bool linux_groups_let_go(const struct port_shield *shield, const struct linux_groups *groups,
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
int linux_groups_leave(const struct port_shield *shield, const char *group, const char *origin,
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
