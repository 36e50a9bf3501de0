/* Operations that the kernel does at the request of a process, for load and for tests. Each does
 * its operation once, in microseconds to milliseconds. 0, or an errno value. */
#ifndef HS_WORK_KERNEL_OPERATIONS_H
#define HS_WORK_KERNEL_OPERATIONS_H

#include "base/posix_source.h"

#include <stddef.h>

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

#endif
