/* Threads of a process and their scheduling statistics. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/affinity.h"
#include "port/linux/files.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
