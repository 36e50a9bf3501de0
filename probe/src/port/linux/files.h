/* Reading the kernel's small text files. Every path goes through here, so that a test can
 * show the port the files of a machine that it is not on. */
#ifndef HS_LINUX_FILES_H
#define HS_LINUX_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LINUX_PLACE_BYTES = 1200 };

/* What stands before every path: "" but in tests. */
const char *linux_root(void);

/* First `bytes` - 1 bytes of a file, without white space at its end; false when it cannot be
 * read (errno) or is empty (errno 0). */
bool linux_read(const char *path, char *text, size_t bytes);
bool linux_read_number(const char *path, int64_t *number);

/* As linux_read, but a file that holds nothing is true and "". */
bool linux_read_any(const char *path, char *text, size_t bytes);

/* fopen for reading, opendir, whether a path is there, readlink (false: no link). */
FILE *linux_open(const char *path);
DIR *linux_open_folder(const char *path);
bool linux_exists(const char *path);
bool linux_link(const char *path, char *text, size_t bytes);

/* Value of the first line "NAME : value" of /proc/cpuinfo; false when the file cannot be read
 * (errno) or has no such line (errno 0). */
extern const char linux_cpuinfo_path[];
bool linux_cpuinfo(const char *name, char *value, size_t bytes);

/* Value of the last "NAME=VALUE" of the boot line; a bare NAME gives "". */
bool linux_boot_option(const char *name, char *value, size_t bytes);

/* Path of this process in the hierarchy of the cpu controller (version 1) below its mount,
 * as a path in the file system; false: no such hierarchy is mounted where it usually is. */
bool linux_cpu_group(char *path, size_t bytes);

/* Real-time budget of this process's control group, where groups have one. */
bool linux_group_budget_us(int64_t *budget_us);

#endif
