/* The compact form of a record whose series no longer has a slot: count, extremes and moments
 * unchanged, the worst values, the maxima from the first one on, and each bucket in use as a pair
 * of distance and count, both in 7-bit groups.
 *
 * Entries follow each other in the arena. The writer completes an entry, with its checksum, before
 * it moves the record to the next series. So a reader of a file that was left or copied at any
 * moment finds the series either in its slot or here.
 *
 * An entry for which room is short is coarser: its histogram has fewer sub-bucket bits, or its
 * maxima a longer interval. The entry states both, and no value is lost. The coarsest entry takes
 * KEPT_LEAST_BYTES at most. */
#ifndef HS_RECORD_KEPT_H
#define HS_RECORD_KEPT_H

#include "record/record.h"

#include <stdbool.h>

enum {
    KEPT_LOWEST_BITS = 1,
    KEPT_LOWEST_BUCKETS = (RECORD_TOP_BIT - KEPT_LOWEST_BITS + 2) << KEPT_LOWEST_BITS,
    KEPT_FEW_MAXIMA = 64, /* no more than these are merged */
    KEPT_HEAD_BYTES = 3 * (int)sizeof(uint64_t) + 4 * (int)sizeof(uint32_t),
    KEPT_PAIR_BYTES = 1 + 10, /* at the lowest resolution: distance, count */
    KEPT_COPY_BYTES = offsetof(struct record, worst) - offsetof(struct record, sub_bits),
    KEPT_LEAST_BYTES =
        (KEPT_HEAD_BYTES + (int)KEPT_COPY_BYTES + RECORD_WORST * (int)sizeof(struct record_worst) +
         KEPT_FEW_MAXIMA * (int)sizeof(int64_t) + KEPT_LOWEST_BUCKETS * KEPT_PAIR_BYTES + 7) /
        8 * 8,
};

/* Writes the compact form of `record` to `to`, where `room` bytes are, at the finest resolution
 * that fits. Returns its length, a multiple of 8, or 0 where not even the lowest one does: never
 * with room for KEPT_LEAST_BYTES. */
size_t kept_write(void *to, size_t room, const struct record *record, uint32_t series);

/* Length of the entry at `at`, of which `room` bytes are there, and the number of its series; 0
 * where no entry begins there, or it is cut short or damaged. */
size_t kept_find(const void *at, size_t room, uint32_t *series);

/* Number of values in the entry at `at`. */
uint64_t kept_count(const void *at);

/* Copies the worst values of an entry that kept_find found; returns their number. */
int kept_worst(const void *at, struct record_worst worst[RECORD_WORST]);

/* Whether the entry of `record` at `at` has fewer sub-bucket bits or a longer interval than it. */
bool kept_is_coarser(const void *at, const struct record *record);

/* Whether a record with the room of this one can be filled from an entry that kept_find found: its
 * checksum is right, what it says may still be wrong. */
bool kept_fits(const void *entry, const struct record *record);

/* Fills `record`, which must be empty and have the room, from an entry that fits. It goes on as the
 * one that was written, at the resolution of the entry; its owner and its counters of changes stay.
 */
void kept_read(const void *entry, struct record *record);

#endif
