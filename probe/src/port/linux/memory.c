/* Available memory: the least of MemAvailable and what each control group of this process leaves.
 * A group's page cache is reclaimable and counts as available, as in MemAvailable; tmpfs files do
 * not. */
#include "port/port.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_BYTES = 512, LINE_BYTES = 1024 };

struct available {
    int64_t bytes, of_bytes; /* -1: not known */
};

/* File names of one version of control groups. */
struct version {
    const char *mount, *limit, *usage, *cache[2];
};

static const struct version first = {"/sys/fs/cgroup/memory",
                                     "memory.limit_in_bytes",
                                     "memory.usage_in_bytes",
                                     {"total_inactive_file ", "total_active_file "}};
static const struct version second[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {"/sys/fs/cgroup/unified", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
};

static void take(struct available *least, int64_t bytes, int64_t of_bytes)
{
    if (least->bytes < 0 || bytes < least->bytes)
        *least = (struct available){bytes > 0 ? bytes : 0, of_bytes};
}

static void take_machine(struct available *least)
{
    FILE *file = linux_open("/proc/meminfo");
    char line[128];
    long long available_kib = -1, total_kib = -1;
    while (file && available_kib < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, "MemTotal:", 9) == 0)
            total_kib = strtoll(line + 9, NULL, 10);
        if (strncmp(line, "MemAvailable:", 13) == 0)
            available_kib = strtoll(line + 13, NULL, 10);
    }
    if (file)
        fclose(file);
    if (available_kib >= 0)
        take(least, (int64_t)available_kib * 1024, total_kib < 0 ? -1 : (int64_t)total_kib * 1024);
}

static int64_t cache_bytes(const struct version *version, const char *group)
{
    char path[LINUX_PLACE_BYTES], line[128];
    int64_t bytes = 0;
    snprintf(path, sizeof path, "%s/memory.stat", group);
    FILE *file = linux_open(path);
    while (file && fgets(line, sizeof line, file))
        for (int i = 0; i < 2; i++)
            if (strncmp(line, version->cache[i], strlen(version->cache[i])) == 0)
                bytes += strtoll(line + strlen(version->cache[i]), NULL, 10);
    if (file)
        fclose(file);
    return bytes;
}

/* Reading memory.stat is slow: do it only if the group may be the least. */
static void take_group(struct available *least, const struct version *version, const char *group)
{
    char path[LINUX_PLACE_BYTES];
    int64_t limit, usage;
    snprintf(path, sizeof path, "%s/%s", group, version->limit);
    if (!linux_read_number(path, &limit)) /* none, or "max" */
        return;
    snprintf(path, sizeof path, "%s/%s", group, version->usage);
    if (!linux_read_number(path, &usage) || (least->bytes >= 0 && limit - usage >= least->bytes))
        return;
    take(least, limit - usage + cache_bytes(version, group), limit);
}

/* The group and all its ancestors: each has its own limit. In a container those above the mount
 * are not visible; the mount itself is the highest that is. */
static void take_groups(struct available *least, const struct version *version, const char *own)
{
    char group[GROUP_BYTES + 64];
    size_t mount = strlen(version->mount);
    snprintf(group, sizeof group, "%s%s", version->mount, strcmp(own, "/") == 0 ? "" : own);
    for (char *last = group; last; last = strrchr(group + mount, '/')) {
        if (last != group)
            *last = '\0';
        take_group(least, version, group);
    }
}

/* A line "ID:CONTROLLERS:PATH" of /proc/self/cgroup; no controllers: version 2. */
static void take_line(struct available *least, char *line)
{
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : NULL;
    char list[256];
    if (!own)
        return;
    *own++ = '\0';
    own[strcspn(own, "\n")] = '\0';
    if (strlen(own) >= GROUP_BYTES)
        return;
    snprintf(list, sizeof list, ",%s,", controllers + 1);
    if (strstr(list, ",memory,"))
        take_groups(least, &first, own);
    for (size_t i = 0; controllers[1] == '\0' && i < sizeof second / sizeof second[0]; i++)
        take_groups(least, &second[i], own);
}

int64_t port_available_bytes(int64_t *of_bytes)
{
    struct available least = {-1, -1};
    char line[LINE_BYTES];
    take_machine(&least);
    FILE *file = linux_open("/proc/self/cgroup");
    while (file && fgets(line, sizeof line, file))
        take_line(&least, line);
    if (file)
        fclose(file);
    if (of_bytes)
        *of_bytes = least.of_bytes;
    return least.bytes;
}
