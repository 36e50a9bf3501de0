/* Where the parts of a wake-up come from: what is there, and opening it. */
#ifndef HS_FAMILY_TIMER_PARTS_SOURCE_H
#define HS_FAMILY_TIMER_PARTS_SOURCE_H

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

const char *parts_source_name(enum parts_source source);

/* The first source that the parameter `parts` asks for and that is there; `outcome` has the reasons
 * of those that are not. */
enum parts_source parts_source_choose(const struct run *run, struct outcome *outcome);

/* Opens `source` for these CPUs. NULL with `outcome`. */
struct port_tracing *parts_source_open(struct run *run, enum parts_source source,
                                       const struct cpus *cpus, struct outcome *outcome);

#endif
