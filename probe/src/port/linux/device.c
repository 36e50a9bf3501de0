/* Write counters of block devices. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

enum { SECTOR_BYTES = 512 }; /* unit of the counters, whatever the device's sector size */
enum { READ_SECTORS = 2, WRITTEN_SECTORS = 6, COUNTERS };

/* Whether the queue attribute `name` exists and is `wanted`; a partition uses its disk's queue. */
static bool queue_has(dev_t device, const char *name, int64_t wanted)
{
    static const char *const places[] = {"", "/.."};
    for (int i = 0; i < 2; i++) {
        char path[96];
        int64_t value;
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u%s/queue/%s", major(device), minor(device),
                 places[i], name);
        if (linux_read_number(path, &value))
            return value == wanted;
    }
    return false;
}

/* Reads the first COUNTERS counters of a device; false if there are fewer. */
static bool read_counters(dev_t device, int64_t counters[COUNTERS])
{
    char path[64], text[256], *at = text, *end;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (!linux_read(path, text, sizeof text))
        return false;
    for (int i = 0; i < COUNTERS; i++, at = end) {
        counters[i] = strtoll(at, &end, 10);
        if (end == at)
            return false;
    }
    return true;
}

/* iostats 0: the kernel does not count. dax: writes may bypass the counters. A device with a file
 * system was read at least once: no sector read means that the kernel does not count it. */
int64_t port_device_written_bytes(dev_t device)
{
    int64_t counters[COUNTERS];
    if (!read_counters(device, counters) || counters[READ_SECTORS] <= 0 ||
        counters[WRITTEN_SECTORS] < 0 || queue_has(device, "iostats", 0) ||
        queue_has(device, "dax", 1))
        return -1;
    return counters[WRITTEN_SECTORS] * SECTOR_BYTES;
}
