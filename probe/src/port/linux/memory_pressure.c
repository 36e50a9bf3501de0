/* A control group with little memory (versions 1 and 2), and what is locked. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/limits.h"

#include "port/linux/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PREFIX "hardstone-memory-"

enum { LINE_BYTES = 1024, REMOVE_TRIES = 500, END_FIRST_SCORE = 1000 };

static const char first_mount[] = "/sys/fs/cgroup/memory";
static const char *const second_mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* ---- files of a group ---- */

static bool join(char *path, size_t bytes, const char *group, const char *name)
{
    int length = snprintf(path, bytes, "%s/%s", group, name);
    return length >= 0 && (size_t)length < bytes;
}

static bool has_file(const char *group, const char *name)
{
    char path[LINUX_PLACE_BYTES];
    return join(path, sizeof path, group, name) && linux_exists(path);
}

static int put(const char *path, const char *text)
{
    char place[LINUX_PLACE_BYTES];
    int file = open(linux_rooted(path, place), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    size_t length = strlen(text);
    ssize_t written = write(file, text, length);
    int error = written < 0 ? errno : (size_t)written == length ? 0 : EIO;
    close(file);
    return error;
}

static int put_number(const char *group, const char *name, int64_t number)
{
    char path[LINUX_PLACE_BYTES], text[24];
    if (!join(path, sizeof path, group, name))
        return ENAMETOOLONG;
    snprintf(text, sizeof text, "%lld", (long long)number);
    return put(path, text);
}

static int64_t get_number(const char *group, const char *name)
{
    char path[LINUX_PLACE_BYTES];
    int64_t number;
    return join(path, sizeof path, group, name) && linux_read_number(path, &number) ? number : -1;
}

static bool is_first_version(const char *group)
{
    return has_file(group, "memory.limit_in_bytes");
}

/* ---- where a group can be made ---- */

static bool has_word(const char *list, const char *word, char between)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == between) && (at[length] == between || at[length] == '\0'))
            return true;
    return false;
}

/* Whether groups inside this one have memory of their own. */
static bool hands_memory_on(const char *group)
{
    char path[LINUX_PLACE_BYTES], text[LINE_BYTES];
    if (is_first_version(group))
        return true;
    return join(path, sizeof path, group, "cgroup.subtree_control") &&
           linux_read(path, text, sizeof text) && has_word(text, "memory", ' ');
}

static int refusal(const char *group)
{
    char place[LINUX_PLACE_BYTES];
    return access(linux_rooted(group, place), W_OK) == 0 ? 0 : errno;
}

