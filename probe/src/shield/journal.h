/* What a shield changes, written down before it is changed: the only source from which
 * things are put back. A text file of lines, fields parted by tabs:
 *
 *   hardstone-shield 1
 *   boot ID          the kernel's name of this boot: settings do not outlive it
 *   owner PID START  process that holds the shield; START tells it from a later one of that id
 *   since UTC-NS     when it was made
 *   cpus LIST        what is reserved
 *   ... one line for each change, in the order of the changes (the port's, port_shield.h)
 *
 * The file lies in /run, else /var/run, else /tmp, is made with O_EXCL and without following
 * links, belongs to its user alone, and is locked (flock) as long as its owner or the owner's
 * guard lives. Read back it is untrusted: owner, size and form are checked here, the fields of
 * a change by the port. */
#ifndef HS_SHIELD_JOURNAL_H
#define HS_SHIELD_JOURNAL_H

#include "base/posix_source.h"

#include "base/cpus.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    JOURNAL_FIELDS = 6,
    JOURNAL_PATH_BYTES = 512,
    JOURNAL_BUFFER_BYTES = 16384,
    JOURNAL_MOST_BYTES = 16 << 20,
    JOURNAL_BOOT_BYTES = 64,
};

struct journal {
    int descriptor; /* -1: none */
    int error;      /* errno of the first write that failed */
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

/* One change: `count` fields, the first one its kind. */
struct journal_record {
    int count; /* may be above JOURNAL_FIELDS in a damaged line */
    const char *field[JOURNAL_FIELDS];
    bool is_left; /* not put back although it should be */
};

/* A journal as it was read; `text` holds what the records point into. */
struct journal_image {
    struct journal_head head;
    size_t count;
    struct journal_record *records;
    char *text;
};

enum journal_state {
    JOURNAL_NONE,  /* there is none */
    JOURNAL_STALE, /* nobody holds it: open and locked now, for whoever restores it */
    JOURNAL_HELD,  /* its owner or guard lives; only to be looked at */
    JOURNAL_BAD,   /* not a journal of this user, or damaged; the reason tells */
};

/* Makes and locks an empty journal. `folder` NULL: where journals are. 0, or an errno value
 * (EEXIST: there is one). */
int journal_create(struct journal *journal, const char *folder);

/* Writes its head: 0, or an errno value. */
int journal_begin(struct journal *journal, const struct journal_head *head);

/* Adds the line of a change to those that the next journal_sync writes. A field must be
 * without tab and newline: -1 if one is not, and nothing is added. */
int journal_note(struct journal *journal, int count, const char *const fields[]);

/* Has all lines on the disk when it returns: 0, or an errno value. Before it has returned 0 no
 * change of those lines may be made. */
int journal_sync(struct journal *journal);

/* Looks for a journal and opens it for a restorer. In all states but JOURNAL_NONE `path` is set;
 * in STALE and HELD `image` is (to be freed); in BAD `reason` is. */
enum journal_state journal_find(struct journal *journal, const char *folder,
                                struct journal_image *image, char *reason, size_t reason_bytes);

void journal_free_image(struct journal_image *image);

/* Reads a text as a journal; it is changed. A last line without its end was never acted upon and
 * is left out. 0, or -1 with the reason. Frees nothing on failure: `text` stays the caller's. */
int journal_parse(char *text, struct journal_image *image, char *reason, size_t reason_bytes);

/* The lines of this journal, read again from its file: 0, or -1 with the reason. */
int journal_reread(struct journal *journal, struct journal_image *image, char *reason,
                   size_t reason_bytes);

/* All is put back: the file goes. */
void journal_remove(struct journal *journal);

/* Leaves only those lines of `image` that are left, in one step: whoever is killed in it leaves
 * the whole journal or the shorter one. 0, or an errno value: then it is as it was. */
int journal_keep(struct journal *journal, const struct journal_image *image);

/* Removes whatever lies in the place of the journal, unread: 0 or an errno value (EBUSY: its owner
 * or guard lives; ENOENT: there is none). Sets `path`. */
int journal_forget(struct journal *journal, const char *folder);
void journal_close(struct journal *journal);

#endif
