/* The ways to flood, for flood.c, and what they share. */
#ifndef HS_WORK_FLOOD_WAY_H
#define HS_WORK_FLOOD_WAY_H

#include "work/shared_flood.h"

/* prepare: as flood_prepare, but may leave descriptors and helpers behind after an error.
 * start, stop: when is_on changes; NULL: nothing to do. step: a piece of the flood, of less than
 * 1 ms; NULL: helpers do it. */
struct flood_way {
    int (*prepare)(struct flood *flood);
    void (*start)(struct flood *flood);
    void (*stop)(struct flood *flood);
    void (*step)(struct flood *flood);
};

extern const struct flood_way flood_packets, flood_disk, flood_timers;

/* Notes the reason and returns `error`. */
int flood_refuse(struct flood *flood, int error, const char *what);

/* Keeps a descriptor, to be closed at the end. */
void flood_keep(struct flood *flood, int descriptor);
void flood_close_descriptors(struct flood *flood);

static inline void flood_count(atomic_uint_fast64_t *count, uint64_t more)
{
    atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

#endif
