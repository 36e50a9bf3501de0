/* Kestrel over the C library of this machine, whose headers it is compiled with. KESTREL_FAULT:
 * "cpus": it counts none; "clock": its clock stands still; "timers": timer_create links, and fails
 * with ENOSYS; "bind": no thread can be bound, with an error that is not in the manual. */
#define _GNU_SOURCE
#include "include/kestrel.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 100000, NS_PER_S = 1000000000 };

int kes_clock_gettime(clockid_t id, struct timespec *time);
int kes_clock_getres(clockid_t id, struct timespec *step);
int kes_clock_nanosleep(clockid_t id, int flags, const struct timespec *time,
                        struct timespec *left);
int kes_nanosleep(const struct timespec *time, struct timespec *left);
int kes_timer_create(clockid_t id, struct sigevent *event, timer_t *timer);
int kes_uname(struct utsname *names);

static bool has_fault(const char *name)
{
    const char *fault = getenv("KESTREL_FAULT");
    return fault && strcmp(fault, name) == 0;
}

int kes_uname(struct utsname *names)
{
    if (uname(names) != 0)
        return -1;
    snprintf(names->sysname, sizeof names->sysname, "Kestrel");
    snprintf(names->release, sizeof names->release, "%s", KES_VERSION);
    snprintf(names->version, sizeof names->version, "made up");
    return 0;
}

const char *kes_board(void)
{
    return "Kestrel Evaluation Board";
}

/* ---- CPUs: those that the process was started on ---- */

static cpu_set_t machine_cpus;

__attribute__((constructor)) static void boot(void)
{
    sched_getaffinity(0, sizeof machine_cpus, &machine_cpus);
}

int kes_cpu_count(void)
{
    return has_fault("cpus") ? 0 : CPU_COUNT(&machine_cpus);
}

static int number_of(int machine_cpu)
{
    int number = 0;
    for (int cpu = 0; cpu < machine_cpu; cpu++)
        number += CPU_ISSET(cpu, &machine_cpus) ? 1 : 0;
    return number;
}

int kes_this_cpu(void)
{
    return number_of(sched_getcpu());
}

int kes_bind_cpu(int cpu)
{
    cpu_set_t one = machine_cpus;
    if (has_fault("bind"))
        return -KES_ENOENT;
    if (cpu >= CPU_COUNT(&machine_cpus) || cpu < -1)
        return -KES_EINVAL;
    for (int at = 0; cpu >= 0 && at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &machine_cpus) && number_of(at) != cpu)
            CPU_CLR(at, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? 0 : -KES_EINVAL;
}

int kes_bound_cpu(int thread, int *cpu)
{
    cpu_set_t set;
    if (sched_getaffinity(thread, sizeof set, &set) != 0)
        return -KES_ENOENT;
    *cpu = -1;
    for (int at = 0; CPU_COUNT(&set) == 1 && at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &set))
            *cpu = number_of(at);
    return 0;
}

int kes_cycles_are_even(void)
{
    return 1;
}

/* ---- time: it advances with the tick ---- */

uint32_t kes_tick_us(void)
{
    return TICK_NS / 1000;
}

int kes_clock_gettime(clockid_t id, struct timespec *time)
{
    if (clock_gettime(id, time) != 0)
        return -1;
    if (id != CLOCK_MONOTONIC)
        return 0;
    time->tv_nsec -= time->tv_nsec % TICK_NS;
    if (has_fault("clock"))
        *time = (struct timespec){1, 0};
    return 0;
}

/* A tick for every clock, which is a lie for some. */
int kes_clock_getres(clockid_t id, struct timespec *step)
{
    (void)id;
    if (step)
        *step = (struct timespec){0, TICK_NS};
    return 0;
}

static struct timespec next_tick(struct timespec time)
{
    long long ns = time.tv_sec * (long long)NS_PER_S + time.tv_nsec;
    ns = (ns + TICK_NS - 1) / TICK_NS * TICK_NS;
    return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

int kes_clock_nanosleep(clockid_t id, int flags, const struct timespec *time, struct timespec *left)
{
    if (!(flags & TIMER_ABSTIME))
        return clock_nanosleep(id, flags, time, left);
    struct timespec until = next_tick(*time);
    return clock_nanosleep(id, flags, &until, left);
}

int kes_nanosleep(const struct timespec *time, struct timespec *left)
{
    return nanosleep(time, left);
}

int kes_timer_create(clockid_t id, struct sigevent *event, timer_t *timer)
{
    if (!has_fault("timers"))
        return timer_create(id, event, timer);
    errno = ENOSYS;
    return -1;
}

/* ---- threads ---- */

int kes_thread_self(void)
{
    return (int)gettid();
}

int kes_thread_list(int *threads, int most)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        int thread = atoi(entry->d_name);
        if (thread > 0 && count++ < most)
            threads[count - 1] = thread;
    }
    if (folder)
        closedir(folder);
    return count;
}

int kes_thread_info(int thread, struct kes_thread *info)
{
    char path[60];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread ? thread : (int)gettid());
    FILE *file = fopen(path, "r");
    unsigned long long ran, ready;
    bool is_read = file && fscanf(file, "%llu %llu", &ran, &ready) == 2;
    if (file)
        fclose(file);
    if (!is_read)
        return -KES_ENOENT;
    *info = (struct kes_thread){ran, ready};
    return 0;
}

/* ---- memory ---- */

int64_t kes_mem_total(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}
