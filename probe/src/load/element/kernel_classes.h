/* The classes of kernel operations of KRN-P-PRE, one at a time: what spends time in the
 * kernel. Each has a function that does it once, in some microseconds to milliseconds. */
#ifndef HS_LOAD_KERNEL_CLASSES_H
#define HS_LOAD_KERNEL_CLASSES_H

#include "base/posix_source.h"

#include "load/map.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KERNEL_NAME_BYTES = 300 };

/* What the classes need: opened once, by one process. */
struct kernel_space {
    const char *program;  /* runs `load-job` (job.h) */
    int file, small;      /* without names, for copies and for fsync; -1: none */
    int master, terminal; /* of a terminal of its own; -1: none */
    int pipe[2], socket[2];
    char names[2][KERNEL_NAME_BYTES]; /* of a file in the scratch folder; empty: none */
    size_t large_bytes;               /* of the process that exits, and of copies */
    unsigned char *buffer;            /* large_bytes */
    size_t page_bytes;
};

struct kernel_class {
    const char *name;
    const char *title;
    /* Once: 0, or an errno value. */
    int (*act)(struct kernel_space *space);
};

enum { KERNEL_CLASSES = 11 };
enum { KERNEL_FIRST_CLASS = COUNTER_OWN }; /* the counter of the first; the others follow */
extern const struct kernel_class kernel_classes[KERNEL_CLASSES];

/* Opens what can be opened in map->folder and map->scratch; a class whose means are missing
 * answers with the reason when it is done. ENOMEM: no memory; nothing is open then. */
int kernel_space_open(struct kernel_space *space, const struct load_map *map, const char *program);
void kernel_space_close(struct kernel_space *space);

#endif
