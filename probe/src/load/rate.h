/* Events at a fixed rate, on a fixed grid. */
#ifndef HS_LOAD_RATE_H
#define HS_LOAD_RATE_H

#include <stdint.h>

struct rate {
    int64_t second_ns;   /* when the current second of the grid began */
    int64_t per_s, done; /* number of this second's per_s events that are past */
};

/* Starts the grid at `now_ns`; per_s is at least 1. */
void rate_start(struct rate *rate, int64_t per_s, int64_t now_ns);

/* When the next event is due. */
static inline int64_t rate_next_ns(const struct rate *rate)
{
    return rate->second_ns + (rate->done + 1) * 1000000000 / rate->per_s;
}

/* Advances to the next event. */
static inline void rate_step(struct rate *rate)
{
    if (++rate->done < rate->per_s)
        return;
    rate->done = 0;
    rate->second_ns += 1000000000;
}

/* Skips the events that are late by more than `most_ns`; returns their number. */
int64_t rate_skip(struct rate *rate, int64_t now_ns, int64_t most_ns);

#endif
