#include "base/posix_source.h"

#include "port/linux/files.h"
#include "port/tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS "/proc/kallsyms"

enum { BATCH = 64 };

/* The symbol at or before a place: its distance is the least so far. */
static void offer(const char *name, int64_t distance, int64_t *least, char kept[PORT_SYMBOL_BYTES])
{
    if (distance < 0 || (*least >= 0 && distance >= *least))
        return;
    *least = distance;
    snprintf(kept, PORT_SYMBOL_BYTES, "%.*s+0x%llx", PORT_SYMBOL_BYTES - 20, name,
             (unsigned long long)distance);
}

/* "ffffffff81000000 T _stext", for modules with a name behind it. */
static bool read_symbol(char *line, uint64_t *address, const char **name)
{
    char *rest;
    *address = strtoull(line, &rest, 16);
    if (*address == 0 || rest[0] != ' ' || rest[1] == '\0' || rest[2] != ' ')
        return false;
    *name = rest + 3;
    rest[3 + strcspn(rest + 3, "\t ")] = '\0';
    return true;
}

/* 0: not told. */
static uint64_t find_begin(void)
{
    struct linux_lines lines;
    char line[256];
    const char *name;
    uint64_t address, found = 0;
    if (!linux_lines_open(&lines, SYMBOLS))
        return 0;
    while (!found && linux_lines_next(&lines, line, sizeof line))
        if (read_symbol(line, &address, &name) && strcmp(name, "_stext") == 0)
            found = address;
    linux_lines_close(&lines);
    return found;
}

/* At most BATCH places in one reading. */
static void name_batch(uint64_t begin, const int64_t *offsets, int count,
                       char names[][PORT_SYMBOL_BYTES])
{
    struct linux_lines lines;
    char line[256];
    const char *name;
    uint64_t address;
    int64_t least[BATCH];
    memset(least, -1, sizeof least);
    if (!linux_lines_open(&lines, SYMBOLS))
        return;
    while (linux_lines_next(&lines, line, sizeof line))
        if (read_symbol(line, &address, &name))
            for (int i = 0; i < count; i++)
                offer(name, offsets[i] - (int64_t)(address - begin), &least[i], names[i]);
    linux_lines_close(&lines);
}

void port_tracing_symbols(const int64_t *offsets, int count, char names[][PORT_SYMBOL_BYTES])
{
    uint64_t begin = find_begin();
    for (int i = 0; i < count; i++)
        snprintf(names[i], PORT_SYMBOL_BYTES, "_stext+0x%llx", (unsigned long long)offsets[i]);
    for (int i = 0; begin && i < count; i += BATCH)
        name_batch(begin, offsets + i, count - i < BATCH ? count - i : BATCH, names + i);
}
