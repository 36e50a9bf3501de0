/* What is known of disk where it is judged. */
#ifndef HS_LOAD_DISK_H
#define HS_LOAD_DISK_H

#include "load/element.h"

enum {
    DISK_WRITES = COUNTER_OWN,
    DISK_WRITTEN_BYTES,
    DISK_FAILED,
};

/* Of one write. The device has each before the next, so a process counts no more than this after
 * the device did. */
enum { DISK_BLOCK_BYTES = 65536 };

#endif
