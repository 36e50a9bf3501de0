/* What the pieces of the Linux shield share. Paths here are without the root of struct
 * port_shield; functions put it before them. 0 or an errno value, if not said otherwise. */
#ifndef HS_LINUX_SHIELD_H
#define HS_LINUX_SHIELD_H

#include "port/shield.h"

enum { LINUX_PATH_BYTES = 1024 };

/* ---- files (linux_shield_files.c) ---- */

/* Content without white space at its end; an empty one is no error. */
int linux_shield_read(const struct port_shield *shield, const char *path, char *text, size_t bytes);
int linux_shield_write(const struct port_shield *shield, const char *path, const char *text);
bool linux_shield_exists(const struct port_shield *shield, const char *path);
/* The path with the root before it; false when it is too long. */
bool linux_shield_path(const struct port_shield *shield, const char *path,
                       char full[LINUX_PATH_BYTES]);

/* Whether two contents mean the same: the same text, list or mask of CPUs. */
bool linux_shield_same(const char *a, const char *b);

/* Notes one change of a file; linux_shield_change makes it once the journal is synced. */
int linux_shield_note_file(struct port_shield *shield, const char *path, const char *before,
                           const char *ours);
int linux_shield_change(const struct port_shield *shield, const char *path, const char *ours);

/* Both at once: journal, sync, change, read back. */
int linux_shield_set(struct port_shield *shield, const char *path, const char *before,
                     const char *ours);

enum port_undo linux_shield_undo_file(struct port_shield *shield, const char *path,
                                      const char *before, const char *ours, char *text,
                                      size_t bytes);

/* ---- interrupts (linux_shield_irq.c) ---- */

int linux_shield_interrupts(struct port_shield *shield, char *text, size_t bytes);
bool linux_shield_show_interrupts(struct port_shield *shield, char *text, size_t bytes);
enum port_undo linux_shield_undo_irq(struct port_shield *shield,
                                     const struct journal_record *record, char *text, size_t bytes);

/* ---- threads (linux_shield_tasks.c) ---- */

struct linux_task {
    pid_t id, process, parent;
    uint64_t start;
    unsigned flags;
    char name[64];
};

/* One line of /proc/PID/task/TID/stat; false when it is not one. */
bool linux_task_parse(const char *line, struct linux_task *task);
bool linux_task_read(const struct port_shield *shield, pid_t id, struct linux_task *task);
bool linux_task_is_kernel(const struct linux_task *task);

/* Calls `visit` for each thread of the system until it returns false. */
void linux_task_each(const struct port_shield *shield,
                     bool (*visit)(const struct linux_task *task, void *context), void *context);

int linux_task_mask(pid_t id, struct cpus *mask);
int linux_task_set_mask(pid_t id, const struct cpus *mask);

/* Keeps threads off the reserved CPUs by their affinity: those of the kernel only, or all but
 * this process's and its guard's. Adds to *moved. */
int linux_shield_bind_tasks(struct port_shield *shield, bool kernel_only, int *moved);

/* Journals the affinity of every thread that has a say in it, for kernels that forget it when a
 * thread changes its group. */
int linux_shield_note_masks(struct port_shield *shield);

enum port_undo linux_shield_undo_task(struct port_shield *shield,
                                      const struct journal_record *record, char *text,
                                      size_t bytes);
/* Threads that were made meanwhile get the affinity that their maker had before. */
enum port_undo linux_shield_undo_heirs(struct port_shield *shield,
                                       const struct journal_image *image,
                                       const struct journal_record *record, char *text,
                                       size_t bytes);

/* ---- control groups (linux_shield_groups.c, ..._leave.c, ..._v1.c, ..._v2.c) ---- */

enum linux_group_kind { LINUX_GROUPS_NONE, LINUX_GROUPS_V1, LINUX_GROUPS_V2 };

struct linux_groups {
    enum linux_group_kind kind;
    char mount[LINUX_PATH_BYTES / 4];
    char origin[LINUX_PATH_BYTES]; /* the group of this process: mount and path */
};

#define LINUX_GROUP_RESERVED "hardstone-reserved"
#define LINUX_GROUP_OTHERS "hardstone-others"
#define LINUX_EXCLUSIVE "cpuset.cpu_exclusive"
#define LINUX_PARTITION "cpuset.cpus.partition"

void linux_groups_find(const struct port_shield *shield, struct linux_groups *groups);

/* "MOUNT/NAME"; false when it is too long. */
bool linux_groups_join(char path[LINUX_PATH_BYTES], const char *group, const char *name);

/* Journals and makes a group whose members go to `origin` at the end. */
int linux_groups_make(struct port_shield *shield, const char *path, const char *origin);

/* Whether it is one, and no link. */
bool linux_groups_is_group(const struct port_shield *shield, const char *path);

/* Calls `visit` for each group directly inside of `group`. */
void linux_groups_each_inside(const struct port_shield *shield, const char *group,
                              void (*visit)(const char *inside, void *context), void *context);

/* Sends all that `group` and the groups inside of it hold to `origin`, and removes them: they lie
 * in a group of ours. Takes up to 10 s; the errno value of what is in the way. */
int linux_groups_leave(const struct port_shield *shield, const char *group, const char *origin);
/* It keeps no CPU to itself any more. */
void linux_groups_end_partition(const struct port_shield *shield, const char *group);
/* Where it cannot be removed: it, and those inside of it, may use all CPUs again. False where the
 * kernel refuses that too. */
bool linux_groups_let_go(const struct port_shield *shield, const struct linux_groups *groups,
                         const char *group);

/* The CPUs that groups of others have to themselves (exclusive ones, partitions); in `name` one of
 * those groups that has a CPU of `wanted`, else empty. */
struct cpus linux_groups_held(const struct port_shield *shield, const struct linux_groups *groups,
                              const struct cpus *wanted, char name[LINUX_PATH_BYTES]);

/* Takes the reserved CPUs out of all groups that name them; one of which nothing would be left gets
 * `instead`. */
int linux_groups_narrow(struct port_shield *shield, const struct linux_groups *groups,
                        const struct cpus *instead);

/* Has the kernel refuse the reserved CPUs to groups that are made meanwhile, or notes that it does
 * not. It goes with the group, so it needs no line in the journal. */
void linux_shield_v1_exclusive(struct port_shield *shield, const struct linux_groups *groups);
/* PORT_SHIELD_HELD, with the reason, when somebody else has CPUs that it takes to himself. */
int linux_shield_v1(struct port_shield *shield, const struct linux_groups *groups, int *moved,
                    char *reason, size_t reason_bytes);
/* The same; ENOTSUP, with the reason, when the kernel does not grant the partition. */
int linux_shield_v2(struct port_shield *shield, const struct linux_groups *groups, char *reason,
                    size_t reason_bytes);

/* Whether `path` is a file or group that a shield would have changed in these groups. */
bool linux_groups_is_ours(const struct linux_groups *groups, const char *path);
bool linux_groups_has_cpus_file(const struct linux_groups *groups, const char *path);

enum port_undo linux_shield_undo_group(struct port_shield *shield,
                                       const struct journal_record *record, char *text,
                                       size_t bytes);
enum port_undo linux_shield_undo_control(struct port_shield *shield,
                                         const struct journal_record *record, char *text,
                                         size_t bytes);

#endif
