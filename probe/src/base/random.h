/* Pseudo-random numbers: the same sequence for the same seed. */
#ifndef HS_BASE_RANDOM_H
#define HS_BASE_RANDOM_H

#include "base/posix_source.h"

#include <stdint.h>
#include <stdlib.h>

/* ---- POSIX's generator of 48 bits (erand48), for tests ---- */

struct random {
    unsigned short state[3];
};

/* Begins the sequence of the low 32 bits of `seed`, as srand48 does. Streams (0: the usual one) are
 * other sequences of the same seed. */
static inline void random_start_stream(struct random *random, uint64_t seed, int stream)
{
    random->state[0] = (unsigned short)(0x330e + stream);
    random->state[1] = (unsigned short)seed;
    random->state[2] = (unsigned short)(seed >> 16);
}

static inline void random_start(struct random *random, uint64_t seed)
{
    random_start_stream(random, seed, 0);
}

/* From 0 to below 1. */
static inline double random_share(struct random *random)
{
    return erand48(random->state);
}

/* A whole number from 0 to `count` - 1. */
static inline int64_t random_below(struct random *random, int64_t count)
{
    return (int64_t)(erand48(random->state) * (double)count);
}

/* ---- splitmix64, for loads ---- */

static inline uint64_t random_bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

#endif
