/* A second party on the CPU of the first: a thread, or a process that shares memory with it. Both
 * run the same body on the same memory, so that only the cost of threads and processes differs.
 *
 * The process locks its memory and has the policy, priority and CPU of its setup. It dies with the
 * probe where the port can arrange that, and everywhere at a deadline of its own. */
#ifndef HS_FAMILY_SHARED_PEER_H
#define HS_FAMILY_SHARED_PEER_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "run/run.h"

#include <sys/types.h>

enum peer_scope { PEER_THREAD, PEER_PROCESS };

extern const char *const peer_scope_names[]; /* "thread", "process", NULL */

/* For has_variant, in a test with the parameter `scopes`: no process scope on a system without
 * processes. */
bool peer_has_variant(const struct run *run, struct variant *variant);

/* The scope of run->variant, in a test with the parameter `scopes`. */
enum peer_scope peer_scope_of(const struct run *run);

struct peer {
    enum peer_scope scope;
    struct run *run;
    struct rt_thread rt_thread;
    pid_t process; /* 0 for a thread */
    int ready_pipe[2];
};

/* Zeroed memory that threads and later forked processes share. It uses the name of `place` and
 * unlinks it before it returns. On a system without processes or shared memory it is private to
 * this process. NULL with errno. */
void *peer_memory(size_t bytes, const struct ipc_cleanup_place *place);
void peer_memory_free(void *memory, size_t bytes);

/* Whether processes share this memory, which peer_memory returned. */
bool peer_memory_is_shared(const void *memory);

/* Whether the test's parameter `scopes` names processes. */
bool peer_wants_process(const struct run *run);

/* For a test's `prepare`: an event if the scope `process` is requested but not available, because
 * there is no fork or because `memory` (of peer_memory; NULL: none needed) is not shared. */
void peer_report_scopes(struct run *run, const struct ipc_cleanup *ipc_cleanup, const void *memory);

/* peer_memory and peer_report_scopes. NULL with the outcome, which names the memory `what`. */
void *peer_table(struct run *run, size_t bytes, const struct ipc_cleanup *ipc_cleanup,
                 const char *what);

/* Whether a party of this scope can be started on `memory`, which peer_memory returned. */
bool peer_has_scope(const struct ipc_cleanup *ipc_cleanup, const void *memory,
                    enum peer_scope scope);

/* Starts the party, which runs `body(argument)`; a thread has the small stack of rt_thread.h.
 * Returns when it is set up. For a process `argument` must be in peer_memory, and `ipc_cleanup` is
 * the caller's: the process closes its pipe. After a fork the caller calls mlockall again, so that
 * copy-on-write faults come now. 0 or an errno value (EAGAIN: no more threads, processes or
 * lockable memory; EPERM: no right to the priority; ECHILD: the process ended early). */
int peer_start(struct peer *peer, struct run *run, const struct ipc_cleanup *ipc_cleanup,
               enum peer_scope scope, const struct rt_thread_setup *setup, void (*body)(void *),
               void *argument);

/* The same for a process. It calls `begin(argument)` (may be NULL) once it is set up, before this
 * function returns; an errno value from `begin` is returned here. */
int peer_start_process(struct peer *peer, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                       const struct rt_thread_setup *setup, int (*begin)(void *),
                       void (*body)(void *), void *argument);

/* Sets the outcome for an error of peer_start; `party` names the party. `remedy` (or NULL): what to
 * do if a limit was reached. -1. */
int peer_not_started(struct run *run, int error, const char *party, const char *remedy);

/* Whether the party is a process that has ended early, before the caller told it to. */
bool peer_is_gone(const struct peer *peer);

/* Waits for the party, which the caller has told to end. 0, or ECHILD if a process ended otherwise
 * than by returning from its body. For a process the caller runs as SCHED_OTHER meanwhile; if its
 * priority cannot be restored, the outcome says so. */
int peer_join(struct peer *peer);

#endif
