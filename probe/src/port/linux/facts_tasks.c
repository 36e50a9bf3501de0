/* Real-time threads beside the probe's, from /proc/PID/task. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <ctype.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000, DEADLINE = 6 }; /* flags and policy of the kernel */

struct found {
    struct linux_words names;
    char text[700];
    int64_t user_count, kernel_count, highest;
    bool has_balancer;
};

struct task {
    char name[20];
    unsigned long flags;
    long priority, policy;
};

bool linux_sees_all_tasks(void)
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
    linux_add_word(&found->names, ", ", word);
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

void linux_task_facts(const struct port_fact_sink *sink)
{
    struct found found = {.highest = 0};
    found.names = (struct linux_words){found.text, sizeof found.text, 0, 0};
    if (!look_at_all(&found))
        return;
    bool sees_all = linux_sees_all_tasks();
    sink->truth(sink->context, "tasks.all_visible", sees_all);
    sink->number(sink->context, "tasks.realtime_count", found.user_count);
    sink->number(sink->context, "tasks.realtime_kernel_count", found.kernel_count);
    sink->number(sink->context, "tasks.realtime_highest", found.highest);
    sink->text(sink->context, "tasks.realtime", found.text);
    if (found.has_balancer || sees_all)
        sink->truth(sink->context, "interrupts.has_balancer", found.has_balancer);
}
