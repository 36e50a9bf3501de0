/* What takes a CPU from a test: time that a hypervisor stole, heat, interrupts, and limits on the
 * time of its control group. The measuring thread reads the counters of the first three: nothing
 * there allocates. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/facts.h"
#include "port/linux/files.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- steal time and heat ---- */

/* Steal time: eighth number of a line "cpuN ..." of /proc/stat, in units of 1/_SC_CLK_TCK s. */
static int64_t steal_of(const char *numbers)
{
    char *at = NULL;
    int64_t ticks = -1;
    long hz = sysconf(_SC_CLK_TCK);
    for (int field = 0; field < 8; field++, numbers = at)
        ticks = strtoll(numbers, &at, 10);
    return ticks < 0 || hz <= 0 ? -1 : ticks * (1000000000 / hz);
}

void port_steal(const struct cpus *cpus, int64_t *each)
{
    struct linux_lines lines;
    char line[512], *end;
    int order = 0, next = cpus_first(cpus); /* the lines of the file rise too */
    for (int i = cpus_count(cpus); i-- > 0;)
        each[i] = -1;
    if (!linux_lines_open(&lines, "/proc/stat"))
        return;
    while (next >= 0 && linux_lines_next(&lines, line, sizeof line) &&
           strncmp(line, "cpu", 3) == 0) {
        if (!isdigit((unsigned char)line[3])) /* the sum */
            continue;
        long cpu = strtol(line + 3, &end, 10);
        for (; next >= 0 && next <= cpu; next = cpus_next(cpus, next), order++)
            if (next == cpu)
                each[order] = steal_of(end);
    }
    linux_lines_close(&lines);
}

static int64_t steal_of_machine(void)
{
    struct linux_lines lines;
    char line[512];
    if (!linux_lines_open(&lines, "/proc/stat"))
        return -1;
    bool is_first = linux_lines_next(&lines, line, sizeof line) && strncmp(line, "cpu ", 4) == 0;
    linux_lines_close(&lines);
    return is_first ? steal_of(line + 4) : -1;
}

static void add_line(void *context, const struct port_interrupt_line *line)
{
    struct port_environment *environment = context;
    if (line->counts[0] < 0)
        return;
    if (environment->interrupts < 0)
        environment->interrupts = 0;
    environment->interrupts += line->counts[0];
    if (!line->is_timer)
        return;
    if (environment->timer_interrupts < 0)
        environment->timer_interrupts = 0;
    environment->timer_interrupts += line->counts[0];
}

static int64_t read_heat(int cpu, const char *level, const char *what)
{
    char path[96];
    int64_t number;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_%s",
             cpu, level, what);
    return linux_read_number(path, &number) ? number : -1;
}

/* Kernels before 5.5 have the counts only. */
void port_heat(int cpu, struct port_heat each[PORT_HEATS])
{
    static const char *const levels[PORT_HEATS] = {"core", "package"};
    for (int i = 0; i < PORT_HEATS; i++) {
        int64_t total_ms = read_heat(cpu, levels[i], "total_time_ms");
        each[i].count = read_heat(cpu, levels[i], "count");
        each[i].total_ns = total_ms < 0 || total_ms > INT64_MAX / 1000000 ? -1 : total_ms * 1000000;
    }
}

static int64_t thermal_throttles(int cpu)
{
    struct port_heat each[PORT_HEATS];
    int64_t sum = -1;
    port_heat(cpu, each);
    for (int i = 0; i < PORT_HEATS; i++)
        if (each[i].count >= 0)
            sum = (sum < 0 ? 0 : sum) + each[i].count;
    return sum;
}

void port_environment(int cpu, struct port_environment *environment)
{
    *environment = (struct port_environment){-1, -1, -1, -1};
    struct cpus one;
    cpus_clear(&one);
    cpus_add(&one, cpu);
    if (cpus_first(&one) < 0) {
        environment->steal_ns = steal_of_machine();
        return;
    }
    port_steal(&one, &environment->steal_ns);
    port_interrupt_lines(&one, add_line, environment);
    environment->thermal_throttles = thermal_throttles(cpu);
}

