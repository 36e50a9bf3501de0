/* A worker: one ordinary process that runs one element. */
#ifndef HS_LOAD_WORKER_H
#define HS_LOAD_WORKER_H

#include "load/element.h"

/* Main function of a worker process. Sets SCHED_OTHER at nice 0, CPU
 * affinity and default signal handling (SIGPIPE and SIGXFSZ ignored), prepares the element, waits
 * for a byte or end of file on `gate` and works until the load ends. Keeps only `gate` and the
 * three standard descriptors. Never returns. */
void worker_be(struct worker *worker, int gate) __attribute__((noreturn));

/* Names the calling process hs-load-WORD. */
void worker_name(const char *word);

/* Closes all descriptors except `kept`, which get the numbers 3, 4, ... in their order. The three
 * standard descriptors then refer to /dev/null. */
void worker_keep_only(int *kept, int count);

#endif
