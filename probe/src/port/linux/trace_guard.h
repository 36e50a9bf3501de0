/* The guard of an instance of tracefs: a process that removes it when its owner has ended without
 * doing so, since the kernel would go on recording.
 *
 * The kernel signals the end of the owner to it. So it sleeps until then, and unlike with the end
 * of a pipe no other child of the owner can keep that from it. It is in a session of its own, holds
 * all signals off and has no descriptor. */
#ifndef HS_PORT_LINUX_TRACE_GUARD_H
#define HS_PORT_LINUX_TRACE_GUARD_H

#include <sys/types.h>

/* Forks the guard of `instance`, and returns when it sleeps. To be called by the main thread, with
 * which it ends, before the instance is made. Its process, or -1 with errno. */
pid_t trace_guard_start(const char *instance);

/* Ends the guard, which removes nothing then; -1 and 0: there is none. */
void trace_guard_dismiss(pid_t guard);

#endif
