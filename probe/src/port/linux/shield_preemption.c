/* The kernel's preemption model, which debugfs switches at run time (PREEMPT_DYNAMIC).
 *
 * Where debugfs is not mounted it is reached through a private mount that ends with each access:
 * nobody else sees it, and a kill leaves none. */
#include "port/linux/facts.h"
#include "port/linux/files.h"
#include "port/linux/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug"
#define SWITCH "sched/preempt"
#define SECURITYFS "/sys/kernel/security"
#define LOCKDOWN "lockdown"

enum { BEFORE_FIELD = 1, OURS_FIELD, PREEMPTION_FIELDS, MODEL_BYTES = 16, LIST_BYTES = 128 };

/* A descriptor, or -1 with errno. */
static int open_at(const struct port_shield *shield, const char *place, const char *system,
                   const char *name, int flags)
{
    char path[LINUX_PATH_BYTES], full[LINUX_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", place, name);
    if (!linux_shield_path(shield, path, full)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int file = open(full, flags | O_CLOEXEC);
    bool is_missing = file < 0 && errno == ENOENT;
    return is_missing && !*shield->root ? linux_open_detached(system, name, flags) : file;
}

static int open_switch(const struct port_shield *shield, int flags)
{
    return open_at(shield, DEBUGFS, "debugfs", SWITCH, flags);
}

/* The list of models as the kernel prints it: "none voluntary (full) lazy". */
static int read_list(const struct port_shield *shield, char list[LIST_BYTES])
{
    int file = open_switch(shield, O_RDONLY);
    list[0] = '\0';
    if (file < 0)
        return errno;
    ssize_t got = read(file, list, LIST_BYTES - 1);
    int error = got < 0 ? errno : got == LIST_BYTES - 1 ? EMSGSIZE : 0;
    close(file);
    list[got > 0 ? got : 0] = '\0';
    list[strcspn(list, "\n")] = '\0';
    return error;
}

/* The marked word; one word alone needs no mark. */
static int read_model(const struct port_shield *shield, char model[MODEL_BYTES])
{
    char list[LIST_BYTES];
    int error = read_list(shield, list);
    if (error)
        return error;
    if (linux_bracketed(list, model, MODEL_BYTES))
        return 0;
    bool is_alone = list[0] && !strchr(list, ' ') && strlen(list) < MODEL_BYTES;
    snprintf(model, MODEL_BYTES, "%.*s", MODEL_BYTES - 1, is_alone ? list : "");
    return is_alone ? 0 : ENOTSUP;
}

static int write_model(const struct port_shield *shield, const char *model)
{
    char now[MODEL_BYTES];
    int file = open_switch(shield, O_WRONLY | O_TRUNC);
    if (file < 0)
        return errno;
    ssize_t done = write(file, model, strlen(model));
    int error = done < 0 ? errno : done != (ssize_t)strlen(model) ? EIO : 0;
    close(file);
    if (error == 0)
        error = read_model(shield, now);
    return error ? error : strcmp(now, model) == 0 ? 0 : EAGAIN;
}

/* "integrity" already keeps everybody off debugfs. */
static bool is_locked_down(const struct port_shield *shield)
{
    char text[64], level[32];
    int file = open_at(shield, SECURITYFS, "securityfs", LOCKDOWN, O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return linux_bracketed(text, level, sizeof level) && strcmp(level, "none") != 0;
}

static int explain(const struct port_shield *shield, int error, char *text, size_t bytes)
{
    bool is_missing = error == ENOENT || error == ENODEV || error == ENOSYS;
    bool may_be_locked = error == EPERM && geteuid() == 0;
    if (is_missing)
        snprintf(text, bytes,
                 error == ENOENT ? "the kernel cannot switch its preemption model at run time "
                                   "(no " SWITCH " in debugfs)"
                                 : "debugfs is not mounted, or the kernel has none");
    else if (error == EPERM && is_locked_down(shield))
        snprintf(text, bytes, "the kernel is locked down and denies access to " SWITCH);
    else
        snprintf(text, bytes, SWITCH ": %s%s", strerror(error),
                 may_be_locked ? " (the kernel may be locked down)" : "");
    return is_missing ? ENOTSUP : error;
}

static bool is_offered(const char *list, const char *model)
{
    char copy[LIST_BYTES];
    snprintf(copy, sizeof copy, "%s", list);
    for (char *rest, *word = strtok_r(copy, " ()[]", &rest); word;
         word = strtok_r(NULL, " ()[]", &rest))
        if (strcmp(word, model) == 0)
            return true;
    return false;
}

static int note(struct port_shield *shield, const char *before)
{
    const char *fields[] = {"preempt", before, shield->preemption};
    if (linux_shield_note(shield, PREEMPTION_FIELDS, fields) != 0)
        return EINVAL;
    return linux_shield_sync(shield);
}

int linux_shield_preemption(struct port_shield *shield, char *text, size_t bytes)
{
    char list[LIST_BYTES], before[MODEL_BYTES];
    int error = read_list(shield, list);
    if (error == 0)
        error = read_model(shield, before);
    if (error)
        return explain(shield, error, text, bytes);
    if (!is_offered(list, shield->preemption)) {
        snprintf(text, bytes, "the kernel has no model '%s'; it offers %s", shield->preemption,
                 list);
        return ENOTSUP;
    }
    if (strcmp(before, shield->preemption) == 0) {
        shield->unchanged |= 1u << SHIELD_PREEMPTION;
        snprintf(text, bytes, "%s already", before);
        return 0;
    }
    error = note(shield, before);
    if (error) {
        snprintf(text, bytes, "the journal: %s", strerror(error));
        return error;
    }
    error = write_model(shield, shield->preemption);
    if (error)
        return explain(shield, error, text, bytes);
    snprintf(text, bytes, "%s instead of %s", shield->preemption, before);
    return 0;
}

bool linux_shield_show_preemption(struct port_shield *shield, char *text, size_t bytes)
{
    char model[MODEL_BYTES];
    int error = read_model(shield, model);
    if (error)
        explain(shield, error, text, bytes);
    else
        snprintf(text, bytes, "%s", model);
    return error == 0;
}

/* ---- undo ---- */

/* Models yet to come have names like these; the kernel refuses what is none. */
static bool is_model(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < MODEL_BYTES &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz") == length;
}

enum port_undo linux_shield_undo_preemption(struct port_shield *shield,
                                            const struct port_change *record, char *text,
                                            size_t bytes)
{
    const char *const *field = record->field;
    char now[MODEL_BYTES];
    if (record->count != PREEMPTION_FIELDS || !is_model(field[BEFORE_FIELD]) ||
        !is_model(field[OURS_FIELD])) {
        snprintf(text, bytes, "a line that names no preemption models");
        return PORT_UNDO_REFUSED;
    }
    int error = read_model(shield, now);
    if (error == 0 && strcmp(now, field[BEFORE_FIELD]) == 0)
        return PORT_UNDO_NOTHING;
    if (error == 0 && strcmp(now, field[OURS_FIELD]) != 0) {
        snprintf(text, bytes, "the preemption model is %s now, not the %s that was set: left alone",
                 now, field[OURS_FIELD]);
        return PORT_UNDO_FOREIGN;
    }
    if (error == 0)
        error = write_model(shield, field[BEFORE_FIELD]);
    if (error == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "the preemption model could not be set back to %s: %s",
             field[BEFORE_FIELD], strerror(error));
    return PORT_UNDO_FAILED;
}
