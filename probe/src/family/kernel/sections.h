/* True lengths of the sections in which the kernel has preemption or interrupts off, where it tells
 * them: tracepoints of preemptirq (CONFIG_PREEMPTIRQ_TRACEPOINTS), and of interrupts.
 *
 * They are traced in short windows after the values of a variant are taken, while its process goes
 * on: tracing would lengthen what is measured. A window is read when it is over, by the measuring
 * thread, so it needs no second CPU, and no event is lost where the ring holds a window. */
#ifndef HS_FAMILY_KERNEL_SECTIONS_H
#define HS_FAMILY_KERNEL_SECTIONS_H

#include "base/posix_source.h"

#include "base/random.h"
#include "family/kernel/busy_process.h"
#include "port/tracing.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- sections from events ---- */

/* Sections in which preemption or interrupts are off, from the kernel's events of one CPU in the
 * order of its ring. Knows no tracing. A section of which the begin or the end was not seen is
 * counted by its cause, never guessed. */

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

/* ---- sections of a run ---- */

enum sections_wish { SECTIONS_NONE, SECTIONS_AUTO, SECTIONS_TRACEPOINTS };
extern const char *const sections_wishes[]; /* choices of the parameter `sections` */

enum {
    SECTION_LONGEST_KINDS = 2, /* of preemption and of interrupts */
    SECTION_PLACES = 4,        /* of a section: begin, end, and what called each */
    SECTIONS_PLACES = OPERATIONS * SECTION_LONGEST_KINDS * SECTION_PLACES,
};

struct sections_variant {
    uint64_t counts[SECTION_KINDS];
    int64_t sums_ns[SECTION_KINDS];
    struct section longest[SECTION_LONGEST_KINDS]; /* length 0: none */
    uint64_t lost_count, unmatched_count;
    int windows_count;
    int64_t traced_ns;
};

struct sections {
    struct run *run;
    struct port_tracing *tracing; /* NULL: not traced */
    const struct port_tracing_wish *wish;
    int first_series; /* of SECTION_KINDS in the table of series */
    struct section_match match;
    struct sections_variant variants[OPERATIONS];
    enum operation operation;
    bool is_given_up; /* tracing went wrong, as an event has told */
    int64_t places[SECTIONS_PLACES];
    char names[SECTIONS_PLACES][PORT_SYMBOL_BYTES];
};

/* In `check`: leaves the series of sections out where they are not wanted, or cannot be had (auto).
 * 0, or -1 with the outcome. */
int sections_check(struct run *run);

/* In `prepare`: opens the trace, or tells why there is none. 0, or -1 with the outcome. */
int sections_open(struct sections *sections, struct run *run, int first_series);
void sections_close(struct sections *sections);

/* Traces windows while the process of the variant works. Does nothing without a trace. 0, or -1
 * with the outcome. */
int sections_measure(struct sections *sections, enum operation operation,
                     struct busy_process *busy);

/* When all variants are measured: reports what was seen, and the longest with their places. */
void sections_report(struct sections *sections);

/* Of KRN-P-PRE: random times from a wake-up to the next release: a fixed least time and an
 * exponential one, so that releases have no phase with anything that is periodic. */

enum { RANDOM_RELEASE_LEAST_NS = 50000 };

struct random_release {
    struct random random;
    double mean_ns; /* of the exponential time */
};

/* `mean_ns`: of both times together, above the least. The same `seed` and `stream` give the same
 * times. */
void random_release_begin(struct random_release *release, uint64_t seed, int stream,
                          int64_t mean_ns);

int64_t random_release_ahead_ns(struct random_release *release);

#endif
