/* What a system grants to a process: queued signals, rights that only an administrator can give,
 * and memory.
 *
 * posix/limits.c, posix/privilege.c and posix/memory.c answer ENOTSUP, or that it is not known. */
#ifndef HS_PORT_LIMITS_H
#define HS_PORT_LIMITS_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- queued signals ---- */

/* How many signals may be queued to this process (-1: not known; INT64_MAX: no limit), and how many
 * of those that count for that limit are queued now, to whatever process (-1: not known). */
struct port_signal_queue {
    int64_t limit, used;
};
void port_signal_queue(struct port_signal_queue *queue);

/* Sets the limit of this process; beyond its hard limit that needs a privilege, and raises it too.
 * Stores the limits as they were. 0, or an errno value (EPERM; ENOTSUP: the system has no such
 * call). */
int port_limit_signal_queue(int64_t limit, int64_t *soft_before, int64_t *hard_before);
void port_restore_signal_queue(int64_t soft, int64_t hard);

/* The number of the signal that tells of a failing power supply; -1: the system has none. */
int port_power_signal(void);

/* ---- rights. All of these change, or try to change, the calling process alone: call them in a
 * forked one ---- */

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

/* ---- memory: a control group whose memory is short, so that the kernel takes pages back from its
 * processes and from no others; and what is locked ---- */

enum { PORT_GROUP_BYTES = 600 };

/* Chooses the path of a new control group of memory, inside the group of this process or, in
 * version 2, the nearest one around it that hands memory on to groups inside. Makes nothing, but
 * removes groups that probes have left there whose processes are all gone. 0, or an errno value:
 * ENOTSUP (no such groups here, or none that hands memory on), EACCES or EROFS (no right to make
 * one). */
int port_memory_group_choose(char group[PORT_GROUP_BYTES], uint64_t seed);

/* Makes the group that was chosen. 0, or an errno value. */
int port_memory_group_make(const char *group);

/* Moves the calling process, which has one thread, to the group: memory that it has already stays
 * with its former one. 0, or an errno value. */
int port_memory_group_enter(const char *group);

/* Memory of the group's processes, with the pages of files that they read first; -1: not known. */
int64_t port_memory_group_used(const char *group);

/* Limits it to `bytes`, and keeps it from the swap where that can be. What is more is taken back
 * from processes of the group, or the kernel kills one of them. 0, or an errno value. */
int port_memory_group_limit(const char *group, int64_t bytes);

/* Removes the group when its processes have ended; waits for that for a while. 0, also for a group
 * that does not exist, or an errno value (EBUSY: a process is still in it). */
int port_memory_group_remove(const char *group);

/* Asks for the calling process to be the first that the kernel kills where memory is short. 0, or
 * an errno value. */
int port_end_first(void);

/* Asks the kernel to take these pages back now; those of a file stay in it. 0, or an errno value
 * (EINVAL: they are locked, or the kernel cannot do that; ENOTSUP). */
int port_page_out(void *memory, size_t bytes);

/* Memory of this process that the kernel counts as locked; -1: not known. */
int64_t port_locked_bytes(void);

#endif