/* ---- interrupts sent to other CPUs ----
 *
 * By membarrier(2), whose numbers are not in every C library. */

enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static int membarrier(int command)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0) == 0 ? 0 : errno;
#else
    (void)command;
    return ENOSYS;
#endif
}

int port_interrupt_register(void)
{
    return membarrier(REGISTER_PRIVATE_EXPEDITED);
}

int port_interrupt_send(void)
{
    return membarrier(PRIVATE_EXPEDITED);
}

/* ---- interrupts counted ----
 *
 * The lines of /proc/interrupts and /proc/softirqs. Machines have thousands of CPUs, each a column:
 * a file is read once for all CPUs that are asked for, word by word, because the measuring thread
 * has no room for a line. */

enum { WORD_BYTES = 64, REST_BYTES = 512, NAME_BYTES = 80 };

struct table {
    int columns;               /* fewer than that in a line: not a count of each CPU */
    int asked;                 /* CPUs asked for */
    int place[PORT_LOOK_CPUS]; /* column of each, rising; -1: none */
    int64_t counts[PORT_LOOK_CPUS];
};

/* "CPU0 CPU1 CPU3": the columns of CPUs, rising. */
static void read_heading(struct table *table, struct linux_lines *lines, const struct cpus *cpus)
{
    char word[WORD_BYTES];
    int cpu = cpus_first(cpus);
    table->columns = table->asked = 0;
    for (; linux_lines_word(lines, word, sizeof word); table->columns++) {
        long number = strncmp(word, "CPU", 3) == 0 ? strtol(word + 3, NULL, 10) : -1;
        for (; cpu >= 0 && cpu <= number && table->asked < PORT_LOOK_CPUS;
             cpu = cpus_next(cpus, cpu))
            table->place[table->asked++] = cpu == number ? table->columns : -1;
    }
    for (; cpu >= 0 && table->asked < PORT_LOOK_CPUS; cpu = cpus_next(cpus, cpu))
        table->place[table->asked++] = -1;
}

/* Stores the counts of a line. False: it has not one for each CPU. */
static bool read_counts(struct table *table, struct linux_lines *lines)
{
    char word[WORD_BYTES];
    int asked = 0;
    for (int i = 0; i < table->asked; i++)
        table->counts[i] = -1;
    for (int column = 0; column < table->columns; column++) {
        if (!linux_lines_word(lines, word, sizeof word) || !isdigit((unsigned char)*word))
            return false;
        while (asked < table->asked && table->place[asked] < 0)
            asked++;
        if (asked < table->asked && table->place[asked] == column)
            table->counts[asked++] = strtoll(word, NULL, 10);
    }
    return true;
}

/* "24: IO-APIC 5-edge   ACPI:Ged" has the name of the device behind its last gap of two spaces;
 * "RES: Rescheduling interrupts" is all name. */
static void compose_name(char name[NAME_BYTES], const char *id, const char *rest)
{
    rest += strspn(rest, " ");
    if (isdigit((unsigned char)*id))
        for (const char *gap = strstr(rest, "  "); gap; gap = strstr(rest, "  "))
            rest = gap + strspn(gap, " ");
    size_t used = strnlen(id, NAME_BYTES / 2);
    memcpy(name, id, used);
    name[used++] = ' ';
    size_t left = strlen(rest), room = NAME_BYTES - 1 - used;
    left = left < room ? left : room;
    memcpy(name + used, rest, left);
    for (used += left; used > 0 && name[used - 1] == ' ';)
        used--;
    name[used] = '\0';
}

static uint32_t key_of(const char *id)
{
    uint32_t key = 2166136261u;
    for (; *id; id++)
        key = (key ^ (unsigned char)*id) * 16777619u;
    return key;
}

