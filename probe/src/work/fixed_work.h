/* The work of RSP-P-FIX: operations whose number fixes how much is done, and whose
 * result is used, so that no compiler removes them. */
#ifndef HS_RESPONSE_WORK_H
#define HS_RESPONSE_WORK_H

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

/* Does `count` operations of `kind`: an addition; a copy of WORK_COPY_BYTES; one turn
 * of Whetstone. */
void work_do(struct work_space *space, int kind, uint64_t count);

#endif
