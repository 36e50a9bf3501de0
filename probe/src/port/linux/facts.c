/* Facts of Linux that are no text of a file: answers to calls, the rights that the probe acts upon,
 * what is counted over all threads and interrupts, and the user's names, of which the files name
 * everybody. All else goes as it is: sources.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A list of words in a fixed buffer; a word that does not fit is left out. */
struct words {
    char *text;
    size_t bytes, used;
};

static void add_word(struct words *words, const char *separator, const char *word)
{
    const char *between = words->used ? separator : "";
    size_t wanted = strlen(between) + strlen(word);
    if (wanted + 1 > words->bytes - words->used)
        return;
    snprintf(words->text + words->used, words->bytes - words->used, "%s%s", between, word);
    words->used += wanted;
}

/* ---- answers to calls ---- */

/* The coarse clock steps once a tick, so its resolution gives HZ without privilege. */
static void tick_fact(const struct port_fact_sink *sink)
{
    struct timespec step;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_sec == 0 && step.tv_nsec > 0)
        sink->number(sink->context, "kernel.hz", (1000000000 + step.tv_nsec / 2) / step.tv_nsec);
}

/* Reads the limit of exit latency in force; opening the file for reading does not request one. */
static int64_t dma_latency_us(void)
{
    char place[LINUX_PLACE_BYTES];
    int32_t value;
    snprintf(place, sizeof place, "%s/dev/cpu_dma_latency", linux_root());
    int file = open(place, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t got = read(file, &value, sizeof value);
    close(file);
    return got == sizeof value && value >= 0 ? value : -1;
}

/* ---- rights ---- */

static void limit_facts(const struct port_fact_sink *sink)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTPRIO, &limit) == 0) {
        if (limit.rlim_cur == RLIM_INFINITY)
            sink->text(sink->context, "limits.rtprio", "unlimited");
        else
            sink->number(sink->context, "limits.rtprio", (int64_t)limit.rlim_cur);
    }
    if (getrlimit(RLIMIT_RTTIME, &limit) == 0) {
        if (limit.rlim_cur == RLIM_INFINITY)
            sink->text(sink->context, "limits.rttime_us", "unlimited");
        else
            sink->number(sink->context, "limits.rttime_us", (int64_t)limit.rlim_cur);
    }
}

static void capability_facts(const struct port_fact_sink *sink)
{
    struct linux_rights rights;
    linux_rights_read(&rights);
    sink->truth(sink->context, "virtual.user_namespace", rights.is_user_namespace);
    if (rights.rtprio_most == LINUX_UNLIMITED)
        sink->text(sink->context, "limits.rtprio_most", "unlimited");
    else
        sink->number(sink->context, "limits.rtprio_most", rights.rtprio_most);
    if (!rights.is_known)
        return;
    sink->truth(sink->context, "limits.has_filter", rights.has_filter);
    sink->truth(sink->context, "user.cap_ipc_lock", rights.has_lock);
    sink->truth(sink->context, "user.cap_sys_admin", rights.has_admin);
    sink->truth(sink->context, "user.cap_sys_nice", rights.has_nice);
    sink->truth(sink->context, "user.can_use_setcap", rights.why_not == NULL);
}

static void group_facts(const struct port_fact_sink *sink)
{
    struct linux_group_limit limit;
    char path[PORT_CPU_GROUP_BYTES + 32];
    if (linux_group_budget(&limit))
        sink->text(sink->context, "limits.group_path", limit.limit_us < 0 ? NULL : limit.group);
    bool is_read_only = limit.limit_us >= 0 && linux_is_read_only(limit.group);
    if (limit.limit_us >= 0) {
        sink->number(sink->context, "limits.group_rt_runtime_us", limit.limit_us);
        sink->number(sink->context, "limits.group_rt_period_us", limit.period_us);
        sink->number(sink->context, "limits.group_rt_above_ppm",
                     (int64_t)(limit.above_share * 1000000));
    }
    if (linux_group_quota(&limit)) {
        sink->number(sink->context, "limits.quota_us", limit.limit_us);
    }
    if (limit.limit_us >= 0) {
        sink->number(sink->context, "limits.quota_period_us", limit.period_us);
        snprintf(path, sizeof path, "%s/%s", limit.group, limit.file);
        sink->text(sink->context, "limits.quota_file", path);
        is_read_only = is_read_only || linux_is_read_only(path);
    }
    sink->truth(sink->context, "limits.groups_read_only", is_read_only);
}

/* ---- the user's names ---- */

enum { GROUPS = 256 };

/* Name of `id` in a file of lines "root:x:0:0:..." (passwd, group). Not through libc: that loads
 * name service modules, which a static probe does not have. */