/* A line "ID: count count ... rest"; false after the last. `is_whole`: it has a count of each CPU.
 */
static bool next_line(struct table *table, struct linux_lines *lines, char id[WORD_BYTES],
                      char rest[REST_BYTES], bool *is_whole)
{
    bool is_there = linux_lines_word(lines, id, WORD_BYTES);
    *is_whole = is_there && id[strlen(id) - 1] == ':' && read_counts(table, lines);
    return linux_lines_next(lines, rest, REST_BYTES);
}

bool port_interrupt_lines(const struct cpus *cpus,
                          void (*take)(void *context, const struct port_interrupt_line *line),
                          void *context)
{
    struct linux_lines lines;
    struct table table;
    char id[WORD_BYTES], rest[REST_BYTES], name[NAME_BYTES];
    bool is_whole;
    if (!linux_lines_open(&lines, "/proc/interrupts"))
        return false;
    read_heading(&table, &lines, cpus);
    bool has_heading = linux_lines_next(&lines, rest, sizeof rest);
    while (has_heading && next_line(&table, &lines, id, rest, &is_whole)) {
        if (!is_whole)
            continue;
        compose_name(name, id, rest);
        const struct port_interrupt_line found = {.key = key_of(id),
                                                  .is_timer = strcmp(id, "LOC:") == 0 ||
                                                              strstr(rest, "arch_timer"),
                                                  .name = name,
                                                  .counts = table.counts};
        take(context, &found);
    }
    linux_lines_close(&lines);
    return has_heading;
}

/* Its columns are all possible CPUs. */
void port_softirqs(int cpu, struct port_softirqs *softirqs)
{
    struct linux_lines lines;
    struct table table = {.counts = {-1}};
    struct cpus one;
    char id[WORD_BYTES], rest[REST_BYTES];
    bool is_whole;
    *softirqs = (struct port_softirqs){-1, -1, -1};
    cpus_clear(&one);
    cpus_add(&one, cpu);
    if (cpus_first(&one) < 0 || !linux_lines_open(&lines, "/proc/softirqs"))
        return;
    read_heading(&table, &lines, &one);
    bool has_heading = linux_lines_next(&lines, rest, sizeof rest);
    while (has_heading && next_line(&table, &lines, id, rest, &is_whole))
        if (!is_whole)
            continue;
        else if (strcmp(id, "NET_RX:") == 0)
            softirqs->packets = table.counts[0];
        else if (strcmp(id, "BLOCK:") == 0)
            softirqs->disk = table.counts[0];
        else if (strcmp(id, "HRTIMER:") == 0)
            softirqs->timers = table.counts[0];
    linux_lines_close(&lines);
}

/* ---- limits on CPU time: of the control group of this process and of those above it ---- */

enum { LINE_BYTES = 1024, FILE_BYTES = PORT_CPU_GROUP_BYTES + 32 };

/* Folder of a group, `path`; that of the root group is its first `root_length` bytes. */
struct place {
    char path[PORT_CPU_GROUP_BYTES];
    size_t root_length;
};

/* ---- where the group is ---- */

static const char groups_path[] = "/proc/self/cgroup";

/* Stores the path of a line of /proc/self/cgroup, "NUMBER:CONTROLLERS:PATH", of the first with
 * `controller`; "": that of version 2. False: there is none, or it lies outside of what this
 * process sees. */
static bool group_line(const char *controller, char *path, size_t bytes)
{
    FILE *file = linux_open(groups_path);
    char line[LINE_BYTES], list[LINE_BYTES], wanted[32];
    bool is_found = false;
    snprintf(wanted, sizeof wanted, ",%s,", controller);
    while (file && !is_found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || !strchr(group, '\n'))
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        snprintf(list, sizeof list, ",%s,", controllers + 1);
        is_found =
            strstr(list, wanted) != NULL && strstr(group, "/..") == NULL && strlen(group) < bytes;
        if (is_found)
            snprintf(path, bytes, "%s", strcmp(group, "/") == 0 ? "" : group);
    }
    if (file)
        fclose(file);
    return is_found;
}

