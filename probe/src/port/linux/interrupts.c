/* Interrupts: sent to other CPUs by membarrier(2), whose numbers are not in every C library, and
 * counted in /proc/interrupts and /proc/softirqs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- sending ---- */

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

/* ---- counting ----
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
