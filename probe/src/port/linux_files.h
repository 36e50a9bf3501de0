/* Reading the kernel's small text files. */
#ifndef HS_LINUX_FILES_H
#define HS_LINUX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First `bytes` - 1 bytes of a file, without white space at its end; false when it cannot be
 * read (errno) or is empty (errno 0). */
bool linux_read(const char *path, char *text, size_t bytes);
bool linux_read_number(const char *path, int64_t *number);

/* Value of the first line "NAME : value" of /proc/cpuinfo; false when the file cannot be read
 * (errno) or has no such line (errno 0). */
extern const char linux_cpuinfo_path[];
bool linux_cpuinfo(const char *name, char *value, size_t bytes);

/* Real-time budget of this process's control group, where groups have one. */
bool linux_group_budget_us(int64_t *budget_us);

#endif
