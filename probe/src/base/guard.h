/* A guard: a process that undoes what its owner changed, if the owner ends without doing so,
 * whatever killed it. It is in a session of its own and blocks all signals, so neither Ctrl-C nor a
 * signal to the process group ends it.
 *
 * It learns of the owner's end in one of two ways:
 *
 *   GUARD_BY_PIPE    The owner holds the write end of a pipe, which the kernel closes when the
 *                    owner ends, and with it every other process that has a copy.
 *   GUARD_BY_SIGNAL  The kernel signals the end of the owner's main thread (port_end_with). So no
 *                    other child of the owner can keep that from it. Not on every system. */
#ifndef HS_BASE_GUARD_H
#define HS_BASE_GUARD_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <sys/types.h>

enum guard_watch { GUARD_BY_PIPE, GUARD_BY_SIGNAL };

struct guard {
    pid_t pid; /* 0: none */
    int pipe;  /* GUARD_BY_PIPE: its write end; else -1 */
};

struct guard_duty {
    enum guard_watch watch;
    const char *name;  /* of the process; NULL: as its owner */
    bool keeps_folder; /* `undo` has relative names: stays in the working folder; else goes to / */
    int kept;          /* the only descriptor of the owner that stays open; -1: none */
    /* GUARD_BY_PIPE: how often it looks whether its parent has changed, for the case that a child
     * of the owner still holds the pipe open. -1: never; it sleeps until the pipe is closed. */
    int look_ms;
    void (*undo)(void *context);
    void *context;
};

/* Forks, as port_fork does. The child has left the session and blocks all signals. */
pid_t guard_fork(void);

/* Starts a guard; call it before the first change. With GUARD_BY_SIGNAL call it in the main thread;
 * it returns when the guard can be signalled. 0, or an errno value (of pipe or fork; ENOTSUP: no
 * signal) with no guard. */
int guard_start(struct guard *guard, const struct guard_duty *duty);

/* Ends the guard, which undoes nothing, and waits for its end. Does nothing without a guard. */
void guard_dismiss(struct guard *guard);

#endif
