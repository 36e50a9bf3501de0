/* Sections in which preemption or interrupts are off, from the kernel's events of one CPU in the
 * order of its ring. Knows no tracing. A section of which the begin or the end was not seen is
 * counted by its cause, never guessed. */
#ifndef HS_FAMILY_KERNEL_SECTION_MATCH_H
#define HS_FAMILY_KERNEL_SECTION_MATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of sections. SECTION_EITHER: from the first of both that is off until both are on again.
 * SECTION_INTERRUPT: in the handler of an interrupt. */
enum section_kind {
    SECTION_PREEMPTION,
    SECTION_INTERRUPTS,
    SECTION_EITHER,
    SECTION_INTERRUPT,
    SECTION_KINDS,
};

/* A place in the kernel's code, as a distance from its begin, and the one that called it. */
struct section_place {
    int64_t offset, caller;
};

struct section {
    int64_t begin_ns, length_ns;
    struct section_place begin, end;
};

/* State of one kind: not known before its first event and after events were lost. */
struct section_state {
    bool is_known, is_open;
    struct section open; /* its begin */
};

struct section_match {
    struct section_state states[SECTION_KINDS];
    uint64_t lost_count;      /* gaps in the events */
    uint64_t unmatched_count; /* events of a kind that do not alternate */
    void (*take)(void *context, enum section_kind kind, const struct section *section);
    void *context;
};

/* Preemption or interrupts go off, or on again; or a handler begins, or ends. Not for
 * SECTION_EITHER, which follows from both. */
void section_match_event(struct section_match *match, enum section_kind kind, bool is_begin,
                         int64_t at_ns, struct section_place place);

/* Events were lost, or another window of events begins: nothing is known. */
void section_match_lost(struct section_match *match);
void section_match_restart(struct section_match *match);

#endif
