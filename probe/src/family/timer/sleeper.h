/* One CPU of TMR-P-LAT: its records, and how a wake-up goes into them. */
#ifndef HS_FAMILY_TIMER_SLEEPER_H
#define HS_FAMILY_TIMER_SLEEPER_H

#include "base/posix_source.h"

#include "family/timer/part_match.h"
#include "run/run.h"

enum { SLEEPER_BACKLOG = 2048, SLEEPER_STEPS = 128 };

/* A late wake-up whose missed releases are still to be recorded. */
struct late {
    int64_t next_ns; /* lateness of the next missed release */
    int64_t at_ns;
    bool is_judged; /* it is not of a stop of the program, or misses so few that it matters not */
};

struct sleeper {
    struct run *run;
    struct record *wakeup, *release, *missed;
    struct record *parts[PARTS]; /* only where parts are measured */
    int64_t interval_ns, threshold_ns;
    int64_t crossed_ns;    /* a latency above the threshold; 0: none */
    uint32_t first, count; /* ring of late wake-ups */
    struct late backlog[SLEEPER_BACKLOG];
    struct rt_thread rt_thread;
    int cpu;
};

/* Records up to `steps` missed releases, oldest first. Those of a wake-up that missed many wait
 * until it is sure that the program was not stopped then (record/arena.h), and are left out if it
 * was: `now_ns` since the start of the measurement. */
void sleeper_expand(struct sleeper *sleeper, int64_t now_ns, uint64_t steps);

/* Records all, when nothing is measured any more. */
void sleeper_end(struct sleeper *sleeper);

/* Notes a wake-up late by `late_ns` >= interval; returns the number of releases it missed. */
int64_t sleeper_note_late(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns);

/* Reports the latency above the threshold, stops the trace and asks the test to stop. False, if the
 * program was stopped then: nothing was done, but some time has passed. */
bool sleeper_cross(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns, int cpu);

/* Adds the event about missed releases, if there are any. */
void sleeper_report_missed(const struct sleeper *sleeper, int cpu);

#endif
