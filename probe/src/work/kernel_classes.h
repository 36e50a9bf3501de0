/* The classes of kernel operations of KRN-P-PRE. Each class has a function that does the operation
 * once, in microseconds to milliseconds. */
#ifndef HS_WORK_KERNEL_CLASSES_H
#define HS_WORK_KERNEL_CLASSES_H

#include "base/posix_source.h"

#include "work/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KERNEL_NAME_BYTES = 300 };

/* Resources of the classes: opened once, used by one process. */
struct kernel_space {
    const char *program;  /* path of the probe, for a job (job.h) */
    int file, small;      /* anonymous files, for copies and for fsync; -1: none */
    int master, terminal; /* both ends of a pseudo-terminal; -1: none */
    int pipe[2], socket[2];
    char names[2][KERNEL_NAME_BYTES]; /* paths in the scratch folder; empty: none */
    size_t large_bytes;               /* memory of the process that exits, size of a copy */
    unsigned char *buffer;            /* large_bytes long */
    size_t page_bytes;
};

struct kernel_class {
    const char *name;
    const char *title;
    /* Does the operation once: 0, or an errno value. */
    int (*act)(struct kernel_space *space);
    /* Its child does next to nothing in user space: what the system counts as that is the kernel's,
     * since Linux counts all time of a process that no tick has hit as time in user space. */
    bool has_kernel_child;
};

enum { KERNEL_CLASSES = 11 };
extern const struct kernel_class kernel_classes[KERNEL_CLASSES];

/* Opens the resources, files in the folders of `scratch`. A class whose resource is missing returns
 * an errno value from `act`. 0; ENOMEM: no memory, and nothing is open. */
int kernel_space_open(struct kernel_space *space, const struct scratch *scratch,
                      const char *program);
/* Closes and frees all resources. */
void kernel_space_close(struct kernel_space *space);

#endif
