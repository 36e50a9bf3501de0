/* The thread of the kernel that serves an interrupt, by its name: "irq/11-uio_pci_generic", which
 * kernels before 5.17 cut. */
#include "base/posix_source.h"

#include "port/device.h"

#include "port/linux/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUT_CHARS = 15, /* TASK_COMM_LEN without its 0 */
    STATE = 3,      /* first field of /proc/PID/stat behind the name */
    RT_PRIORITY = 40,
};

static bool has_name(const char *process, const char *name)
{
    char path[64], found[PORT_UIO_NAME_BYTES + 32];
    snprintf(path, sizeof path, "/proc/%.20s/comm", process);
    if (!linux_read(path, found, sizeof found))
        return false;
    return strcmp(found, name) == 0 ||
           (strlen(found) == CUT_CHARS && strncmp(found, name, CUT_CHARS) == 0);
}

static int priority_of(const char *process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    char *at = linux_read(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    for (int field = STATE; at && field <= RT_PRIORITY; field++)
        at = strchr(at + 1, ' ');
    return at ? (int)strtol(at + 1, NULL, 10) : -1;
}

int port_uio_handler_priority(const struct port_uio *uio)
{
    char name[PORT_UIO_NAME_BYTES + 32];
    int priority = -1;
    DIR *folder = uio->irq < 0 ? NULL : linux_open_folder("/proc");
    snprintf(name, sizeof name, "irq/%d-%s", uio->irq, uio->name);
    for (struct dirent *entry = NULL; folder && priority < 0 && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && has_name(entry->d_name, name))
            priority = priority_of(entry->d_name);
    if (folder)
        closedir(folder);
    return priority;
}
