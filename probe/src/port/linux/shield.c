/* The settings of a shield on Linux: their table, and those that are one or two files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "port/linux/shield.h"
#include "port/linux/cpus.h"
#include "port/linux/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LATENCY_FILE "/dev/cpu_dma_latency"
#define WATCHDOG_FILE "/proc/sys/kernel/watchdog_cpumask"
#define MIGRATION_FILE "/proc/sys/kernel/timer_migration"
#define WORKQUEUE_FILE "/sys/devices/virtual/workqueue/cpumask"
#define CPU_FOLDER "/sys/devices/system/cpu"

enum { GOVERNOR_BYTES = 32, GOVERNOR_PATH_BYTES = 96 };

/* Describes `error`; a missing file (ENOENT) becomes ENOTSUP. */
static int explain(char *text, size_t bytes, const char *path, int error)
{
    snprintf(text, bytes, "%s: %s", path, strerror(error));
    return error == ENOENT ? ENOTSUP : error;
}

/* ---- a CPU list or mask in one file ---- */

static int narrow_file(struct port_shield *shield, enum shield_setting setting, const char *path,
                       bool is_mask, char *text, size_t bytes)
{
    char before[CPUS_TEXT_BYTES], ours[CPUS_TEXT_BYTES];
    struct cpus set;
    int error = linux_shield_read(shield, path, before, sizeof before);
    if (error == 0 && (is_mask ? cpus_parse_mask(before, &set) : cpus_parse_list(before, &set)))
        error = EINVAL;
    if (error)
        return explain(text, bytes, path, error);
    snprintf(text, bytes, "does not have these CPUs already");
    if (!cpus_overlap(&set, &shield->reserved)) {
        shield->unchanged |= 1u << setting;
        return 0;
    }
    struct cpus wanted = cpus_kept_off(&set, &shield->reserved, &shield->others);
    (is_mask ? cpus_format_mask : cpus_format_list)(&wanted, ours, sizeof ours);
    error = linux_shield_set(shield, path, before, ours);
    if (error)
        return explain(text, bytes, path, error);
    snprintf(text, bytes, "%.60s instead of %.60s", ours, before);
    return 0;
}

static int watchdog(struct port_shield *shield, char *text, size_t bytes)
{
    return narrow_file(shield, SHIELD_WATCHDOG, WATCHDOG_FILE, false, text, bytes);
}

/* The kernel applies this mask to every unbound workqueue, beside the queue's own: no need to
 * change those. */
static int workqueues(struct port_shield *shield, char *text, size_t bytes)
{
    return narrow_file(shield, SHIELD_WORKQUEUES, WORKQUEUE_FILE, true, text, bytes);
}

/* With timer_migration 1 the kernel queues timers of an idle CPU (hrtimers; before Linux 6.9 also
 * the timer wheel's) on a busy CPU of its scheduling domain: on the reserved CPU, if that is not in
 * nohz_full=. So it is switched off. A CPU in nohz_full= gets no timers of others and passes its
 * own on: if all reserved CPUs are in nohz_full=, it is switched on. */
static int timers(struct port_shield *shield, char *text, size_t bytes)
{
    char before[32], list[CPUS_TEXT_BYTES];
    struct cpus tickless;
    int error = linux_shield_read(shield, MIGRATION_FILE, before, sizeof before);
    if (error)
        return explain(text, bytes, MIGRATION_FILE, error);
    if (linux_shield_read(shield, CPU_FOLDER "/nohz_full", list, sizeof list) != 0 ||
        cpus_parse_list(list, &tickless) != 0)
        memset(&tickless, 0, sizeof tickless);
    struct cpus ticking = cpus_without(&shield->reserved, &tickless);
    bool may_migrate = cpus_first(&ticking) < 0;
    const char *ours = may_migrate ? "1" : "0";
    if (strcmp(before, ours) == 0) {
        shield->unchanged |= 1u << SHIELD_TIMERS;
    } else {
        error = linux_shield_set(shield, MIGRATION_FILE, before, ours);
        if (error)
            return explain(text, bytes, MIGRATION_FILE, error);
    }
    snprintf(text, bytes,
             may_migrate ? "its own timers move to other CPUs (timer_migration 1, nohz_full)"
                         : "timers of other CPUs stay there (timer_migration 0)");
    return 0;
}

