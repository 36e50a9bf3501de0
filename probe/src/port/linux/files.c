/* Reads the kernel's small text files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char linux_cpuinfo_path[] = "/proc/cpuinfo";

/* Weak: a test links its own version and presents the files of another machine. */
__attribute__((weak)) const char *linux_root(void)
{
    return "";
}

const char *linux_rooted(const char *path, char place[LINUX_PLACE_BYTES])
{
    snprintf(place, LINUX_PLACE_BYTES, "%s%s", linux_root(), path);
    return place;
}

FILE *linux_open(const char *path)
{
    char place[LINUX_PLACE_BYTES];
    return fopen(linux_rooted(path, place), "re");
}

bool linux_lines_open(struct linux_lines *lines, const char *path)
{
    char place[LINUX_PLACE_BYTES];
    lines->at = lines->used = 0;
    lines->file = open(linux_rooted(path, place), O_RDONLY | O_CLOEXEC);
    return lines->file >= 0;
}

static bool read_part(struct linux_lines *lines)
{
    ssize_t got;
    do
        got = read(lines->file, lines->part, sizeof lines->part);
    while (got < 0 && errno == EINTR);
    lines->at = 0;
    lines->used = got > 0 ? (size_t)got : 0;
    return lines->used > 0;
}

bool linux_lines_next(struct linux_lines *lines, char *line, size_t bytes)
{
    size_t length = 0;
    bool is_there = false, is_whole = false;
    while (!is_whole && (lines->at < lines->used || read_part(lines))) {
        const char *from = lines->part + lines->at;
        size_t left = lines->used - lines->at, room = bytes - 1 - length;
        const char *end = memchr(from, '\n', left);
        size_t span = end ? (size_t)(end - from) : left, kept = span < room ? span : room;
        memcpy(line + length, from, kept);
        length += kept;
        lines->at += span + (end ? 1 : 0);
        is_there = true;
        is_whole = end != NULL;
    }
    line[length] = '\0';
    return is_there;
}

/* The next byte, which stays; -1: there is none. */
static int look_ahead(struct linux_lines *lines)
{
    if (lines->at == lines->used && !read_part(lines))
        return -1;
    return (unsigned char)lines->part[lines->at];
}

bool linux_lines_word(struct linux_lines *lines, char *word, size_t bytes)
{
    size_t length = 0;
    int next;
    while ((next = look_ahead(lines)) == ' ')
        lines->at++;
    for (; next >= 0 && next != ' ' && next != '\n'; next = look_ahead(lines)) {
        if (length + 1 < bytes)
            word[length++] = (char)next;
        lines->at++;
    }
    word[length] = '\0';
    return length > 0;
}

void linux_lines_close(struct linux_lines *lines)
{
    close(lines->file);
}

DIR *linux_open_folder(const char *path)
{
    char place[LINUX_PLACE_BYTES];
    return opendir(linux_rooted(path, place));
}

bool linux_exists(const char *path)
{
    char place[LINUX_PLACE_BYTES];
    return access(linux_rooted(path, place), F_OK) == 0;
}

bool linux_is_read_only(const char *path)
{
    char place[LINUX_PLACE_BYTES];
    struct statvfs state;
    return statvfs(linux_rooted(path, place), &state) == 0 && state.f_flag & ST_RDONLY;
}

bool linux_link(const char *path, char *text, size_t bytes)
{
    char place[LINUX_PLACE_BYTES];
    ssize_t length = readlink(linux_rooted(path, place), text, bytes - 1);
    text[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

/* The initial one has a constant number. What it maps does not tell: nothing in a new one (unshare
 * -U), and another one may map every id to itself. */
bool linux_in_user_namespace(void)
{
    char link[64];
    return linux_link("/proc/self/ns/user", link, sizeof link) &&
           strcmp(link, "user:[4026531837]") != 0;
}

bool linux_read_any(const char *path, char *text, size_t bytes)
{
    char place[LINUX_PLACE_BYTES];
    int file = open(linux_rooted(path, place), O_RDONLY | O_CLOEXEC);
    text[0] = '\0';
    if (file < 0)
        return false;
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < bytes && (got = read(file, text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    int error = got < 0 ? errno : 0;
    close(file);
    errno = error;
    while (used > 0 && (text[used - 1] == '\n' || text[used - 1] == ' '))
        used--;
    text[used] = '\0';
    return used > 0 || got == 0;
}

bool linux_read(const char *path, char *text, size_t bytes)
{
    return linux_read_any(path, text, bytes) && text[0];
}

bool linux_read_number(const char *path, int64_t *number)
{
    char text[64], *end;
    if (!linux_read(path, text, sizeof text))
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && errno == 0;
}

bool linux_cpuinfo(const char *name, char *value, size_t bytes)
{
    FILE *file = linux_open(linux_cpuinfo_path);
    char line[8192];
    bool is_found = false;
    if (!file)
        return false;
    while (!is_found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        size_t length = strlen(name);
        if (!colon || strncmp(line, name, length) != 0 || strspn(line + length, "\t ") == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(value, bytes, "%s", colon + 1 + strspn(colon + 1, " "));
        is_found = true;
    }
    int error = ferror(file) ? errno : 0;
    fclose(file);
    errno = error;
    return is_found;
}

bool linux_mount_read(char *line, struct linux_mount *mount)
{
    char *rest, *device = strtok_r(line, " \t", &rest);
    mount->place = device ? strtok_r(NULL, " \t", &rest) : NULL;
    mount->kind = mount->place ? strtok_r(NULL, " \t", &rest) : NULL;
    mount->options = mount->kind ? strtok_r(NULL, " \t\n", &rest) : NULL;
    return mount->options != NULL;
}

int linux_dma_latency_hold(const char *path, int32_t us, int *descriptor, int32_t *in_force_us)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    int error = file < 0 ? errno : 0;
    if (!error && write(file, &us, sizeof us) != sizeof us)
        error = errno;
    if (!error &&
        (lseek(file, 0, SEEK_SET) < 0 ||
         read(file, in_force_us, sizeof *in_force_us) != sizeof *in_force_us || *in_force_us > us))
        error = EAGAIN;
    if (error && file >= 0)
        close(file);
    if (!error)
        *descriptor = file;
    return error;
}
