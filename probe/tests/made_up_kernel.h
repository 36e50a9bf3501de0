/* A made-up kernel for the Linux shield: a machine (linux_machine.h) with the real kernel's rules
 * behind its files. The linker wraps write, fsync, mkdir, rmdir, nanosleep, uname,
 * sched_getaffinity and sched_setaffinity (--wrap); if it cannot, tests skip (made_up_open).
 *
 * Control groups: a new group has its files. Its CPUs are a subset of its parent's (else EACCES)
 * and a superset of its children's (else EBUSY). An exclusive group (version 1) shares no CPU with
 * its siblings (else EINVAL). A group with members or children cannot be removed (EBUSY). A
 * partition (version 2) is invalid if a sibling lists its CPUs, or if the boot line isolates them
 * and it is not "isolated". Threads: each has an affinity; that of a bound kernel thread cannot be
 * changed (EINVAL). An offline CPU: groups of version 1 lose it for good, threads and interrupts of
 * it alone lose their affinity, its cpuidle and cpufreq files go and come back with other values.
 */
#ifndef HS_MADE_UP_KERNEL_H
#define HS_MADE_UP_KERNEL_H

#include "linux_machine.h"
#include "port/linux/shield.h"
#include "shield/shield.h"

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
    char log[MADE_UP_LOG_BYTES]; /* "/path=text;", "sync;", "journal;", "mkdir /path;" ... */
    struct {
        const char *path;
        int error;        /* of a write; 0: it succeeds but is not kept */
        const char *kept; /* the content after such a write; NULL: unchanged */
    } refusal[MADE_UP_REFUSALS];
    unsigned long start;       /* start time of new threads; the shield started at 40 */
    pid_t parent;              /* parent of new threads */
    const char *release;       /* of uname */
    bool has_exclusive;        /* cpuset.cpus.exclusive, since Linux 6.7 */
    const char *boot_isolated; /* CPUs of isolcpus=, or NULL */
    bool forgets_masks;        /* a thread that changes its group loses its affinity */
    bool control_is_used;      /* +cpuset is in use below */
    struct {
        pid_t mother, id; /* moving or binding `mother` finds that it has forked `id`; 0: none */
        const char *cpus;
    } birth;
    struct {
        pid_t mother, id; /* leaving a group finds `mother` in a fork: `id` appears at the next
                             nanosleep, in the root with the CPUs of the group; 0: none */
    } fork;
    int sync_error; /* of fsync */
    struct {
        const char *path, *text[4]; /* what the file has after each nanosleep; NULL: the same */
        int waits;
    } shown;
    int waits_for_groups; /* nanosleeps until the root cpuset has a CPU that came back */
    int64_t waited_ns, shortest_wait_ns, longest_wait_ns; /* of nanosleep, which returns at once */
    struct journal journal;
    struct shield_notes notes;
    struct port_shield shield; /* reserves CPU 3 of 0-3 */
};

extern struct made_up_kernel made_up;

/* Opens a machine with four CPUs and nothing else; a test adds files, groups and threads. False
 * with the test skipped: the kernel cannot be made up in this build. */
bool made_up_open(void);
void made_up_close(void);
void made_up_put(const char *path, const char *text);
void made_up_groups_v1(void);
void made_up_groups_v2(void);
/* Adds a group ("wide/inner") below the mount of either version. */
void made_up_group(const char *name, const char *cpus);
/* Adds a thread to the root group; `cpus` is its affinity as a list. */
void made_up_thread(pid_t id, const char *name, unsigned flags, const char *cpus);
/* Another program takes a CPU offline, or brings it back. */
void made_up_switch_cpu(int cpu, bool is_on);
/* Makes every write to `path` fail, or succeed and not be kept. */
void made_up_refuse(const char *path, int error, const char *kept);

/* Content of a file without the newline; "-": no such file. Valid until the next call. */
const char *made_up_text(const char *path);
bool made_up_has(const char *path);
/* Affinity of a thread as a list; valid until the next call. */
const char *made_up_mask_of(pid_t id);
/* Group of a thread, below the mount; "": the root. */
const char *made_up_group_of(pid_t id);
/* Offset of `text` in the log, or -1. */
int made_up_when(const char *text);

/* Undoes the journal, last line first; counts the results. Returns the first text of a result,
 * valid until the next call; NULL: the journal cannot be read. */
const char *made_up_undo(int counts[MADE_UP_UNDO_KINDS]);
/* Number of journal lines of `kind`; NULL: of any kind. */
int made_up_lines(const char *kind);
/* Whether a note about `setting` contains `part` in its reason. */
bool made_up_is_noted(const char *setting, const char *part);

#endif
