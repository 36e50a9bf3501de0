/* One distribution: exact extremes and moments, a log-linear histogram, the worst
 * values with their times, and the maximum of each second.
 *
 * A record lives in memory that was sized, allocated and touched before; recording
 * cannot fail, allocates nothing, divides nothing and uses no floating point. What
 * does not fit the histogram is counted: buckets + underflow + overflow = count.
 *
 * Histogram: RECORD_SUB_BITS = 10, so a bucket is at most 2^-10 of its value wide
 * (three significant digits, SPEC section 0 rule 9), from 0 to RECORD_LIMIT_NS.
 * For v < 2^10 the index is v; else, with e = floor(log2 v) - 10, it is
 * e * 2^10 + (v >> e).
 */
#ifndef HS_RECORD_H
#define HS_RECORD_H

#include "base/wide.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_SUB_BITS = 10,
    RECORD_TOP_BIT = 36, /* values up to 2^37 - 1 ns, 137 s, have a bucket */
    RECORD_BUCKETS = (RECORD_TOP_BIT - RECORD_SUB_BITS + 2) << RECORD_SUB_BITS,
    RECORD_WORST = 32,
};

#define RECORD_LIMIT_NS ((INT64_C(1) << (RECORD_TOP_BIT + 1)) - 1)
#define RECORD_NO_MAXIMUM INT64_MIN

struct record_worst {
    int64_t value_ns;
    int64_t at_ns;  /* since the start of the measurement */
    uint64_t index; /* sample number, from 0 */
};

/* In the order in which a copy of it is read. What is changed in several steps stands between two
 * counts of changes, done before and begun after it: where they differ it is of several moments. */
struct record {
    uint64_t count, underflow, overflow;
    int64_t min, max;
    int64_t shift; /* the first value: moments are taken about it, against cancellation */
    struct wide sum, sum_of_squares; /* of value - shift */
    uint64_t is_settled;             /* the moments are the two that follow: see record_settle.h */
    double settled_mean, settled_stddev;
    _Atomic uint64_t halvings_done; /* begun: after the maxima */
    uint32_t maxima_capacity, maxima_used;
    int64_t maxima_interval_ns, maxima_end_ns;
    int64_t worst_floor; /* only a value above it enters `worst` */
    _Atomic uint64_t worst_done;
    uint64_t worst_count;
    struct record_worst worst[RECORD_WORST]; /* largest first */
    _Atomic uint64_t worst_begun;
    uint64_t buckets[RECORD_BUCKETS];
    int64_t maxima[]; /* maxima_capacity of them, and halvings begun */
};

/* Bytes that a record for a measurement of about `duration_ns` takes. */
size_t record_size(int64_t duration_ns);

/* Makes zeroed memory of record_size(duration_ns) bytes an empty record. */
void record_init(struct record *record, int64_t duration_ns);

static inline uint32_t record_bucket(uint64_t value)
{
    if (value < (UINT64_C(1) << RECORD_SUB_BITS))
        return (uint32_t)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - RECORD_SUB_BITS;
    return (shift << RECORD_SUB_BITS) + (uint32_t)(value >> shift);
}

/* Smallest value of bucket `index`. */
int64_t record_bucket_low(uint32_t index);

/* Largest value of it. */
static inline int64_t record_bucket_high(uint32_t index)
{
    return record_bucket_low(index + 1) - 1;
}

/* The rare parts of record_value. */
void record_keep_worst(struct record *record, int64_t value, int64_t at_ns);
void record_advance_maxima(struct record *record, int64_t at_ns);

/* The count and the histogram alone. */
static inline void record_hold(struct record *record, int64_t value)
{
    record->count++;
    if (value < 0)
        record->underflow++;
    else if (value > RECORD_LIMIT_NS)
        record->overflow++;
    else
        record->buckets[record_bucket((uint64_t)value)]++;
}

/* Records `value` (ns, may be negative: counted as underflow) seen `at_ns` after the
 * start; at_ns must not fall from one call to the next by more than an interval. */
static inline void record_value(struct record *record, int64_t value, int64_t at_ns)
{
    if (record->count == 0)
        record->shift = value;
    if (value < record->min)
        record->min = value;
    if (value > record->max)
        record->max = value;
    if (value > record->worst_floor)
        record_keep_worst(record, value, at_ns);
    if (at_ns >= record->maxima_end_ns)
        record_advance_maxima(record, at_ns);
    if (value > record->maxima[record->maxima_used - 1])
        record->maxima[record->maxima_used - 1] = value;
    wide_add(&record->sum, value - record->shift);
    wide_add_square(&record->sum_of_squares, value - record->shift);
    record_hold(record, value);
}

/* Exact mean, unless settled; 0 when empty. */
double record_mean(const struct record *record);

/* Sample standard deviation (n - 1); 0 for fewer than two values. */
double record_stddev(const struct record *record);

/* Upper edge of the bucket that holds the `q`-quantile (0 < q <= 1), clipped to the
 * maximum; for people at a terminal (the toolkit computes its own intervals). */
int64_t record_quantile(const struct record *record, double q);

#endif
