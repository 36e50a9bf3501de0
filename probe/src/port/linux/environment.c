/* Kernel counters that show what happened while a test ran. The measuring thread reads them:
 * nothing here allocates. */
#include "port/port.h"

#include "port/linux/files.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOFTIRQ_LINE_BYTES = 64 + (PORT_CPUS < 4096 ? PORT_CPUS : 4096) * 11 };

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

/* "NET_RX: 12 34": the number in column `column`; -1: there is none. */
static int64_t number_in_column(const char *at, int column)
{
    for (; column > 0 && *at; column--) {
        at += strspn(at, " ");
        at += strspn(at, "0123456789");
    }
    at += strspn(at, " ");
    return isdigit((unsigned char)*at) ? strtoll(at, NULL, 10) : -1;
}

/* The column of a CPU in "CPU0 CPU2": those online; -1: none. */
static int column_of(const char *heading, int cpu)
{
    int column = 0;
    for (const char *at = strstr(heading, "CPU"); at; at = strstr(at + 3, "CPU"), column++)
        if (strtol(at + 3, NULL, 10) == cpu)
            return column;
    return -1;
}

static void take_softirqs(const char *line, int column, struct port_softirqs *softirqs)
{
    line += strspn(line, " ");
    const char *colon = strchr(line, ':');
    int64_t count = colon ? number_in_column(colon + 1, column) : -1;
    if (count < 0)
        return;
    if (strncmp(line, "NET_RX:", 7) == 0)
        softirqs->packets = count;
    else if (strncmp(line, "BLOCK:", 6) == 0)
        softirqs->disk = count;
    else if (strncmp(line, "HRTIMER:", 8) == 0)
        softirqs->timers = count;
}

void port_softirqs(int cpu, struct port_softirqs *softirqs)
{
    struct linux_lines lines;
    char line[SOFTIRQ_LINE_BYTES];
    *softirqs = (struct port_softirqs){-1, -1, -1};
    if (!linux_lines_open(&lines, "/proc/softirqs"))
        return;
    bool has_heading = linux_lines_next(&lines, line, sizeof line);
    int column = has_heading ? column_of(line, cpu) : -1;
    while (column >= 0 && linux_lines_next(&lines, line, sizeof line))
        take_softirqs(line, column, softirqs);
    linux_lines_close(&lines);
}
