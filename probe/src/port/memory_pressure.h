/* What MEM-B-LCK needs of the system: a control group whose memory is short, so that the kernel
 * takes pages back from its processes and from no others; and what is locked.
 *
 * linux/memory_pressure.c; posix/memory_pressure.c answers ENOTSUP. */
#ifndef HS_PORT_MEMORY_PRESSURE_H
#define HS_PORT_MEMORY_PRESSURE_H

#include <stddef.h>
#include <stdint.h>

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
