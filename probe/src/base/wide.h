/* 128-bit sums in two 64-bit words: 32-bit targets have no 128-bit integer type. */
#ifndef HS_BASE_WIDE_H
#define HS_BASE_WIDE_H

#include <stdint.h>

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

#endif
