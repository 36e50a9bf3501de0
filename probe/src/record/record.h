/* One distribution: exact extremes and moments, a log-linear histogram, the worst
 * values with their times, and the maximum of each second.
 *
 * A record lives in memory that was sized, allocated and touched before; recording
 * cannot fail, allocates nothing, divides nothing and uses no floating point. What
 * does not fit the histogram is counted: buckets + underflow + overflow = count.
 *
 * Histogram: a bucket is at most 2^-sub_bits of its value wide, from 0 to the record's limit.
 * For v < 2^sub_bits the index is v; else, with e = floor(log2 v) - sub_bits, it is
 * e * 2^sub_bits + (v >> e). The default of 10 bits gives three significant digits. A series states
 * its range and resolution (struct record_shape); a build for a small system sets the default with
 * HS_RECORD_SUB_BITS and the number of worst values with HS_RECORD_WORST.
 */
#ifndef HS_RECORD_RECORD_H
#define HS_RECORD_RECORD_H

#include "base/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- 128-bit sums in two 64-bit words: 32-bit targets have no 128-bit integer type ---- */

/* Two's complement: value = high * 2^64 + low. */
struct wide {
    uint64_t low;
    int64_t high;
};

static inline void wide_add(struct wide *sum, int64_t value)
{
    uint64_t low = sum->low + (uint64_t)value;
    sum->high += (value < 0 ? -1 : 0) + (low < sum->low ? 1 : 0);
    sum->low = low;
}

/* sum += value * value, for any value but INT64_MIN. */
static inline void wide_add_square(struct wide *sum, int64_t value)
{
    uint64_t size = value < 0 ? (uint64_t)-value : (uint64_t)value;
    uint64_t high = 0, low;
    if (size <= UINT32_MAX) {
        low = size * size;
    } else {
        uint64_t upper = size >> 32, lower = size & UINT32_MAX;
        uint64_t middle = upper * lower;
        low = lower * lower;
        high = upper * upper + (middle >> 31);
        uint64_t shifted = middle << 33;
        low += shifted;
        high += low < shifted ? 1 : 0;
    }
    sum->low += low;
    sum->high += (int64_t)high + (sum->low < low ? 1 : 0);
}

static inline void wide_subtract(struct wide *from, const struct wide *what)
{
    from->high -= what->high + (from->low < what->low ? 1 : 0);
    from->low -= what->low;
}

static inline double wide_to_double(const struct wide *sum)
{
    if (sum->high >= 0)
        return (double)sum->high * 18446744073709551616.0 + (double)sum->low;
    /* convert the magnitude: the parts of a small negative sum would cancel down to rounding */
    uint64_t low = ~sum->low + 1;
    uint64_t high = ~(uint64_t)sum->high + (low == 0 ? 1 : 0);
    return -((double)high * 18446744073709551616.0 + (double)low);
}

/* ---- the distribution ---- */

enum {
    RECORD_SUB_BITS = HS_RECORD_SUB_BITS, /* the finest resolution of this build */
    RECORD_TOP_BIT = 36,                  /* values up to 2^37 - 1 ns, 137 s, have a bucket */
    RECORD_BUCKETS = (RECORD_TOP_BIT - RECORD_SUB_BITS + 2) << RECORD_SUB_BITS,
    RECORD_WORST = HS_RECORD_WORST,
};

#define RECORD_LIMIT_NS ((INT64_C(1) << (RECORD_TOP_BIT + 1)) - 1)
#define RECORD_NO_MAXIMUM INT64_MIN

/* Range and resolution of what is recorded. A member of 0, and NULL for a shape, stand for the
 * build's default: RECORD_SUB_BITS, RECORD_LIMIT_NS. */
struct record_shape {
    int64_t most;      /* largest value that needs a bucket; the limit is the next 2^n - 1 */
    uint32_t sub_bits; /* 1 to RECORD_SUB_BITS; more is taken as RECORD_SUB_BITS */
};

/* Of counts: each up to 256 has its bucket. */
#define RECORD_SHAPE_COUNT                                                                         \
    {                                                                                              \
        .sub_bits = 7                                                                              \
    }

/* Values that are possible, both ends included: one outside of them is wrong whatever the system
 * does. A zeroed range: from 0 on, and a time that is no formula is no longer than the measurement.
 */
struct record_range {
    int64_t least, most; /* most 0: as in a zeroed range */
};
#define RECORD_NO_LEAST INT64_MIN
#define RECORD_NO_MOST INT64_MAX

/* Whether values are times between two stamps. `derived`: NULL or empty without a formula. */
static inline bool record_is_timed(const char *unit, const char *derived)
{
    return unit[0] == 'n' && unit[1] == 's' && unit[2] == '\0' && (!derived || !derived[0]);
}

struct record_worst {
    int64_t value_ns;
    int64_t at_ns;  /* since the start of the measurement */
    uint64_t index; /* sample number, from 0 */
};

/* The members are in the order in which a copy reads them. Seqlock style for changes of several
 * steps: a copy reads `done` before the data and `begun` after it; unequal means a torn copy. */