/* ---- the latency request ---- */

/* Needs no journal line: the kernel drops the request when its last descriptor is closed. */
static int dma_latency(struct port_shield *shield, char *text, size_t bytes)
{
    char full[LINUX_PATH_BYTES];
    int32_t now_us;
    linux_shield_path(shield, LATENCY_FILE, full);
    int error = linux_dma_latency_hold(full, 0, &shield->latency, &now_us);
    if (error)
        return explain(text, bytes, LATENCY_FILE, error);
    snprintf(text, bytes, "no idle states with an exit latency");
    return 0;
}

/* ---- the governor ---- */

static void governor_path(char path[GOVERNOR_PATH_BYTES], int cpu, const char *name)
{
    snprintf(path, GOVERNOR_PATH_BYTES, CPU_FOLDER "/cpu%d/cpufreq/%s", cpu, name);
}

static int set_governor(struct port_shield *shield, int cpu, const char *ours, bool *is_changed)
{
    char path[GOVERNOR_PATH_BYTES], before[GOVERNOR_BYTES];
    governor_path(path, cpu, "scaling_governor");
    int error = linux_shield_read(shield, path, before, sizeof before);
    if (error || strcmp(before, ours) == 0)
        return error;
    error = linux_shield_set(shield, path, before, ours);
    *is_changed = *is_changed || error == 0;
    return error;
}

static const char *why_not_governed(int error)
{
    return error == ENOENT   ? "the CPU has no frequency governor"
           : error == EINVAL ? "its driver has no governor 'performance'"
                             : strerror(error);
}

static int governor(struct port_shield *shield, char *text, size_t bytes)
{
    int set = 0, last_error = 0;
    bool is_changed = false;
    for (int cpu = 0; cpu < PORT_CPUS; cpu++) {
        char name[16];
        if (!cpus_has(&shield->reserved, cpu))
            continue;
        snprintf(name, sizeof name, "CPU %d", cpu);
        int error = set_governor(shield, cpu, "performance", &is_changed);
        if (error == 0)
            set++;
        else
            last_error = error;
        if (error != 0 && error != ENOENT)
            linux_shield_refused(shield, "governor", name, "%s", why_not_governed(error));
    }
    if (!is_changed)
        shield->unchanged |= 1u << SHIELD_GOVERNOR;
    snprintf(text, bytes, "%s", set ? "performance" : why_not_governed(last_error));
    return set ? 0 : last_error == ENOENT ? ENOTSUP : last_error;
}

/* ---- threads ---- */

/* Since Linux 6.2 a thread keeps the affinity that it has set when it changes its cpuset. */
static bool keeps_masks(void)
{
    struct utsname names;
    if (uname(&names) != 0)
        return false;
    char *end;
    long major = strtol(names.release, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 2);
}

/* Without cpusets: changes the affinity of each thread. */
static int bind_all(struct port_shield *shield, const char *why, char *text, size_t bytes)
{
    char own[CPUS_TEXT_BYTES];
    const char *inherited_affinity[] = {"heirs", own};
    struct cpus mask;
    int moved = 0, error = linux_affinity_get(0, &mask);
    cpus_format_list(&mask, own, sizeof own);
    linux_shield_note(shield, 2, inherited_affinity);
    if (error == 0)
        error = linux_shield_bind_tasks(shield, false, &moved);
    snprintf(text, bytes, "%d threads moved by their affinity (%s)", moved, why);
    linux_shield_refused(shield, "cpuset", NULL,
                         "%.100s: a thread that sets its affinity still gets the CPU", why);
    return error;
}

