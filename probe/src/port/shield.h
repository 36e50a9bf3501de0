/* The part of the port that reserves CPUs. Each setting is a piece of its own that knows how to
 * change what it names, and how to undo each line that it has written into the journal.
 *
 * linux_shield*.c; no_shield.c answers ENOTSUP where a system has no such means. */
#ifndef HS_PORT_SHIELD_H
#define HS_PORT_SHIELD_H

#include "base/cpus.h"
#include "shield/journal.h"
#include "shield/notes.h"

#include <sys/types.h>

/* In the order in which they are applied: what keeps others off the CPU comes last. */
enum shield_setting {
    SHIELD_DMA_LATENCY,
    SHIELD_GOVERNOR,
    SHIELD_WATCHDOG,
    SHIELD_TIMERS,
    SHIELD_WORKQUEUES,
    SHIELD_INTERRUPTS,
    SHIELD_CPUSET,
    SHIELD_SETTINGS
};

enum { SHIELD_TEXT_BYTES = 240, SHIELD_PIDS = 2, PORT_SHIELD_HELD = -1 };

struct port_shield {
    const char *root; /* before every path: "", or a test's folder */
    struct cpus reserved, others;
    struct journal *journal;
    struct shield_notes *notes;
    bool has_group; /* SHIELD_CPUSET was applied, and made a group to be entered */
    int latency;    /* descriptor that holds the latency request; -1: none. The owner's and the
                       guard's: the kernel drops the request with the last of them */
};

/* Applies `setting`: journal, change, read back. 0 with what was done in `text`; parts that could
 * not be changed are noted. ENOTSUP: there is nothing of that kind here. EACCES, EPERM, EROFS:
 * refused. PORT_SHIELD_HELD: a group of somebody else's has the CPUs to itself, and `text` names
 * it. Another errno value: failed. Then `text` says why. */
int port_shield_apply(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes);

/* Whether `setting` exists here and what it is now, for people; nothing is changed. False with
 * the reason in `text` where it does not. */
bool port_shield_show(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes);

/* Brings the calling process onto the reserved CPUs, into the group of them when SHIELD_CPUSET has
 * made one: 0, or an errno value. For a process with one thread, or before its other threads are
 * made. */
int port_shield_enter(const struct port_shield *shield);

enum port_undo {
    PORT_UNDONE,       /* the value from before is there again */
    PORT_UNDO_NOTHING, /* it was there already, or what it belonged to has gone */
    PORT_UNDO_FOREIGN, /* somebody else has changed it since: left alone */
    PORT_UNDO_TAKEN,   /* the kernel has taken it over since, as it often does: left alone */
    PORT_UNDO_FAILED,
    PORT_UNDO_REFUSED, /* not a line that this port would have written */
};

/* Undoes change number `index` of a journal; `text` says which and why for the last four. */
enum port_undo port_shield_undo(struct port_shield *shield, const struct journal_image *image,
                                size_t index, char *text, size_t bytes);

/* The kernel's name of this boot; false where there is none. */
bool port_boot_name(char *text, size_t bytes);

/* When process `pid` started, in a unit of the port's; 0: there is no such process. */
uint64_t port_process_start(pid_t pid);

/* CPUs that the boot line keeps the scheduler, and the tick, off; empty where not known. */
void port_isolated_cpus(struct cpus *isolated, struct cpus *tickless);

/* All CPUs that are switched on; -1 where they cannot be told apart. */
int port_online_cpus(struct cpus *online);

#endif
