/* Threads and their affinity. The shield changes the affinity of kernel threads; without cpusets,
 * of all threads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/shield.h"

#include "port/linux/cpus.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FLAG_KERNEL = 0x00200000, /* PF_KTHREAD */
    FLAG_BOUND = 0x04000000,  /* PF_NO_SETAFFINITY */
    STAT_FIELDS = 22,
    MOST_PASSES = 16,
    NAME_BYTES = 100,
};

static const char setting[] = "cpuset";

bool linux_task_parse(const char *line, struct linux_task *task)
{
    const char *open = strchr(line, '('), *close = strrchr(line, ')');
    memset(task, 0, sizeof *task);
    if (!open || !close || close < open)
        return false;
    task->id = (pid_t)strtol(line, NULL, 10);
    size_t length = (size_t)(close - open) - 1;
    if (length >= sizeof task->name)
        length = sizeof task->name - 1;
    memcpy(task->name, open + 1, length);
    const char *at = close + 1;
    for (int field = 3; field <= STAT_FIELDS; field++) {
        at += strspn(at, " ");
        if (*at == '\0')
            return false;
        if (field == 4)
            task->parent = (pid_t)strtol(at, NULL, 10);
        else if (field == 9)
            task->flags = (unsigned)strtoul(at, NULL, 10);
        else if (field == STAT_FIELDS)
            task->start = strtoull(at, NULL, 10);
        at += strcspn(at, " ");
    }
    return task->id > 0;
}

static bool read_stat(const struct port_shield *shield, const char *path, struct linux_task *task)
{
    char line[1024];
    return linux_shield_read(shield, path, line, sizeof line) == 0 && linux_task_parse(line, task);
}

bool linux_task_read(const struct port_shield *shield, pid_t id, struct linux_task *task)
{
    char path[64];
    /* /proc/TID exists for every thread, though only processes are listed */
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)id);
    return read_stat(shield, path, task);
}

bool linux_task_is_kernel(const struct linux_task *task)
{
    return (task->flags & FLAG_KERNEL) != 0;
}

static bool each_thread(const struct port_shield *shield, pid_t process,
                        bool (*visit)(const struct linux_task *, void *), void *context)
{
    char path[96], full[LINUX_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)process);
    linux_shield_path(shield, path, full);
    DIR *folder = opendir(full);
    bool is_wanted = true;
    struct dirent *entry;
    while (folder && is_wanted && (entry = readdir(folder)) != NULL) {
        struct linux_task task;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/stat", (long)process, entry->d_name);
        if (entry->d_name[0] == '.' || !read_stat(shield, path, &task))
            continue;
        task.process = process;
        is_wanted = visit(&task, context);
    }
    if (folder)
        closedir(folder);
    return is_wanted;
}

void linux_task_each(const struct port_shield *shield,
                     bool (*visit)(const struct linux_task *task, void *context), void *context)
{
    char full[LINUX_PATH_BYTES];
    linux_shield_path(shield, "/proc", full);
    DIR *folder = opendir(full);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        char *end;
        long process = strtol(entry->d_name, &end, 10);
        if (process > 0 && *end == '\0' && !each_thread(shield, (pid_t)process, visit, context))
            break;
    }
    if (folder)
        closedir(folder);
}

/* ---- affinity ---- */

static int note_task(struct port_shield *shield, const char *kind, const struct linux_task *task,
                     const struct cpus *before, const struct cpus *ours)
{
    char id[24], start[24], from[CPUS_TEXT_BYTES], to[CPUS_TEXT_BYTES];
    snprintf(id, sizeof id, "%ld", (long)task->id);
    snprintf(start, sizeof start, "%" PRIu64, task->start);
    cpus_format_list(before, from, sizeof from);
    cpus_format_list(ours, to, sizeof to);
    const char *fields[] = {kind, id, start, from, to};
    return linux_shield_note(shield, 5, fields);
}

/* ---- keeping threads off ---- */

struct wish {
    struct linux_task task;
    struct cpus ours;
};

struct pass {
    struct port_shield *shield;
    bool kernel_only, is_first;
    pid_t self;
    size_t count, room;
    struct wish *wishes;
    int error;
};

static void name_task(char name[NAME_BYTES], const struct linux_task *task)
{
    snprintf(name, NAME_BYTES, "%s", task->name);
    for (char *at = name; *at; at++)
        if (*at < ' ')
            *at = '?';
}

/* Threads that the kernel refuses to move. */
static void note_bound(const struct pass *pass, const struct linux_task *task,
                       const struct cpus *mask)
{
    char name[NAME_BYTES];
    struct cpus elsewhere = cpus_without(mask, &pass->shield->reserved);
    if (!pass->is_first)
        return;
    name_task(name, task);
    if (cpus_first(&elsewhere) < 0)
        linux_shield_refused(pass->shield, setting, name,
                             "kernel threads that the kernel has bound to one CPU");
    else
        linux_shield_refused(pass->shield, setting, name,
                             "kernel threads whose affinity only the kernel may change");
}

