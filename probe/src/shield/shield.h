/* Reserves CPUs: keeps all other tasks off them, and restores every setting afterwards, however the
 * owner (the process that opened the shield) ends.
 *
 * Each change is journalled before it is made (shield/journal.h). The owner restores. If it
 * ends without doing so, the guard process restores (base/guard.h). If both are killed, the next
 * shield or `shield --restore` does. */
#ifndef HS_SHIELD_SHIELD_H
#define HS_SHIELD_SHIELD_H

#include "base/posix_source.h"

#include "base/cpus.h"
#include "base/data.h"
#include "base/guard.h"
#include "base/status.h"
#include "port/shield.h"
#include "shield/journal.h"

#include <signal.h>
#include <stdbool.h>

/* ---- undo: the changes of a journal, last change first ---- */

/* Restores the changes that are kept in the journal. */
#define SHIELD_RESTORE_COMMAND "hardstone shield --restore"

/* Remedy for changes that could not be restored; its command is SHIELD_RESTORE_COMMAND. */
#define SHIELD_WAY_OUT "fix the cause and restore again (--forget keeps these settings as they are)"

/* Remedy for a journal that cannot be read, and its command. */
#define SHIELD_DROP "see the journal, then delete it"
#define SHIELD_DROP_COMMAND "hardstone shield --restore --forget"

/* Gets one line for each thing that was not restored, with the reason; `data` has it for programs,
 * and as `command` what to type. Threads that the kernel has bound meanwhile are told only if
 * is_verbose of the port's notes is set. May be NULL. */
typedef void (*shield_tell)(void *context, const struct datum *data, const char *text);

struct shield_undone {
    int undone;                      /* values restored */
    int foreign;                     /* left alone: others have changed them since */
    int failed;                      /* could not be restored */
    char failure[SHIELD_TEXT_BYTES]; /* reason of the first failure */
};

/* Undoes the changes of `image`, the contents of `journal`. Each step checks the current value
 * first, so it may be repeated, also after an interrupted restore. Deletes the journal if nothing
 * failed; else the journal keeps the failed changes for the next attempt. */
struct shield_undone shield_undo_all(struct port_shield *port, struct journal *journal,
                                     struct journal_image *image, shield_tell tell, void *context);

/* The same for a stale journal. A journal of an earlier boot is void: it is deleted, nothing is
 * undone and `is_void` is set. */
struct shield_undone shield_undo_stale(struct journal *journal, struct journal_image *image,
                                       bool *is_void, shield_tell tell, void *context);

/* The guard of a shield restores everything if the owner ends without doing so. If a child of the
 * owner still holds the pipe open, it notices within 1 s that its parent has changed. Start it
 * before the first change. 0, or an errno value (of pipe or fork). */
int shield_guard_start(struct guard *guard, struct port_shield *port);

/* If `pid` is the guard, which has ended, starts a new one and returns true. For a loop over
 * waitpid. */
bool shield_guard_replace(struct guard *guard, struct port_shield *port, pid_t pid);

/* True if the process that made the journal still runs. */
bool shield_owner_lives(const struct journal_head *head);

/* SHIELD_ALL: all settings of a reserved CPU, which users may name. SHIELD_SINGLE: those that take
 * CPUs offline, after everything that would lose them was moved off. */
enum {
    SHIELD_ALL = (1 << SHIELD_OFFLINE) - 1,
    SHIELD_SINGLE = 1 << SHIELD_CPUSET | 1 << SHIELD_INTERRUPTS | 1 << SHIELD_OFFLINE,
    SHIELD_COMMAND_BYTES = 80,
};

struct shield_wish {
    struct cpus reserved;
    unsigned settings;      /* bits 1 << enum shield_setting */
    unsigned required;      /* of those: if one fails, shield_open fails; others are only noted */
    int64_t timerlat_us;    /* of SHIELD_TIMERLAT */
    const char *preemption; /* of SHIELD_PREEMPTION */
    bool is_verbose;
    shield_tell tell; /* called for what could not be restored of a stale shield; or NULL */
    void *context;
};

enum shield_answer {
    SHIELD_DONE,
    SHIELD_HELD,        /* another process has reserved CPUs */
    SHIELD_WRONG,       /* a CPU does not exist or is offline */
    SHIELD_DENIED,      /* no permission, or a group of others has the CPUs exclusively */
    SHIELD_UNSUPPORTED, /* no such facility, or no CPU would be left for other tasks */
    SHIELD_FAILED,      /* any other error */
};

