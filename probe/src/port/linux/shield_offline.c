/* Takes the reserved CPUs offline, and brings them back.
 *
 * What the kernel forgets of an offline CPU was tried on Linux 6.18 with odd values. `disable` of
 * its idle states is 0 afterwards: it is journalled before and written again. So is what is set for
 * its frequency, which is left to drivers. A cpuset of version 1 loses the CPU for good, and
 * threads and interrupts that may run on no other CPU lose their affinity: the settings `cpuset`
 * and `interrupts`, applied before, take all of them off the CPU. An interrupt that has not moved
 * by then, since it moves when it fires, is given to all CPUs; undoing `interrupts` knows that. */
#include "port/linux/shield.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CPU_FOLDER "/sys/devices/system/cpu/cpu"
#define CPUS_ONLINE "/sys/devices/system/cpu/online"

enum {
    OFFLINE_PATH_BYTES = 128,
    VALUE_BYTES = 64,
    MOST_STATES = 32,
    MOST_DEPTH = 32,
    LOOKS = 100,
    LOOK_NS = 10000000
};

static void cpu_path(char path[OFFLINE_PATH_BYTES], int cpu, const char *name)
{
    snprintf(path, OFFLINE_PATH_BYTES, CPU_FOLDER "%d/%s", cpu, name);
}

/* ---- settings that the kernel drops while a CPU is offline ---- */

static void note_kept(struct port_shield *shield, int cpu, const char *name)
{
    char path[OFFLINE_PATH_BYTES], value[VALUE_BYTES];
    const char *fields[] = {"kept", path, value};
    cpu_path(path, cpu, name);
    if (linux_shield_read(shield, path, value, sizeof value) == 0 && linux_shield_is_value(value) &&
        value[0])
        linux_shield_note(shield, 3, fields);
}

/* Undone last to first: the governor decides which of the others may be written, and a lower limit
 * is refused above the upper one. */
static void note_all_kept(struct port_shield *shield, int cpu)
{
    char name[OFFLINE_PATH_BYTES / 2], path[OFFLINE_PATH_BYTES];
    for (int state = 0; state < MOST_STATES; state++) {
        snprintf(name, sizeof name, "cpuidle/state%d/disable", state);
        cpu_path(path, cpu, name);
        if (!linux_shield_exists(shield, path))
            break;
        note_kept(shield, cpu, name);
    }
    note_kept(shield, cpu, "cpufreq/energy_performance_preference");
    note_kept(shield, cpu, "cpufreq/scaling_min_freq");
    note_kept(shield, cpu, "cpufreq/scaling_max_freq");
    note_kept(shield, cpu, "cpufreq/scaling_governor");
}

