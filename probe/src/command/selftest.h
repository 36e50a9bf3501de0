/* `hardstone-probe selftest`: what the probe computes, checked against another way to the same
 * result. No check depends on a time, a load or the machine's clock: one that fails means that this
 * build computes wrongly on this processor. */
#ifndef HS_COMMAND_SELFTEST_H
#define HS_COMMAND_SELFTEST_H

#include "base/clock.h"
#include "base/emit.h"
#include "family/simulate/tire_checks.h"
#include "record/arena.h"

/* What is checked: the probe's own code. A test puts broken code in its place. */
struct selftest_subject {
    int64_t (*ns_of_ticks)(const struct clock *clock, uint64_t ticks); /* clock_ns */
    void (*record)(struct record *record, int64_t value, int64_t at_ns);
    int64_t (*quantile)(const struct record *record, double q);
    double (*mean)(const struct record *record);
    double (*stddev)(const struct record *record);
    void (*recover)(struct arena *arena); /* arena_recover */
    tire_advancer *advance;
};

extern const struct selftest_subject selftest_own;

enum selftest_place {
    SELFTEST_CLOCK_CONVERSION,
    SELFTEST_CLOCK_ORDER,
    SELFTEST_RECORD_COUNTS,
    SELFTEST_RECORD_MOMENTS,
    SELFTEST_RECORD_QUANTILES,
    SELFTEST_ARENA_RECOVERY,
    SELFTEST_TIRE_REST,
    SELFTEST_TIRE_FREE_FALL,
    SELFTEST_TIRE_ENERGY,
    SELFTEST_TIRE_SYMMETRY,
    SELFTEST_TIRE_MOMENTUM,
    SELFTEST_TIRE_SAME_BITS,
    SELFTEST_CHECKS,
};

/* Carries out all checks. One for which there is no memory is left out: it passes, and says so. */
void selftest_check(const struct selftest_subject *subject, struct finding found[SELFTEST_CHECKS]);

/* Sends hardstone.selftest/1, one line a check, or the same for people. The probe's exit code:
 * EXIT_FINE if all checks passed. */
int selftest_send(struct emit *emit, bool is_json, const struct selftest_subject *subject);

#endif
