/* What the tests of interrupts have in common: the sources of a run, open, each with a view of its
 * handler where that is wanted, and the kernel's own count of its interrupts. */
#ifndef HS_FAMILY_INTERRUPT_RIG_H
#define HS_FAMILY_INTERRUPT_RIG_H

#include "family/interrupt/handler_sight.h"
#include "family/interrupt/source.h"

struct rig {
    struct run *run;
    enum handler_role role;
    bool is_open;           /* at least one source is */
    struct outcome refusal; /* of the last one that is not */
    struct interrupt_line lines[INTERRUPT_SOURCES];
    struct handler_sight sights[INTERRUPT_SOURCES];
    int64_t counted[INTERRUPT_SOURCES]; /* by the kernel, before the measurement; -1: not told */
    uint64_t sent[INTERRUPT_SOURCES];   /* while the CPU was watched, those of warm-up too */
};

/* For `check` and `prepare`; 0, or -1 with the outcome: none of the sources can be had. */
int rig_check(struct run *run, enum handler_role role);
int rig_open(struct rig *rig, struct run *run, enum handler_role role);

/* For `judge`: event for each source with what was sent and what the kernel has counted since.
 * Fails a result without any value, and one of which the kernel has counted fewer than were sent:
 * its values are those of something else. 0, or -1 with the outcome. */
int rig_judge(struct rig *rig);

/* For `finish`; `rig` may be zeroed. */
void rig_close(struct rig *rig);

#endif
