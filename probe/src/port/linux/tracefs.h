/* The files of tracefs. Paths are without linux_root(). */
#ifndef HS_PORT_LINUX_TRACEFS_H
#define HS_PORT_LINUX_TRACEFS_H

#include "base/status.h"
#include "port/linux/files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRACEFS_PATH_BYTES = 320, TRACEFS_TEXT_BYTES = 16384 };

#define TRACEFS_PLACE "/sys/kernel/tracing"
#define TRACEFS_OLD_PLACE "/sys/kernel/debug/tracing"
#define TRACEFS_INSTANCE "hardstone-"

/* Folder where tracefs is mounted and can be read. NULL with the outcome, as port_tracing_look. It
 * is never mounted here: that would change the machine. */
const char *tracefs_find(struct outcome *outcome);

/* Writes `text` to a file and, with `kept`, reads it back: what is in force must contain `kept`. 0,
 * or an errno value (EAGAIN: the kernel kept something else). */
int tracefs_write(const char *path, const char *text, const char *kept);

/* Opens a file of tracefs: a descriptor, or -1 with errno. */
int tracefs_open(const char *path, int flags);

/* Whether a list of words, as the kernel prints it, has `word`. */
bool tracefs_has_word(const char *list, const char *word);

/* Sets the outcome for `error` of a call on `what`. Returns -1. */
int tracefs_refuse(struct outcome *outcome, int error, const char *what);

/* Name of the instance of process `process`, and the process of such a name (false: it is no name
 * of ours, or that process lives). */
void tracefs_instance_name(pid_t process, char *name, size_t bytes);
bool tracefs_is_left(const char *name);

/* Removes the instances of ended processes below `place`; returns how many. */
int tracefs_remove_left(const char *place);

/* Removes one: 0 (also if it is gone), or an errno value. */
int tracefs_remove(const char *path);

#endif
