/* A command as a child process, as if it had been started alone: its standard files, terminal
 * and descriptors untouched, signals passed on, its end reported. */
#ifndef HS_SHIELD_CHILD_H
#define HS_SHIELD_CHILD_H

#include "shield/shield.h"

#include <signal.h>

struct shield_child {
    char *const *words;
    bool has_policy;      /* else it keeps the one of this process */
    int policy, priority; /* as sched_setscheduler takes them */
};

/* What stopped it before the command ran. */
enum shield_child_step { CHILD_RAN, CHILD_FORK, CHILD_ENTER, CHILD_POLICY, CHILD_EXEC };

struct shield_child_end {
    enum shield_child_step step; /* CHILD_RAN: `code` is meant; else errno value `error` */
    int error;
    int code; /* exit code, or 128 + signal */
};

/* How signals were before. */
struct shield_signals {
    sigset_t mask;
    bool ignores_children; /* SIGCHLD was ignored */
};

/* Blocks the signals that end a program or are passed on. */
void shield_child_hold_signals(struct shield_signals *before);

/* Whether one of them has come meanwhile that would have ended this process: its number, or 0. */
int shield_child_asked_to_end(void);

/* Runs it to its end. The guard is replaced should it be killed. */
struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const struct shield_signals *before);

#endif
