/* Rights of a process that only an administrator can give. All of these change, or try to change,
 * the calling process alone: call them in a forked one.
 *
 * linux/privilege.c; posix/privilege.c answers ENOTSUP. */
#ifndef HS_PORT_PRIVILEGE_H
#define HS_PORT_PRIVILEGE_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum port_right { PORT_RIGHT_REALTIME, PORT_RIGHT_MEMORY_LOCK, PORT_RIGHT_NICE, PORT_RIGHTS };
enum { PORT_RIGHT_NONE = -1 };

/* Makes the caller a process of `user` and of the group of the same number, without other groups,
 * if it may switch; else of its own user. It loses all privileges but the one that has no other use
 * than `kept` (PORT_RIGHT_REALTIME: CAP_SYS_NICE, PORT_RIGHT_MEMORY_LOCK: CAP_IPC_LOCK;
 * PORT_RIGHT_NONE: none). It may lose what port_kill_with_parent has set. 0, or an errno value
 * (EPERM: it does not have what is to be kept; ENOTSUP). */
int port_become_ordinary(uid_t user, int kept);

/* Whether the caller may switch to another user, as far as the system tells. */
bool port_may_switch_user(void);

/* Sets the limits of the calling process, for good: the highest real-time priority, the locked
 * bytes, or the nice value (0 or below: as low as that; 20: none is granted). 0, or an errno value
 * (EPERM: beyond its hard limit). */
int port_limit_right(enum port_right right, int64_t most);

/* Tries what takes a CPU away from others, or puts its own reads and writes before those of others.
 * 0: it is granted; else an errno value (ENOENT: there is no such thing here).
 *   io_realtime  a real-time I/O priority for the caller
 *   affinity     the affinity of `process`, which is set to what it is
 *   offline      opening the file that takes a CPU offline; nothing is written
 *   cpuset       opening the file that gives the control of CPUs to groups; nothing is written */
int port_try_io_realtime(void);
int port_try_affinity(pid_t process);
int port_try_offline(void);
int port_try_cpuset(void);

#endif
