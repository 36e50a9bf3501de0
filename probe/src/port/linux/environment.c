/* Kernel counters that show what happened while a test ran. The measuring thread reads them:
 * nothing here allocates. */
#include "port/port.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Steal time: eighth number of the line "cpuN ..." of /proc/stat, in units of 1/_SC_CLK_TCK s. */
static int64_t steal_ns(int cpu)
{
    struct linux_lines lines;
    bool is_open = linux_lines_open(&lines, "/proc/stat");
    char line[512], name[16];
    int64_t ticks = -1;
    if (cpu >= 0)
        snprintf(name, sizeof name, "cpu%d ", cpu);
    else
        snprintf(name, sizeof name, "cpu ");
    while (is_open && ticks < 0 && linux_lines_next(&lines, line, sizeof line)) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        char *at = line + strlen(name);
        for (int field = 0; field < 8; field++)
            ticks = strtoll(at, &at, 10);
    }
    if (is_open)
        linux_lines_close(&lines);
    long hz = sysconf(_SC_CLK_TCK);
    return ticks < 0 || hz <= 0 ? -1 : ticks * (1000000000 / hz);
}

/* The number in column `place` of a line of /proc/interrupts; -1: no such column. */
static int64_t column(const char *line, int place)
{
    char *at = strchr(line, ':');
    if (!at)
        return -1;
    at++;
    for (int i = 0;; i++) {
        char *end;
        long long number = strtoll(at, &end, 10);
        if (end == at)
            return -1;
        if (i == place)
            return number;
        at = end;
    }
}

/* Column of `cpu` in the heading "CPU0 CPU1 ..."; -1: none, as for offline CPUs. */
static int place_of(const char *heading, int cpu)
{
    char name[16];
    snprintf(name, sizeof name, "CPU%d", cpu);
    int place = 0;
    const char *at = heading + strspn(heading, " ");
    while (*at && *at != '\n') {
        size_t length = strcspn(at, " \n");
        if (length == strlen(name) && strncmp(at, name, length) == 0)
            return place;
        place++;
        at += length;
        at += strspn(at, " ");
    }
    return -1;
}

static void count_interrupts(int cpu, struct port_environment *environment)
{
    struct linux_lines lines;
    char line[16384];
    if (!linux_lines_open(&lines, "/proc/interrupts"))
        return;
    int place = linux_lines_next(&lines, line, sizeof line) ? place_of(line, cpu) : -1;
    while (place >= 0 && linux_lines_next(&lines, line, sizeof line)) {
        int64_t number = column(line, place);
        if (number < 0)
            continue;
        if (environment->interrupts < 0)
            environment->interrupts = 0;
        environment->interrupts += number;
        const char *name = line + strspn(line, " ");
        if (strncmp(name, "LOC:", 4) == 0 || strstr(name, "arch_timer"))
            environment->timer_interrupts = number;
    }
    linux_lines_close(&lines);
}

static int64_t thermal_throttles(int cpu)
{
    char path[96];
    int64_t count;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
    return linux_read_number(path, &count) ? count : -1;
}

void port_environment(int cpu, struct port_environment *environment)
{
    *environment = (struct port_environment){-1, -1, -1, -1};
    environment->steal_ns = steal_ns(cpu);
    if (cpu < 0)
        return;
    count_interrupts(cpu, environment);
    environment->thermal_throttles = thermal_throttles(cpu);
}
