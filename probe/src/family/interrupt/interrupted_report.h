/* What became of interrupts that were sent, as events. */
#ifndef HS_FAMILY_INTERRUPT_INTERRUPTED_REPORT_H
#define HS_FAMILY_INTERRUPT_INTERRUPTED_REPORT_H

#include "family/interrupt/sent_match.h"
#include "family/interrupt/source.h"

struct interrupted_counts {
    struct sent_counts sent;
    uint64_t early_count; /* seen, and the CPU was lost before the send or the expiry */
    int64_t earliest_ns;
    int64_t in_other_most_ns;  /* from the send to the end of the other interruption */
    int64_t ambiguous_most_ns; /* from the send to the end of its window */
    uint64_t refused_count;    /* not sent */
    int error;                 /* errno value of the latest refusal; 0: none */
};

/* Sums over the interrupts whose handler is known, of which each part is. */
struct interrupted_split {
    uint64_t count;
    int64_t delivery_ns, latency_ns, handler_ns, dispatch_ns, service_ns;
};

void interrupted_count_early(struct interrupted_counts *counts, int64_t early_ns);
void interrupted_count_in_other(struct interrupted_counts *counts, int64_t until_ns);
void interrupted_count_ambiguous(struct interrupted_counts *counts, int64_t until_ns);
void interrupted_count_refused(struct interrupted_counts *counts, uint64_t count, int error);

void interrupted_tell_accounted(struct run *run, int64_t source,
                                const struct interrupted_counts *counts);

/* Means of the parts; nothing where no handler is known. */
void interrupted_tell_split(struct run *run, int64_t source, const struct interrupted_split *split);

/* That the source was given up after that many bursts. */
void interrupted_tell_unseen(struct run *run, const struct interrupt_line *line, int burst_count);

#endif