static int cpuset(struct port_shield *shield, char *text, size_t bytes)
{
    struct linux_groups groups;
    char reason[SHIELD_TEXT_BYTES];
    int moved = 0, error = 0;
    linux_groups_find(shield, &groups);
    if (groups.kind == LINUX_GROUPS_NONE)
        return bind_all(shield, "there are no cpusets", text, bytes);
    if (!keeps_masks())
        error = linux_shield_note_masks(shield);
    if (error == 0 && groups.kind == LINUX_GROUPS_V1) {
        error = linux_shield_v1(shield, &groups, &moved, reason, sizeof reason);
        if (error == 0)
            snprintf(text, bytes,
                     "%d threads moved, the groups with these CPUs narrowed "
                     "(control groups, version 1)",
                     moved);
    } else if (error == 0) {
        error = linux_shield_v2(shield, &groups, reason, sizeof reason);
        if (error == ENOTSUP)
            return bind_all(shield, reason, text, bytes);
        if (error == 0)
            snprintf(text, bytes,
                     "all other groups kept off by a partition (control groups, "
                     "version 2)");
    }
    if (error == PORT_SHIELD_HELD) {
        snprintf(text, bytes, "%s", reason);
        return error;
    }
    shield->has_group = error == 0;
    if (error == 0)
        error = linux_shield_bind_tasks(shield, true, &moved);
    if (error)
        explain(text, bytes, groups.mount, error);
    return error;
}

/* ---- the table ---- */

typedef int (*apply_function)(struct port_shield *, char *, size_t);

int port_shield_apply(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes)
{
    static const apply_function functions[] = {
        [SHIELD_DMA_LATENCY] = dma_latency,
        [SHIELD_GOVERNOR] = governor,
        [SHIELD_WATCHDOG] = watchdog,
        [SHIELD_TIMERS] = timers,
        [SHIELD_WORKQUEUES] = workqueues,
        [SHIELD_INTERRUPTS] = linux_shield_interrupts,
        [SHIELD_CPUSET] = cpuset,
        [SHIELD_OFFLINE] = linux_shield_offline,
        [SHIELD_TIMERLAT] = linux_shield_timerlat,
        [SHIELD_PREEMPTION] = linux_shield_preemption,
    };
    return functions[setting](shield, text, bytes);
}

static bool show_groups(struct port_shield *shield, char *text, size_t bytes)
{
    static const char *const kinds[] = {
        [LINUX_GROUPS_NONE] = "no cpusets: threads are moved by their affinity",
        [LINUX_GROUPS_V1] = "control groups, version 1",
        [LINUX_GROUPS_V2] = "control groups, version 2",
    };
    struct linux_groups groups;
    linux_groups_find(shield, &groups);
    snprintf(text, bytes, "%s", kinds[groups.kind]);
    return true;
}

bool port_shield_show(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes)
{
    static const char *const files[SHIELD_SETTINGS] = {
        [SHIELD_WATCHDOG] = WATCHDOG_FILE,
        [SHIELD_TIMERS] = MIGRATION_FILE,
        [SHIELD_WORKQUEUES] = WORKQUEUE_FILE,
    };
    char path[GOVERNOR_PATH_BYTES], value[SHIELD_TEXT_BYTES];
    if (setting == SHIELD_INTERRUPTS)
        return linux_shield_show_interrupts(shield, text, bytes);
    if (setting == SHIELD_PREEMPTION)
        return linux_shield_show_preemption(shield, text, bytes);
    if (setting == SHIELD_CPUSET)
        return show_groups(shield, text, bytes);
    if (setting == SHIELD_DMA_LATENCY) {
        bool is_there = linux_shield_exists(shield, LATENCY_FILE);
        snprintf(text, bytes, "%s is %s", LATENCY_FILE, is_there ? "there" : "not there");
        return is_there;
    }
    governor_path(path, cpus_first(&shield->reserved), "scaling_governor");
    const char *file = files[setting] ? files[setting] : path;
    int error = linux_shield_read(shield, file, value, sizeof value);
    snprintf(text, bytes, "%s: %s", file, error ? strerror(error) : value);
    return error == 0;
}

