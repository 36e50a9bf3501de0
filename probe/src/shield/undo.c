#include "base/posix_source.h"

#include "shield/undo.h"

#include <stdio.h>
#include <string.h>

enum { UNDO_TEXT_BYTES = 600 };

/* True if a later change of the same thing is not undone: this one must stay until it is. */
static bool hangs_on_a_later_one(const struct journal_image *image, size_t index)
{
    const struct journal_record *record = &image->records[index];
    for (size_t i = index + 1; i < image->count; i++) {
        const struct journal_record *later = &image->records[i];
        if (later->is_left && record->count > 1 && later->count > 1 &&
            strcmp(later->field[0], record->field[0]) == 0 &&
            strcmp(later->field[1], record->field[1]) == 0)
            return true;
    }
    return false;
}

static struct shield_undone undo_each(struct port_shield *port, struct journal_image *image,
                                      shield_tell tell, void *context)
{
    struct shield_undone sum = {0};
    for (size_t i = image->count; i > 0; i--) {
        char text[UNDO_TEXT_BYTES] = "";
        bool is_told = true;
        if (sum.failed > 0 && hangs_on_a_later_one(image, i - 1)) {
            image->records[i - 1].is_left = true;
            continue;
        }
        switch (port_shield_undo(port, image, i - 1, text, sizeof text)) {
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
            image->records[i - 1].is_left = true;
            break;
        case PORT_UNDO_NOTHING:
            break;
        }
        if (text[0] && tell && is_told)
            tell(context, text);
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

bool shield_is_void(const struct journal_head *head)
{
    char boot[JOURNAL_BOOT_BYTES];
    return !port_boot_name(boot, sizeof boot) || strcmp(boot, head->boot) != 0;
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
