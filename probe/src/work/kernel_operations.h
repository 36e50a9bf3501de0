/* Operations that the kernel does at the request of a process, for load and for tests, and the
 * classes of them of KRN-P-PRE. Each does its operation once, in microseconds to milliseconds. */
#ifndef HS_WORK_KERNEL_OPERATIONS_H
#define HS_WORK_KERNEL_OPERATIONS_H

#include "base/posix_source.h"

#include "work/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- single operations: 0, or an errno value ---- */

/* Runs `act` in a child and waits for its end; ECANCELED: `act` did not return 0. The child ends
 * with its parent where the port can arrange that. */
int kernel_in_child(int (*act)(void *argument), void *argument);

/* Maps anonymous memory and touches each page; kernel_map frees it, kernel_grow leaves it to the
 * end of the process. */
int kernel_map(size_t bytes, size_t page_bytes);
int kernel_grow(size_t bytes, size_t page_bytes);

/* Writes `bytes` to one descriptor and reads them back from another. A transfer that is not whole
 * is an error: EIO. */
int kernel_transfer(int to, int from, unsigned char *buffer, size_t bytes);

/* Reads the names in a folder and the facts of each. */
int kernel_scan(const char *folder);

/* ---- the classes ---- */

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
