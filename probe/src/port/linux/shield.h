/* Shared by the shield*.c of Linux. Paths exclude the root of struct port_shield; the functions
 * prepend it. They return 0 or an errno value unless stated otherwise. The undo functions return
 * as port_shield_undo. */
#ifndef HS_PORT_LINUX_SHIELD_H
#define HS_PORT_LINUX_SHIELD_H

#include "port/shield.h"

enum { LINUX_PATH_BYTES = 1024 };

/* ---- files (shield_files.c) ---- */

/* Reads a file and cuts white space at its end; an empty file is no error. EMSGSIZE: does not fit
 * in `text`. */
int linux_shield_read(const struct port_shield *shield, const char *path, char *text, size_t bytes);
int linux_shield_write(const struct port_shield *shield, const char *path, const char *text);
bool linux_shield_exists(const struct port_shield *shield, const char *path);
/* Stores root and path in `full`; false: too long. */
bool linux_shield_path(const struct port_shield *shield, const char *path,
                       char full[LINUX_PATH_BYTES]);

/* Adds a line to the journal and writes it to the disk (struct port_shield_log). */
int linux_shield_note(struct port_shield *shield, int count, const char *const fields[]);
int linux_shield_sync(struct port_shield *shield);
/* Notes that `name` was not changed; the format gives the reason. */
void linux_shield_refused(struct port_shield *shield, const char *setting, const char *name,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether two file contents are equal as text, CPU list or CPU mask. */
bool linux_shield_same(const char *a, const char *b);

/* Makes one change and reads it back. EAGAIN: the kernel accepted the value but did not keep it. */
int linux_shield_change(const struct port_shield *shield, const char *path, const char *ours);

/* All steps: journal, sync, change, read back. */
int linux_shield_set(struct port_shield *shield, const char *path, const char *before,
                     const char *ours);

/* Stores "GROUP/NAME" in `path`; false: too long. */
bool linux_groups_join(char path[LINUX_PATH_BYTES], const char *group, const char *name);

/* Whether a journal may hold `value`: it has characters of CPU lists, CPU masks, numbers and names
 * of governors only. */
bool linux_shield_is_value(const char *value);

enum port_undo linux_shield_undo_file(struct port_shield *shield, const char *path,
                                      const char *before, const char *ours, char *text,
                                      size_t bytes);

/* ---- interrupts (shield_irq.c) ---- */

int linux_shield_interrupts(struct port_shield *shield, char *text, size_t bytes);
bool linux_shield_show_interrupts(struct port_shield *shield, char *text, size_t bytes);
enum port_undo linux_shield_undo_irq(struct port_shield *shield, const struct port_changes *changes,
                                     const struct port_change *record, char *text, size_t bytes);

/* ---- offline CPUs (shield_offline.c) ---- */

int linux_shield_offline(struct port_shield *shield, char *text, size_t bytes);
/* Whether the kernel may have given an interrupt the affinity `now` because CPUs of this journal
 * went offline. */
bool linux_shield_is_broken(const struct port_shield *shield, const struct port_changes *changes,
                            const char *now);
/* Brings a CPU back online, and returns when cpusets may have it. */
enum port_undo linux_shield_undo_online(struct port_shield *shield,
                                        const struct port_change *record, char *text, size_t bytes);
/* Writes a value that the kernel forgets while a CPU is offline. */
enum port_undo linux_shield_undo_kept(struct port_shield *shield, const struct port_change *record,
                                      char *text, size_t bytes);

/* ---- timerlat (shield_timerlat.c) ---- */

int linux_shield_timerlat(struct port_shield *shield, char *text, size_t bytes);
enum port_undo linux_shield_undo_timerlat(struct port_shield *shield,
                                          const struct port_change *record, char *text,
                                          size_t bytes);

/* ---- the preemption model (shield_preemption.c) ---- */

int linux_shield_preemption(struct port_shield *shield, char *text, size_t bytes);
bool linux_shield_show_preemption(struct port_shield *shield, char *text, size_t bytes);
enum port_undo linux_shield_undo_preemption(struct port_shield *shield,
                                            const struct port_change *record, char *text,
                                            size_t bytes);

/* ---- threads (shield_tasks.c) ---- */

struct linux_task {
    pid_t id, process, parent;
    uint64_t start;
    unsigned flags;
    char name[64];
};

/* Parses one line of /proc/PID/task/TID/stat; false: malformed. linux_task_read: by thread id;
 * also false if there is no such thread. Neither sets `process`. */
bool linux_task_parse(const char *line, struct linux_task *task);
bool linux_task_read(const struct port_shield *shield, pid_t id, struct linux_task *task);
bool linux_task_is_kernel(const struct linux_task *task);

/* Calls `visit` for each thread of the system until that returns false. */
void linux_task_each(const struct port_shield *shield,
                     bool (*visit)(const struct linux_task *task, void *context), void *context);

/* Takes the reserved CPUs out of the affinity of kernel threads, or of all threads but this
 * process's. Adds the number of changed threads to *moved; the notes name those that the kernel
 * refused to move. */
int linux_shield_bind_tasks(struct port_shield *shield, bool kernel_only, int *moved);

/* Journals and syncs the affinity of every thread that may set it, for kernels that reset it when
 * a thread changes its cpuset. */
int linux_shield_note_masks(struct port_shield *shield);

enum port_undo linux_shield_undo_task(struct port_shield *shield, const struct port_change *record,
                                      char *text, size_t bytes);
/* Threads created under the shield inherited a narrowed affinity: gives them their creator's
 * previous one. */
enum port_undo linux_shield_undo_inherited_affinity(struct port_shield *shield,
                                                    const struct port_changes *changes,
                                                    const struct port_change *record, char *text,
                                                    size_t bytes);

/* ---- control groups (shield_groups.c) ---- */

enum linux_group_kind { LINUX_GROUPS_NONE, LINUX_GROUPS_V1, LINUX_GROUPS_V2 };

struct linux_groups {
    enum linux_group_kind kind;
    char mount[LINUX_PATH_BYTES / 4];
    char origin[LINUX_PATH_BYTES]; /* control group of this process: mount and path */
};

#define LINUX_GROUP_RESERVED "hardstone-reserved"
#define LINUX_GROUP_OTHERS "hardstone-others"
#define LINUX_EXCLUSIVE "cpuset.cpu_exclusive"
#define LINUX_PARTITION "cpuset.cpus.partition"

/* Finds the hierarchy of cpusets; LINUX_GROUPS_NONE if there is none, or if the group of this
 * process is not visible in it. */
void linux_groups_find(const struct port_shield *shield, struct linux_groups *groups);

/* Calls `visit` for each child of `group`. */
void linux_groups_each_inside(const struct port_shield *shield, const char *group,
                              void (*visit)(const char *inside, void *context), void *context);

/* Takes the reserved CPUs out of all groups that have them; a group with no other CPU gets
 * `instead`. EACCES, EPERM, EROFS: refused; the notes name groups with other errors. */
int linux_groups_narrow(struct port_shield *shield, const struct linux_groups *groups,
                        const struct cpus *instead);

/* Reserves the CPUs by cpusets of version 1; adds the number of moved threads to *moved.
 * PORT_SHIELD_HELD, with the reason: somebody else's group has needed CPUs exclusively. */
int linux_shield_v1(struct port_shield *shield, const struct linux_groups *groups, int *moved,
                    char *reason, size_t reason_bytes);
/* The same by a partition of version 2. ENOTSUP, with the reason: the kernel does not grant it. */
int linux_shield_v2(struct port_shield *shield, const struct linux_groups *groups, char *reason,
                    size_t reason_bytes);

/* Whether `path` is a group that a shield makes; whether it is a cpuset.cpus file below the mount.
 * A journal may name no others. */
bool linux_groups_is_ours(const struct linux_groups *groups, const char *path);
bool linux_groups_has_cpus_file(const struct linux_groups *groups, const char *path);

enum port_undo linux_shield_undo_group(struct port_shield *shield,
                                       const struct port_changes *changes,
                                       const struct port_change *record, char *text, size_t bytes);
enum port_undo linux_shield_undo_control(struct port_shield *shield,
                                         const struct port_change *record, char *text,
                                         size_t bytes);

#endif
