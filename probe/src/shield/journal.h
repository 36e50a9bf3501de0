/* The journal of a shield: each change is written here before it is made, and restoring reads
 * nothing else. A text file of lines with tab-separated fields:
 *
 *   hardstone-shield 1
 *   boot ID          boot id of the kernel; no setting survives a reboot
 *   owner PID START  process that holds the shield; START distinguishes a reused PID
 *   since UTC-NS     when the journal was made
 *   cpus LIST        the reserved CPUs
 *   ... one line for each change, in order; its fields belong to the port (port/shield.h)
 *
 * The file lies in /run, else /var/run, else /tmp. It is created with O_EXCL and O_NOFOLLOW and
 * mode 0600, and stays locked (flock) while its owner or the owner's guard lives. Its contents are
 * not trusted: this file checks owner, size and format, the port checks the fields of a change. */
#ifndef HS_SHIELD_JOURNAL_H
#define HS_SHIELD_JOURNAL_H

#include "base/posix_source.h"

#include "base/cpus.h"
#include "base/status.h"
#include "port/shield.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    JOURNAL_PATH_BYTES = 512,
    JOURNAL_BUFFER_BYTES = 16384,
    JOURNAL_MOST_BYTES = 16 << 20,
    JOURNAL_BOOT_BYTES = 64,
};

struct journal {
    int descriptor; /* -1: none */
    int error;      /* errno of the first write that failed; 0: none */
    char path[JOURNAL_PATH_BYTES];
    size_t used;
    char buffer[JOURNAL_BUFFER_BYTES];
};

struct journal_head {
    char boot[JOURNAL_BOOT_BYTES];
    pid_t owner;
    uint64_t owner_start;
    int64_t since_utc_ns;
    struct cpus reserved;
};

/* A journal as it was read; the changes point into `text`. */
struct journal_image {
    struct journal_head head;
    struct port_changes changes;
    char *text;
};

enum journal_state {
    JOURNAL_NONE,  /* no journal */
    JOURNAL_STALE, /* owner and guard are gone; open and locked, ready to restore */
    JOURNAL_HELD,  /* its owner or guard lives; open for reading */
    JOURNAL_BAD,   /* not a journal of this user, damaged, or not readable; see the reason */
};

/* Makes and locks an empty journal. `folder` NULL: the usual one. 0, or an errno value (EEXIST:
 * there is a journal). */
int journal_create(struct journal *journal, const char *folder);

/* Writes the head to disk: 0, or an errno value. */
int journal_begin(struct journal *journal, const struct journal_head *head);

/* Buffers the line of one change; journal_sync writes it and returns errors. 0; -1 if a field
 * contains a tab or newline: nothing is added. */
int journal_note(struct journal *journal, int count, const char *const fields[]);

/* Writes the buffered lines and calls fsync: 0, or the errno of the first error. Make a change only
 * after this has returned 0 for its line. */
int journal_sync(struct journal *journal);

/* Finds, opens and reads the journal. Always sets journal->path. STALE and HELD: sets `image`,
 * which the caller frees, and the caller closes the journal. BAD: sets `reason`. */
enum journal_state journal_find(struct journal *journal, const char *folder,
                                struct journal_image *image, char *reason, size_t reason_bytes);

void journal_free_image(struct journal_image *image);

/* Parses `text`, which it modifies, as a journal. A last line without newline is left out: its
 * change was never made. 0: `image` owns `text`, unless it is empty (image->text is NULL then). -1
 * with the reason (damaged, or no memory): the caller still owns `text`. */
int journal_parse(char *text, struct journal_image *image, char *reason, size_t reason_bytes);

/* Reads the file of this journal again: 0, or -1 with the reason. The caller frees `image`. */
int journal_reread(struct journal *journal, struct journal_image *image, char *reason,
                   size_t reason_bytes);

/* Deletes the file, after everything is restored, and closes the journal. */
void journal_remove(struct journal *journal);

/* Replaces the journal by one with only the changes of `image` that are is_left. It is renamed into
 * place: a kill leaves either the old or the new journal. 0, or an errno value: the journal is
 * unchanged. */
int journal_keep(struct journal *journal, const struct journal_image *image);

/* Deletes the file at the journal's path without reading it: 0, or an errno value (EBUSY: its owner
 * or guard lives; ENOENT: no file). Sets journal->path. */
int journal_forget(struct journal *journal, const char *folder);

/* Closes the file, and so releases its lock. */
void journal_close(struct journal *journal);

/* ---- what an earlier shield has left ---- */

enum { SHIELD_REASON_BYTES = 320, SHIELD_CPUS_BYTES = 80 };

/* What an earlier shield left whose owner ended without restoring. An empty text: nothing. */
struct shield_earlier {
    char text[SHIELD_REASON_BYTES];
    char cpus[SHIELD_CPUS_BYTES]; /* that it had reserved, or taken offline */
    long owner;
    int undone, foreign; /* changes restored now; changes left alone because others have changed the
                            value since */
    bool is_void;        /* the journal was from an earlier boot: nothing was left */
};

/* Whether the journal is of an earlier boot: no change outlives one. */
bool shield_is_void(const struct journal_head *head);

/* Whether a shield left changes that nobody restores; `left` then says whose they are.
 * SHIELD_RESTORE_COMMAND restores it. */
bool shield_is_left(struct shield_earlier *left);

/* ---- notes: what a shield could not change, and why. Equal reasons are grouped: a few lines for
 * people, not one for each interrupt ---- */

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

/* Notes that `name` (an interrupt, a thread; NULL: the whole setting) could not be changed. */
void shield_note(struct shield_notes *notes, const char *setting, const char *name,
                 const char *reason);

/* Formats one note: "interrupts: 3 (24, 25, 26): the reason". */
void shield_note_text(const struct shield_note *note, char *text, size_t bytes);

/* Formats all notes in one line without reasons: "interrupts (3), timers", with the number of
 * things if they are named. False if there are no notes. */
bool shield_notes_fold(const struct shield_notes *notes, char *text, size_t bytes);

/* Of a shield, for its port: writes to the journal and the notes above. */
extern const struct port_shield_log shield_log;

#endif
