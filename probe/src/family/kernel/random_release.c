#include "base/posix_source.h"

#include "family/kernel/random_release.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST_STREAM = 0x330e, SEED_BITS = 16 };

void random_release_begin(struct random_release *release, uint64_t seed, int stream,
                          int64_t mean_ns)
{
    release->state[0] = (unsigned short)(FIRST_STREAM + stream);
    release->state[1] = (unsigned short)seed;
    release->state[2] = (unsigned short)(seed >> SEED_BITS);
    release->mean_ns = (double)(mean_ns - RANDOM_RELEASE_LEAST_NS);
}

int64_t random_release_ahead_ns(struct random_release *release)
{
    double more_ns = -log(1 - erand48(release->state)) * release->mean_ns;
    return RANDOM_RELEASE_LEAST_NS + (int64_t)more_ns;
}
