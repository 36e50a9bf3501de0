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
#include "base/status.h"
#include "port/shield.h"
#include "shield/journal.h"
#include "shield/undo.h"

#include <stdbool.h>

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

/* Restores everything. Tells what could not be restored (shield/undo.h); that stays in the journal.
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

#endif
