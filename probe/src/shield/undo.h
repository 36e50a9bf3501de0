/* Putting back what a journal tells, last change first. */
#ifndef HS_SHIELD_UNDO_H
#define HS_SHIELD_UNDO_H

#include "port/shield.h"

/* For a person, about changes that could not be put back. */
#define SHIELD_WAY_OUT                                                                             \
    "mend the cause and repeat it: hardstone shield --restore; with --forget it is left so"

/* Gets one line about each thing that was not put back, and why; about a thread that the kernel has
 * bound meanwhile only with is_verbose of the port's notes. May be NULL. */
typedef void (*shield_tell)(void *context, const char *text);

struct shield_undone {
    int undone;                      /* values that are as before again */
    int foreign;                     /* left alone: somebody else has changed them since */
    int failed;                      /* not put back although they should be */
    char failure[SHIELD_TEXT_BYTES]; /* why, of the first of them */
};

/* Undoes the changes of `image`, which is what is in `journal`. Each step looks first: it can be
 * repeated, and may begin anywhere. The journal goes when nothing has failed; else it keeps what
 * has, for the next one who tries. */
struct shield_undone shield_undo_all(struct port_shield *port, struct journal *journal,
                                     struct journal_image *image, shield_tell tell, void *context);

/* The same for a journal that was left behind. One of an earlier boot is void: nothing is
 * undone, `is_void` is set, and it goes. */
struct shield_undone shield_undo_stale(struct journal *journal, struct journal_image *image,
                                       bool *is_void, shield_tell tell, void *context);

/* Whether the process that made a journal is still there. */
bool shield_owner_lives(const struct journal_head *head);

#endif
