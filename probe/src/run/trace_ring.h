/* The kernel's events around the largest values (--trace).
 *
 * They go into a ring of the kernel, of the measured CPUs alone, and nothing reads them while
 * nothing is late. When the supervisor sees a new largest value it stops the ring, reads it, keeps
 * the lines around the value (record/tables.h) and lets it go on. A value that ends the
 * measurement stops it at once. The lines are composed here from the events, in the kernel's words,
 * with stamps in ns: its own text has us.
 *
 * How it could mislead: recording an event takes time on the measured CPU, some 100 ns each, and so
 * the figures are those of a traced system; conditions say so. A ring that was overwritten before
 * it was read has lost the value: then no excerpt is kept. */
#ifndef HS_RUN_TRACE_RING_H
#define HS_RUN_TRACE_RING_H

#include "base/cpus.h"
#include "record/arena.h"

struct trace_ring;

/* Makes the ring, stopped. NULL with the outcome where the kernel or a privilege is missing. */
struct trace_ring *trace_ring_open(const struct cpus *measured, struct outcome *outcome);

/* Starts it, at the begin of the measurement. 0, or -1 with the outcome. */
int trace_ring_start(struct trace_ring *ring, struct outcome *outcome);

/* Stops it for good, at a value that ends the measurement: what came before the value stays in it.
 * One call of the kernel, for the thread that measured. */
void trace_ring_hold(struct trace_ring *ring);

/* Reads the ring if there is a new largest value. */
void trace_ring_look(struct trace_ring *ring, struct arena *arena);

/* The same at the end, for good; tells what went wrong, and whether excerpts are missing. */
void trace_ring_end(struct trace_ring *ring, struct arena *arena);

/* Removes the ring: after all processes of the test have ended, which hold it too. */
void trace_ring_close(struct trace_ring *ring);

#endif
