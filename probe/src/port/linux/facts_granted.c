/* Who gets real-time priorities from pam_limits: today's form of HP's privilege groups. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS = 256 };

/* Name of `id` in a file of lines "root:x:0:0:..." (passwd, group). Not through libc: that loads
 * name service modules, which a static probe does not have. */
static bool name_of(const char *path, long id, char *name, size_t bytes)
{
    FILE *file = linux_open(path);
    char line[1024];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second || strtol(second + 1, NULL, 10) != id)
            continue;
        snprintf(name, bytes, "%.*s", (int)(first - line), line);
        is_found = true;
    }
    if (file)
        fclose(file);
    return is_found;
}

static void user_facts(const struct port_fact_sink *sink)
{
    gid_t groups[GROUPS];
    char list[512] = "", name[64];
    struct linux_words words = {list, sizeof list, 0, 0};
    if (name_of("/etc/passwd", (long)getuid(), name, sizeof name))
        sink->text(sink->context, "user.name", name);
    int count = getgroups(GROUPS, groups);
    if (count < 0)
        return;
    for (int i = 0; i < count; i++) {
        if (!name_of("/etc/group", (long)groups[i], name, sizeof name))
            snprintf(name, sizeof name, "%ld", (long)groups[i]);
        linux_add_word(&words, ",", name);
    }
    sink->text(sink->context, "user.groups", words.used ? list : NULL);
}

/* A line "@audio - rtprio 95" adds "@audio=95". */
static void read_line(struct linux_words *words, char *line)
{
    char *rest, word[96];
    line[strcspn(line, "#\n")] = '\0';
    const char *who = strtok_r(line, " \t", &rest), *kind = strtok_r(NULL, " \t", &rest);
    const char *item = strtok_r(NULL, " \t", &rest), *value = strtok_r(NULL, " \t", &rest);
    if (!value || strcmp(item, "rtprio") != 0 || strcmp(kind, "soft") == 0)
        return;
    snprintf(word, sizeof word, "%.60s=%.20s", who, value);
    linux_add_word(words, ", ", word);
}

static bool read_limits(struct linux_words *words, const char *path)
{
    FILE *file = linux_open(path);
    char line[512];
    while (file && fgets(line, sizeof line, file))
        read_line(words, line);
    if (file)
        fclose(file);
    return file != NULL;
}

void linux_granted_facts(const struct port_fact_sink *sink)
{
    char list[512] = "", path[400];
    struct linux_words words = {list, sizeof list, 0, 0};
    struct dirent *entry;
    user_facts(sink);
    bool is_there = read_limits(&words, "/etc/security/limits.conf");
    DIR *folder = linux_open_folder("/etc/security/limits.d");
    while (folder && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        snprintf(path, sizeof path, "/etc/security/limits.d/%.255s", entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0)
            is_there |= read_limits(&words, path);
    }
    if (folder)
        closedir(folder);
    if (is_there)
        sink->text(sink->context, "limits.granted_rtprio", words.used ? list : NULL);
}
