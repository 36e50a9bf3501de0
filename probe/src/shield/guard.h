/* The guard: a process that restores everything if the owner of a shield ends without doing so.
 *
 * It runs in a session of its own and blocks all signals, so neither Ctrl-C nor a signal to the
 * process group ends it. The owner holds the write end of a pipe, which the kernel closes when the
 * owner ends. If a child of the owner still holds that end open, the guard notices within 1 s that
 * its parent has changed. */
#ifndef HS_SHIELD_GUARD_H
#define HS_SHIELD_GUARD_H

#include "port/shield.h"

#include <stdbool.h>
#include <sys/types.h>

struct shield_guard {
    pid_t pid; /* 0: none */
    int pipe;
};

/* Starts the guard. Call it before the first change. 0, or an errno value (of pipe or fork). */
int shield_guard_start(struct shield_guard *guard, struct port_shield *port);

/* If `pid` is the guard, which has ended, starts a new one and returns true. For a loop over
 * waitpid. */
bool shield_guard_replace(struct shield_guard *guard, struct port_shield *port, pid_t pid);

/* Ends the guard without a restore, and waits for its end. */
void shield_guard_dismiss(struct shield_guard *guard);

#endif