static bool wish_for(const struct linux_task *task, void *context)
{
    struct pass *pass = context;
    struct port_shield *shield = pass->shield;
    struct cpus mask;
    bool is_kernel = linux_task_is_kernel(task);
    if ((pass->kernel_only && !is_kernel) || task->process == pass->self ||
        linux_affinity_get(task->id, &mask) != 0 || !cpus_overlap(&mask, &shield->reserved))
        return true;
    if (is_kernel && task->flags & FLAG_BOUND) {
        note_bound(pass, task, &mask);
        return true;
    }
    if (pass->count == pass->room) {
        size_t room = pass->room ? pass->room * 2 : 256;
        struct wish *more = realloc(pass->wishes, room * sizeof *more);
        pass->error = more ? 0 : ENOMEM;
        if (!more)
            return false;
        pass->wishes = more;
        pass->room = room;
    }
    struct wish *wish = &pass->wishes[pass->count++];
    wish->task = *task;
    wish->ours = cpus_kept_off(&mask, &shield->reserved, &shield->others);
    note_task(shield, "task", task, &mask, &wish->ours);
    return true;
}

/* Whether the kernel has bound the thread since it was read (EINVAL), or it has ended: a kernel
 * thread is bound shortly after its creation. */
static bool is_bound_since(const struct pass *pass, const struct linux_task *task, int error)
{
    struct linux_task now;
    return error == EINVAL && (!linux_task_read(pass->shield, task->id, &now) ||
                               now.start != task->start || now.flags & FLAG_BOUND);
}

static int bind_wished(const struct pass *pass)
{
    int moved = 0;
    for (size_t i = 0; i < pass->count; i++) {
        const struct wish *wish = &pass->wishes[i];
        int error = linux_affinity_set(wish->task.id, &wish->ours);
        char name[NAME_BYTES];
        name_task(name, &wish->task);
        if (error == 0)
            moved++;
        else if (error != ESRCH && !is_bound_since(pass, &wish->task, error) && pass->is_first)
            linux_shield_refused(pass->shield, setting, name, "affinity of a thread: %s",
                                 strerror(error));
    }
    return moved;
}

/* Repeat until no thread moves: new ones are created meanwhile. */
int linux_shield_bind_tasks(struct port_shield *shield, bool kernel_only, int *moved)
{
    struct pass pass = {.shield = shield, .kernel_only = kernel_only, .self = getpid()};
    int moved_now = 1;
    for (int i = 0; i < MOST_PASSES && moved_now > 0 && pass.error == 0; i++) {
        pass.is_first = i == 0;
        pass.count = 0;
        linux_task_each(shield, wish_for, &pass);
        if (pass.error == 0)
            pass.error = linux_shield_sync(shield);
        moved_now = pass.error == 0 ? bind_wished(&pass) : 0;
        *moved += moved_now;
    }
    free(pass.wishes);
    return pass.error;
}

static bool note_mask(const struct linux_task *task, void *context)
{
    struct port_shield *shield = context;
    struct cpus mask;
    if (task->flags & FLAG_BOUND || linux_affinity_get(task->id, &mask) != 0)
        return true;
    struct cpus ours = cpus_kept_off(&mask, &shield->reserved, &shield->others);
    note_task(shield, "mask", task, &mask, &ours);
    return true;
}

int linux_shield_note_masks(struct port_shield *shield)
{
    linux_task_each(shield, note_mask, shield);
    return linux_shield_sync(shield);
}

/* ---- undo ---- */

struct written {
    pid_t id;
    uint64_t start;
    struct cpus before, ours;
};

static bool read_record(const struct port_change *record, struct written *written)
{
    char *end;
    if (record->count != 5)
        return false;
    long id = strtol(record->field[1], &end, 10);
    if (*end != '\0' || id <= 0 || id > INT32_MAX)
        return false;
    written->id = (pid_t)id;
    written->start = strtoull(record->field[2], &end, 10);
    return *end == '\0' && record->field[2][0] != '\0' &&
           cpus_parse_list(record->field[3], &written->before) == 0 &&
           cpus_parse_list(record->field[4], &written->ours) == 0 &&
           cpus_first(&written->before) >= 0 && cpus_first(&written->ours) >= 0;
}

/* A "task" line is undone only if the affinity is still the one that the shield set. A "mask" line
 * is undone whatever the value: the kernel has reset the affinity. */
