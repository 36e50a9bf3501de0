/* Counters of one thread: schedstat, stat, and sched or status. */
#include "base/posix_source.h"

#include "port/port.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 80, NAME_OF_FILE = 16 };

static void path_of(char path[PATH_BYTES], pid_t process, pid_t thread, const char *file)
{
    snprintf(path, PATH_BYTES, "/proc/%ld/task/%ld/%.*s", (long)(process > 0 ? process : getpid()),
             (long)thread, NAME_OF_FILE, file);
}

/* Of /proc/PID/task/TID/stat; the name, in parentheses, may contain some. */
static bool read_stat(const char *path, struct port_thread_counters *counters)
{
    enum { MINOR = 10, MAJOR = 12, CPU = 39 };
    char text[1024];
    const char *at = linux_read(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!at)
        return false;
    at++;
    for (int field = 3; field <= CPU && *at; field++) {
        at += strspn(at, " ");
        int64_t number = strtoll(at, NULL, 10);
        if (field == MINOR)
            counters->minor_faults = number;
        if (field == MAJOR)
            counters->major_faults = number;
        if (field == CPU)
            counters->cpu = (int)number;
        at += strcspn(at, " ");
    }
    return true;
}

/* The number behind the colon, where the line has this name. */
static void take_number(const char *line, const char *name, int64_t *number)
{
    size_t length = strlen(name);
    const char *colon = strncmp(line, name, length) == 0 ? strchr(line, ':') : NULL;
    if (colon && strspn(line + length, " \t") == (size_t)(colon - line) - length)
        *number = strtoll(colon + 1, NULL, 10);
}

static void read_lines(const char *path, struct port_thread_counters *counters)
{
    struct linux_lines lines;
    char line[256];
    if (!linux_lines_open(&lines, path))
        return;
    while (linux_lines_next(&lines, line, sizeof line) &&
           (counters->involuntary_switches < 0 || counters->migrations < 0)) {
        take_number(line, "se.nr_migrations", &counters->migrations);
        take_number(line, "nr_involuntary_switches", &counters->involuntary_switches);
        take_number(line, "nonvoluntary_ctxt_switches", &counters->involuntary_switches);
    }
    linux_lines_close(&lines);
}

bool port_thread_counters(pid_t process, pid_t thread, struct port_thread_counters *counters)
{
    char path[PATH_BYTES];
    struct port_thread_times times;
    *counters = (struct port_thread_counters){-1, -1, -1, -1, -1, -1};
    path_of(path, process, thread, "stat");
    if (!read_stat(path, counters))
        return false;
    if (port_thread_times(process, thread, &times))
        counters->run_delay_ns = times.waited_ns;
    path_of(path, process, thread, "sched");
    read_lines(path, counters);
    path_of(path, process, thread, "status");
    if (counters->involuntary_switches < 0)
        read_lines(path, counters);
    return true;
}
