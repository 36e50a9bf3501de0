#include "guest/pci_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 256 };

int pci_enable(const char *device)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/enable", device);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t done = write(file, "1", 1);
    close(file);
    return done == 1 ? 0 : -1;
}

/* Where the BAR begins within its page: small ones share a page. */
static int offset_in_page(const char *device, int bar, size_t *offset)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/resource", device);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    uint64_t start = 0;
    int found = 1;
    for (int i = 0; i <= bar && found == 1; i++)
        found = fscanf(file, "%" SCNx64 " %*x %*x", &start);
    fclose(file);
    *offset = (size_t)(start & ((uint64_t)sysconf(_SC_PAGESIZE) - 1));
    errno = ENODEV;
    return found == 1 && start != 0 ? 0 : -1;
}

void *pci_memory(const char *device, int bar, size_t bytes)
{
    char path[PATH_BYTES];
    size_t offset;
    if (pci_enable(device) != 0 || offset_in_page(device, bar, &offset) != 0)
        return NULL;
    snprintf(path, sizeof path, "%s/resource%d", device, bar);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (offset + bytes + page - 1) / page * page;
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory + offset;
}
