/* Signal and wait in one thread: the part that SEM-P-SIG and SEM-P-RTP time in the same way, and
 * its mean, which SEM-P-RTP subtracts from half a round trip. */
#ifndef HS_FAMILY_SEMAPHORE_SIGNAL_WAIT_H
#define HS_FAMILY_SEMAPHORE_SIGNAL_WAIT_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "run/run.h"

/* One value for `series`: begin = before V, end = after P, which does not block. */
static inline void signal_wait_take(struct run *run, struct semaphore *semaphore, int series)
{
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(semaphore);
    semaphore_wait(semaphore);
    uint64_t end = clock_end(&run->clock);
    run_take(run, series, begin, end);
}

/* The parameter `signal_wait_ns` of a test that also has `kinds` and `scopes`: one number for each
 * kind and scope, for kind in kinds, for scope in scopes. */
#define SIGNAL_WAIT_PARAM                                                                          \
    {                                                                                              \
        "signal_wait_ns", PARAM_NS, true, "0", 0, INT64_C(1000000000), NULL,                       \
            "mean signal and wait in one thread (SEM-P-SIG), which context_switch subtracts: for " \
            "each kind, for each scope; 0 or none: measured right before",                         \
            NULL                                                                                   \
    }

/* The mean of the current variant; the variants so far for the event signal_wait_mean, by whether
 * their mean was given. */
struct signal_wait_mean {
    int64_t ns;
    char variants[2][ARENA_TEXT_BYTES / 2];
};

/* For `check`: 0, or -1 with the outcome if more numbers are given than there are kinds and
 * scopes. */
int signal_wait_check(struct run *run);

/* The number given for the kind and scope of run->variant; 0: none. */
int64_t signal_wait_given(const struct run *run);

/* Chooses the mean for run->variant: the given one, or `measured_ns` if there is none. */
void signal_wait_choose(struct run *run, struct signal_wait_mean *mean, int64_t measured_ns);

/* Call it after the last variant: events say which mean each variant used. */
void signal_wait_tell(struct run *run, struct signal_wait_mean *mean);

#endif
