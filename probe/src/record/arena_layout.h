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
static inline uint64_t arena_layout_version(void)
{
    const uint64_t parts[] = {sizeof(struct arena),     sizeof(struct arena_series),
                              sizeof(struct record),    RECORD_SUB_BITS,
                              RECORD_TOP_BIT,           ARENA_KEPT_BYTES,
                              ARENA_KEPT_ALL_BYTES,     sizeof(struct gap_window),
                              sizeof(struct row_table), sizeof(struct arena_tables)};
    uint64_t version = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        version = (version ^ parts[i]) * UINT64_C(0x100000001b3);
    return version;
}

static inline uint64_t arena_align(uint64_t bytes)
{
    return (bytes + 63) & ~UINT64_C(63);
}

static inline uint64_t arena_slot_bytes(const struct arena *arena)
{
    return arena_align(record_size(&arena->slot_shape, arena->duration_ns));
}

/* Offset of slot `slot`; for slot_count, the end of the slots. */
static inline uint64_t arena_slot_offset(const struct arena *arena, uint32_t slot)
{
    uint64_t head = sizeof *arena + (uint64_t)arena->series_count * sizeof arena->series[0] +
                    (uint64_t)arena->more_events * sizeof arena->events[0];
    return arena_align(head) + slot * arena_slot_bytes(arena);
}

/* Room for the compact form of one series, without its maxima. Few series share
 * ARENA_KEPT_ALL_BYTES, up to what a series takes whose values fill every bucket; many have
 * ARENA_KEPT_BYTES each. */
static inline uint64_t arena_kept_each(const struct arena *arena)
{
    const uint64_t kept = ARENA_KEPT_BYTES, pair_bytes = 3; /* a distance, a count up to 16383 */
    uint64_t least = kept > KEPT_LEAST_BYTES ? kept : KEPT_LEAST_BYTES;
    uint64_t share = ARENA_KEPT_ALL_BYTES / arena->series_count;
    uint64_t all =
        KEPT_LEAST_BYTES + record_size(&arena->slot_shape, 0) / sizeof(uint64_t) * pair_bytes;
    share = share < all ? share : all;
    return share > least ? share : least;
}

/* Room for compact forms: one of each series, where any slot is shared, and for the maxima of each
 * slot, which are those of one time after another. */
static inline uint64_t arena_kept_room(const struct arena *arena)
{
    const uint64_t second_ns = 1000000000, most = 1 << 20;
    if (arena->slot_count == arena->series_count)
        return 0;
    uint64_t maxima = (uint64_t)arena->duration_ns / second_ns * sizeof(int64_t);
    maxima = maxima < most ? maxima * arena->slot_count : most;
    return arena_align(arena->series_count * arena_kept_each(arena) +
                       (maxima < most ? maxima : most));
}

/* The end of the room for compact forms. */
static inline uint64_t arena_kept_limit(const struct arena *arena)
{
    return arena->kept_begin + arena_kept_room(arena);
}

static inline uint64_t arena_heads_bytes(const struct arena *arena, int kind)
{
    return arena_align((uint64_t)arena->tables[kind].room.heads * table_shapes[kind].head_bytes);
}

/* Behind the compact forms: of each kind of table the heads, then the entries of all. For
 * TABLE_KINDS, the end of the arena. */
static inline uint64_t arena_heads_offset(const struct arena *arena, int kind)
{
    uint64_t offset = arena_kept_limit(arena);
    for (int i = 0; i < kind; i++)
        if (arena->tables[i].room.heads > 0)
            offset +=
                arena_heads_bytes(arena, i) +
                arena_align((uint64_t)arena->tables[i].room.entries * table_shapes[i].entry_bytes);
    return offset;
}

static inline struct record *arena_slot(struct arena *arena, uint32_t slot)
{
    return (struct record *)((char *)arena + (size_t)arena_slot_offset(arena, slot));
}

static inline const struct record *arena_slot_view(const struct arena *arena, uint32_t slot)
{
    return (const struct record *)((const char *)arena + (size_t)arena_slot_offset(arena, slot));
}

/* Whether slot `slot` belongs to the series and is not being moved to another one. */
static inline bool arena_slot_holds(const struct arena *arena, uint32_t slot, uint32_t series)
{
    const struct record *record = arena_slot_view(arena, slot);
    return record->owner == (uint64_t)series + 1 && !record_is_moving(record);
}

/* Behind the series where the head has no place. */
static inline uint64_t arena_event_offset(const struct arena *arena, uint32_t place)
{
    uint64_t behind = sizeof *arena + arena->series_count * sizeof arena->series[0];
    return place < ARENA_EVENTS ? offsetof(struct arena, events) + place * sizeof arena->events[0]
                                : behind + (place - ARENA_EVENTS) * sizeof arena->events[0];
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
