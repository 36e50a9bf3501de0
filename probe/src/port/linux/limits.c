/* Limits of a process: queued signals (RLIMIT_SIGPENDING: the limit is of the process that gets
 * them, the count of its user), and how many processes may still be made: the least that the limits
 * of the user, of each control group of this process, and of the kernel leave. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/limits.h"

#include "port/linux/files.h"
#include "port/port.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- queued signals ---- */

static int64_t to_count(rlim_t limit)
{
    return limit == RLIM_INFINITY || limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}

static rlim_t from_count(int64_t count)
{
    return count == INT64_MAX ? RLIM_INFINITY : (rlim_t)count;
}

/* "SigQ: USED/LIMIT" */
static int64_t used_count(void)
{
    char line[128];
    int64_t used = -1;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && used < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "SigQ:", 5) == 0)
            used = strtoll(line + 5, NULL, 10);
    if (status)
        fclose(status);
    return used;
}

void port_signal_queue(struct port_signal_queue *queue)
{
    struct rlimit limit;
    queue->limit = getrlimit(RLIMIT_SIGPENDING, &limit) == 0 ? to_count(limit.rlim_cur) : -1;
    queue->used = used_count();
}

int port_limit_signal_queue(int64_t limit, int64_t *soft_before, int64_t *hard_before)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_SIGPENDING, &now) != 0)
        return errno;
    *soft_before = to_count(now.rlim_cur);
    *hard_before = to_count(now.rlim_max);
    now.rlim_cur = from_count(limit);
    if (now.rlim_cur > now.rlim_max)
        now.rlim_max = now.rlim_cur;
    return setrlimit(RLIMIT_SIGPENDING, &now) == 0 ? 0 : errno;
}

void port_restore_signal_queue(int64_t soft, int64_t hard)
{
    struct rlimit limit = {.rlim_cur = from_count(soft), .rlim_max = from_count(hard)};
    setrlimit(RLIMIT_SIGPENDING, &limit);
}

int port_power_signal(void)
{
    return SIGPWR;
}

/* ---- processes ---- */

enum { GROUP_BYTES = 512, LINE_BYTES = 1024 };

struct room {
    int64_t processes; /* -1: no limit is known */
    const char *limit;
};

static void take(struct room *room, int64_t limit, int64_t used, const char *name)
{
    int64_t left = limit > used ? limit - used : 0;
    if (room->processes < 0 || left < room->processes)
        *room = (struct room){left, name};
}

/* Tasks of the whole system: the number behind '/' in /proc/loadavg. */
static int64_t all_tasks(void)
{
    char text[96];
    const char *slash = linux_read("/proc/loadavg", text, sizeof text) ? strchr(text, '/') : NULL;
    return slash ? strtoll(slash + 1, NULL, 10) : -1;
}

static void take_kernel(struct room *room)
{
    static const char *const files[][2] = {{"/proc/sys/kernel/pid_max", "kernel.pid_max"},
                                           {"/proc/sys/kernel/threads-max", "kernel.threads-max"}};
    int64_t limit, used = all_tasks();
    for (int i = 0; used >= 0 && i < 2; i++)
        if (linux_read_number(files[i][0], &limit))
            take(room, limit, used, files[i][1]);
}

/* The number behind `name` in /proc/ID/status; -1: none. */
static int64_t status_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* Threads of a process if it is this user's: they are what the limit counts. */
static int64_t own_threads(const char *id)
{
    char path[64], text[LINUX_PART_BYTES];
    snprintf(path, sizeof path, "/proc/%.20s/status", id);
    if (!linux_read(path, text, sizeof text) || status_number(text, "\nUid:") != (int64_t)getuid())
        return 0;
    int64_t threads = status_number(text, "\nThreads:");
    return threads > 0 ? threads : 1;
}

static int64_t tasks_of_user(void)
{
    DIR *folder = linux_open_folder("/proc");
    int64_t count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += isdigit((unsigned char)entry->d_name[0]) ? own_threads(entry->d_name) : 0;
    if (folder)
        closedir(folder);
    return count;
}

/* The kernel does not hold root to it. */
static void take_user(struct room *room)
{
    struct rlimit limit;
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        take(room, (int64_t)limit.rlim_cur, tasks_of_user(), "the user's limit (ulimit -u)");
}

static void take_group(struct room *room, const char *group)
{
    char path[LINUX_PLACE_BYTES];
    int64_t limit, used;
    snprintf(path, sizeof path, "%s/pids.max", group);
    if (!linux_read_number(path, &limit)) /* none, or "max" */
        return;
    snprintf(path, sizeof path, "%s/pids.current", group);
    if (linux_read_number(path, &used))
        take(room, limit, used, "pids.max of a control group");
}

/* The group and all its ancestors, up to the mount. */
static void take_groups(struct room *room, const char *mount, const char *own)
{
    char group[GROUP_BYTES + 64];
    snprintf(group, sizeof group, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
    for (char *last = group; last; last = strrchr(group + strlen(mount), '/')) {
        if (last != group)
            *last = '\0';
        take_group(room, group);
    }
}

/* A line "ID:CONTROLLERS:PATH" of /proc/self/cgroup; no controllers: version 2. */
static void take_line(struct room *room, char *line)
{
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!own || strlen(own) >= GROUP_BYTES)
        return;
    *own++ = '\0';
    own[strcspn(own, "\n")] = '\0';
    if (strcmp(controllers + 1, "pids") == 0)
        take_groups(room, "/sys/fs/cgroup/pids", own);
    if (controllers[1] == '\0') {
        take_groups(room, "/sys/fs/cgroup", own);
        take_groups(room, "/sys/fs/cgroup/unified", own);
    }
}

int64_t port_process_room(const char **limit)
{
    struct room room = {-1, NULL};
    char line[LINE_BYTES];
    take_kernel(&room);
    take_user(&room);
    FILE *file = linux_open("/proc/self/cgroup");
    while (file && fgets(line, sizeof line, file))
        take_line(&room, line);
    if (file)
        fclose(file);
    if (room.processes >= 0)
        *limit = room.limit;
    return room.processes;
}
