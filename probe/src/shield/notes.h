/* What a shield could not change, and why. Equal reasons are grouped: a few lines for people, not
 * one for each interrupt. */
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
    char names[NOTE_NAMES_BYTES]; /* of the first `named` things, separated by ", " */
    int named;
};

struct shield_notes {
    bool is_verbose; /* also print each note to standard error at once */
    int count;
    int dropped; /* notes lost because `note` was full */
    struct shield_note note[NOTES];
};

/* Notes that `name` (an interrupt, a thread; NULL: the whole setting) could not be changed. The
 * format gives the reason. */
void shield_note(struct shield_notes *notes, const char *setting, const char *name,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Formats one note: "interrupts: 3 (24, 25, 26): the reason". */
void shield_note_text(const struct shield_note *note, char *text, size_t bytes);

/* Formats all notes in one line without reasons: "interrupts (3), timers", with the number of
 * things if they are named. False if there are no notes. */
bool shield_notes_fold(const struct shield_notes *notes, char *text, size_t bytes);

#endif
