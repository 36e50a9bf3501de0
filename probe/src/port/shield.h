/* The part of the port that reserves CPUs. Each setting changes one kind of thing, journals each
 * change before making it, and can undo each line that it has written.
 *
 * posix/shield.c answers ENOTSUP. */
#ifndef HS_PORT_SHIELD_H
#define HS_PORT_SHIELD_H

#include "base/posix_source.h"

#include "base/cpus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the order in which they are applied. A shield moves other threads off the CPUs last;
 * SHIELD_OFFLINE is no part of it, but of the CPU configuration `single`, SHIELD_TIMERLAT of a test
 * that measures with that tracer (port/tracing.h), and SHIELD_PREEMPTION of a run under a given
 * preemption model. */
enum shield_setting {
    SHIELD_DMA_LATENCY,
    SHIELD_GOVERNOR,
    SHIELD_WATCHDOG,
    SHIELD_TIMERS,
    SHIELD_WORKQUEUES,
    SHIELD_INTERRUPTS,
    SHIELD_CPUSET,
    SHIELD_OFFLINE,
    SHIELD_TIMERLAT,
    SHIELD_PREEMPTION,
    SHIELD_SETTINGS
};

enum { SHIELD_TEXT_BYTES = 240, SHIELD_PIDS = 2, PORT_SHIELD_HELD = -1 };

/* A change as its line of the journal has it. The first of its fields is its kind. */
enum { PORT_CHANGE_FIELDS = 6 };
struct port_change {
    int count; /* of the fields; above PORT_CHANGE_FIELDS: the line is damaged */
    const char *field[PORT_CHANGE_FIELDS];
    bool is_left; /* could not be restored */
};
struct port_changes {
    size_t count;
    struct port_change *each; /* in the order in which they were made */
    struct cpus reserved;     /* of the shield that made them */
    uint64_t owner_start;     /* port_process_start of its process */
};

/* How the port writes to the shield's journal and notes.
 *   add      buffers the line of one change: 0; -1 if a field has a tab or newline: nothing is
 * added sync     writes these lines to the disk: 0, or an errno value. A change is made only after
 * this has returned 0 for its line refused  notes that `name` (an interrupt, a thread; NULL: the
 * whole setting) was not changed */
struct journal;
struct shield_notes;
struct port_shield_log {
    int (*add)(struct journal *journal, int count, const char *const fields[]);
    int (*sync)(struct journal *journal);
    void (*refused)(struct shield_notes *notes, const char *setting, const char *name,
                    const char *reason);
};

struct port_shield {
    const char *root; /* prefix of every path: "", or a test's folder */
    struct cpus reserved, others;
    const struct port_shield_log *log; /* NULL: of one that only undoes */
    struct journal *journal;
    struct shield_notes *notes;
    unsigned unchanged;     /* bits of the settings that were as wanted: nothing was changed */
    bool has_group;         /* SHIELD_CPUSET has made a control group for the reserved CPUs */
    int64_t timerlat_us;    /* of SHIELD_TIMERLAT */
    const char *preemption; /* of SHIELD_PREEMPTION: the model, in the kernel's word */
    int latency; /* descriptor of the latency request; -1: none. Owner and guard hold it: the
                    kernel drops the request when the last one is closed */
};

/* Applies `setting`: journal, change, read back. 0: `text` says what was done, and the notes name
 * what could not be changed. Else `text` gives the reason. ENOTSUP: the system does not have this
 * setting. EACCES, EPERM, EROFS: refused. PORT_SHIELD_HELD: somebody else's group has the CPUs
 * exclusively; `text` names it. Any other errno value: failed. */
int port_shield_apply(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes);

/* Whether `setting`, one before SHIELD_OFFLINE, exists here; `text` describes its present value, or
 * why it does not exist. Changes nothing. Of SHIELD_PREEMPTION `text` is the model in force. */
bool port_shield_show(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes);

/* Moves the calling process to the reserved CPUs, and into their control group if SHIELD_CPUSET
 * has made one: 0, or an errno value (ENOTSUP: no CPU can be reserved here). Call it before the
 * process creates threads. */
int port_shield_enter(const struct port_shield *shield);

enum port_undo {
    PORT_UNDONE,       /* the previous value is restored */
    PORT_UNDO_NOTHING, /* it was in place already, or its file, group or thread is gone */
    PORT_UNDO_FOREIGN, /* somebody else has changed it since: left alone */
    PORT_UNDO_TAKEN,   /* the kernel has changed it since, as it often does: left alone */
    PORT_UNDO_FAILED,
    PORT_UNDO_REFUSED, /* this port does not write such a line */
};

/* Undoes change `index`; for the last four results `text` says which and why. */
enum port_undo port_shield_undo(struct port_shield *shield, const struct port_changes *changes,
                                size_t index, char *text, size_t bytes);

/* Unique name of this boot; false: the system has none. */
bool port_boot_name(char *text, size_t bytes);

/* Start time of process `pid`, in a unit of the port's; 0: no such process, or not known. */
uint64_t port_process_start(pid_t pid);

/* CPUs that the kernel command line isolates (isolcpus=) and makes tickless (nohz_full=); empty
 * where not known. */
void port_isolated_cpus(struct cpus *isolated, struct cpus *tickless);

/* Whether `cpu` may be taken offline, without trying it: 0, or an errno value (ENOTSUP: the system
 * has no means for that; EACCES, EROFS: not permitted). */
int port_offline_error(int cpu);

/* Stores the online CPUs in `online` and returns their number; -1: not known. */
int port_online_cpus(struct cpus *online);

/* Whether `cpu` is online. While it is taken offline its threads have left it and it still counts
 * as online: waits for the end of that. True where not known. */
bool port_is_online(int cpu);

#endif
