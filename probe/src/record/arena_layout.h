/* The signature of a file that holds an arena of this version of the probe, and the offsets of its
 * parts. */
#ifndef HS_RECORD_ARENA_LAYOUT_H
#define HS_RECORD_ARENA_LAYOUT_H

#include "record/arena.h"
#include "record/kept.h"
#include "record/tables.h"

#include <stddef.h>
#include <string.h>

#define ARENA_MAGIC "hsarena4" /* all eight bytes, without an end */

/* The same for builds whose files have the same layout. */
uint64_t arena_layout_version(void);

uint64_t arena_slot_bytes(const struct arena *arena);

/* Offset of slot `slot`; for slot_count, the end of the slots. */
uint64_t arena_slot_offset(const struct arena *arena, uint32_t slot);

/* The end of the room for compact forms. */
uint64_t arena_kept_limit(const struct arena *arena);

uint64_t arena_heads_bytes(const struct arena *arena, int kind);

/* Behind the compact forms: of each kind of table the heads, then the entries of all. For
 * TABLE_KINDS, the end of the arena. */
uint64_t arena_heads_offset(const struct arena *arena, int kind);

struct record *arena_slot(struct arena *arena, uint32_t slot);

const struct record *arena_slot_view(const struct arena *arena, uint32_t slot);

/* Behind the series where the head has no place. */
uint64_t arena_event_offset(const struct arena *arena, uint32_t place);

bool arena_is_marked(const struct arena *arena);

#endif