static bool name_of(const char *path, long id, char *name, size_t bytes)
{
    FILE *file = linux_open(path);
    char line[1024];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second || strtol(second + 1, NULL, 10) != id)
            continue;
        snprintf(name, bytes, "%.*s", (int)(first - line), line);
        is_found = true;
    }
    if (file)
        fclose(file);
    return is_found;
}

static void user_facts(const struct port_fact_sink *sink)
{
    gid_t groups[GROUPS];
    char list[512] = "", name[64];
    struct words words = {list, sizeof list, 0};
    if (name_of("/etc/passwd", (long)getuid(), name, sizeof name))
        sink->text(sink->context, "user.name", name);
    int count = getgroups(GROUPS, groups);
    if (count < 0)
        return;
    for (int i = 0; i < count; i++) {
        if (!name_of("/etc/group", (long)groups[i], name, sizeof name))
            snprintf(name, sizeof name, "%ld", (long)groups[i]);
        add_word(&words, ",", name);
    }
    sink->text(sink->context, "user.groups", words.used ? list : NULL);
}

/* ---- real-time threads beside the probe's, from /proc/PID/task ---- */

enum { KERNEL_THREAD = 0x00200000, DEADLINE = 6 }; /* flags and policy of the kernel */

struct found {
    struct words names;
    char text[700];
    int64_t user_count, kernel_count, highest;
    bool has_balancer;
};

struct task {
    char name[20];
    unsigned long flags;
    long priority, policy;
};

static bool sees_all_tasks(void)
{
    char own[64];
    return linux_link("/proc/self/ns/pid", own, sizeof own) && strcmp(own, LINUX_FIRST_PIDS) == 0 &&
           linux_exists("/proc/1/stat");
}

/* The name is in parentheses and may contain some; numbers follow. */
static bool read_task(const char *path, struct task *task)
{
    char text[1024];
    if (!linux_read(path, text, sizeof text))
        return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return false;
    snprintf(task->name, sizeof task->name, "%.*s", (int)(close - open - 1), open + 1);
    char *at = close + 1;
    for (int field = 3; field <= 41 && *at; field++) {
        at += strspn(at, " ");
        if (field == 9)
            task->flags = strtoul(at, NULL, 10);
        if (field == 40)
            task->priority = strtol(at, NULL, 10);
        if (field == 41)
            task->policy = strtol(at, NULL, 10);
        at += strcspn(at, " ");
    }
    return true;
}

/* Any task can choose its name: replace what would break the list. */
static void make_plain(char *name)
{
    for (; *name; name++)
        if (!isprint((unsigned char)*name) || *name == ',' || *name == '(' || *name == ')')
            *name = '?';
}

static void add_task(struct found *found, struct task *task, long id)
{
    char word[80];
    const char *policy = task->policy == SCHED_FIFO ? "fifo"
                         : task->policy == SCHED_RR ? "rr"
                                                    : "deadline";
    make_plain(task->name);
    snprintf(word, sizeof word, "%s (%ld, %s %ld)", task->name, id, policy, task->priority);
    add_word(&found->names, ", ", word);
    found->user_count++;
    /* a deadline task is above every priority */
    long priority = task->policy == DEADLINE ? 100 : task->priority;
    found->highest = priority > found->highest ? priority : found->highest;
}

static void look_at_thread(struct found *found, const char *process, const char *thread)
{
    char path[128];
    struct task task = {.policy = -1};
    snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/stat", process, thread);
    if (!read_task(path, &task))
        return;
    found->has_balancer |= strcmp(task.name, "irqbalance") == 0;
    if (task.policy != SCHED_FIFO && task.policy != SCHED_RR && task.policy != DEADLINE)
        return;
    if (task.flags & KERNEL_THREAD)
        found->kernel_count++;
    else if (strtol(process, NULL, 10) != getpid())
        add_task(found, &task, strtol(thread, NULL, 10));
}

