/* What a flood adds to a latency: each latency under it minus the median of those without it that
 * were taken right before and right after. */
#ifndef HS_FAMILY_INTERRUPT_ADDED_H
#define HS_FAMILY_INTERRUPT_ADDED_H

#include <stdint.h>

/* Median of `count` values (> 0), which it sorts; the mean of the two middle ones, rounded down,
 * where the count is even. */
int64_t added_median(int64_t *values, int count);

/* `latency_ns` less `median_ns`; less than zero becomes 0 and counts in `below_count`. */
int64_t added_value(int64_t latency_ns, int64_t median_ns, uint64_t *below_count);

#endif
