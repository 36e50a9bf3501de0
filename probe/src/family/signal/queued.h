/* Queued real-time signals with a number in their value. */
#ifndef HS_FAMILY_SIGNAL_QUEUED_H
#define HS_FAMILY_SIGNAL_QUEUED_H

#include "base/posix_source.h"

#include "run/run.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* For `check`: 0, or -1 with the outcome (unsupported). */
int queued_check(struct run *run);

/* sigqueue: 0, or an errno value. All bits of the value depend on `value`. */
int queued_send(pid_t to, int number, uint32_t value);

/* sigwaitinfo, again after another signal's handler; with `timeout` sigtimedwait. The number, or -1
 * with errno (EAGAIN: none came in time). */
int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout);

/* Whether the signal has a value of queued_send, in all bits. */
bool queued_value(const siginfo_t *info, uint32_t *value);

/* Sets the outcome for an error of queued_send. -1. */
int queued_not_sent(struct run *run, int error);

extern const char *const queued_receiver_names[]; /* by enum queued_receiver */
enum queued_receiver { QUEUED_HANDLER, QUEUED_SIGWAITINFO };

#define QUEUED_RECEIVER_PARAM                                                                      \
    {                                                                                              \
        "receivers", PARAM_NAME, true, "handler,sigwaitinfo", 0, 0, queued_receiver_names,         \
            "who takes the signals: a handler, a thread in sigwaitinfo", "receiver"                \
    }

#endif
