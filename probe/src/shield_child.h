/* A command as a child process: its standard files untouched, signals passed on, its end
 * reported. */
#ifndef HS_SHIELD_CHILD_H
#define HS_SHIELD_CHILD_H

#include "shield.h"

#include <signal.h>

struct shield_child {
    char *const *words;
    int policy, priority; /* SCHED_OTHER: as they are */
};

/* What stopped it before the command ran. */
enum shield_child_step { CHILD_RAN, CHILD_FORK, CHILD_ENTER, CHILD_POLICY, CHILD_EXEC };

struct shield_child_end {
    enum shield_child_step step; /* CHILD_RAN: `code` is meant; else errno value `error` */
    int error;
    int code; /* exit code, or 128 + signal */
};

/* Blocks the signals that end a program or are passed on; `before` is how it was. */
void shield_child_hold_signals(sigset_t *before);

/* Whether one of them that asks for an end has come meanwhile: its number, or 0. */
int shield_child_asked_to_end(void);

/* Runs it to its end. The guard is replaced should it be killed. */
struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const sigset_t *before);

#endif
