/* Control groups: finds the hierarchy of cpusets, who uses CPUs exclusively, and makes and undoes
 * the shield's own groups. */
#include "port/linux/shield.h"

#include "port/linux/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

struct cpus linux_groups_held(const struct port_shield *shield, const struct linux_groups *groups,
                              const struct cpus *wanted, char name[LINUX_PATH_BYTES])
{
    struct holders holders = {.shield = shield, .groups = groups, .wanted = wanted, .name = name};
    name[0] = '\0';
    linux_groups_each_inside(shield, groups->mount, look_for_holders, &holders);
    return holders.held;
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

int linux_groups_make(struct port_shield *shield, const char *path, const char *origin)
{
    char full[LINUX_PATH_BYTES];
    const char *fields[] = {"group", path, origin};
    if (journal_note(shield->journal, 3, fields) != 0 || !linux_shield_path(shield, path, full))
        return EINVAL;
    int error = journal_sync(shield->journal);
    if (error)
        return error;
    if (linux_shield_exists(shield, path)) { /* left by a shield that could not be undone */
        char above[LINUX_PATH_BYTES];
        snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
        linux_groups_end_partition(shield, path);
        error = linux_groups_leave(shield, path, above, 0);
    }
    if (error)
        return error;
    return mkdir(full, 0755) == 0 ? 0 : errno;
}

enum port_undo linux_shield_undo_group(struct port_shield *shield,
                                       const struct journal_image *image,
                                       const struct journal_record *record, char *text,
                                       size_t bytes)
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
    linux_groups_end_partition(shield, record->field[1]);
    int error = linux_groups_leave(shield, record->field[1], origin, image->head.owner_start);
    if (error) {
        bool is_wide = linux_groups_let_go(shield, &groups, record->field[1]);
        snprintf(text, bytes, "group %s could not be emptied and removed: %s%s", record->field[1],
                 strerror(error),
                 is_wide ? "; it has all CPUs now" : "; its CPUs could not be changed either");
        return PORT_UNDO_FAILED;
    }
    if (strcmp(origin, record->field[2]) == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "group %.100s has gone: its threads are in %.100s now", record->field[2],
             origin);
    return PORT_UNDO_FOREIGN;
}
