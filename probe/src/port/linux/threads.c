/* Threads of a process: their ids, statistics of the scheduler, and counters (schedstat, stat, and
 * sched or status). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "base/cpus.h"
#include "port/linux/cpus.h"
#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t port_own_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

static pid_t process_id(pid_t process)
{
    return process > 0 ? process : getpid();
}

/* struct linux_dirent64: opendir would allocate, which the measuring threads must not. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Adds the threads in `bytes` bytes of directory entries; returns the new count. */
static int add_threads(const char *entries, long bytes, pid_t *threads, int count, int most)
{
    const struct entry *entry;
    for (long at = 0; at < bytes && count < most; at += entry->length) {
        entry = (const struct entry *)(const void *)(entries + at);
        if (entry->name[0] != '.')
            threads[count++] = (pid_t)strtol(entry->name, NULL, 10);
    }
    return count;
}

int port_threads(pid_t process, pid_t *threads, int most)
{
    char path[LINUX_PLACE_BYTES];
    _Alignas(struct entry) char entries[2048];
    snprintf(path, sizeof path, "%s/proc/%ld/task", linux_root(), (long)process_id(process));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    long got;
    int count = 0;
    while ((got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        count = add_threads(entries, got, threads, count, most);
    close(folder);
    return got == 0 ? count : -1;
}

/* schedstat: run time, run delay (both ns), time slices. All 0 if the kernel does not count; an
 * existing thread has run at least once. */
bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times)
{
    char path[80], text[96], *end;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/schedstat", (long)process_id(process),
             (long)thread);
    if (!linux_read(path, text, sizeof text))
        return false;
    times->ran_ns = strtoll(text, &end, 10);
    times->waited_ns = strtoll(end, &end, 10);
    return strtoll(end, NULL, 10) > 0;
}

/* ---- counters of a thread ---- */

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

int64_t port_run_delay_ns(void)
{
    char text[96], *end;
    if (!linux_read("/proc/self/schedstat", text, sizeof text))
        return -1;
    strtoll(text, &end, 10); /* run time */
    char *delay = end;
    long long delay_ns = strtoll(delay, &end, 10);
    return end == delay ? -1 : delay_ns;
}

static bool is_time_shared(pid_t process)
{
    int policy = sched_getscheduler(process);
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

static bool is_bound(pid_t process, int cpu)
{
    struct cpus cpus;
    return linux_affinity_get(process, &cpus) == 0 && cpus_count(&cpus) == 1 &&
           cpus_has(&cpus, cpu);
}

enum { KTHREADD = 2 };

/* Made by kthreadd, which a process namespace does not show. */
static bool is_of_the_kernel(const struct port_process *process)
{
    char name[32];
    return process->parent == KTHREADD && linux_read("/proc/2/comm", name, sizeof name) &&
           strcmp(name, "kthreadd") == 0;
}

int port_bound_processes(int cpu, pid_t *list, int most)
{
    int room = port_processes(NULL, 0), count = 0;
    struct port_process *all = room > 0 ? calloc((size_t)room, sizeof *all) : NULL;
    int found = all && cpu >= 0 ? port_processes(all, room) : -1;
    for (int i = 0; i < found && i < room && count < most; i++)
        if (is_of_the_kernel(&all[i]) && is_time_shared(all[i].id) && is_bound(all[i].id, cpu))
            list[count++] = all[i].id;
    free(all);
    return found < 0 ? -1 : count;
}

int64_t port_stack_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return -1;
    return limit.rlim_cur < (rlim_t)INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
}

/* ---- the calling thread ----
 *
 * sched_setattr has no wrapper in most C libraries, and its structure none in their headers. */

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* Version 0 of struct sched_attr, 48 bytes. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

int port_deadline_self(int64_t runtime_ns, int64_t period_ns)
{
#ifdef SYS_sched_setattr
    struct attributes attributes = {
        .size = sizeof attributes,
        .policy = SCHED_DEADLINE,
        .runtime_ns = (uint64_t)runtime_ns,
        .deadline_ns = (uint64_t)period_ns,
        .period_ns = (uint64_t)period_ns,
    };
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? 0 : errno;
#else
    (void)runtime_ns, (void)period_ns;
    return ENOTSUP;
#endif
}

bool port_own_switches(int64_t *voluntary, int64_t *involuntary)
{
    struct rusage usage;
    bool is_known = getrusage(RUSAGE_THREAD, &usage) == 0;
    *voluntary = is_known ? usage.ru_nvcsw : -1;
    *involuntary = is_known ? usage.ru_nivcsw : -1;
    return is_known;
}
