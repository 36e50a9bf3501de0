/* A second party on the CPU of the first: a thread, or a process that shares memory with
 * it. Both run the same body on the same memory, so that what is compared is only what
 * threads and processes cost.
 *
 * The process has its memory locked, the policy, priority and CPU of its setup, dies with
 * the probe where the port can have that done, and everywhere at a deadline of its own. */
#ifndef HS_PARTNER_H
#define HS_PARTNER_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "run/run.h"

#include <sys/types.h>

enum partner_scope { PARTNER_THREAD, PARTNER_PROCESS };

extern const char *const partner_scope_names[]; /* "thread", "process", NULL */

struct partner {
    enum partner_scope scope;
    struct actor actor;
    pid_t process; /* 0 for a thread */
    int ready_pipe[2];
};

/* Zeroed memory that threads and later forked processes share, in no file that outlives
 * this call; `place` lends its name for a moment. NULL with errno. */
void *partner_memory(size_t bytes, const struct leftover_place *place);
void partner_memory_free(void *memory, size_t bytes);

/* Starts the party; returns when it is set up and runs `body(argument)`, for which
 * `argument` must be in partner_memory where the scope is a process. `leftover` is what the
 * caller opened: the process must not keep its pipe. The memory of the caller is locked
 * again after the fork. 0 or an errno value (EAGAIN: no more threads, processes or memory
 * to lock; EPERM: no right to the priority). */
int partner_start(struct partner *partner, struct run *run, const struct leftover *leftover,
                  enum partner_scope scope, const struct actor_setup *setup, void (*body)(void *),
                  void *argument);

/* A process that calls `begin(argument)` when it is set up and before this returns: what it
 * answers, 0 or an errno value, is the answer then. */
int partner_start_process(struct partner *partner, struct run *run, const struct leftover *leftover,
                          const struct actor_setup *setup, int (*begin)(void *),
                          void (*body)(void *), void *argument);

/* Sets the outcome for what the start of `party` answered; `remedy` against want of something, or
 * NULL. -1. */
int partner_not_started(struct run *run, int error, const char *party, const char *remedy);

/* Whether a process ended before the caller brought it about. */
bool partner_is_gone(const struct partner *partner);

/* Waits for its end, which the caller brought about. 0, or ECHILD when a process ended
 * otherwise than by returning from its body. */
int partner_join(struct partner *partner);

#endif
