/* The work of RSP-P-FIX. The number of operations fixes the amount of work; results are used, so
 * that no compiler removes the operations. */
#ifndef HS_WORK_FIXED_WORK_H
#define HS_WORK_FIXED_WORK_H

#include "work/whetstone.h"

#include <stdint.h>

enum { WORK_ADD, WORK_COPY, WORK_WHETSTONE, WORK_KINDS };
enum { WORK_COPY_BYTES = 16384 };

extern const char *const work_names[WORK_KINDS + 1];

struct work_space {
    volatile uint64_t sink;
    struct whetstone whetstone;
    unsigned char from[WORK_COPY_BYTES], to[WORK_COPY_BYTES];
};

/* Does `count` operations of `kind`: additions (WORK_ADD), copies of WORK_COPY_BYTES (WORK_COPY) or
 * turns of Whetstone (WORK_WHETSTONE). */
void work_do(struct work_space *space, int kind, uint64_t count);

#endif
