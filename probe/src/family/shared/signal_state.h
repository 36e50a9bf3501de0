/* The state of a signal handler. kill() carries no value, and what sigqueue carries is itself under
 * test, so a handler can find its state only at file scope. One test runs at a time, and it has one
 * handler at a time. */
#ifndef HS_FAMILY_SHARED_SIGNAL_STATE_H
#define HS_FAMILY_SHARED_SIGNAL_STATE_H

#include "base/posix_source.h"

#include "base/options.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum { SIGNAL_ACTIONS = 9 };

/* Actions as they were before, to be put back. */
struct signal_actions {
    int count;
    int number[SIGNAL_ACTIONS];
    struct sigaction before[SIGNAL_ACTIONS];
};

/* Has `handler` run for `number`, with all other signals blocked meanwhile; it finds `state` by
 * signal_state. 0, or an errno value. */
int signal_actions_set(struct signal_actions *actions, int number,
                       void (*handler)(int, siginfo_t *, void *), void *state);

/* Puts back the actions. First see to it that none of these signals can come any more: the default
 * action of most ends the process. */
void signal_actions_put_back(struct signal_actions *actions);

/* For a handler: what signal_actions_set was given last. */
void *signal_state(void);

/* Whether the process `sender` sent it. Where signals do not name their sender, any signal is taken
 * for one of this process: such a system has one. */
static inline bool signal_is_from(const siginfo_t *info, pid_t sender)
{
#if HS_HAS_SIGNAL_SENDER
    return info->si_pid == sender;
#else
    (void)info, (void)sender;
    return true;
#endif
}

#endif
