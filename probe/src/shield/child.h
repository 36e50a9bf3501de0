/* Runs a command as a child process on the reserved CPUs. Standard files, terminal and descriptors
 * stay as they are, signals are forwarded, and its exit status is returned. */
#ifndef HS_SHIELD_CHILD_H
#define HS_SHIELD_CHILD_H

#include "shield/shield.h"

#include <signal.h>

struct shield_child {
    char *const *words;
    bool has_policy;      /* false: it keeps the policy of this process */
    int policy, priority; /* as sched_setscheduler takes them */
};

/* The step that failed before the command ran; CHILD_RAN: none. */
enum shield_child_step { CHILD_RAN, CHILD_FORK, CHILD_ENTER, CHILD_POLICY, CHILD_EXEC };

struct shield_child_end {
    enum shield_child_step step; /* CHILD_RAN: `code` is set; else `error` */
    int error;                   /* errno value */
    int code;                    /* exit code, or 128 + signal number */
};

/* Signal handling before shield_child_hold_signals. */
struct shield_signals {
    sigset_t mask;
    bool ignores_children; /* SIGCHLD was ignored */
};

/* Blocks SIGCHLD and the signals that end a program by default and can be forwarded; stores the
 * handling so far in `before`. */
void shield_child_hold_signals(struct shield_signals *before);

/* Number of a blocked signal that is pending and would have ended this process; 0: none. */
int shield_child_asked_to_end(void);

/* Runs the command until it ends, with the signal handling of `before`. Replaces the guard if it is
 * killed meanwhile. */
struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const struct shield_signals *before);

#endif