struct record {
    _Atomic uint64_t moves_done;    /* moves from one series to another; begun: after the maxima */
    _Atomic uint64_t halvings_done; /* halvings of the maxima; begun: after them */
    _Atomic uint64_t worst_done;
    uint64_t owner; /* number of the series + 1; 0: none yet */
    uint32_t bucket_count, maxima_capacity;
    uint64_t halved; /* steps of the halving under way */
    uint32_t sub_bits,
        maxima_used; /* the compact form has a copy of the members from here to `worst` */
    int64_t limit;   /* largest value that has a bucket */
    uint64_t count, underflow, overflow;
    int64_t min, max;
    int64_t shift; /* the first value: moments are taken about it to avoid cancellation */
    struct wide sum, sum_of_squares; /* of value - shift */
    uint64_t is_recovered; /* count of the values in the two moments that follow: see recovery.h */
    double recovered_mean, recovered_stddev;
    uint64_t stopped_count; /* taken out, or never put in, because of a stop (arena.h) ... */
    int64_t stopped_worst;  /* ... and the largest of them */
    int64_t maxima_interval_ns, maxima_end_ns;
    int64_t worst_floor; /* only a value above it enters `worst` */
    uint64_t worst_count;
    struct record_worst worst[RECORD_WORST]; /* largest first */
    _Atomic uint64_t worst_begun;
    uint64_t buckets[]; /* bucket_count; then the maxima, then halvings begun and moves begun */
};

/* maxima_capacity of them, of maxima_used intervals (during a halving one is the current maximum);
 * RECORD_NO_MAXIMUM where none came. */
static inline int64_t *record_maxima(struct record *record)
{
    return (int64_t *)&record->buckets[record->bucket_count];
}

static inline const int64_t *record_maxima_view(const struct record *record)
{
    return (const int64_t *)&record->buckets[record->bucket_count];
}

/* Bytes that a record for a measurement of about `duration_ns` takes. */
size_t record_size(const struct record_shape *shape, int64_t duration_ns);

/* Makes memory of record_size(shape, duration_ns) bytes an empty record that belongs to no series.
 */
void record_init(struct record *record, const struct record_shape *shape, int64_t duration_ns);

/* A move to the series of number `series`: record_move_begin empties the record, whose size must be
 * enough for the shape; record_move_end gives it to the series. After a kill or in a copy between
 * the two calls, the record counts as moving and is empty. */
void record_move_begin(struct record *record, const struct record_shape *shape);
void record_move_end(struct record *record, uint32_t series);

/* Whether the record was left or copied during a move. */
bool record_is_moving(const struct record *record);

/* Whether a record that was read from a file has the size of one of this shape and duration. Check
 * this first. */
bool record_is_sized(const struct record *record, const struct record_shape *shape,
                     int64_t duration_ns);

/* Whether its offsets and counts stay inside that size. Do not call it while the record is moving.
 */
bool record_is_sound(const struct record *record);

/* Index of the bucket of `value` at a resolution. */
static inline uint32_t record_bucket(uint64_t value, uint32_t sub_bits)
{
    if (value < (UINT64_C(1) << sub_bits))
        return (uint32_t)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - sub_bits;
    return (shift << sub_bits) + (uint32_t)(value >> shift);
}

/* Smallest value of bucket `index`. */
int64_t record_bucket_low(uint32_t index, uint32_t sub_bits);

/* Largest value of it. */
static inline int64_t record_bucket_high(uint32_t index, uint32_t sub_bits)
{
    return record_bucket_low(index + 1, sub_bits) - 1;
}

/* Copies the worst values and the owner (see struct record) of a record that another thread may
 * write to. Returns their number; -1: it was written to at each of a few tries. */
int record_copy_worst(const struct record *record, struct record_worst worst[RECORD_WORST],
                      uint64_t *owner);

/* Copies a record that another thread may write to into one of the same size, in the order of its
 * parts, which record_recover relies on. */
void record_copy(struct record *to, const struct record *from);

/* Whether no value came since the copy began. */
bool record_is_as_copied(const struct record *copy, const struct record *from);

/* The rare cases of record_value. */
void record_keep_worst(struct record *record, int64_t value, int64_t at_ns);
void record_advance_maxima(struct record *record, int64_t at_ns);

/* Completes a halving of the maxima. To be called by the thread that records, or when none does any
 * more, before the maxima are read; a copy that was taken during one is recovered (recovery.h). */
void record_settle(struct record *record);

/* Takes the value worst[place] out of all figures, and counts it as stopped. The maximum is then
 * exact while `worst` has another value, else an upper bound within the resolution; its second
 * keeps what `worst` has of it. To be called as record_settle. */
void record_take_out(struct record *record, uint64_t place);

/* Counts values that were kept out before they were recorded. */
void record_count_stopped(struct record *record, uint64_t count, int64_t worst);

/* The count and the histogram alone. */
static inline void record_hold(struct record *record, int64_t value)
{
    record->count++;
    if (value < 0)
        record->underflow++;
    else if (value > record->limit)
        record->overflow++;
    else
        record->buckets[record_bucket((uint64_t)value, record->sub_bits)]++;
}

/* Records `value` (ns; negative: counted as underflow), which occurred `at_ns` after the start.
 * From one call to the next at_ns must not decrease by more than an interval. */
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
    int64_t *maximum = record_maxima(record) + record->maxima_used - 1;
    if (value > *maximum)
        *maximum = value;
    wide_add(&record->sum, value - record->shift);
    wide_add_square(&record->sum_of_squares, value - record->shift);
    record_hold(record, value);
}

/* Exact mean, unless recovered; 0 when empty. */
double record_mean(const struct record *record);

/* Sample standard deviation (n - 1); 0 for fewer than two values. */
double record_stddev(const struct record *record);

/* Upper edge of the bucket that holds the `q`-quantile (0 < q <= 1), clipped to the
 * maximum; for people at a terminal (the toolkit computes its own intervals). */
int64_t record_quantile(const struct record *record, double q);

#endif
