/* The kernel's tracing, in an instance of its own: a ring of events for each CPU with its own
 * switch, clock, events and size. What others trace is neither read nor changed.
 *
 * linux/tracing.c; posix/tracing.c answers STATUS_UNSUPPORTED. */
#ifndef HS_PORT_TRACING_H
#define HS_PORT_TRACING_H

#include "base/cpus.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PORT_TRACING_KINDS = 8, PORT_TRACING_FIELDS = 3, PORT_TRACING_LOST = -1 };

/* One kind of event. `fields`: numbers to deliver, up to the first NULL; `text`: a field of
 * characters to deliver, or NULL. `is_recorded_by_tracer`: it comes with the tracer and cannot be
 * switched. */
struct port_tracing_kind {
    const char *system, *name; /* "sched", "sched_switch" */
    const char *fields[PORT_TRACING_FIELDS];
    const char *text;
    bool is_recorded_by_tracer;
};

struct port_tracing_wish {
    const char *purpose; /* end of the instance's name, where a process has several; NULL: none */
    const char *tracer;  /* NULL: none */
    const struct port_tracing_kind *kinds;
    int kind_count; /* at most PORT_TRACING_KINDS */
    struct cpus cpus;
    int64_t bytes_per_cpu;
};

/* An event as it is delivered. `kind`: index into the wish; PORT_TRACING_LOST: between
 * the event before this and the one after it others were overwritten or cannot be read, field[0] of
 * them (0: not known). `text` is not
 * terminated and lasts until the visit returns. */
struct port_tracing_event {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    int kind;
    bool is_in_interrupt; /* in the handler of one, not in a thread or a softirq */
    int64_t field[PORT_TRACING_FIELDS];
    const char *text;
    size_t text_bytes;
};

typedef void (*port_tracing_visit)(const struct port_tracing_event *event, void *context);

struct port_tracing;

/* Whether the wish can be had, as far as that is seen without a change: 0, or -1 with the outcome:
 * STATUS_DENIED (a privilege is missing, or the kernel is locked down), STATUS_UNSUPPORTED
 * (tracefs, tracer or event is missing). */
int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome);

/* Name of the instance of this process. */
void port_tracing_name(char *name, size_t bytes);

/* Makes the instance, switched off. Removes instances of ended processes first. Forks a process
 * that removes this one if the caller, the main thread, ends without port_tracing_close; a wish
 * with a tracer has none. NULL with the outcome, as port_tracing_look, and STATUS_FAILED. */
struct port_tracing *port_tracing_open(const struct port_tracing_wish *wish,
                                       struct outcome *outcome);

/* Has the kernel record kind `kind` only where `expression` holds ("next_pid == 17"): 0, or an
 * errno value. */
int port_tracing_filter(struct port_tracing *tracing, int kind, const char *expression);

/* Switches the events and the instance on: 0, or -1 with the outcome. */
int port_tracing_start(struct port_tracing *tracing, struct outcome *outcome);

/* Whether the instance still records; somebody else may have switched it off. */
bool port_tracing_is_on(const struct port_tracing *tracing);

/* Switches the instance off: what it holds stays readable. 0, or an errno value. One call of the
 * kernel, also for a thread that has measured. */
int port_tracing_stop(struct port_tracing *tracing);

/* Takes the events of `cpu` out of its ring, oldest first; never waits. 0: nothing was left; 1:
 * more may be left; -1 with errno. Allocates nothing. */
int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context);

/* Removes the instance: 0, or an errno value (EBUSY: another process has a file of it open), then
 * `path` is what stays. Frees `tracing` in both cases. */
int port_tracing_close(struct port_tracing *tracing, char *path, size_t bytes);

/* Removes the instances of ended processes, of which the kernel goes on recording events. Returns
 * how many. */
int port_tracing_remove_left(void);

/* The kernel's id of the calling thread, as events name it; -1: not known. */
pid_t port_tracing_thread(void);

enum { PORT_SYMBOL_BYTES = 64 };

/* Names places in the kernel's code, given as distances from its begin (_stext): "name+0x1c"; where
 * the kernel keeps its addresses to itself, "_stext+0x1234". Reads all symbols of the kernel twice
 * for 64 of them, some 0.1 s. */
void port_tracing_symbols(const int64_t *offsets, int count, char names[][PORT_SYMBOL_BYTES]);

/* ---- timerlat: a tracer that times the wake-ups of a thread of a program ---- */

enum { PORT_TIMERLAT_LEAST_US = 100, PORT_TIMERLAT_MOST_US = 1000000 };

/* As port_tracing_look, for the tracer with wake-ups every `period_us`. STATUS_UNSUPPORTED also
 * where somebody else uses it: it has one period for all. The period itself, and who wakes, are
 * settings of the machine: SHIELD_TIMERLAT (port/shield.h). */
int port_timerlat_look(int64_t period_us, struct outcome *outcome);

/* The file whose read waits for the next release, for the calling thread, which is bound to `cpu`.
 * A descriptor, or -1 with errno (EBUSY: another thread has it open). */
int port_timerlat_open(int cpu);

#endif
