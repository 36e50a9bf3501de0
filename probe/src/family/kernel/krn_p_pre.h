/* Of KRN-P-PRE: random times from a wake-up to the next release: a fixed least time and an
 * exponential one, so that releases have no phase with anything that is periodic. */
#ifndef HS_FAMILY_KERNEL_KRN_P_PRE_H
#define HS_FAMILY_KERNEL_KRN_P_PRE_H

#include "base/posix_source.h"

#include "base/random.h"

#include <stdint.h>

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
