#include "../posix_source.h"

#include "linux_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char linux_cpuinfo_path[] = "/proc/cpuinfo";

bool linux_read(const char *path, char *text, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < bytes && (got = read(file, text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    int error = got < 0 ? errno : 0;
    close(file);
    errno = error;
    while (used > 0 && (text[used - 1] == '\n' || text[used - 1] == ' '))
        used--;
    text[used] = '\0';
    return used > 0;
}

bool linux_read_number(const char *path, int64_t *number)
{
    char text[64], *end;
    if (!linux_read(path, text, sizeof text))
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && errno == 0;
}

bool linux_cpuinfo(const char *name, char *value, size_t bytes)
{
    FILE *file = fopen(linux_cpuinfo_path, "re");
    char line[8192];
    bool is_found = false;
    if (!file)
        return false;
    while (!is_found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        size_t length = strlen(name);
        if (!colon || strncmp(line, name, length) != 0 || strspn(line + length, "\t ") == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(value, bytes, "%s", colon + 1 + strspn(colon + 1, " "));
        is_found = true;
    }
    int error = ferror(file) ? errno : 0;
    fclose(file);
    errno = error;
    return is_found;
}

/* The path of this process in the hierarchy of the cpu controller (version 1). */
static bool cpu_group(char *path, size_t bytes)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group = '\0';
        char list[256];
        snprintf(list, sizeof list, ",%s,", controllers + 1);
        group[1 + strcspn(group + 1, "\n")] = '\0';
        is_found = strstr(list, ",cpu,") != NULL;
        if (is_found)
            snprintf(path, bytes, "%s", group + 1);
    }
    if (file)
        fclose(file);
    return is_found;
}

bool linux_group_budget_us(int64_t *budget_us)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    char group[512], path[1024];
    if (!cpu_group(group, sizeof group))
        return false;
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        snprintf(path, sizeof path, "%s%s/cpu.rt_runtime_us", mounts[i], group);
        if (linux_read_number(path, budget_us))
            return true;
    }
    return false;
}
