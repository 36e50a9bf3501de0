/* A process that puts things back when the owner of a shield ends without having done so.
 *
 * It has a session of its own and blocks every signal, so neither Ctrl-C nor the signals of a
 * process group reach it. The owner holds the writing end of a pipe: however the owner ends, the
 * pipe breaks. Should something that the owner has forked hold it open, the guard sees within
 * a second that its parent has changed. */
#ifndef HS_SHIELD_GUARD_H
#define HS_SHIELD_GUARD_H

#include "port/shield.h"

#include <stdbool.h>
#include <sys/types.h>

struct shield_guard {
    pid_t pid; /* 0: none */
    int pipe;
};

/* Starts it, before the first change: 0, or an errno value. */
int shield_guard_start(struct shield_guard *guard, struct port_shield *port);

/* Whether it was `pid` that has ended; then another one is started. For a loop over waitpid. */
bool shield_guard_replace(struct shield_guard *guard, struct port_shield *port, pid_t pid);

/* All is put back: the guard goes. */
void shield_guard_dismiss(struct shield_guard *guard);

#endif
