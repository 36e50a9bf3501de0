/* The control group of this process and those above it: how they limit CPU time, and how long they
 * throttled. */
#include "port/port.h"

#include "port/linux/facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, FILE_BYTES = PORT_CPU_GROUP_BYTES + 32 };

/* Folder of a group, `path`; that of the root group is its first `root_length` bytes. */
struct place {
    char path[PORT_CPU_GROUP_BYTES];
    size_t root_length;
};

/* ---- where it is ---- */

static const char groups_path[] = "/proc/self/cgroup";

/* Stores the path of a line of /proc/self/cgroup, "NUMBER:CONTROLLERS:PATH", of the first with
 * `controller`; "": that of version 2. False: there is none, or it lies outside of what this
 * process sees. */
static bool group_line(const char *controller, char *path, size_t bytes)
{
    FILE *file = linux_open(groups_path);
    char line[LINE_BYTES], list[LINE_BYTES], wanted[32];
    bool is_found = false;
    snprintf(wanted, sizeof wanted, ",%s,", controller);
    while (file && !is_found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || !strchr(group, '\n'))
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        snprintf(list, sizeof list, ",%s,", controllers + 1);
        is_found =
            strstr(list, wanted) != NULL && strstr(group, "/..") == NULL && strlen(group) < bytes;
        if (is_found)
            snprintf(path, bytes, "%s", strcmp(group, "/") == 0 ? "" : group);
    }
    if (file)
        fclose(file);
    return is_found;
}

/* Cuts the last part of the path; false: it is the root group. */
static bool go_up(struct place *place)
{
    size_t length = strlen(place->path);
    if (length <= place->root_length)
        return false;
    while (length > place->root_length && place->path[--length] != '/')
        ;
    place->path[length] = '\0';
    return true;
}

static bool has_file(const struct place *place, const char *name)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s%s", place->path, name);
    return linux_exists(path);
}

/* In a container without a name space of control groups the path is that on the host, and what is
 * mounted is the container's own group: then the nearest group that is seen. */
static bool find_below(const char *mount, const char *group, const char *file, struct place *place)
{
    int length = snprintf(place->path, sizeof place->path, "%s%s", mount, group);
    place->root_length = strlen(mount);
    if (length < 0 || (size_t)length >= sizeof place->path)
        return false;
    while (!has_file(place, file))
        if (!go_up(place))
            return false;
    return true;
}

/* The cpu controller's group of version 1. */
static bool find_first_version(struct place *place)
{
    char group[PORT_CPU_GROUP_BYTES];
    return group_line("cpu", group, sizeof group) &&
           (find_below("/sys/fs/cgroup/cpu", group, "", place) ||
            find_below("/sys/fs/cgroup/cpu,cpuacct", group, "", place));
}

static bool find_second_version(struct place *place)
{
    char group[PORT_CPU_GROUP_BYTES];
    return group_line("", group, sizeof group) &&
           (find_below("/sys/fs/cgroup", group, "/cpu.stat", place) ||
            find_below("/sys/fs/cgroup/unified", group, "/cpu.stat", place));
}

/* ---- limits ---- */

static bool group_number(const struct place *place, const char *name, int64_t *number)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", place->path, name);
    return linux_read_number(path, number);
}

static bool read_budget(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    return group_number(place, "cpu.rt_runtime_us", limit_us) &&
           group_number(place, "cpu.rt_period_us", period_us);
}

static bool read_quota(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    return group_number(place, "cpu.cfs_quota_us", limit_us) &&
           group_number(place, "cpu.cfs_period_us", period_us);
}

/* Version 2: "max 100000" or "20000 100000". */
static bool read_max(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    char path[FILE_BYTES], text[64], *end;
    snprintf(path, sizeof path, "%s/cpu.max", place->path);
    if (!linux_read(path, text, sizeof text))
        return false;
    if (strncmp(text, "max", 3) == 0)
        *limit_us = -1;
    else
        *limit_us = strtoll(text, NULL, 10);
    *period_us = strtoll(text + strcspn(text, " "), &end, 10);
    return *period_us > 0;
}

static double share_of(int64_t limit_us, int64_t period_us)
{
    return (double)limit_us / (double)period_us;
}

/* The tightest of the group at `place` and those above it; of groups with the same limit the
 * highest, which has to be raised first. */
