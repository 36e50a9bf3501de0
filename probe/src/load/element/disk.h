/* Counters and block size of the element disk, for events.c. */
#ifndef HS_LOAD_ELEMENT_DISK_H
#define HS_LOAD_ELEMENT_DISK_H

#include "load/element.h"

enum {
    DISK_WRITES = COUNTER_OWN,
    DISK_WRITTEN_BYTES,
    DISK_FAILED,
};

/* Size of one write. Each write reaches the device before the next begins, so the count of a
 * process is at most one block behind the device's. */
enum { DISK_BLOCK_BYTES = 65536 };

#endif
