/* Child processes; what load needs of processes, and counts; threads of a process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "base/cpus.h"
#include "port/linux/cpus.h"
#include "port/linux/files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool port_has_processes(void)
{
    return true;
}

pid_t port_fork(void)
{
    return fork();
}

bool port_has_ended(pid_t process, bool *is_well)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_pid != process)
        return false;
    *is_well = end.si_code == CLD_EXITED && end.si_status == 0;
    return true;
}

int port_wait_for(pid_t process)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(process, &status, 0)) < 0 && errno == EINTR)
        ;
    return ended == process && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECHILD;
}

void port_leave_session(void)
{
    setsid();
}

int port_kill_with_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    return getppid() == parent ? 0 : ESRCH; /* it may have ended before prctl */
}

int port_stops_open(int end)
{
    struct epoll_event event = {.events = EPOLLIN};
    int stops = epoll_create1(EPOLL_CLOEXEC);
    if (stops >= 0 && epoll_ctl(stops, EPOLL_CTL_ADD, end, &event) != 0) {
        int error = errno;
        close(stops);
        errno = error;
        return -1;
    }
    return stops;
}

/* epoll_wait is not restarted after a stop, although no handler ran (signal(7)). SIGCONT alone does
 * not interrupt it, and a host that stops the whole machine neither. */
bool port_wait_for_stop(int stops)
{
    struct epoll_event event;
    prctl(PR_SET_NAME, "stop-watch");
    return epoll_wait(stops, &event, 1, -1) < 0 && errno == EINTR;
}

void port_usage(struct port_usage *usage)
{
    struct rusage used;
    *usage = (struct port_usage){-1, -1, -1, -1};
    if (getrusage(RUSAGE_SELF, &used) == 0)
        *usage = (struct port_usage){used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
}

/* ---- for load ---- */

enum { LAST_DESCRIPTOR = 65536 };

int port_end_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        return errno;
    return getppid() == parent ? 0 : ESRCH; /* it may have ended before prctl */
}

int port_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : errno;
}

/* A program that root executes gets the inheritable capabilities and the bounding set; other
 * users' programs get the ambient ones. */
static int stop_inheriting(uint32_t capabilities)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
    memset(words, 0, sizeof words);
    if (syscall(SYS_capget, &head, words) != 0)
        return errno;
    words[0].inheritable &= ~capabilities;
    return syscall(SYS_capset, &head, words) == 0 ? 0 : errno;
}

static int drop_for_good(unsigned long capability)
{
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 || geteuid() != 0 ||
        prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 0)
        return 0;
    return errno ? errno : EPERM;
}

/* CAP_SYS_RESOURCE goes too: it allows raising RLIMIT_RTPRIO again. */
int port_never_real_time(void)
{
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* before Linux 4.3: none */
    int error = stop_inheriting(CAP_TO_MASK(CAP_SYS_NICE) | CAP_TO_MASK(CAP_SYS_RESOURCE));
    if (!error)
        error = drop_for_good(CAP_SYS_NICE);
    return error ? error : drop_for_good(CAP_SYS_RESOURCE);
}

/* The kernel's call: musl's functions of a process's scheduling only say ENOSYS. */
int port_run_when_idle(void)
{
    struct sched_param none = {0};
    return syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0 ? 0 : errno;
}

/* Field 3 of /proc/ID/stat and what follows, counted from the last ')': the name before it may
 * contain anything. NULL: there is no such process. */
static const char *fields_of(const char *id, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/stat", id);
    if (!linux_read(path, text, bytes))
        return NULL;
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? end + 2 : NULL;
}

static pid_t parent_of(const char *id)
{
    char text[512];
    const char *fields = fields_of(id, text, sizeof text);
    return fields ? (pid_t)strtol(fields + 2, NULL, 10) : -1;
}

bool port_is_ready(pid_t process)
{
    char id[24], text[512];
    snprintf(id, sizeof id, "%ld", (long)process);
    const char *fields = fields_of(id, text, sizeof text);
    return fields && *fields == 'R';
}

