/* Throttling of the control group of this process, and of the groups that it is in. */
#include "base/posix_source.h"

#include "port/port.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_BYTES = 600 };

/* Version 2: the line "0::/path" of /proc/self/cgroup. */
static bool unified_group(char *group, size_t bytes)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    FILE *file = linux_open("/proc/self/cgroup");
    char line[GROUP_BYTES], path[2 * GROUP_BYTES] = "";
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file))
        is_found = strncmp(line, "0::", 3) == 0;
    if (file)
        fclose(file);
    line[is_found ? strcspn(line, "\n") : 0] = '\0';
    for (size_t i = 0; is_found && i < sizeof mounts / sizeof mounts[0]; i++) {
        snprintf(path, sizeof path, "%s%s/cpu.stat", mounts[i],
                 strcmp(line + 3, "/") == 0 ? "" : line + 3);
        if (!linux_exists(path))
            continue;
        int length =
            snprintf(group, bytes, "%.*s", (int)(strlen(path) - strlen("/cpu.stat")), path);
        return length >= 0 && (size_t)length < bytes;
    }
    return false;
}

bool port_throttling_group(char *group, size_t bytes)
{
    return linux_cpu_group(group, bytes) || unified_group(group, bytes);
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
    char path[GROUP_BYTES + 16];
    *count = *ns = -1;
    for (size_t length = strlen(group); length > 0 && length < GROUP_BYTES;) {
        snprintf(path, sizeof path, "%.*s/cpu.stat", (int)length, group);
        if (!add_group(path, count, ns))
            break;
        while (length > 0 && group[--length] != '/')
            ;
    }
    return *count >= 0 && *ns >= 0;
}
