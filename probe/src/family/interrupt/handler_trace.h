/* The kernel's stamps of the handler of an interrupt, by its tracepoints (port/tracing.h), for the
 * CPU under test and one source. They are read between two bursts. */
#ifndef HS_FAMILY_INTERRUPT_HANDLER_TRACE_H
#define HS_FAMILY_INTERRUPT_HANDLER_TRACE_H

#include "port/tracing.h"
#include "run/run.h"

/* ---- which handler belongs to which interrupt ----
 * By the kernel's stamps of entry and exit on one CPU, in their order, wherever they come from. */

enum { HANDLER_LOG = 1024 };

/* CLOCK_MONOTONIC. */
struct handled {
    int64_t entry_ns, exit_ns;
};

/* A zeroed log is empty. */
struct handler_log {
    uint32_t count;
    bool is_inside;
    int64_t entry_ns, latest_ns;         /* of the handler that has not ended; the latest event */
    int64_t lost_from_ns, lost_until_ns; /* between these events may be missing; both 0: none */
    struct handled of[HANDLER_LOG];
};

/* `single`: one handler lies between the two moments. The others have none for certain:
 * `none` lies there, `several` do, events were `lost` there. */
enum handler_fate { HANDLER_SINGLE, HANDLER_NONE, HANDLER_SEVERAL, HANDLER_LOST, HANDLER_FATES };

/* Empties the log, but for a handler that has not ended. */
void handler_log_clear(struct handler_log *log);

void handler_log_entry(struct handler_log *log, int64_t at_ns);
void handler_log_exit(struct handler_log *log, int64_t at_ns);

/* Events between the latest one and `at_ns` were lost. */
void handler_log_lost(struct handler_log *log, int64_t at_ns);

/* The handler that began and ended from `from_ns` to `until_ns`; stores a single one. */
enum handler_fate handler_log_find(const struct handler_log *log, int64_t from_ns, int64_t until_ns,
                                   struct handled *handled);

/* ---- the trace ---- */

enum handler_wish { HANDLER_WISH_NONE, HANDLER_WISH_AUTO, HANDLER_WISH_TRACEPOINTS };
extern const char *const handler_wishes[]; /* choices of the parameter `handler` */

/* Whose handler: of the interrupt that is sent, or of the one that wakes a thread, which for `ipi`
 * is another (rescheduling). */
enum handler_role { HANDLER_OF_INTERRUPT, HANDLER_OF_WAKE_UP };

/* What was seen of the handlers of one source. */
struct handler_seen {
    uint64_t of[HANDLER_FATES]; /* interrupts by the fate of their handler */
    uint64_t reversed_count;    /* stamps in the wrong order within their error */
    int64_t error_ns;           /* of a conversion between the stamps: the largest */
};

struct handler_trace {
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
int handler_trace_check(struct run *run, enum handler_role role);

/* In `prepare`: makes the instance for a source that can be had, where the run wants one; an event
 * tells why it has none (auto). 0, or -1 with the outcome. */
int handler_trace_open(struct handler_trace *trace, struct run *run, int64_t source,
                       enum handler_role role);

/* Switches the events on; an event tells where the kernel refuses (auto). 0, or -1 with the
 * outcome. */
int handler_trace_start(struct handler_trace *trace);

/* Empties the log, and fills it with what the kernel has recorded since the last call. */
void handler_trace_read(struct handler_trace *trace);

/* The handler between two moments of CLOCK_MONOTONIC; HANDLER_LOST also where none is looked for.
 * The fates are counted, but in warm-up. */
enum handler_fate handler_trace_find(struct handler_trace *trace, int64_t from_ns, int64_t until_ns,
                                     struct handled *handled);

/* Switches the events off; an event tells what was seen. */
void handler_trace_stop(struct handler_trace *trace);

/* Removes the instance; a second call does nothing. */
void handler_trace_close(struct handler_trace *trace);

/* clang-format off */
#define HANDLER_PARAM \
    {"handler", PARAM_NAME, false, "none", 0, 0, handler_wishes, \
     "how the interrupt's handler is observed, which slows it; auto: if the kernel allows it", \
     NULL}
/* clang-format on */

#endif
