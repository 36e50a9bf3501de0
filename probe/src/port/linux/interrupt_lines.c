/* The lines of /proc/interrupts. Machines have a thousand CPUs, each a column: the file is read
 * once for all CPUs that are asked for, line by line. */
#include "base/posix_source.h"

#include "port/port.h"

#include "port/linux/files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMN_BYTES = 11, /* a count of 10 digits and a space */
    MOST_COLUMNS = PORT_CPUS < 4096 ? PORT_CPUS : 4096,
    LINE_BYTES = 4096 + MOST_COLUMNS * COLUMN_BYTES,
    NAME_BYTES = 80,
};

struct table {
    int columns;               /* CPUs online; fewer than that in a line: not a count of each */
    int asked;                 /* CPUs asked for */
    int place[PORT_LOOK_CPUS]; /* column of each, rising; -1: none */
    int64_t counts[PORT_LOOK_CPUS];
};

/* "CPU0 CPU1 CPU3": the columns of CPUs that are online, rising. */
static void read_heading(struct table *table, const char *line, const struct cpus *cpus)
{
    int cpu = cpus_first(cpus);
    table->columns = table->asked = 0;
    for (const char *at = strstr(line, "CPU"); at; at = strstr(at + 3, "CPU")) {
        long number = strtol(at + 3, NULL, 10);
        for (; cpu >= 0 && cpu <= number && table->asked < PORT_LOOK_CPUS;
             cpu = cpus_next(cpus, cpu))
            table->place[table->asked++] = cpu == number ? table->columns : -1;
        table->columns++;
    }
    for (; cpu >= 0 && table->asked < PORT_LOOK_CPUS; cpu = cpus_next(cpus, cpu))
        table->place[table->asked++] = -1;
}

/* Stores the counts of a line whose numbers begin at `at`; returns where they end. NULL: it has not
 * one for each CPU. */
static const char *read_counts(struct table *table, const char *at)
{
    int asked = 0;
    for (int i = 0; i < table->asked; i++)
        table->counts[i] = -1;
    for (int column = 0; column < table->columns; column++) {
        at += strspn(at, " ");
        if (!isdigit((unsigned char)*at))
            return NULL;
        while (asked < table->asked && table->place[asked] < 0)
            asked++;
        if (asked < table->asked && table->place[asked] == column)
            table->counts[asked++] = strtoll(at, NULL, 10);
        at += strspn(at, "0123456789");
    }
    return at;
}

/* "24: IO-APIC 5-edge   ACPI:Ged" has the name of the device behind its last gap of two spaces;
 * "RES: Rescheduling interrupts" is all name. */
static void compose_name(char name[NAME_BYTES], const char *line, size_t id_bytes, const char *rest)
{
    rest += strspn(rest, " ");
    if (isdigit((unsigned char)*line))
        for (const char *gap = strstr(rest, "  "); gap; gap = strstr(rest, "  "))
            rest = gap + strspn(gap, " ");
    size_t used = id_bytes < NAME_BYTES / 2 ? id_bytes : NAME_BYTES / 2;
    memcpy(name, line, used);
    name[used++] = ' ';
    size_t left = strlen(rest), room = NAME_BYTES - 1 - used;
    left = left < room ? left : room;
    memcpy(name + used, rest, left);
    for (used += left; used > 0 && name[used - 1] == ' ';)
        used--;
    name[used] = '\0';
}

static uint32_t key_of(const char *name, size_t bytes)
{
    uint32_t key = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        key = (key ^ (unsigned char)name[i]) * 16777619u;
    return key;
}

static bool take_line(struct table *table, const char *line, struct port_interrupt_line *found,
                      char name[NAME_BYTES])
{
    line += strspn(line, " ");
    const char *colon = strchr(line, ':');
    const char *rest = colon ? read_counts(table, colon + 1) : NULL;
    if (!rest)
        return false;
    size_t id_bytes = (size_t)(colon - line) + 1;
    compose_name(name, line, id_bytes, rest);
    found->key = key_of(line, id_bytes);
    found->is_timer = strncmp(line, "LOC:", 4) == 0 || strstr(rest, "arch_timer");
    found->name = name;
    found->counts = table->counts;
    return true;
}

bool port_interrupt_lines(const struct cpus *cpus,
                          void (*take)(void *context, const struct port_interrupt_line *line),
                          void *context)
{
    struct linux_lines lines;
    struct table table;
    struct port_interrupt_line found;
    char line[LINE_BYTES], name[NAME_BYTES];
    if (!linux_lines_open(&lines, "/proc/interrupts"))
        return false;
    bool has_heading = linux_lines_next(&lines, line, sizeof line);
    if (has_heading)
        read_heading(&table, line, cpus);
    while (has_heading && linux_lines_next(&lines, line, sizeof line))
        if (take_line(&table, line, &found, name))
            take(context, &found);
    linux_lines_close(&lines);
    return has_heading;
}
