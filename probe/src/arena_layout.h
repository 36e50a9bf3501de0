/* How a file is known as the arena of this version of the probe. */
#ifndef HS_ARENA_LAYOUT_H
#define HS_ARENA_LAYOUT_H

#include "arena.h"

#include <string.h>

#define ARENA_MAGIC "hsarena1" /* all eight bytes, without an end */

static inline uint64_t arena_layout_version(void)
{
    return (uint64_t)sizeof(struct arena) << 32 | sizeof(struct record);
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