static void look_at_process(struct found *found, const char *process)
{
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%.20s/task", process);
    DIR *folder = linux_open_folder(path);
    while (folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_thread(found, process, entry->d_name);
    if (folder)
        closedir(folder);
}

static bool look_at_all(struct found *found)
{
    struct dirent *entry;
    DIR *folder = linux_open_folder("/proc");
    if (!folder)
        return false;
    while ((entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_process(found, entry->d_name);
    closedir(folder);
    return true;
}

static void task_facts(const struct port_fact_sink *sink)
{
    struct found found = {.highest = 0};
    found.names = (struct words){found.text, sizeof found.text, 0};
    if (!look_at_all(&found))
        return;
    bool sees_all = sees_all_tasks();
    sink->truth(sink->context, "tasks.all_visible", sees_all);
    sink->number(sink->context, "tasks.realtime_count", found.user_count);
    sink->number(sink->context, "tasks.realtime_kernel_count", found.kernel_count);
    sink->number(sink->context, "tasks.realtime_highest", found.highest);
    sink->text(sink->context, "tasks.realtime", found.text);
    if (found.has_balancer || sees_all)
        sink->truth(sink->context, "interrupts.has_balancer", found.has_balancer);
}

/* ---- which CPUs serve device interrupts ---- */

struct served {
    int cpu[PORT_CPUS]; /* of each column */
    int columns;
    int64_t count[PORT_CPUS]; /* by column */
    int64_t lines;
    bool is_target[PORT_CPUS]; /* by CPU: in the affinity of some interrupt */
    bool is_known;             /* the affinity of every interrupt could be read */
};

static int cpu_of(const char *number)
{
    long cpu = strtol(number, NULL, 10);
    return cpu < 0 || cpu >= PORT_CPUS ? 0 : (int)cpu;
}

static void read_heading(struct served *served, const char *line)
{
    for (const char *at = strstr(line, "CPU"); at; at = strstr(at + 3, "CPU"))
        if (served->columns < PORT_CPUS)
            served->cpu[served->columns++] = cpu_of(at + 3);
}

static void mark_target(void *context, int cpu)
{
    struct served *served = context;
    served->is_target[cpu] = true;
}

/* Effective affinity; older kernels have only the affinity mask. */
static void look_where(struct served *served, int interrupt)
{
    char path[96], list[CPUS_TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/irq/%d/effective_affinity_list", interrupt);
    if (!linux_read(path, list, sizeof list)) {
        snprintf(path, sizeof path, "/proc/irq/%d/smp_affinity_list", interrupt);
        if (!linux_read(path, list, sizeof list)) {
            served->is_known = false;
            return;
        }
    }
    served->is_known &= linux_each_cpu(list, mark_target, served);
}

/* "41:   0   5357  PCI-MSIX ... virtio3-rx". Timers, which some architectures number like devices,
 * are skipped: they tick on every CPU. */
static void read_interrupt(struct served *served, const char *line)
{
    char *at;
    const char *from = line + strspn(line, " ");
    if (!isdigit((unsigned char)*from) || strstr(line, "timer"))
        return;
    long interrupt = strtol(from, &at, 10);
    if (*at++ != ':')
        return;
    for (int column = 0; column < served->columns; column++)
        served->count[column] += strtoll(at, &at, 10);
    served->lines++;
    look_where(served, (int)interrupt);
}

static bool read_interrupts(struct served *served)
{
    enum { LINE_BYTES = PORT_CPUS * 11 + 4096 };
    FILE *file = linux_open("/proc/interrupts");
    char *line = file ? malloc(LINE_BYTES) : NULL;
    served->is_known = true;
    if (line && fgets(line, LINE_BYTES, file))
        read_heading(served, line);
    while (line && served->columns && fgets(line, LINE_BYTES, file))
        read_interrupt(served, line);
    free(line);
    if (file)
        fclose(file);
    return served->lines > 0;
}

static void busiest_facts(const struct port_fact_sink *sink, const struct served *served)
{
    int64_t total = 0;
    int busiest = 0;
    for (int i = 0; i < served->columns; i++) {
        total += served->count[i];
        busiest = served->count[i] > served->count[busiest] ? i : busiest;
    }
    sink->number(sink->context, "interrupts.device_lines", served->lines);
    sink->number(sink->context, "interrupts.device_count", total);
    if (total <= 0)
        return;
    sink->number(sink->context, "interrupts.busiest_cpu", served->cpu[busiest]);
    sink->number(sink->context, "interrupts.busiest_percent",
                 (served->count[busiest] * 100 + total / 2) / total);
}

/* CPUs in the affinity of no device interrupt. */
static void quiet_fact(const struct port_fact_sink *sink, const struct served *served)
{
    char list[512] = "", word[32];
    struct words words = {list, sizeof list, 0};
    if (!served->is_known)
        return;
    for (int i = 0; i < served->columns; i++) {
        if (served->is_target[served->cpu[i]])
            continue;
        snprintf(word, sizeof word, "%d", served->cpu[i]);
        add_word(&words, ",", word);
    }
    sink->text(sink->context, "interrupts.quiet_cpus", words.used ? list : NULL);
}

static void interrupt_facts(const struct port_fact_sink *sink)
{
    struct served *served = calloc(1, sizeof *served);
    if (served && read_interrupts(served)) {
        busiest_facts(sink, served);
        quiet_fact(sink, served);
    }
    free(served);
}

void port_facts(const struct port_fact_sink *sink)
{
    int64_t latency_us = dma_latency_us();
    tick_fact(sink);
    sink->number(sink->context, "memory.total_bytes",
                 (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    if (latency_us >= 0)
        sink->number(sink->context, "power.dma_latency_us", latency_us);
    interrupt_facts(sink);
    limit_facts(sink);
    capability_facts(sink);
    group_facts(sink);
    user_facts(sink);
    task_facts(sink);
}
