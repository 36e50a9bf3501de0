#include "posix_source.h"

#include "shield_undo.h"

#include <string.h>

enum { UNDO_TEXT_BYTES = 600 };

struct shield_undone shield_undo_all(struct port_shield *port, const struct journal_image *image,
                                     shield_tell tell, void *context)
{
    struct shield_undone sum = {0};
    for (size_t i = image->count; i > 0; i--) {
        char text[UNDO_TEXT_BYTES] = "";
        switch (port_shield_undo(port, image, i - 1, text, sizeof text)) {
        case PORT_UNDONE:
            sum.undone++;
            break;
        case PORT_UNDO_FOREIGN:
            sum.foreign++;
            break;
        case PORT_UNDO_FAILED:
        case PORT_UNDO_REFUSED:
            sum.failed++;
            break;
        case PORT_UNDO_NOTHING:
            break;
        }
        if (text[0] && tell)
            tell(context, text);
    }
    return sum;
}

bool shield_owner_lives(const struct journal_head *head)
{
    return head->owner > 0 && port_process_start(head->owner) == head->owner_start &&
           head->owner_start != 0;
}

struct shield_undone shield_undo_stale(struct journal *journal, const struct journal_image *image,
                                       bool *is_void, shield_tell tell, void *context)
{
    struct shield_undone sum = {0};
    char boot[JOURNAL_BOOT_BYTES];
    *is_void = !port_boot_name(boot, sizeof boot) || strcmp(boot, image->head.boot) != 0;
    if (!*is_void) {
        struct port_shield port = {.root = "", .latency = -1, .reserved = image->head.reserved};
        sum = shield_undo_all(&port, image, tell, context);
    }
    journal_remove(journal);
    return sum;
}
