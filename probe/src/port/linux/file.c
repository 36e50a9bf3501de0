/* Files: where they lie (/proc/self/mountinfo, /sys/dev/block), files without a name, extents, and
 * I/O priority. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/file.h"

#include "port/linux/files.h"
#include "port/port.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, FLUSHES_FIELD = 15, EXTENTS_AT_ONCE = 32 };

/* ---- the mount ---- */

/* The id of the mount that the file was opened through. */
static bool mount_id(int descriptor, int64_t *id)
{
    static const char key[] = "mnt_id:";
    char path[48], line[256];
    struct linux_lines lines;
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    if (!linux_lines_open(&lines, path))
        return false;
    while (!is_found && linux_lines_next(&lines, line, sizeof line)) {
        is_found = strncmp(line, key, sizeof key - 1) == 0;
        *id = is_found ? strtoll(line + sizeof key - 1, NULL, 10) : -1;
    }
    linux_lines_close(&lines);
    return is_found;
}

/* A line of mountinfo. Its words lie in `line`, which is cut. */
struct mount {
    char line[LINE_BYTES];
    const char *number, *options, *system, *device, *system_options;
};

/* "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELDS...] - SYSTEM DEVICE OPTIONS" */
static bool split(struct mount *mount)
{
    enum { NUMBER = 2, OPTIONS = 5, LEAST };
    const char *words[LEAST];
    char *rest, *word = strtok_r(mount->line, " ", &rest);
    for (int i = 0; i < LEAST; i++, word = strtok_r(NULL, " ", &rest)) {
        if (!word)
            return false;
        words[i] = word;
    }
    while (word && strcmp(word, "-") != 0)
        word = strtok_r(NULL, " ", &rest);
    mount->number = words[NUMBER];
    mount->options = words[OPTIONS];
    mount->system = word ? strtok_r(NULL, " ", &rest) : NULL;
    mount->device = mount->system ? strtok_r(NULL, " ", &rest) : NULL;
    mount->system_options = mount->device ? strtok_r(NULL, " ", &rest) : NULL;
    return mount->device != NULL;
}

static bool find_mount(int descriptor, struct mount *mount)
{
    struct linux_lines lines;
    int64_t id;
    bool is_found = false;
    if (!mount_id(descriptor, &id) || !linux_lines_open(&lines, "/proc/self/mountinfo"))
        return false;
    while (!is_found && linux_lines_next(&lines, mount->line, sizeof mount->line))
        is_found = strtoll(mount->line, NULL, 10) == id;
    linux_lines_close(&lines);
    return is_found && split(mount);
}

/* Copies a word of mountinfo: "\040" is a space there. False: it was cut. */
static bool copy_word(char *to, size_t bytes, const char *word)
{
    size_t used = strlen(to);
    for (; *word && used + 1 < bytes; used++) {
        bool is_octal = *word == '\\' && isdigit((unsigned char)word[1]) && strlen(word) >= 4;
        char digits[4] = {0};
        if (is_octal)
            memcpy(digits, word + 1, 3);
        to[used] = is_octal ? (char)strtol(digits, NULL, 8) : *word;
        word += is_octal ? 4 : 1;
    }
    to[used] = '\0';
    return *word == '\0';
}

/* Those of the file system begin with the same rw or ro. */
static void take_options(struct port_file_place *place, const struct mount *mount)
{
    const char *more = mount->system_options ? mount->system_options : "";
    if (strlen(more) >= 2 && strncmp(more, mount->options, 2) == 0)
        more += more[2] == ',' ? 3 : 2;
    bool fits = copy_word(place->options, sizeof place->options, mount->options);
    if (fits && *more)
        fits = copy_word(place->options, sizeof place->options, ",") &&
               copy_word(place->options, sizeof place->options, more);
    place->are_options_cut = !fits;
}

/* ---- the device ---- */

/* Reads an attribute of the device's queue; a partition uses its disk's queue. */
static bool read_queue(dev_t device, const char *name, char *text, size_t bytes)
{
    static const char *const places[] = {"", "/.."};
    for (int i = 0; i < 2; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u%s/queue/%s", major(device), minor(device),
                 places[i], name);
        if (linux_read(path, text, bytes))
            return true;
    }
    return false;
}

/* "none [mq-deadline] kyber": the one in force is in brackets; older kernels say "none" alone. */
static void take_scheduler(struct port_file_place *place, dev_t device)
{
    char text[256];
    if (!read_queue(device, "scheduler", text, sizeof text))
        return;
    char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
    if (end)
        *end = '\0';
    snprintf(place->scheduler, sizeof place->scheduler, "%.*s", PORT_FILE_NAME_BYTES - 1,
             end ? begin + 1 : text);
}

