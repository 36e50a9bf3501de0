/* How a file is known as the arena of this version of the probe, and where its records lie. */
#ifndef HS_ARENA_LAYOUT_H
#define HS_ARENA_LAYOUT_H

#include "record/arena.h"

#include <string.h>

#define ARENA_MAGIC "hsarena1" /* all eight bytes, without an end */

static inline uint64_t arena_layout_version(void)
{
    return (uint64_t)sizeof(struct arena) << 32 | sizeof(struct record);
}

static inline size_t arena_align(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Where the record of series `index` begins; of `series_count`, the end of all. */
static inline size_t arena_record_offset(int64_t duration_ns, uint32_t index)
{
    return arena_align(sizeof(struct arena)) + index * arena_align(record_size(duration_ns));
}

static inline void arena_mark(struct arena *arena)
{
    arena->version = arena_layout_version();
    memcpy(arena->magic, ARENA_MAGIC, sizeof arena->magic);
}

static inline bool arena_is_marked(const struct arena *arena)
{
    return memcmp(arena->magic, ARENA_MAGIC, sizeof arena->magic) == 0;
}

#endif