/* struct linux_dirent64: opendir would allocate, which the measuring threads must not. */
struct entry {
    uint64_t node, offset;
    unsigned short bytes;
    unsigned char kind;
    char name[];
};

struct table {
    struct port_process *list;
    int most, count;
};

static void take_entry(struct table *table, const struct entry *entry)
{
    if (!isdigit((unsigned char)entry->name[0]))
        return;
    pid_t parent = parent_of(entry->name);
    if (parent < 0)
        return;
    if (table->count < table->most)
        table->list[table->count] =
            (struct port_process){(pid_t)strtol(entry->name, NULL, 10), parent};
    table->count++;
}

int port_processes(struct port_process *list, int most)
{
    union {
        struct entry first; /* for its alignment */
        char bytes[4096];
    } part;
    struct table table = {list, most, 0};
    int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    long got;
    while ((got = syscall(SYS_getdents64, folder, &part, sizeof part)) > 0)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(const void *)(part.bytes + at);
            take_entry(&table, entry);
            at += entry->bytes;
        }
    close(folder);
    return table.count > 0 ? table.count : -1;
}

void port_name_self(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void port_close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    long last = sysconf(_SC_OPEN_MAX);
    for (int at = first; at < (last > 0 && last < LAST_DESCRIPTOR ? last : LAST_DESCRIPTOR); at++)
        close(at);
}

int port_own_executable(char *path, size_t bytes)
{
    /* the link itself still works after the file was replaced or removed */
    static const char link[] = "/proc/self/exe";
    if (bytes < sizeof link || access(link, X_OK) != 0)
        return ENOTSUP;
    memcpy(path, link, sizeof link);
    return 0;
}

/* Value of the column `name` in a pair of lines of /proc/net/snmp: names, numbers. */
static int64_t number_below(const char *names, const char *numbers, const char *name)
{
    char *at = strchr(numbers, ' ');
    const char *word = strchr(names, ' ');
    while (at && word) {
        char *end;
        long long number = strtoll(at, &end, 10);
        word += strspn(word, " ");
        size_t length = strcspn(word, " \n");
        if (end == at || length == 0)
            return -1;
        if (length == strlen(name) && strncmp(word, name, length) == 0)
            return number;
        at = end;
        word += length;
    }
    return -1;
}

int64_t port_tcp_segments_sent(void)
{
    struct linux_lines lines;
    char names[1024], numbers[1024];
    int64_t count = -1;
    if (!linux_lines_open(&lines, "/proc/net/snmp"))
        return -1;
    while (count < 0 && linux_lines_next(&lines, names, sizeof names))
        if (strncmp(names, "Tcp:", 4) == 0 && linux_lines_next(&lines, numbers, sizeof numbers))
            count = number_below(names, numbers, "OutSegs");
    linux_lines_close(&lines);
    return count;
}

int64_t port_load_average_milli(void)
{
    char text[64], *end;
    if (!linux_read("/proc/loadavg", text, sizeof text))
        return -1;
    /* "0.42", always with two digits after the point. Not strtod: 20 KB of locked memory. */
    long whole = strtol(text, &end, 10);
    if (end == text || *end != '.')
        return -1;
    char *point = end;
    long hundredths = strtol(point + 1, &end, 10);
    return end == point + 3 ? (int64_t)whole * 1000 + hundredths * 10 : -1;
}

/* ---- threads of a process ----
 *
 * Threads of a process: their ids, statistics of the scheduler, and counters (schedstat, stat, and
 * sched or status). */

pid_t port_own_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

static pid_t process_id(pid_t process)
{
    return process > 0 ? process : getpid();
}

/* Adds the threads in `bytes` bytes of directory entries; returns the new count. */
static int add_threads(const char *entries, long bytes, pid_t *threads, int count, int most)
{
    const struct entry *entry;
    for (long at = 0; at < bytes && count < most; at += entry->bytes) {
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
    long policy = syscall(SYS_sched_getscheduler, process);
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