static void find_tightest(struct place place,
                          bool (*read)(const struct place *, int64_t *, int64_t *),
                          struct linux_group_limit *limit)
{
    int64_t limit_us, period_us;
    *limit = (struct linux_group_limit){.limit_us = -1, .above_share = 1};
    do {
        if (!read(&place, &limit_us, &period_us) || limit_us < 0 || period_us <= 0)
            continue;
        double share = share_of(limit_us, period_us);
        bool is_tighter =
            limit->limit_us < 0 || share <= share_of(limit->limit_us, limit->period_us);
        if (is_tighter) {
            *limit = (struct linux_group_limit){
                .limit_us = limit_us, .period_us = period_us, .above_share = 1};
            memcpy(limit->group, place.path, sizeof place.path);
        } else if (share < limit->above_share)
            limit->above_share = share;
    } while (go_up(&place));
}

bool linux_group_budget(struct linux_group_limit *limit)
{
    struct place place;
    char group[PORT_CPU_GROUP_BYTES];
    *limit = (struct linux_group_limit){.limit_us = -1, .above_share = 1};
    if (find_first_version(&place)) {
        find_tightest(place, read_budget, limit);
        return true;
    }
    return linux_exists(groups_path) && !group_line("cpu", group, sizeof group);
}

bool linux_group_quota(struct linux_group_limit *limit)
{
    struct place place;
    bool is_first = find_first_version(&place);
    if (!is_first && !find_second_version(&place))
        return false;
    find_tightest(place, is_first ? read_quota : read_max, limit);
    limit->file = is_first ? "cpu.cfs_quota_us" : "cpu.max";
    return true;
}

/* ---- the budget in force ---- */

static bool system_budget(int64_t *runtime_us, int64_t *period_us)
{
    return linux_read_number("/proc/sys/kernel/sched_rt_runtime_us", runtime_us) &&
           linux_read_number("/proc/sys/kernel/sched_rt_period_us", period_us) && *period_us > 0;
}

/* Without a limit of the system the kernel holds no group to its own. In a group with a budget of 0
 * there is no real-time thread that could be held to it. */
bool port_realtime_budget(struct port_realtime_budget *budget)
{
    int64_t runtime_us, period_us;
    struct linux_group_limit of_group;
    memset(budget, 0, sizeof *budget);
    if (!system_budget(&runtime_us, &period_us) || runtime_us < 0)
        return false;
    double most = share_of(runtime_us, period_us);
    if (linux_group_budget(&of_group) && of_group.limit_us > 0 &&
        share_of(of_group.limit_us, of_group.period_us) < most) {
        most = of_group.above_share < most ? of_group.above_share : most;
        runtime_us = of_group.limit_us;
        period_us = of_group.period_us;
        memcpy(budget->group, of_group.group, sizeof budget->group);
    }
    budget->runtime_ns = runtime_us * 1000;
    budget->period_ns = period_us * 1000;
    budget->most_ns = (int64_t)(most * (double)period_us) * 1000;
    return true;
}

/* ---- throttling ---- */

bool port_throttling_group(char *group, size_t bytes)
{
    struct place place;
    if (!find_first_version(&place) && !find_second_version(&place))
        return false;
    int length = snprintf(group, bytes, "%s", place.path);
    return length >= 0 && (size_t)length < bytes;
}

/* Adds what the group at `path` has counted. False: there is no such group. */
static bool add_group(const char *path, int64_t *count, int64_t *ns)
{
    struct linux_lines lines;
    char line[128];
    if (!linux_lines_open(&lines, path))
        return false;
    while (linux_lines_next(&lines, line, sizeof line)) {
        int64_t number = strtoll(line + strcspn(line, " "), NULL, 10);
        if (strncmp(line, "nr_throttled ", 13) == 0)
            *count = (*count < 0 ? 0 : *count) + number;
        if (strncmp(line, "throttled_usec ", 15) == 0)
            *ns = (*ns < 0 ? 0 : *ns) + number * 1000;
        if (strncmp(line, "throttled_time ", 15) == 0)
            *ns = (*ns < 0 ? 0 : *ns) + number;
    }
    linux_lines_close(&lines);
    return true;
}

bool port_throttled(const char *group, int64_t *count, int64_t *ns)
{
    char path[FILE_BYTES];
    *count = *ns = -1;
    for (size_t length = strlen(group); length > 0 && length < PORT_CPU_GROUP_BYTES;) {
        snprintf(path, sizeof path, "%.*s/cpu.stat", (int)length, group);
        if (!add_group(path, count, ns))
            break;
        while (length > 0 && group[--length] != '/')
            ;
    }
    return *count >= 0 && *ns >= 0;
}