/* Since Linux 5.14. */
static bool is_deadline_aware(void)
{
    struct utsname names;
    if (uname(&names) != 0)
        return false;
    char *end;
    long major_number = strtol(names.release, &end, 10);
    long minor_number = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major_number > 5 || (major_number == 5 && minor_number >= 14);
}

static enum port_answer heeds_io_priority(const char *scheduler)
{
    static const struct {
        const char *scheduler;
        bool heeds;
    } known[] = {{"none", false},     {"noop", false}, {"kyber", false},
                 {"deadline", false}, {"bfq", true},   {"cfq", true}};
    if (strcmp(scheduler, "mq-deadline") == 0)
        return is_deadline_aware() ? PORT_YES : PORT_NO;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(scheduler, known[i].scheduler) == 0)
            return known[i].heeds ? PORT_YES : PORT_NO;
    return PORT_NOT_KNOWN;
}

static bool has_entries(const char *path)
{
    DIR *folder = linux_open_folder(path);
    struct dirent *entry;
    bool has_some = false;
    while (folder && !has_some && (entry = readdir(folder)) != NULL)
        has_some = entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return has_some;
}

/* Disks in memory: brd and zram. */
static bool is_in_memory(dev_t device)
{
    char path[64], line[128];
    struct linux_lines lines;
    bool is_so = false;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/uevent", major(device), minor(device));
    if (!linux_lines_open(&lines, path))
        return false;
    while (linux_lines_next(&lines, line, sizeof line))
        is_so |= strncmp(line, "DEVNAME=ram", 11) == 0 || strncmp(line, "DEVNAME=zram", 12) == 0;
    linux_lines_close(&lines);
    return is_so;
}

static void take_device(struct port_file_place *place, dev_t device)
{
    char path[64];
    take_scheduler(place, device);
    (void)read_queue(device, "write_cache", place->write_cache, sizeof place->write_cache);
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/slaves", major(device), minor(device));
    place->is_stacked = has_entries(path);
    place->heeds_io_priority =
        place->is_stacked ? PORT_NOT_KNOWN : heeds_io_priority(place->scheduler);
    if (is_in_memory(device))
        place->storage = PORT_STORAGE_MEMORY;
}

/* A file system of several devices, as btrfs, has a number of its own that is no device's; what it
 * was mounted from is one of them. */
static void find_device(struct port_file_place *place, const struct mount *mount)
{
    char *end;
    unsigned long first = strtoul(mount->number, &end, 10);
    unsigned long second = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;
    struct stat facts;
    place->has_number = first != 0;
    if (first != 0)
        take_device(place, place->number = makedev((unsigned)first, (unsigned)second));
    else if (strncmp(place->device, "/dev/", 5) == 0 && stat(place->device, &facts) == 0 &&
             S_ISBLK(facts.st_mode))
        take_device(place, facts.st_rdev);
}

/* What is written to an overlay goes to its upper layer, whose folder may be out of sight. */
static void look_below_overlay(struct port_file_place *place, const struct mount *mount)
{
    const char *at = mount->system_options ? strstr(mount->system_options, "upperdir=") : NULL;
    char folder[1024] = "";
    place->storage = PORT_STORAGE_UNKNOWN;
    if (!at)
        return;
    char word[1024];
    at += strlen("upperdir=");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
    (void)copy_word(folder, sizeof folder, word);
    int upper = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0)
        return;
    place->storage = port_storage(upper);
    close(upper);
}

void port_file_place(int descriptor, struct port_file_place *place)
{
    struct mount mount;
    memset(place, 0, sizeof *place);
    place->storage = port_storage(descriptor);
    if (!find_mount(descriptor, &mount))
        return;
    (void)copy_word(place->system, sizeof place->system, mount.system);
    (void)copy_word(place->device, sizeof place->device, mount.device);
    take_options(place, &mount);
    if (strcmp(place->system, "overlay") == 0)
        look_below_overlay(place, &mount);
    find_device(place, &mount);
}

enum { SECTOR_BYTES = 512 }; /* unit of the counters, whatever the device's sector size */
enum { READ_SECTORS = 2, WRITTEN_SECTORS = 6, COUNTERS };

/* Whether the queue attribute `name` exists and is `wanted`; a partition uses its disk's queue. */
static bool queue_has(dev_t device, const char *name, int64_t wanted)
{
    static const char *const places[] = {"", "/.."};
    for (int i = 0; i < 2; i++) {
        char path[96];
        int64_t value;
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u%s/queue/%s", major(device), minor(device),
                 places[i], name);
        if (linux_read_number(path, &value))
            return value == wanted;
    }
    return false;
}

/* Reads the first COUNTERS counters of a device; false if there are fewer. */
static bool read_counters(dev_t device, int64_t counters[COUNTERS])
{
    char path[64], text[256], *at = text, *end;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (!linux_read(path, text, sizeof text))
        return false;
    for (int i = 0; i < COUNTERS; i++, at = end) {
        counters[i] = strtoll(at, &end, 10);
        if (end == at)
            return false;
    }
    return true;
}

