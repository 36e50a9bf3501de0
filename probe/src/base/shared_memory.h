/* Memory in a file whose space is taken before it is used: a full file system is an error of the
 * call, not a SIGBUS at the first touch. */
#ifndef HS_BASE_SHARED_MEMORY_H
#define HS_BASE_SHARED_MEMORY_H

#include <stddef.h>

/* Extends the empty `file` to `bytes` and takes the space. 0 or an errno value. */
int file_reserve(int file, size_t bytes);

/* Zeroed memory that forked processes share, under a POSIX name that is unlinked before it returns.
 * NULL with errno (ENOSYS: the system has none). */
void *shared_memory_create(const char *name, size_t bytes);

void shared_memory_free(void *memory, size_t bytes);

#endif