/* Cuts the last part of the path; false: it is the root group. */
static bool go_up(struct place *place)
{
    size_t length = strlen(place->path);
    if (length <= place->root_length)
        return false;
    while (length > place->root_length && place->path[--length] != '/')
        ;
    place->path[length] = '\0';
    return true;
}

static bool has_file(const struct place *place, const char *name)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s%s", place->path, name);
    return linux_exists(path);
}

/* In a container without a name space of control groups the path is that on the host, and what is
 * mounted is the container's own group: then the nearest group that is seen. */
static bool find_below(const char *mount, const char *group, const char *file, struct place *place)
{
    int length = snprintf(place->path, sizeof place->path, "%s%s", mount, group);
    place->root_length = strlen(mount);
    if (length < 0 || (size_t)length >= sizeof place->path)
        return false;
    while (!has_file(place, file))
        if (!go_up(place))
            return false;
    return true;
}

/* The cpu controller's group of version 1. */
static bool find_first_version(struct place *place)
{
    char group[PORT_CPU_GROUP_BYTES];
    return group_line("cpu", group, sizeof group) &&
           (find_below("/sys/fs/cgroup/cpu", group, "", place) ||
            find_below("/sys/fs/cgroup/cpu,cpuacct", group, "", place));
}

static bool find_second_version(struct place *place)
{
    char group[PORT_CPU_GROUP_BYTES];
    return group_line("", group, sizeof group) &&
           (find_below("/sys/fs/cgroup", group, "/cpu.stat", place) ||
            find_below("/sys/fs/cgroup/unified", group, "/cpu.stat", place));
}

/* ---- what limits it and the groups above it ---- */

static bool group_number(const struct place *place, const char *name, int64_t *number)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", place->path, name);
    return linux_read_number(path, number);
}

static bool read_budget(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    return group_number(place, "cpu.rt_runtime_us", limit_us) &&
           group_number(place, "cpu.rt_period_us", period_us);
}

static bool read_quota(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    return group_number(place, "cpu.cfs_quota_us", limit_us) &&
           group_number(place, "cpu.cfs_period_us", period_us);
}

/* Version 2: "max 100000" or "20000 100000". */
static bool read_max(const struct place *place, int64_t *limit_us, int64_t *period_us)
{
    char path[FILE_BYTES], text[64], *end;
    snprintf(path, sizeof path, "%s/cpu.max", place->path);
    if (!linux_read(path, text, sizeof text))
        return false;
    if (strncmp(text, "max", 3) == 0)
        *limit_us = -1;
    else
        *limit_us = strtoll(text, NULL, 10);
    *period_us = strtoll(text + strcspn(text, " "), &end, 10);
    return *period_us > 0;
}

static double share_of(int64_t limit_us, int64_t period_us)
{
    return (double)limit_us / (double)period_us;
}

/* The tightest of the group at `place` and those above it; of groups with the same limit the
 * highest, which has to be raised first. */
static void find_tightest(struct place place,
                          bool (*read)(const struct place *, int64_t *, int64_t *),
                          struct linux_group_limit *limit)
{
    int64_t limit_us, period_us;
    *limit = (struct linux_group_limit){.limit_us = -1, .above_share = 1};
    do {
        if (!read(&place, &limit_us, &period_us) || limit_us < 0 || period_us <= 0)
            continue;
        double share = share_of(limit_us, period_us);
        bool is_tighter =
            limit->limit_us < 0 || share <= share_of(limit->limit_us, limit->period_us);
        if (is_tighter) {
            *limit = (struct linux_group_limit){
                .limit_us = limit_us, .period_us = period_us, .above_share = 1};
            memcpy(limit->group, place.path, sizeof place.path);
        } else if (share < limit->above_share)
            limit->above_share = share;
    } while (go_up(&place));
}

