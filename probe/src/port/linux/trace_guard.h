/* The guard of an instance of tracefs (base/guard.h): a process that removes it when its owner has
 * ended without doing so, since the kernel would go on recording. */
#ifndef HS_PORT_LINUX_TRACE_GUARD_H
#define HS_PORT_LINUX_TRACE_GUARD_H

#include <sys/types.h>

/* Forks the guard of `instance`, and returns when it sleeps. To be called by the main thread, with
 * which it ends, before the instance is made. Its process, or -1 with errno. */
pid_t trace_guard_start(const char *instance);

/* Ends the guard, which removes nothing then; -1 and 0: there is none. */
void trace_guard_dismiss(pid_t pid);

#endif