enum port_undo port_shield_undo(struct port_shield *shield, const struct port_changes *changes,
                                size_t index, char *text, size_t bytes)
{
    const struct port_change *record = &changes->each[index];
    const char *kind = record->field[0];
    if (strcmp(kind, "file") == 0 && record->count == 4)
        return linux_shield_undo_file(shield, record->field[1], record->field[2], record->field[3],
                                      text, bytes);
    if (strcmp(kind, "irq") == 0)
        return linux_shield_undo_irq(shield, changes, record, text, bytes);
    if (strcmp(kind, "task") == 0 || strcmp(kind, "mask") == 0)
        return linux_shield_undo_task(shield, record, text, bytes);
    if (strcmp(kind, "heirs") == 0)
        return linux_shield_undo_inherited_affinity(shield, changes, record, text, bytes);
    if (strcmp(kind, "group") == 0)
        return linux_shield_undo_group(shield, changes, record, text, bytes);
    if (strcmp(kind, "control") == 0)
        return linux_shield_undo_control(shield, record, text, bytes);
    if (strcmp(kind, "online") == 0)
        return linux_shield_undo_online(shield, record, text, bytes);
    if (strcmp(kind, "kept") == 0)
        return linux_shield_undo_kept(shield, record, text, bytes);
    if (strcmp(kind, "timerlat") == 0)
        return linux_shield_undo_timerlat(shield, record, text, bytes);
    if (strcmp(kind, "preempt") == 0)
        return linux_shield_undo_preemption(shield, record, text, bytes);
    snprintf(text, bytes, "a line of an unknown kind, '%.20s'", kind);
    return PORT_UNDO_REFUSED;
}

int port_shield_enter(const struct port_shield *shield)
{
    struct linux_groups groups;
    struct cpus mask;
    char group[LINUX_PATH_BYTES], file[LINUX_PATH_BYTES], id[24];
    int error = 0;
    linux_groups_find(shield, &groups);
    snprintf(id, sizeof id, "%ld", (long)getpid());
    if (shield->has_group && linux_groups_join(group, groups.mount, LINUX_GROUP_RESERVED) &&
        linux_groups_join(file, group, "cgroup.procs"))
        error = linux_shield_write(shield, file, id);
    if (error == 0)
        error = linux_affinity_get(0, &mask);
    if (error == 0 && !cpus_same(&mask, &shield->reserved))
        error = linux_affinity_set(0, &shield->reserved);
    return error;
}

static void read_cpus(const char *path, struct cpus *set)
{
    char text[CPUS_TEXT_BYTES];
    if (!linux_read(path, text, sizeof text) || cpus_parse_list(text, set) != 0)
        memset(set, 0, sizeof *set);
}

void port_isolated_cpus(struct cpus *isolated, struct cpus *tickless)
{
    read_cpus(CPU_FOLDER "/isolated", isolated);
    read_cpus(CPU_FOLDER "/nohz_full", tickless);
}

int port_online_cpus(struct cpus *online)
{
    read_cpus(CPU_FOLDER "/online", online);
    int count = cpus_count(online);
    return count > 0 ? count : -1;
}

bool port_is_online(int cpu)
{
    char path[sizeof CPU_FOLDER + 32];
    int64_t is_online;
    struct cpus online;
    snprintf(path, sizeof path, CPU_FOLDER "/cpu%d/online", cpu);
    /* The kernel has the lock of this file while it takes the CPU offline. */
    if (linux_read_number(path, &is_online) && is_online == 0)
        return false;
    return port_online_cpus(&online) < 0 || cpus_has(&online, cpu);
}

int port_offline_error(int cpu)
{
    char path[sizeof CPU_FOLDER + 32], place[LINUX_PLACE_BYTES];
    snprintf(path, sizeof path, CPU_FOLDER "/cpu%d/online", cpu);
    if (access(linux_rooted(path, place), W_OK) == 0)
        return 0;
    return errno == ENOENT ? ENOTSUP : errno;
}

/* ---- who holds a shield ---- */

bool port_boot_name(char *text, size_t bytes)
{
    return linux_read("/proc/sys/kernel/random/boot_id", text, bytes);
}

uint64_t port_process_start(pid_t pid)
{
    static const struct port_shield here = {.root = ""};
    struct linux_task task;
    return linux_task_read(&here, pid, &task) ? task.start : 0;
}
