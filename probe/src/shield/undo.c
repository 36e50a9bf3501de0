#include "base/posix_source.h"

#include "shield/shield.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNDO_TEXT_BYTES = 600 };

/* True if a later change of the same thing is not undone: this one must stay until it is. */
static bool hangs_on_a_later_one(const struct journal_image *image, size_t index)
{
    const struct port_change *record = &image->changes.each[index];
    for (size_t i = index + 1; i < image->changes.count; i++) {
        const struct port_change *later = &image->changes.each[i];
        if (later->is_left && record->count > 1 && later->count > 1 &&
            strcmp(later->field[0], record->field[0]) == 0 &&
            strcmp(later->field[1], record->field[1]) == 0)
            return true;
    }
    return false;
}

/* The setting that makes changes of this kind; NULL: several do, which change a file each. */
static const char *setting_of(const char *kind)
{
    static const struct {
        const char *kind, *setting;
    } settings[] = {{"irq", "interrupts"},    {"task", "cpuset"},  {"mask", "cpuset"},
                    {"heirs", "cpuset"},      {"group", "cpuset"}, {"control", "cpuset"},
                    {"online", "offline"},    {"kept", "offline"}, {"timerlat", "timerlat"},
                    {"preempt", "preemption"}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (strcmp(settings[i].kind, kind) == 0)
            return settings[i].setting;
    return NULL;
}

static void tell_left(const struct port_change *record, bool is_failed, const char *text,
                      shield_tell tell, void *context)
{
    const char *kind = record->field[0], *setting = setting_of(kind);
    bool is_file = strcmp(kind, "file") == 0 && record->count > 1;
    tell(context,
         DATA(data_text("change", kind), data_bool("is_failed", is_failed),
              setting   ? data_text("setting", setting)
              : is_file ? data_text("path", record->field[1])
                        : data_none()),
         text);
}

static struct shield_undone undo_each(struct port_shield *port, struct journal_image *image,
                                      shield_tell tell, void *context)
{
    struct shield_undone sum = {0};
    for (size_t i = image->changes.count; i > 0; i--) {
        char text[UNDO_TEXT_BYTES] = "";
        bool is_told = true;
        int failed = sum.failed;
        if (sum.failed > 0 && hangs_on_a_later_one(image, i - 1)) {
            image->changes.each[i - 1].is_left = true;
            continue;
        }
        switch (port_shield_undo(port, &image->changes, i - 1, text, sizeof text)) {
        case PORT_UNDONE:
            sum.undone++;
            break;
        case PORT_UNDO_FOREIGN:
            sum.foreign++;
            break;
        case PORT_UNDO_TAKEN:
            sum.foreign++;
            is_told = port->notes && port->notes->is_verbose;
            break;
        case PORT_UNDO_FAILED:
        case PORT_UNDO_REFUSED:
            if (sum.failed++ == 0)
                snprintf(sum.failure, sizeof sum.failure, "%.200s", text);
            image->changes.each[i - 1].is_left = true;
            break;
        case PORT_UNDO_NOTHING:
            break;
        }
        if (text[0] && tell && is_told)
            tell_left(&image->changes.each[i - 1], sum.failed > failed, text, tell, context);
    }
    return sum;
}

struct shield_undone shield_undo_all(struct port_shield *port, struct journal *journal,
                                     struct journal_image *image, shield_tell tell, void *context)
{
    struct shield_undone sum = undo_each(port, image, tell, context);
    if (sum.failed == 0)
        journal_remove(journal);
    else
        journal_keep(journal, image); /* on failure the whole journal stays: undo may be repeated */
    return sum;
}

bool shield_owner_lives(const struct journal_head *head)
{
    return head->owner > 0 && port_process_start(head->owner) == head->owner_start &&
           head->owner_start != 0;
}

struct shield_undone shield_undo_stale(struct journal *journal, struct journal_image *image,
                                       bool *is_void, shield_tell tell, void *context)
{
    struct shield_undone sum = {0};
    *is_void = shield_is_void(&image->head);
    struct port_shield port = {.root = "", .latency = -1, .reserved = image->head.reserved};
    if (!*is_void)
        return shield_undo_all(&port, journal, image, tell, context);
    journal_remove(journal);
    return sum;
}

/* ---- the guard ---- */

enum { GUARD_LOOK_MS = 1000 };

static void undo_for_owner(void *context)
{
    struct port_shield *port = context;
    struct journal_image image;
    struct stat facts;
    char reason[200];
    if (fstat(port->journal->descriptor, &facts) != 0 || facts.st_nlink == 0 ||
        journal_reread(port->journal, &image, reason, sizeof reason) != 0)
        return;
    /* the guard has no output: shield --restore will report what failed */
    shield_undo_all(port, port->journal, &image, NULL, NULL);
}

int shield_guard_start(struct guard *guard, struct port_shield *port)
{
    const struct guard_duty duty = {.watch = GUARD_BY_PIPE,
                                    .kept = port->journal->descriptor,
                                    .look_ms = GUARD_LOOK_MS,
                                    .undo = undo_for_owner,
                                    .context = port};
    return guard_start(guard, &duty);
}

bool shield_guard_replace(struct guard *guard, struct port_shield *port, pid_t pid)
{
    if (guard->pid <= 0 || pid != guard->pid)
        return false;
    close(guard->pipe);
    shield_guard_start(guard, port);
    return true;
}
