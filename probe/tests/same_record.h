/* Compares two records: same series in the stream, same state for further values. */
#ifndef HS_SAME_RECORD_H
#define HS_SAME_RECORD_H

#include "record/record.h"

#include <stdbool.h>
#include <string.h>

static inline bool is_same_sum(const struct wide *left, const struct wide *right)
{
    return left->low == right->low && left->high == right->high;
}

static inline bool has_same_moments(const struct record *left, const struct record *right)
{
    double mean = record_mean(left), stddev = record_stddev(left);
    return left->count == right->count && left->min == right->min && left->max == right->max &&
           left->shift == right->shift && is_same_sum(&left->sum, &right->sum) &&
           is_same_sum(&left->sum_of_squares, &right->sum_of_squares) &&
           !(mean < record_mean(right)) && !(mean > record_mean(right)) &&
           !(stddev < record_stddev(right)) && !(stddev > record_stddev(right));
}

static inline bool has_same_worst(const struct record *left, const struct record *right)
{
    return left->worst_count == right->worst_count && left->worst_floor == right->worst_floor &&
           memcmp(left->worst, right->worst, left->worst_count * sizeof left->worst[0]) == 0;
}

static inline bool has_same_maxima(const struct record *left, const struct record *right)
{
    return left->maxima_used == right->maxima_used &&
           left->maxima_capacity == right->maxima_capacity &&
           left->maxima_interval_ns == right->maxima_interval_ns &&
           left->maxima_end_ns == right->maxima_end_ns &&
           memcmp(record_maxima_view(left), record_maxima_view(right),
                  left->maxima_capacity * sizeof(int64_t)) == 0;
}

/* Buckets beyond the smaller number of them must be empty. An empty series is read into a record
 * without a range of its own. */
static inline bool has_same_histogram(const struct record *left, const struct record *right)
{
    const struct record *wide = left->bucket_count > right->bucket_count ? left : right;
    uint32_t both = wide == left ? right->bucket_count : left->bucket_count;
    for (uint32_t i = both; i < wide->bucket_count; i++)
        if (wide->buckets[i] != 0)
            return false;
    bool has_same_limit = left->limit == right->limit || left->count + right->count == 0;
    return left->sub_bits == right->sub_bits && has_same_limit &&
           left->underflow == right->underflow && left->overflow == right->overflow &&
           memcmp(left->buckets, right->buckets, both * sizeof left->buckets[0]) == 0;
}

static inline bool is_same_record(const struct record *left, const struct record *right)
{
    return has_same_moments(left, right) && has_same_worst(left, right) &&
           has_same_maxima(left, right) && has_same_histogram(left, right);
}

/* Sum of all buckets, underflow and overflow. */
static inline uint64_t held_by(const struct record *record)
{
    uint64_t held = record->underflow + record->overflow;
    for (uint32_t i = 0; i < record->bucket_count; i++)
        held += record->buckets[i];
    return held;
}

#endif
