#include "base/posix_source.h"

#include "family/shared/signal_state.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* At file scope for the signal handler. */
static void *_Atomic handler_state;

void *signal_state(void)
{
    return atomic_load_explicit(&handler_state, memory_order_relaxed);
}

int signal_actions_set(struct signal_actions *actions, int number,
                       void (*handler)(int, siginfo_t *, void *), void *state)
{
    struct sigaction action;
    if (actions->count == SIGNAL_ACTIONS)
        return ENOMEM;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    atomic_store(&handler_state, state);
    if (sigaction(number, &action, &actions->before[actions->count]) != 0)
        return errno;
    actions->number[actions->count++] = number;
    return 0;
}

void signal_actions_put_back(struct signal_actions *actions)
{
    while (actions->count > 0) {
        actions->count--;
        sigaction(actions->number[actions->count], &actions->before[actions->count], NULL);
    }
}
