/* Kernel counters that show what happened while a test ran. The measuring thread reads them:
 * nothing here allocates. */
#include "port/port.h"

#include "port/linux/files.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
