/* Reads the kernel's small text files. Every path is looked up below linux_root(), so that a test
 * can present the files of another machine. */
#ifndef HS_PORT_LINUX_FILES_H
#define HS_PORT_LINUX_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LINUX_PLACE_BYTES = 1200, LINUX_PART_BYTES = 4096 };

/* Prefix of every path: "", except in tests. */
const char *linux_root(void);

/* Stores linux_root() and `path` in `place`, which it returns. */
const char *linux_rooted(const char *path, char place[LINUX_PLACE_BYTES]);

/* Reads the first `bytes` - 1 bytes of a file and cuts white space at its end. False: it cannot be
 * read (errno), or is empty (errno 0). linux_read_number: decimal; also false if the file does not
 * begin with a number. */
bool linux_read(const char *path, char *text, size_t bytes);
bool linux_read_number(const char *path, int64_t *number);

/* As linux_read, but an empty file is true and "". */
bool linux_read_any(const char *path, char *text, size_t bytes);

/* What /proc/self/ns/pid is linked to in the first PID namespace (the kernel's PROC_PID_INIT_INO).
 */
#define LINUX_FIRST_PIDS "pid:[4026531836]"

/* fopen for reading; opendir; whether a path exists; readlink (false: not a link). */
FILE *linux_open(const char *path);
DIR *linux_open_folder(const char *path);
bool linux_exists(const char *path);
bool linux_link(const char *path, char *text, size_t bytes);

/* Whether this process is in a user namespace, and not in the initial one. */
bool linux_in_user_namespace(void);

/* Whether the file system at `path` is mounted read-only, whatever the rights of this process. */
bool linux_is_read_only(const char *path);

/* Reads a file by lines without stdio or heap, for use around a measurement. next: stores the next
 * line without its newline, cut to `bytes` - 1; false after the last. Close what was opened. */
struct linux_lines {
    int file;
    size_t at, used;
    char part[LINUX_PART_BYTES];
};
bool linux_lines_open(struct linux_lines *lines, const char *path);
bool linux_lines_next(struct linux_lines *lines, char *line, size_t bytes);
void linux_lines_close(struct linux_lines *lines);

/* The next word of the line that `next` would give, cut to `bytes` - 1: for lines that are longer
 * than memory should be. False, with an empty word: the line has no more, and `next` gives what is
 * behind the last word that was read. */
bool linux_lines_word(struct linux_lines *lines, char *word, size_t bytes);

/* Asks the file `path`, /dev/cpu_dma_latency, to keep CPUs out of idle states that take longer than
 * `us` to leave, until `descriptor` is closed. `in_force_us`: the lowest bound of all programs. 0,
 * or an errno value (EAGAIN: the kernel did not keep the bound). */
int linux_dma_latency_hold(const char *path, int32_t us, int *descriptor, int32_t *in_force_us);

/* Value of the first line "NAME : value" of /proc/cpuinfo. False: the file cannot be read (errno),
 * or has no such line (errno 0). */
extern const char linux_cpuinfo_path[];
bool linux_cpuinfo(const char *name, char *value, size_t bytes);

/* Words of a line of /proc/self/mounts; they lie in `line`, which is cut. False: there are fewer.
 */
struct linux_mount {
    const char *place, *kind, *options;
};
bool linux_mount_read(char *line, struct linux_mount *mount);

#endif
