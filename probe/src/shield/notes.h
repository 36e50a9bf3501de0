/* What a shield could not do, and why: equal reasons together, so that a person reads a few
 * lines and not one for each interrupt. */
#ifndef HS_SHIELD_NOTES_H
#define HS_SHIELD_NOTES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NOTES = 32,
    NOTE_REASON_BYTES = 200,
    NOTE_NAMES_BYTES = 120,
    NOTE_TEXT_BYTES = 360,
};

struct shield_note {
    const char *setting;
    char reason[NOTE_REASON_BYTES];
    int count;
    char names[NOTE_NAMES_BYTES]; /* the first few */
    int named;
};

struct shield_notes {
    bool is_verbose; /* each one on standard error too, as it is found */
    int count;
    int dropped; /* reasons that found no place */
    struct shield_note note[NOTES];
};

/* Notes that `name` (an interrupt, a thread; NULL: the setting as a whole) stays as it is. */
void shield_note(struct shield_notes *notes, const char *setting, const char *name,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "interrupts: 3 (24, 25, 26): the reason" */
void shield_note_text(const struct shield_note *note, char *text, size_t bytes);

/* All of them in one line, without the reasons: "interrupts (3), timers", with the number of things
 * where things are named. False when there are none. */
bool shield_notes_fold(const struct shield_notes *notes, char *text, size_t bytes);

#endif
