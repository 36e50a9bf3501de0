/* A machine whose files are made up: the port looks below a folder in place of `/`. */
#ifndef HS_LINUX_MACHINE_H
#define HS_LINUX_MACHINE_H

#include "made_up_files.h"
#include "tap.h"

/* Of the machine that is open; empty where none is: the real files. */
extern char machine_root[64];

void machine_open(void);
void machine_put(const char *path, const char *text);
void machine_close(void);

#endif
