/* Reserving CPUs: all else is kept off them, and everything is put back afterwards, however the
 * process that asked for it ends.
 *
 * Each change is journalled before it is made (shield_journal.h). The owner puts things back
 * itself; a guard process does when the owner has gone without a word; the owner does when the
 * guard was killed; whoever starts a shield next, or `shield --restore`, does when both were. */
#ifndef HS_SHIELD_H
#define HS_SHIELD_H

#include "base/posix_source.h"

#include "base/cpus.h"
#include "port/shield.h"
#include "shield/guard.h"
#include "shield/journal.h"
#include "shield/notes.h"
#include "shield/undo.h"

#include <stdbool.h>

enum { SHIELD_ALL = (1 << SHIELD_SETTINGS) - 1, SHIELD_REASON_BYTES = 320 };

struct shield_wish {
    struct cpus reserved;
    unsigned settings; /* bits 1 << enum shield_setting */
    unsigned required; /* of those: without them it is refused, else it is noted */
    bool is_verbose;
    shield_tell
        tell; /* what an earlier shield left and cannot be put back, line by line; or NULL */
    void *context;
};

enum shield_answer {
    SHIELD_DONE,
    SHIELD_HELD,        /* another process has reserved CPUs */
    SHIELD_WRONG,       /* CPUs that are not there */
    SHIELD_DENIED,      /* no right */
    SHIELD_UNSUPPORTED, /* no such facility, or no CPU would be left for the rest */
    SHIELD_FAILED,
};

struct shield {
    struct port_shield port;
    struct journal journal;
    struct shield_guard guard;
    struct shield_notes notes;
    unsigned applied;
    char did[SHIELD_SETTINGS][SHIELD_TEXT_BYTES];
    char restored[SHIELD_REASON_BYTES]; /* what was done about a stale journal; or empty */
    char reason[SHIELD_REASON_BYTES], remedy[SHIELD_REASON_BYTES];
    bool is_open;
};

const char *shield_setting_name(enum shield_setting setting);

/* "cpuset,interrupts": 0, or -1 with the first word that is no setting in `bad`. */
int shield_parse_settings(const char *text, unsigned *settings, char *bad, size_t bad_bytes);

/* Reserves. After anything but SHIELD_DONE nothing is changed, and reason and remedy are set.
 * For a process with one thread. */
enum shield_answer shield_open(struct shield *shield, const struct shield_wish *wish);

/* This process onto the reserved CPUs; errno value. For a process with one thread. */
int shield_enter(struct shield *shield);

/* Puts everything back; tells (see shield_undo.h) what was not, and keeps the journal of that.
 * Does nothing a second time. */
struct shield_undone shield_close(struct shield *shield, shield_tell tell, void *context);

/* What was done, in one line. */
void shield_describe(const struct shield *shield, char *text, size_t bytes);

/* The CPU to be reserved when none is named: one of those that the boot line keeps free of the
 * tick and the scheduler, else the last one that this process may use; -1 where they cannot be
 * told apart. */
int shield_default_cpu(void);

#endif
