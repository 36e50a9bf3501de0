/* What facts.c, sources.c, and those who explain a refusal share. */
#ifndef HS_PORT_LINUX_FACTS_H
#define HS_PORT_LINUX_FACTS_H

#include "port/port.h"

#include "port/linux/files.h"

/* What this process may do about real-time scheduling and locked memory. A capability is there if
 * it counts for the machine: in a user namespace of its own it does not. `rtprio` and `rtprio_most`
 * are RLIMIT_RTPRIO, soft and hard. `why_not`: why the capabilities of an executable's file
 * (setcap) would have no effect; NULL: they would. !is_known: capabilities are not known. */
enum { LINUX_UNLIMITED = -1 };
struct linux_rights {
    bool is_known, has_nice, has_lock, has_admin;
    bool is_user_namespace, has_filter; /* a filter of system calls is in force */
    int64_t rtprio, rtprio_most;
    const char *why_not;
};
void linux_rights_read(struct linux_rights *rights);

/* Where control groups limit the CPU time of this process: `limit_us` of each `period_us` is the
 * tightest of its group and of those above it; -1: none has a limit. `group`: folder of the group
 * that has it. `above_share`: what the groups above that one leave it, at most 1. `file`: of the
 * group, with a quota. */
struct linux_group_limit {
    int64_t limit_us, period_us;
    double above_share;
    const char *file;
    char group[PORT_CPU_GROUP_BYTES];
};

/* Of real-time threads (cpu.rt_runtime_us, version 1 only); false: not known. */
bool linux_group_budget(struct linux_group_limit *limit);

/* Of time-shared threads (cpu.cfs_quota_us; cpu.max); false: not known. */
bool linux_group_quota(struct linux_group_limit *limit);

/* Reads the file `path` of `system` ("debugfs", "tracefs") without white space at its end. If that
 * is not mounted and the caller is root, through a private mount that ends with the call. False:
 * cannot be read, or empty. */
bool linux_read_debug(const char *system, const char *path, char *text, size_t bytes);

/* Why `path` of `system` cannot be read: "none" (the kernel does not have the system), "not
 * mounted", "refused" (by lockdown, say, whoever asks), "mounted" (it has no such file). */
const char *linux_debug_state(const char *system, const char *path);

/* Opens it through such a mount: a descriptor, which keeps the mount until it is closed, or -1 with
 * errno (ENODEV: the kernel does not have this file system; ENOSYS: no such mounts). */
int linux_open_detached(const char *system, const char *path, int flags);

/* Calls `take` for each CPU of a list such as "0-3,6"; false: `list` is not such a list. */
bool linux_each_cpu(const char *list, void (*take)(void *context, int cpu), void *context);

/* Calls `take` for each online CPU; false: they are not known. */
bool linux_each_online(void (*take)(void *context, int cpu), void *context);

/* Stores the active word of a list such as "none [voluntary] full" or "none (voluntary) full";
 * false: none is marked. */
bool linux_bracketed(const char *list, char *word, size_t bytes);

#endif
