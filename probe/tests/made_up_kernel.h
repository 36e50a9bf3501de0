/* A kernel that is made up, for the Linux shield: a folder that stands for /, and behind its files
 * the rules that the real one has. The linker puts write, fsync, mkdir, rmdir, nanosleep, uname,
 * sched_getaffinity and sched_setaffinity before those of the C library; where it cannot, nothing
 * of this is there and tests skip (made_up_is_missing).
 *
 * Control groups: a new group has its files; its CPUs are some of those of the group above it
 * (EACCES), and all of those of the groups below it (EBUSY); an exclusive one (version 1) shares
 * none with its siblings (EINVAL); one with members or groups in it cannot be removed (EBUSY); a
 * partition (version 2) is void when a group beside it names its CPUs, and, unless "isolated",
 * where the boot line isolates them. Threads: each has an affinity; of those that the kernel has
 * bound it cannot be changed (EINVAL). */
#ifndef HS_MADE_UP_KERNEL_H
#define HS_MADE_UP_KERNEL_H

#include "port/linux/shield.h"
#include "shield/undo.h"

#define MADE_UP_V1 "/sys/fs/cgroup/cpuset"
#define MADE_UP_V2 "/sys/fs/cgroup"

enum {
    MADE_UP_LOG_BYTES = 8192,
    MADE_UP_REFUSALS = 8,
    MADE_UP_UNDO_KINDS = PORT_UNDO_REFUSED + 1,
    MADE_UP_BOUND = 0x04208060,   /* a kernel thread that the kernel has bound */
    MADE_UP_MOVABLE = 0x00208060, /* a kernel thread */
    MADE_UP_USER = 0x00400000,
};

struct made_up_kernel {
    char root[64];
    char log[MADE_UP_LOG_BYTES]; /* "/path=text;", "sync;", "journal;", "mkdir /path;" ... */
    struct {
        const char *path;
        int error;        /* of a write; 0: it is taken, and ... */
        const char *kept; /* ... this is there then; NULL: what was there */
    } refusal[MADE_UP_REFUSALS];
    unsigned long start;       /* of threads that are made from now on; the shield started at 40 */
    pid_t parent;              /* and theirs */
    const char *release;       /* of uname */
    bool has_exclusive;        /* cpuset.cpus.exclusive, since Linux 6.7 */
    const char *boot_isolated; /* CPUs of isolcpus=, or NULL */
    bool forgets_masks;        /* a thread that changes its group loses its affinity */
    bool control_is_used;      /* somebody below needs +cpuset */
    struct {
        pid_t mother, id; /* when `mother` is moved or bound, it has just made `id`; 0: nobody */
        const char *cpus;
    } birth;
    int64_t waited_ns, shortest_wait_ns, longest_wait_ns; /* nobody really waits */
    struct journal journal;
    struct shield_notes notes;
    struct port_shield shield; /* CPU 3 of 0-3 is to be reserved */
};

extern struct made_up_kernel made_up;

/* Why there is none; NULL where there is. */
const char *made_up_is_missing(void);

/* Four CPUs and nothing else; then files, groups and threads as a test wants them. */
void made_up_open(void);
void made_up_close(void);
void made_up_put(const char *path, const char *text);
void made_up_groups_v1(void);
void made_up_groups_v2(void);
/* A group below the mount of either version: "wide/inner". */
void made_up_group(const char *name, const char *cpus);
/* In the root group; its affinity as a list. */
void made_up_thread(pid_t id, const char *name, unsigned flags, const char *cpus);
/* Every write to `path` fails, or is taken and not kept. */
void made_up_refuse(const char *path, int error, const char *kept);

/* What the file has, without the newline; "-" where it is not there. Until the next call. */
const char *made_up_text(const char *path);
bool made_up_has(const char *path);
/* The affinity of a thread, as a list; until the next call. */
const char *made_up_mask_of(pid_t id);
/* Its group, below the mount: "" for the root. */
const char *made_up_group_of(pid_t id);
/* Where `text` begins in the log, or -1. */
int made_up_when(const char *text);

/* Undoes what the journal tells, last first; counts the answers and returns the first text that
 * came with one, until the next call; NULL when the journal cannot be read. */
const char *made_up_undo(int counts[MADE_UP_UNDO_KINDS]);
/* How many lines of that kind the journal has; of any kind with NULL. */
int made_up_lines(const char *kind);
/* Whether a note about `setting` has `part` in its reason. */
bool made_up_is_noted(const char *setting, const char *part);

#endif
