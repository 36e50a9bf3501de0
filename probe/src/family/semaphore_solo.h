/* Tests of one thread over several kinds of semaphore (SEM-P-SIG, -ARN, -NEW): their
 * life cycle but for what is timed. */
#ifndef HS_SEMAPHORE_SOLO_H
#define HS_SEMAPHORE_SOLO_H

#include "../posix_source.h"

#include "../pace.h"
#include "semaphore_kind.h"

/* Values that go to run->scratch before the first that is kept: what the system or its
 * library makes at a first call, and code that is not in the caches, is in no figure. */
enum { SOLO_WARM_UP = 64 };

struct solo {
    struct leftover leftover;
    struct pace pace;
    struct semaphore semaphore;
};

/* Expected time of `cells` cells that take `sample_ns` a value. */
int64_t solo_expected_ns(const struct run *run, int cells, int64_t sample_ns);

/* Makes run->own a solo; for `prepare` and `finish`. */
int solo_prepare(struct run *run);
void solo_finish(struct run *run);

/* For each of the test's kinds that is here: `body` with its place in the parameter.
 * 0, or -1 with the outcome. */
int solo_measure(struct run *run, int (*body)(struct run *run, int place));

/* solo_measure with a semaphore that is open meanwhile. */
int solo_measure_open(struct run *run, void (*body)(struct run *run, int place));

#endif
