#include "base/posix_source.h"

#include "work/job.h"

#include "base/options.h"
#include "port/port.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSES = 12, PART_BYTES = 4096, OBJECT_BYTES = 16384, SEARCH_BYTES = 1024 };

/* Hashes words into a table, as a compiler's symbol table does. */
static void fill_table(uint32_t *table, const char *part, ssize_t length)
{
    uint32_t hash = 2166136261u;
    for (int pass = 0; pass < PASSES; pass++)
        for (ssize_t i = 0; i < length; i++) {
            hash = (hash ^ (unsigned char)part[i]) * 16777619u;
            if (part[i] == ' ' || part[i] == '\n')
                table[hash % (OBJECT_BYTES / sizeof *table)] += hash;
        }
}

/* Reads the source in small parts: there may be thousands of jobs at once. */
static bool read_source(uint32_t *table)
{
    char part[PART_BYTES];
    off_t at = 0;
    ssize_t length;
    while ((length = pread(JOB_SOURCE, part, sizeof part, at)) > 0) {
        fill_table(table, part, length);
        at += length;
    }
    return length == 0 && at > 0;
}

/* Reads the source, computes, writes the object. */
static int compile(void)
{
    uint32_t *table = calloc(OBJECT_BYTES, 1);
    bool is_written = table && read_source(table) && ftruncate(JOB_OBJECT, 0) == 0 &&
                      pwrite(JOB_OBJECT, table, OBJECT_BYTES, 0) == OBJECT_BYTES;
    free(table);
    return is_written ? JOB_DONE : JOB_FAILED;
}

int job_main(const char *name)
{
    return strcmp(name, "compile") == 0   ? compile()
           : strcmp(name, "nothing") == 0 ? JOB_DONE
                                          : JOB_FAILED;
}

int job_find_in_path(const char *name, char *path, size_t bytes)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        char candidate[SEARCH_BYTES];
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, folders, name);
        if (access(candidate, X_OK) == 0 && (size_t)snprintf(path, bytes, "%s", candidate) < bytes)
            return 0;
        folders += length + (folders[length] == ':');
    }
    return ENOENT;
}

int job_find_program(const char *called_as, char *path, size_t bytes)
{
    if (port_own_executable(path, bytes) == 0)
        return 0;
    if (!strchr(called_as, '/'))
        return job_find_in_path(called_as, path, bytes);
    char *whole = realpath(called_as, NULL);
    bool fits = whole && (size_t)snprintf(path, bytes, "%s", whole) < bytes;
    free(whole);
    return fits ? 0 : ENOENT;
}

void job_be(const char *program, const char *name)
{
    char *words[] = {(char *)"hardstone-job", (char *)JOB_COMMAND, NULL, NULL};
    char copy[16];
    snprintf(copy, sizeof copy, "%s", name);
    words[2] = copy;
#if HS_HAS_FORK
    execv(program, words);
#else
    (void)program, (void)words;
#endif
    _exit(JOB_NOT_STARTED);
}