/* The group `own`, below `mount`, or the nearest one around it in which one can be made. */
static int find_around(const char *mount, const char *own, char found[PORT_GROUP_BYTES])
{
    int error = ENOTSUP;
    int length = snprintf(found, PORT_GROUP_BYTES, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
    if (length >= PORT_GROUP_BYTES)
        return ENAMETOOLONG;
    for (size_t least = strlen(mount); strlen(found) >= least;) {
        int here = linux_exists(found) && hands_memory_on(found) ? refusal(found) : ENOTSUP;
        if (here == 0)
            return 0;
        error = here == ENOTSUP ? error : here;
        *strrchr(found, '/') = '\0';
    }
    return error;
}

/* A line "ID:CONTROLLERS:PATH" of /proc/self/cgroup; no controllers: version 2. */
static int find_by_line(char *line, char found[PORT_GROUP_BYTES])
{
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : NULL;
    int error = ENOTSUP;
    if (!own)
        return ENOTSUP;
    *own++ = '\0';
    controllers++;
    own[strcspn(own, "\n")] = '\0';
    if (has_word(controllers, "memory", ','))
        return find_around(first_mount, own, found);
    for (size_t i = 0; *controllers == '\0' && i < sizeof second_mounts / sizeof *second_mounts;
         i++) {
        int here = find_around(second_mounts[i], own, found);
        if (here == 0)
            return 0;
        error = here == ENOTSUP ? error : here;
    }
    return error;
}

static int find_parent(char found[PORT_GROUP_BYTES])
{
    FILE *file = linux_open("/proc/self/cgroup");
    char line[LINE_BYTES];
    int error = ENOTSUP;
    while (file && error && fgets(line, sizeof line, file)) {
        int here = find_by_line(line, found);
        if (here != ENOTSUP)
            error = here;
    }
    if (file)
        fclose(file);
    return error;
}

/* Only a group without processes can be removed. */
static void sweep(const char *parent)
{
    char place[LINUX_PLACE_BYTES], path[LINUX_PLACE_BYTES + 256];
    DIR *listing = linux_open_folder(parent);
    struct dirent *entry;
    while (listing && (entry = readdir(listing)) != NULL) {
        long id = strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0
                      ? strtol(entry->d_name + sizeof PREFIX - 1, NULL, 10)
                      : 0;
        if (id <= 0 || kill((pid_t)id, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof path, "%s/%s", linux_rooted(parent, place), entry->d_name);
        rmdir(path);
    }
    if (listing)
        closedir(listing);
}

int port_memory_group_choose(char group[PORT_GROUP_BYTES], uint64_t seed)
{
    char parent[PORT_GROUP_BYTES];
    int error = find_parent(parent);
    group[0] = '\0';
    if (error)
        return error;
    sweep(parent);
    int length = snprintf(group, PORT_GROUP_BYTES, "%.500s/" PREFIX "%ld-%08lx", parent,
                          (long)getpid(), (unsigned long)(seed & 0xffffffffu));
    return length < PORT_GROUP_BYTES && strlen(parent) <= 500 ? 0 : ENAMETOOLONG;
}

/* ---- the group ---- */

int port_memory_group_make(const char *group)
{
    char place[LINUX_PLACE_BYTES];
    if (mkdir(linux_rooted(group, place), 0755) != 0)
        return errno;
    if (is_first_version(group) || has_file(group, "memory.max"))
        return 0;
    rmdir(place);
    return ENOTSUP;
}

int port_memory_group_enter(const char *group)
{
    return put_number(group, "cgroup.procs", (int64_t)getpid());
}

int64_t port_memory_group_used(const char *group)
{
    return get_number(group, is_first_version(group) ? "memory.usage_in_bytes" : "memory.current");
}

/* Without swap, pages of files are all that can be taken back. */
int port_memory_group_limit(const char *group, int64_t bytes)
{
    if (!is_first_version(group)) {
        (void)put_number(group, "memory.swap.max", 0);
        return put_number(group, "memory.max", bytes);
    }
    (void)put_number(group, "memory.swappiness", 0);
    return put_number(group, "memory.limit_in_bytes", bytes);
}

int port_memory_group_remove(const char *group)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    char place[LINUX_PLACE_BYTES];
    const char *name = strrchr(group, '/');
    if (!name || strncmp(name + 1, PREFIX, sizeof PREFIX - 1) != 0)
        return 0;
    linux_rooted(group, place);
    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (rmdir(place) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return errno;
        nanosleep(&moment, NULL);
    }
    return EBUSY;
}

/* ---- one process ---- */

int port_end_first(void)
{
    char text[8];
    snprintf(text, sizeof text, "%d", END_FIRST_SCORE);
    return put("/proc/self/oom_score_adj", text);
}

int port_page_out(void *memory, size_t bytes)
{
    return madvise(memory, bytes, MADV_PAGEOUT) == 0 ? 0 : errno;
}

int64_t port_locked_bytes(void)
{
    FILE *file = linux_open("/proc/self/status");
    char line[128];
    int64_t bytes = -1;
    while (file && bytes < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "VmLck:", 6) == 0)
            bytes = strtoll(line + 6, NULL, 10) * 1024;
    if (file)
        fclose(file);
    return bytes;
}