enum port_undo linux_shield_undo_task(struct port_shield *shield, const struct port_change *record,
                                      char *text, size_t bytes)
{
    struct written written;
    struct linux_task task;
    struct cpus now;
    if (!read_record(record, &written)) {
        snprintf(text, bytes, "a line about a thread is damaged");
        return PORT_UNDO_REFUSED;
    }
    if (!linux_task_read(shield, written.id, &task) || task.start != written.start ||
        linux_affinity_get(written.id, &now) != 0 || cpus_same(&now, &written.before))
        return PORT_UNDO_NOTHING;
    if (strcmp(record->field[0], "task") == 0 && !cpus_same(&now, &written.ours)) {
        char list[80];
        cpus_format_list(&now, list, sizeof list);
        snprintf(
            text, bytes,
            "thread %ld has the affinity %s now, not the %.60s that the shield set: left alone",
            (long)written.id, list, record->field[4]);
        return PORT_UNDO_FOREIGN;
    }
    int error = linux_affinity_set(written.id, &written.before);
    if (error == 0 || error == ESRCH)
        return PORT_UNDONE;
    if (!linux_task_read(shield, written.id, &task) || task.start != written.start)
        return PORT_UNDO_NOTHING;
    if (error == EINVAL && task.flags & FLAG_BOUND) { /* a kworker attached to a pool since */
        snprintf(text, bytes, "thread %ld has the affinity that the kernel has bound it to since",
                 (long)written.id);
        return PORT_UNDO_TAKEN;
    }
    snprintf(text, bytes, "the affinity of thread %ld could not be restored to %.60s: %s",
             (long)written.id, record->field[3], strerror(error));
    return PORT_UNDO_FAILED;
}

/* Threads created under the shield inherited an affinity: the narrowed one of their creator, or, if
 * the shielded command created them, the reserved CPUs. */
struct inherited_affinity {
    struct cpus reserved, owners;
    uint64_t since;
    size_t count;
    struct written *written;
};

static bool is_written(const struct inherited_affinity *inherited_affinity,
                       const struct linux_task *task)
{
    for (size_t i = 0; i < inherited_affinity->count; i++)
        if (inherited_affinity->written[i].id == task->id &&
            inherited_affinity->written[i].start == task->start)
            return true;
    return false;
}

/* The moved thread whose affinity `task` inherited: its process or parent; if neither was moved,
 * the one with the most CPUs before among those with the same affinity. */
static const struct written *maker_of(const struct inherited_affinity *inherited_affinity,
                                      const struct linux_task *task, const struct cpus *mask)
{
    const struct written *likely = NULL;
    for (size_t i = 0; i < inherited_affinity->count; i++) {
        const struct written *written = &inherited_affinity->written[i];
        if (!cpus_same(&written->ours, mask))
            continue;
        if (written->id == task->process || written->id == task->parent)
            return written;
        if (!likely || cpus_count(&written->before) > cpus_count(&likely->before))
            likely = written;
    }
    return likely;
}

/* Threads older than the shield have set such an affinity themselves: left alone. */
static bool give_back(const struct linux_task *task, void *context)
{
    const struct inherited_affinity *inherited_affinity = context;
    struct cpus mask;
    if (linux_task_is_kernel(task) || task->start <= inherited_affinity->since ||
        is_written(inherited_affinity, task) || linux_affinity_get(task->id, &mask) != 0)
        return true;
    const struct written *maker = maker_of(inherited_affinity, task, &mask);
    if (maker)
        linux_affinity_set(task->id, &maker->before);
    else if (cpus_same(&mask, &inherited_affinity->reserved))
        linux_affinity_set(task->id, &inherited_affinity->owners);
    return true;
}

enum port_undo linux_shield_undo_inherited_affinity(struct port_shield *shield,
                                                    const struct port_changes *changes,
                                                    const struct port_change *record, char *text,
                                                    size_t bytes)
{
    struct inherited_affinity inherited_affinity = {.reserved = changes->reserved,
                                                    .since = changes->owner_start};
    if (record->count != 2 || cpus_parse_list(record->field[1], &inherited_affinity.owners) != 0) {
        snprintf(text, bytes, "a line about new threads is damaged");
        return PORT_UNDO_REFUSED;
    }
    inherited_affinity.written = calloc(changes->count + 1, sizeof *inherited_affinity.written);
    if (!inherited_affinity.written) {
        snprintf(text, bytes, "new threads: no memory to check them");
        return PORT_UNDO_FAILED;
    }
    for (size_t i = 0; i < changes->count; i++)
        if (strcmp(changes->each[i].field[0], "task") == 0 &&
            read_record(&changes->each[i], &inherited_affinity.written[inherited_affinity.count]))
            inherited_affinity.count++;
    linux_task_each(shield, give_back, &inherited_affinity);
    free(inherited_affinity.written);
    return PORT_UNDONE;
}