void port_lock_place(int descriptor, char place[PORT_LOCK_PLACE_BYTES])
{
    struct stat state;
    *place = '\0';
    if (fstat(descriptor, &state) == 0)
        snprintf(place, PORT_LOCK_PLACE_BYTES, "%02x:%02x:%llu", major(state.st_dev),
                 minor(state.st_dev), (unsigned long long)state.st_ino);
}

/* iostats 0: the kernel does not count. dax: writes may bypass the counters. A device with a file
 * system was read at least once: no sector read means that the kernel does not count it. */
int64_t port_device_written_bytes(dev_t device)
{
    int64_t counters[COUNTERS];
    if (!read_counters(device, counters) || counters[READ_SECTORS] <= 0 ||
        counters[WRITTEN_SECTORS] < 0 || queue_has(device, "iostats", 0) ||
        queue_has(device, "dax", 1))
        return -1;
    return counters[WRITTEN_SECTORS] * SECTOR_BYTES;
}

int64_t port_device_flushes(dev_t device)
{
    char path[64], text[512], *at = text, *end;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (!linux_read(path, text, sizeof text))
        return -1;
    int64_t count = -1;
    for (int i = 0; i <= FLUSHES_FIELD; i++, at = end) {
        count = strtoll(at, &end, 10);
        if (end == at)
            return -1; /* before Linux 5.5 */
    }
    return count;
}

int port_anonymous_file_with(const char *folder, int flags)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC | flags, 0600);
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        errno = ENOTSUP;
    return file;
}

int port_anonymous_file(const char *folder)
{
    return port_anonymous_file_with(folder, 0);
}

int port_direct_io(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0 ? 0 : errno;
}

/* ---- files ---- */

int port_preallocate(int descriptor, int64_t bytes)
{
    int result;
    do
        result = fallocate(descriptor, 0, 0, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? ENOTSUP : errno;
}

union extent_map {
    struct fiemap head;
    char bytes[sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent)];
};

int port_file_extents(int descriptor, struct port_extents *extents)
{
    uint64_t next_logical = 0, next_physical = UINT64_MAX;
    bool is_last = false;
    *extents = (struct port_extents){0};
    while (!is_last) {
        union extent_map map;
        memset(&map, 0, sizeof map);
        map.head.fm_start = next_logical;
        map.head.fm_length = FIEMAP_MAX_OFFSET - next_logical;
        map.head.fm_flags = FIEMAP_FLAG_SYNC;
        map.head.fm_extent_count = EXTENTS_AT_ONCE;
        if (ioctl(descriptor, FS_IOC_FIEMAP, &map) != 0)
            return errno == ENOTTY || errno == EOPNOTSUPP || errno == EINVAL ? ENOTSUP : errno;
        if (map.head.fm_mapped_extents == 0)
            break;
        for (uint32_t i = 0; i < map.head.fm_mapped_extents; i++) {
            const struct fiemap_extent *extent = &map.head.fm_extents[i];
            extents->extents_count++;
            extents->pieces_count += extent->fe_physical != next_physical;
            next_physical = extent->fe_physical + extent->fe_length;
            next_logical = extent->fe_logical + extent->fe_length;
            is_last = extent->fe_flags & FIEMAP_EXTENT_LAST;
        }
    }
    return 0;
}

/* Class none: the I/O priority follows the nice value. libc has no wrapper. */
int port_ordinary_io(void)
{
    enum { WHO_PROCESS = 1, CLASS_NONE = 0 };
    return syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_NONE) == 0 || errno == ENOSYS ? 0 : errno;
}

/* ---- I/O priority: libc has no wrappers ---- */

enum { WHO_PROCESS = 1, CLASS_SHIFT = 13, CLASS_REAL_TIME = 1, CLASS_BEST_EFFORT = 2, MIDDLE = 4 };

/* Without a class of its own the I/O priority of a SCHED_FIFO thread follows its policy. */
int port_set_io_class(enum port_io_class io_class)
{
    int value = io_class == PORT_IO_REAL_TIME ? CLASS_REAL_TIME << CLASS_SHIFT
                                              : CLASS_BEST_EFFORT << CLASS_SHIFT | MIDDLE;
    if (syscall(SYS_ioprio_set, WHO_PROCESS, 0, value) == 0)
        return 0;
    return errno == ENOSYS ? ENOTSUP : errno;
}

int port_io_class(void)
{
    long value = syscall(SYS_ioprio_get, WHO_PROCESS, 0);
    if (value < 0)
        return -1;
    if (value == (CLASS_BEST_EFFORT << CLASS_SHIFT | MIDDLE))
        return PORT_IO_BEST_EFFORT;
    return value == CLASS_REAL_TIME << CLASS_SHIFT ? PORT_IO_REAL_TIME : PORT_IO_OTHER;
}