struct shield {
    struct port_shield port;
    struct journal journal;
    struct guard guard;
    struct shield_notes notes;
    unsigned applied;
    char did[SHIELD_SETTINGS][SHIELD_TEXT_BYTES];
    struct shield_earlier restored; /* what was done with a stale journal */
    char reason[SHIELD_REASON_BYTES], remedy[SHIELD_REASON_BYTES];
    char command[SHIELD_COMMAND_BYTES]; /* of the remedy; empty: nothing to type */
    bool is_open;
    bool has_begun; /* settings were applied, if only in part */
};

const char *shield_setting_name(enum shield_setting setting);

/* Parses "cpuset,interrupts": 0, or -1 with the first unknown name in `bad`. */
int shield_parse_settings(const char *text, unsigned *settings, char *bad, size_t bad_bytes);

/* Restores what a shield left whose owner and guard were killed: a CPU may be offline. Call it
 * before CPUs are counted or chosen. `restored` says what was done. It is empty if nothing was
 * left, or if that could not be restored: shield_open then reports it. `tell` as in shield_wish. */
void shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored);

/* Reserves the CPUs. On any other answer than SHIELD_DONE all changes are undone, and reason,
 * remedy and command are set. Only for a process with one thread. */
enum shield_answer shield_open(struct shield *shield, const struct shield_wish *wish);

/* Sets timerlat's period in an open shield, and keeps the tracer from starting threads; undone with
 * the rest. SHIELD_UNSUPPORTED also if the shield has no journal. */
enum shield_answer shield_add_timerlat(struct shield *shield, int64_t period_us);

/* Switches the preemption model in an open shield; undone with the rest. The same answers.
 * shield_preemption: the model in force, or why it cannot be read (false). */
enum shield_answer shield_add_preemption(struct shield *shield, const char *model);
bool shield_preemption(struct shield *shield, char *text, size_t bytes);

/* Moves this process to the reserved CPUs: 0, or an errno value. Only for a process with one
 * thread. */
int shield_enter(struct shield *shield);

/* Restores everything. Tells what could not be restored; that stays in the journal.
 * A second call does nothing. */
struct shield_undone shield_close(struct shield *shield, shield_tell tell, void *context);

/* The names of the settings in force: with `is_changed` those that were changed, else those that
 * had the wanted value already. Returns their number. */
int shield_settings(const struct shield *shield, bool is_changed,
                    const char *settings[SHIELD_SETTINGS]);

/* What was changed, in one line. */
void shield_describe(const struct shield *shield, char *text, size_t bytes);

/* The CPU to reserve when none is named: one that the boot line isolates (isolcpus, nohz_full),
 * else the last one that this process may use; -1: the port cannot bind to CPUs. */
int shield_default_cpu(void);

/* The CPU to measure on while the others are offline: the only one that cannot go offline; -1:
 * there is no such CPU, or more than one. */
int shield_staying_cpu(void);

/* Stores all online CPUs but `cpu` in `others` and returns their number; -1, with an empty set: not
 * known. */
int shield_other_cpus(int cpu, struct cpus *others);

/* Returns what to do about `cpu`, which this process may not use. Names the shield if one, running
 * or stale, has reserved it. */
struct remedy shield_remedy(int cpu);

/* Runs a command as a child process on the reserved CPUs. Standard files, terminal and descriptors
 * stay as they are, signals are forwarded, and its exit status is returned. */

struct shield_child {
    char *const *words;
    bool has_policy;      /* false: it keeps the policy of this process */
    int policy, priority; /* as sched_setscheduler takes them */
};

/* The step that failed before the command ran; CHILD_RAN: none. */
enum shield_child_step { CHILD_RAN, CHILD_FORK, CHILD_ENTER, CHILD_POLICY, CHILD_EXEC };

struct shield_child_end {
    enum shield_child_step step; /* CHILD_RAN: `code` is set; else `error` */
    int error;                   /* errno value */
    int code;                    /* exit code, or 128 + signal number */
};

/* Signal handling before shield_child_hold_signals. */
struct shield_signals {
    sigset_t mask;
    bool ignores_children; /* SIGCHLD was ignored */
};

/* Blocks SIGCHLD and the signals that end a program by default and can be forwarded; stores the
 * handling so far in `before`. */
void shield_child_hold_signals(struct shield_signals *before);

/* Number of a blocked signal that is pending and would have ended this process; 0: none. */
int shield_child_asked_to_end(void);

/* Runs the command until it ends, with the signal handling of `before`. Replaces the guard if it is
 * killed meanwhile. */
struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const struct shield_signals *before);

#endif
