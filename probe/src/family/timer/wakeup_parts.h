/* The parts of TMR-P-LAT's wake-ups, by the tracepoints of the kernel or by timerlat.
 *
 * A thread that does not measure (the reader) takes the kernel's events and the stamps of the
 * measuring threads, matches them and records the parts. With timerlat it records the totals too:
 * the kernel chooses the releases there, and tells them in its events only. */
#ifndef HS_FAMILY_TIMER_WAKEUP_PARTS_H
#define HS_FAMILY_TIMER_WAKEUP_PARTS_H

#include "family/timer/sleeper.h"
#include "port/tracing.h"
#include "run/run.h"

enum parts_wish { PARTS_WISH_NONE, PARTS_WISH_AUTO, PARTS_WISH_TIMERLAT, PARTS_WISH_TRACEPOINTS };
extern const char *const parts_wishes[]; /* choices of the parameter `parts` */

/* In the order in which `auto` tries them. */
enum parts_source { SOURCE_NONE, SOURCE_TRACEPOINTS, SOURCE_TIMERLAT };

/* Kinds of events of SOURCE_TRACEPOINTS, and the one of SOURCE_TIMERLAT. */
enum { KIND_ENTRY, KIND_EXIT, KIND_WAKING, KIND_SWITCH };
enum { FIELD_WOKEN = 0, FIELD_NEXT = 0, FIELD_BEFORE = 1 };
enum { KIND_TIMERLAT = 0, FIELD_SEQUENCE = 0, FIELD_CONTEXT, FIELD_LATENCY };

struct wakeup_parts;

/* In `check`: whether parts can be had as the parameter `parts` asks. Leaves their series out where
 * they cannot (auto). 0, or -1 with the outcome. */
int wakeup_parts_check(struct run *run);

/* Bytes of memory for the parts of `count` sleepers; 0: no parts. */
size_t wakeup_parts_bytes(const struct run *run, int count);

/* In `prepare`, with memory of that size, zeroed and touched: makes the instance, and the reader,
 * which waits at its gate. Stores the parts, or NULL where the run goes on without (auto), which an
 * event tells. 0, or -1 with the outcome. */
int wakeup_parts_open(struct run *run, void *memory, struct sleeper *sleepers, int count,
                      struct wakeup_parts **parts);

/* Lets the reader go, which waits for the measuring threads. */
void wakeup_parts_start(struct wakeup_parts *parts);

/* Called by each measuring thread before it measures: waits until the events come. False: they do
 * not, and with timerlat nothing can be measured. */
bool wakeup_parts_enter(struct wakeup_parts *parts, struct sleeper *sleeper);

/* Whether the threads wait with timerlat's file instead of a sleep. */
bool wakeup_parts_is_timerlat(const struct wakeup_parts *parts);

/* Where the stamps of a sleeper go. */
struct part_ring *wakeup_parts_ring(struct wakeup_parts *parts, const struct sleeper *sleeper);

/* After the measuring threads have ended: takes the last events, tells what was seen, removes the
 * instance. A second call does nothing. `parts` may be NULL. */
void wakeup_parts_end(struct wakeup_parts *parts);

#endif
