/* One step of IRQ-S-SUS: interrupts at a fixed period, watched and counted. Runs on the measuring
 * thread, in constant memory. In bursts, between which the thread rests (run/burst.h): the source
 * pauses then, and its grid begins anew. */
#ifndef HS_FAMILY_INTERRUPT_SUSTAINED_STEP_H
#define HS_FAMILY_INTERRUPT_SUSTAINED_STEP_H

#include "family/interrupt/sustained_sender.h"

enum {
    SUSTAINED_ENOUGH = 10000,     /* interrupts of a step that has failed, or: */
    SUSTAINED_ENOUGH_PARTS = 10,  /* one in so many of those wanted */
    SUSTAINED_SOURCE_PARTS = 100, /* one in so many may be sent late, or not armed */
};

struct sustained_step {
    struct run *run;
    struct sustained_sender *sender; /* NULL: the CPU's own timer */
    int64_t period_ns;
    uint64_t wanted_count;
    uint64_t threshold; /* ticks that are a gap */
    uint64_t longest_gap;
    struct sustained_match match; /* with the counts */
    int error;                    /* errno value that ended it; ETIMEDOUT: no interrupt came */
};

/* Whether the source did not hold the period: more than one in SUSTAINED_SOURCE_PARTS began after
 * the next one was due, or was due before the timer was armed. */
bool sustained_is_source_limited(const struct sustained_counts *counts);

/* Whether the step shows that the period is sustained: all interrupts came, none was lost and the
 * source held the period. */
bool sustained_is_passed(const struct sustained_step *step);

/* Runs the step: true when it ended by itself, and false when the test is to stop or step->error is
 * set. A step that has failed ends when it has had enough interrupts. */
bool sustained_step_run(struct sustained_step *step);

#endif
