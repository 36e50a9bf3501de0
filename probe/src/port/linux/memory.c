/* Memory: what is available, what the C library maps, and a control group whose memory is short. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/limits.h"

#include "port/linux/files.h"
#include "port/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void *port_shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- what is available ----
 *
 * Available memory: the least of MemAvailable and what each control group of this process leaves.
 * A group's page cache is reclaimable and counts as available, as in MemAvailable; tmpfs files do
 * not. */

enum { GROUP_BYTES = 512, LINE_BYTES = 1024 };

struct available {
    int64_t bytes, of_bytes; /* -1: not known */
};

/* File names of one version of control groups. */
struct version {
    const char *mount, *limit, *usage, *cache[2];
};

static const struct version first = {"/sys/fs/cgroup/memory",
                                     "memory.limit_in_bytes",
                                     "memory.usage_in_bytes",
                                     {"total_inactive_file ", "total_active_file "}};
static const struct version second[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {"/sys/fs/cgroup/unified", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
};

static void take(struct available *least, int64_t bytes, int64_t of_bytes)
{
    if (least->bytes < 0 || bytes < least->bytes)
        *least = (struct available){bytes > 0 ? bytes : 0, of_bytes};
}

static void take_machine(struct available *least)
{
    FILE *file = linux_open("/proc/meminfo");
    char line[128];
    long long available_kib = -1, total_kib = -1;
    while (file && available_kib < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, "MemTotal:", 9) == 0)
            total_kib = strtoll(line + 9, NULL, 10);
        if (strncmp(line, "MemAvailable:", 13) == 0)
            available_kib = strtoll(line + 13, NULL, 10);
    }
    if (file)
        fclose(file);
    if (available_kib >= 0)
        take(least, (int64_t)available_kib * 1024, total_kib < 0 ? -1 : (int64_t)total_kib * 1024);
}

static int64_t cache_bytes(const struct version *version, const char *group)
{
    char path[LINUX_PLACE_BYTES], line[128];
    int64_t bytes = 0;
    snprintf(path, sizeof path, "%s/memory.stat", group);
    FILE *file = linux_open(path);
    while (file && fgets(line, sizeof line, file))
        for (int i = 0; i < 2; i++)
            if (strncmp(line, version->cache[i], strlen(version->cache[i])) == 0)
                bytes += strtoll(line + strlen(version->cache[i]), NULL, 10);
    if (file)
        fclose(file);
    return bytes;
}

/* Reading memory.stat is slow: do it only if the group may be the least. */
static void take_group(struct available *least, const struct version *version, const char *group)
{
    char path[LINUX_PLACE_BYTES];
    int64_t limit, usage;
    snprintf(path, sizeof path, "%s/%s", group, version->limit);
    if (!linux_read_number(path, &limit)) /* none, or "max" */
        return;
    snprintf(path, sizeof path, "%s/%s", group, version->usage);
    if (!linux_read_number(path, &usage) || (least->bytes >= 0 && limit - usage >= least->bytes))
        return;
    take(least, limit - usage + cache_bytes(version, group), limit);
}

/* The group and all its ancestors: each has its own limit. In a container those above the mount
 * are not visible; the mount itself is the highest that is. */
static void take_groups(struct available *least, const struct version *version, const char *own)
{
    char group[GROUP_BYTES + 64];
    size_t mount = strlen(version->mount);
    snprintf(group, sizeof group, "%s%s", version->mount, strcmp(own, "/") == 0 ? "" : own);
    for (char *last = group; last; last = strrchr(group + mount, '/')) {
        if (last != group)
            *last = '\0';
        take_group(least, version, group);
    }
}

/* A line "ID:CONTROLLERS:PATH" of /proc/self/cgroup; no controllers: version 2. */
static void take_line(struct available *least, char *line)
{
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : NULL;
    char list[256];
    if (!own)
        return;
    *own++ = '\0';
    own[strcspn(own, "\n")] = '\0';
    if (strlen(own) >= GROUP_BYTES)
        return;
    snprintf(list, sizeof list, ",%s,", controllers + 1);
    if (strstr(list, ",memory,"))
        take_groups(least, &first, own);
    for (size_t i = 0; controllers[1] == '\0' && i < sizeof second / sizeof second[0]; i++)
        take_groups(least, &second[i], own);
}

int64_t port_available_bytes(int64_t *of_bytes)
{
    struct available least = {-1, -1};
    char line[LINE_BYTES];
    take_machine(&least);
    FILE *file = linux_open("/proc/self/cgroup");
    while (file && fgets(line, sizeof line, file))
        take_line(&least, line);
    if (file)
        fclose(file);
    if (of_bytes)
        *of_bytes = least.of_bytes;
    return least.bytes;
}

/* ---- what the C library maps ---- */

/* glibc reserves 64 MiB for the heap of a second thread. Other C libraries have one heap. */
void port_trim_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 0);
    malloc_trim(0); /* of what was there before main */
#endif
}

static void advise_forks(void *memory, size_t bytes, int advice)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page_bytes - 1) / page_bytes * page_bytes;
    uintptr_t end = ((uintptr_t)memory + bytes) / page_bytes * page_bytes;
    if (begin < end)
        madvise((char *)memory + (begin - (uintptr_t)memory), end - begin, advice);
}

void port_keep_from_forks(void *memory, size_t bytes)
{
    advise_forks(memory, bytes, MADV_DONTFORK);
}

void port_give_to_forks(void *memory, size_t bytes)
{
    advise_forks(memory, bytes, MADV_DOFORK);
}

/* ---- a group whose memory is short ----
 *
 * A control group with little memory (versions 1 and 2), and what is locked. */

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PREFIX "hardstone-memory-"

enum { REMOVE_TRIES = 500, END_FIRST_SCORE = 1000 };

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
