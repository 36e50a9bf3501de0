#include "base/posix_source.h"

#include "shield/notes.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 4 };

static struct shield_note *find(struct shield_notes *notes, const char *setting, const char *reason)
{
    for (int i = 0; i < notes->count; i++)
        if (strcmp(notes->note[i].setting, setting) == 0 &&
            strcmp(notes->note[i].reason, reason) == 0)
            return &notes->note[i];
    if (notes->count == NOTES) {
        notes->dropped++;
        return NULL;
    }
    struct shield_note *note = &notes->note[notes->count++];
    memset(note, 0, sizeof *note);
    note->setting = setting;
    snprintf(note->reason, sizeof note->reason, "%s", reason);
    return note;
}

void shield_note(struct shield_notes *notes, const char *setting, const char *name,
                 const char *format, ...)
{
    char reason[NOTE_REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (notes->is_verbose)
        message_print("not moved: %s%s%s: %s", setting, name ? " " : "", name ? name : "", reason);
    struct shield_note *note = find(notes, setting, reason);
    if (!note)
        return;
    note->count++;
    size_t used = strlen(note->names);
    if (name && note->named < NAMED && used + strlen(name) + 3 < sizeof note->names) {
        snprintf(note->names + used, sizeof note->names - used, "%s%s", used ? ", " : "", name);
        note->named++;
    }
}

void shield_note_text(const struct shield_note *note, char *text, size_t bytes)
{
    if (note->named == 0)
        snprintf(text, bytes, "%s: %s", note->setting, note->reason);
    else if (note->count == 1)
        snprintf(text, bytes, "%s: %s: %s", note->setting, note->names, note->reason);
    else
        snprintf(text, bytes, "%s: %d (%s%s): %s", note->setting, note->count, note->names,
                 note->count > note->named ? ", ..." : "", note->reason);
}

/* Number of named things of this note's setting; 0: the whole setting; -1: an earlier note has the
 * same setting and was counted. */
static int count_of(const struct shield_notes *notes, int first)
{
    int count = 0;
    for (int i = 0; i < notes->count; i++) {
        bool is_same = strcmp(notes->note[i].setting, notes->note[first].setting) == 0;
        if (is_same && i < first)
            return -1;
        if (is_same && notes->note[i].named > 0)
            count += notes->note[i].count;
    }
    return count;
}

bool shield_notes_fold(const struct shield_notes *notes, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < notes->count && used < bytes; i++) {
        int count = count_of(notes, i);
        if (count < 0)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                 notes->note[i].setting);
        if (count > 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, " (%d)", count);
    }
    if (notes->dropped && used < bytes)
        snprintf(text + used, bytes - used, ", and %d more", notes->dropped);
    return notes->count > 0;
}
