/* Whether writes that return when they are on the device have reached it: by the device's own count
 * of what was written to it, read before and after each write. The count is of everybody, so one
 * write of another may hide that ours did not go out; of many writes not all. */
#ifndef HS_FAMILY_FILE_SYNCHRONISED_H
#define HS_FAMILY_FILE_SYNCHRONISED_H

#include <stdbool.h>
#include <stdint.h>

struct synchronised {
    int64_t bytes;       /* the last reading; -1: not known */
    int64_t first_bytes; /* of this variant */
    uint64_t seen_count, unseen_count;
};

/* The reading before the first write; -1: not known. */
void synchronised_begin(struct synchronised *synchronised, int64_t bytes);

/* The reading after a write, and before the next one. */
void synchronised_take(struct synchronised *synchronised, int64_t bytes);

/* Whether each write was followed by a reading, and there was one. */
bool synchronised_is_known(const struct synchronised *synchronised);

/* Whether the count rose in each write. */
bool synchronised_holds(const struct synchronised *synchronised);

/* Bytes that the device counted in all of them. */
int64_t synchronised_device_bytes(const struct synchronised *synchronised);

#endif