static bool is_kept_path(const char *path)
{
    static const char *const patterns[] = {
        CPU_FOLDER "[0-9]*/cpuidle/state[0-9]*/disable",
        CPU_FOLDER "[0-9]*/cpufreq/energy_performance_preference",
        CPU_FOLDER "[0-9]*/cpufreq/scaling_min_freq",
        CPU_FOLDER "[0-9]*/cpufreq/scaling_max_freq",
        CPU_FOLDER "[0-9]*/cpufreq/scaling_governor",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (fnmatch(patterns[i], path, FNM_PATHNAME | FNM_PERIOD) == 0)
            return true;
    return false;
}

/* ---- groups that would lose the CPU ---- */

struct losers {
    const struct port_shield *shield;
    const struct linux_groups *groups;
    int depth;
    char name[LINUX_PATH_BYTES]; /* the first; empty: none */
};

static void look_for_loser(const char *group, void *context)
{
    struct losers *losers = context;
    char path[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    struct cpus cpus;
    if (losers->name[0] || linux_groups_is_ours(losers->groups, group))
        return;
    if (linux_groups_join(path, group, "cpuset.cpus") &&
        linux_shield_read(losers->shield, path, text, sizeof text) == 0 &&
        cpus_parse_list(text, &cpus) == 0 && cpus_overlap(&cpus, &losers->shield->reserved))
        snprintf(losers->name, sizeof losers->name, "%s", group);
    if (losers->depth++ < MOST_DEPTH)
        linux_groups_each_inside(losers->shield, group, look_for_loser, losers);
    losers->depth--;
}

/* Whether a group of version 1 still has a reserved CPU, which could not be given back to it. */
static bool would_be_lost(const struct port_shield *shield, char *text, size_t bytes)
{
    struct linux_groups groups;
    linux_groups_find(shield, &groups);
    struct losers losers = {.shield = shield, .groups = &groups};
    if (groups.kind == LINUX_GROUPS_V1)
        linux_groups_each_inside(shield, groups.mount, look_for_loser, &losers);
    if (losers.name[0])
        snprintf(text, bytes, "group %.150s could not be kept off the CPU, and would lose it",
                 losers.name);
    return losers.name[0] != '\0';
}

/* ---- offline and online ---- */

static int take_offline(struct port_shield *shield, int cpu)
{
    char path[OFFLINE_PATH_BYTES], now[VALUE_BYTES], number[16];
    const char *fields[] = {"online", number};
    cpu_path(path, cpu, "online");
    snprintf(number, sizeof number, "%d", cpu);
    int error = linux_shield_read(shield, path, now, sizeof now);
    if (error || strcmp(now, "0") == 0) /* somebody else has taken it offline */
        return error;
    note_all_kept(shield, cpu);
    linux_shield_note(shield, 2, fields);
    error = linux_shield_sync(shield);
    return error ? error : linux_shield_change(shield, path, "0");
}

int linux_shield_offline(struct port_shield *shield, char *text, size_t bytes)
{
    if (would_be_lost(shield, text, bytes))
        return EBUSY;
    for (int cpu = cpus_first(&shield->reserved); cpu >= 0;
         cpu = cpus_next(&shield->reserved, cpu)) {
        int error = take_offline(shield, cpu);
        if (error) {
            snprintf(text, bytes, "CPU %d: %s", cpu, strerror(error));
            return error == ENOENT ? ENOTSUP : error;
        }
    }
    snprintf(text, bytes, "brought back afterwards");
    return 0;
}

/* Some kernels give a CPU to the cpusets only a moment after it is online. */
static void wait_for_groups(const struct port_shield *shield, int cpu)
{
    static const struct timespec wait = {.tv_nsec = LOOK_NS};
    struct linux_groups groups;
    char path[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    linux_groups_find(shield, &groups);
    const char *name = groups.kind == LINUX_GROUPS_V1 ? "cpuset.cpus" : "cpuset.cpus.effective";
    if (groups.kind == LINUX_GROUPS_NONE || !linux_groups_join(path, groups.mount, name))
        return;
    for (int i = 0; i < LOOKS; i++) {
        struct cpus now;
        if (linux_shield_read(shield, path, text, sizeof text) != 0 ||
            cpus_parse_list(text, &now) != 0 || cpus_has(&now, cpu))
            return;
        nanosleep(&wait, NULL);
    }
}

/* All CPUs that stay: the kernel does so to an interrupt that only the offline CPU could serve, and
 * to one that waits there to be moved. */
bool linux_shield_is_broken(const struct port_shield *shield, const struct port_changes *changes,
                            const char *now)
{
    char list[CPUS_TEXT_BYTES];
    struct cpus mask, online;
    bool was_offline = false;
    for (size_t i = 0; i < changes->count; i++)
        was_offline = was_offline || strcmp(changes->each[i].field[0], "online") == 0;
    if (!was_offline || cpus_parse_list(now, &mask) != 0 ||
        linux_shield_read(shield, CPUS_ONLINE, list, sizeof list) != 0 ||
        cpus_parse_list(list, &online) != 0)
        return false;
    struct cpus staying = cpus_without(&online, &changes->reserved);
    struct cpus missing = cpus_without(&staying, &mask);
    return cpus_first(&missing) < 0;
}

static bool read_cpu(const char *text, int *cpu)
{
    char *end;
    long number = strtol(text, &end, 10);
    *cpu = (int)number;
    return *text >= '0' && *text <= '9' && *end == '\0' && number < PORT_CPUS;
}

enum port_undo linux_shield_undo_online(struct port_shield *shield,
                                        const struct port_change *record, char *text, size_t bytes)
{
    char path[OFFLINE_PATH_BYTES], now[VALUE_BYTES];
    int cpu;
    if (record->count != 2 || !read_cpu(record->field[1], &cpu)) {
        snprintf(text, bytes, "a line about an offline CPU is damaged");
        return PORT_UNDO_REFUSED;
    }
    cpu_path(path, cpu, "online");
    int error = linux_shield_read(shield, path, now, sizeof now);
    if (error == ENOENT || (error == 0 && strcmp(now, "1") == 0))
        return PORT_UNDO_NOTHING;
    if (error == 0)
        error = linux_shield_change(shield, path, "1");
    if (error == 0) {
        wait_for_groups(shield, cpu);
        return PORT_UNDONE;
    }
    snprintf(text, bytes, "CPU %d could not be brought online again: %s", cpu, strerror(error));
    return PORT_UNDO_FAILED;
}

/* Restore it whatever its value is now: the kernel has set that since the CPU went offline. */
enum port_undo linux_shield_undo_kept(struct port_shield *shield, const struct port_change *record,
                                      char *text, size_t bytes)
{
    char now[VALUE_BYTES], online[OFFLINE_PATH_BYTES];
    if (record->count != 3 || !is_kept_path(record->field[1]) ||
        !linux_shield_is_value(record->field[2])) {
        snprintf(text, bytes, "a line about what an offline CPU loses is damaged");
        return PORT_UNDO_REFUSED;
    }
    const char *path = record->field[1], *before = record->field[2];
    cpu_path(online, (int)strtol(path + strlen(CPU_FOLDER), NULL, 10), "online");
    int error = linux_shield_read(shield, path, now, sizeof now);
    if (error == 0 && strcmp(now, before) == 0)
        return PORT_UNDO_NOTHING;
    if (error == ENOENT &&
        (linux_shield_read(shield, online, now, sizeof now) != 0 || strcmp(now, "1") == 0))
        return PORT_UNDO_NOTHING;
    if (error == 0)
        error = linux_shield_change(shield, path, before);
    if (error == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "%s could not be restored to %.60s: %s", path, before, strerror(error));
    return PORT_UNDO_FAILED;
}
