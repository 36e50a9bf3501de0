/* Events about the parts of wake-ups. */
#ifndef HS_FAMILY_TIMER_PARTS_REPORT_H
#define HS_FAMILY_TIMER_PARTS_REPORT_H

#include "family/timer/parts_source.h"
#include "family/timer/timerlat_match.h"

/* The worst wake-up whose parts are known; value_ns < 0: none. */
struct parts_worst {
    bool is_there;
    int64_t value_ns, at_ns;
    struct part_split split;
};

void parts_worst_see(struct parts_worst *worst, const struct part_split *split, int64_t at_ns);

struct parts_seen {
    const char *source;
    int cpu;
    uint64_t sample_count, dropped_count;
    const struct part_counts *counts;
};

void parts_tell_not_seen(struct run *run, enum parts_source source, const struct outcome *outcome);
void parts_tell_seen(struct run *run, const struct parts_seen *seen);
void parts_tell_checked(struct run *run, int cpu, const struct timerlat_match *match);
void parts_tell_worst(struct run *run, int cpu, const struct parts_worst *worst);
void parts_tell_shared_cpu(struct run *run);
void parts_tell_stopped(struct run *run);
void parts_tell_not_read(struct run *run, int error);
void parts_tell_left(struct run *run, const char *path, int error);

#endif