bool linux_group_budget(struct linux_group_limit *limit)
{
    struct place place;
    char group[PORT_CPU_GROUP_BYTES];
    *limit = (struct linux_group_limit){.limit_us = -1, .above_share = 1};
    if (find_first_version(&place)) {
        find_tightest(place, read_budget, limit);
        return true;
    }
    return linux_exists(groups_path) && !group_line("cpu", group, sizeof group);
}

bool linux_group_quota(struct linux_group_limit *limit)
{
    struct place place;
    bool is_first = find_first_version(&place);
    if (!is_first && !find_second_version(&place))
        return false;
    find_tightest(place, is_first ? read_quota : read_max, limit);
    limit->file = is_first ? "cpu.cfs_quota_us" : "cpu.max";
    return true;
}

/* ---- the budget in force ---- */

static bool system_budget(int64_t *runtime_us, int64_t *period_us)
{
    return linux_read_number("/proc/sys/kernel/sched_rt_runtime_us", runtime_us) &&
           linux_read_number("/proc/sys/kernel/sched_rt_period_us", period_us) && *period_us > 0;
}

/* Without a limit of the system the kernel holds no group to its own. In a group with a budget of 0
 * there is no real-time thread that could be held to it. */
bool port_realtime_budget(struct port_realtime_budget *budget)
{
    int64_t runtime_us, period_us;
    struct linux_group_limit of_group;
    memset(budget, 0, sizeof *budget);
    if (!system_budget(&runtime_us, &period_us) || runtime_us < 0)
        return false;
    double most = share_of(runtime_us, period_us);
    if (linux_group_budget(&of_group) && of_group.limit_us > 0 &&
        share_of(of_group.limit_us, of_group.period_us) < most) {
        most = of_group.above_share < most ? of_group.above_share : most;
        runtime_us = of_group.limit_us;
        period_us = of_group.period_us;
        memcpy(budget->group, of_group.group, sizeof budget->group);
    }
    budget->runtime_ns = runtime_us * 1000;
    budget->period_ns = period_us * 1000;
    budget->most_ns = (int64_t)(most * (double)period_us) * 1000;
    return true;
}

/* ---- throttling ---- */

bool port_throttling_group(char *group, size_t bytes)
{
    struct place place;
    if (!find_first_version(&place) && !find_second_version(&place))
        return false;
    int length = snprintf(group, bytes, "%s", place.path);
    return length >= 0 && (size_t)length < bytes;
}

/* Adds what the group at `path` has counted. False: there is no such group. */
static bool add_group(const char *path, int64_t *count, int64_t *ns)
{
    struct linux_lines lines;
    char line[128];
    if (!linux_lines_open(&lines, path))
        return false;
    while (linux_lines_next(&lines, line, sizeof line)) {
        int64_t number = strtoll(line + strcspn(line, " "), NULL, 10);
        if (strncmp(line, "nr_throttled ", 13) == 0)
            *count = (*count < 0 ? 0 : *count) + number;
        if (strncmp(line, "throttled_usec ", 15) == 0)
            *ns = (*ns < 0 ? 0 : *ns) + number * 1000;
        if (strncmp(line, "throttled_time ", 15) == 0)
            *ns = (*ns < 0 ? 0 : *ns) + number;
    }
    linux_lines_close(&lines);
    return true;
}

bool port_throttled(const char *group, int64_t *count, int64_t *ns)
{
    char path[FILE_BYTES];
    *count = *ns = -1;
    for (size_t length = strlen(group); length > 0 && length < PORT_CPU_GROUP_BYTES;) {
        snprintf(path, sizeof path, "%.*s/cpu.stat", (int)length, group);
        if (!add_group(path, count, ns))
            break;
        while (length > 0 && group[--length] != '/')
            ;
    }
    return *count >= 0 && *ns >= 0;
}
