/* Of IRQ-P-TRK: what a flood adds to a latency. Each latency under it minus the median of those
 * without it that were taken right before and right after. */
#ifndef HS_FAMILY_INTERRUPT_IRQ_P_TRK_H
#define HS_FAMILY_INTERRUPT_IRQ_P_TRK_H

#include <stdint.h>

/* Median of `count` values (> 0), which it sorts; the mean of the two middle ones, rounded down,
 * where the count is even. */
int64_t flood_effect_median(int64_t *values, int count);

/* `latency_ns` less `median_ns`; less than zero becomes 0 and counts in `below_count`. */
int64_t flood_effect_added(int64_t latency_ns, int64_t median_ns, uint64_t *below_count);

/* Differences of medians, block by block: under the flood less without it. Below zero is kept, so a
 * flood without effect comes out at about 0, which the mean of added values does not. */
struct flood_effect {
    int64_t sum, least_ns, most_ns; /* the sum is weighted by the values of each block */
    int64_t value_count;
};

/* A block of `count` values (> 0). */
void flood_effect_take(struct flood_effect *effect, int64_t with_ns, int64_t without_ns, int count);

/* The mean of the differences, by values; 0 where there is none. */
int64_t flood_effect_ns(const struct flood_effect *effect);

#endif
