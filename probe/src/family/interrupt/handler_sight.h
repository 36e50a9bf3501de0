/* The kernel's stamps of the handler of an interrupt, by its tracepoints (port/tracing.h), for the
 * CPU under test and one source. They are read between two bursts. */
#ifndef HS_FAMILY_INTERRUPT_HANDLER_SIGHT_H
#define HS_FAMILY_INTERRUPT_HANDLER_SIGHT_H

#include "family/interrupt/handler_match.h"
#include "family/interrupt/handler_report.h"
#include "family/interrupt/source.h"
#include "port/tracing.h"

enum handler_wish { HANDLER_WISH_NONE, HANDLER_WISH_AUTO, HANDLER_WISH_TRACEPOINTS };
extern const char *const handler_wishes[]; /* choices of the parameter `handler` */

/* Whose handler: of the interrupt that is sent, or of the one that wakes a thread, which for `ipi`
 * is another (rescheduling). */
enum handler_role { HANDLER_OF_INTERRUPT, HANDLER_OF_WAKE_UP };

struct handler_sight {
    struct run *run;
    int64_t source;
    struct port_tracing *tracing; /* NULL: not seen */
    bool is_on;                   /* the kernel records */
    bool was_off;                 /* somebody has switched the instance off */
    int read_error;               /* errno value; 0: none */
    struct handler_log log;       /* of the burst */
    struct handler_seen seen;
};

/* Of the series in a test's table the last needs the handler: in `check`, leaves it out where no
 * wanted source has a visible one. 0, or -1 with the outcome: it was asked for by name. */
int handler_sight_check(struct run *run, enum handler_role role);

/* In `prepare`: makes the instance for a source that can be had, where the run wants one; an event
 * tells why it has none (auto). 0, or -1 with the outcome. */
int handler_sight_open(struct handler_sight *sight, struct run *run, int64_t source,
                       enum handler_role role);

/* Switches the events on; an event tells where the kernel refuses (auto). 0, or -1 with the
 * outcome. */
int handler_sight_start(struct handler_sight *sight);

/* Empties the log, and fills it with what the kernel has recorded since the last call. */
void handler_sight_read(struct handler_sight *sight);

/* The handler between two moments of CLOCK_MONOTONIC; HANDLER_LOST also where none is looked for.
 * The fates are counted, but in warm-up. */
enum handler_fate handler_sight_find(struct handler_sight *sight, int64_t from_ns, int64_t until_ns,
                                     struct handled *handled);

/* Switches the events off and tells what was seen. */
void handler_sight_stop(struct handler_sight *sight);

/* Removes the instance; a second call does nothing. */
void handler_sight_close(struct handler_sight *sight);

/* clang-format off */
#define HANDLER_PARAM \
    {"handler", PARAM_NAME, false, "none", 0, 0, handler_wishes, \
     "how the interrupt's handler is seen, which costs time in it; auto: where the kernel shows it", \
     NULL}
/* clang-format on */

#endif
