/* A machine whose files are made up: the port looks below a folder in place of `/`. */
#ifndef HS_LINUX_MACHINE_H
#define HS_LINUX_MACHINE_H

#include "tap.h"

#include <sys/stat.h>

#define MACHINE_TEST(what) TEST_IN(machine_open(), machine_close(), what)

/* Of the machine that is open; empty where none is: the real files. */
extern char machine_root[64];

bool machine_open(void); /* true */
/* Writes a file; creates the folders on the way. */
void machine_put(const char *path, const char *text);
void machine_put_in(const char *folder, const char *name, const char *text);
/* Path of its file for others than the port, until the next call. */
const char *machine_path(const char *path);
/* A file or folder, with all in it. */
void machine_remove(const char *path);
void machine_close(void);

#endif
