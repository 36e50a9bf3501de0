/* Undoes the changes of a journal, last change first. */
#ifndef HS_SHIELD_UNDO_H
#define HS_SHIELD_UNDO_H

#include "base/posix_source.h"

#include "base/data.h"
#include "base/guard.h"
#include "port/shield.h"
#include "shield/journal.h"

/* Restores the changes that are kept in the journal. */
#define SHIELD_RESTORE_COMMAND "hardstone shield --restore"

/* Remedy for changes that could not be restored; its command is SHIELD_RESTORE_COMMAND. */
#define SHIELD_WAY_OUT "fix the cause and restore again (--forget keeps these settings as they are)"

/* Remedy for a journal that cannot be read, and its command. */
#define SHIELD_DROP "look at the journal, then delete it"
#define SHIELD_DROP_COMMAND "hardstone shield --restore --forget"

/* Gets one line for each thing that was not restored, with the reason; `data` has it for programs,
 * and as `command` what to type. Threads that the kernel has bound meanwhile are told only if
 * is_verbose of the port's notes is set. May be NULL. */
typedef void (*shield_tell)(void *context, const struct datum *data, const char *text);

struct shield_undone {
    int undone;                      /* values restored */
    int foreign;                     /* left alone: others have changed them since */
    int failed;                      /* could not be restored */
    char failure[SHIELD_TEXT_BYTES]; /* reason of the first failure */
};

/* Undoes the changes of `image`, the contents of `journal`. Each step checks the current value
 * first, so it may be repeated, also after an interrupted restore. Deletes the journal if nothing
 * failed; else the journal keeps the failed changes for the next attempt. */
struct shield_undone shield_undo_all(struct port_shield *port, struct journal *journal,
                                     struct journal_image *image, shield_tell tell, void *context);

/* The same for a stale journal. A journal of an earlier boot is void: it is deleted, nothing is
 * undone and `is_void` is set. */
struct shield_undone shield_undo_stale(struct journal *journal, struct journal_image *image,
                                       bool *is_void, shield_tell tell, void *context);

/* The guard of a shield restores everything if the owner ends without doing so. If a child of the
 * owner still holds the pipe open, it notices within 1 s that its parent has changed. Start it
 * before the first change. 0, or an errno value (of pipe or fork). */
int shield_guard_start(struct guard *guard, struct port_shield *port);

/* If `pid` is the guard, which has ended, starts a new one and returns true. For a loop over
 * waitpid. */
bool shield_guard_replace(struct guard *guard, struct port_shield *port, pid_t pid);

/* True if the process that made the journal still runs. */
bool shield_owner_lives(const struct journal_head *head);

#endif
