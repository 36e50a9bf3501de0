#include "posix_source.h"

#include "record.h"

#include <stdbool.h>
#include <string.h>

static uint64_t held_count(const struct record *record)
{
    uint64_t held = record->underflow + record->overflow;
    for (int i = 0; i < RECORD_BUCKETS; i++)
        held += record->buckets[i];
    return held;
}

/* The first bucket in use, or with `step` -1 the last one; -1 where none is. */
static int end_bucket(const struct record *record, int first, int step)
{
    for (int i = first; i >= 0 && i < RECORD_BUCKETS; i += step)
        if (record->buckets[i] > 0)
            return i;
    return -1;
}

/* The histogram is copied after the minimum: it may hold a smaller value, of which only the bucket
 * is known. */
static void settle_min(struct record *record)
{
    int first = end_bucket(record, 0, 1);
    int64_t least = first < 0 ? RECORD_LIMIT_NS + 1 : record_bucket_low((uint32_t)first);
    if (record->underflow > 0)
        return;
    if (record->min < least)
        record_hold(record, record->min);
    else if (first >= 0 && record->min > record_bucket_high((uint32_t)first))
        record->min = least;
}

/* A second that began after their number was copied is among them. A value that the probe could not
 * enter any more belongs to the last one. */
static void settle_maxima(struct record *record)
{
    int64_t largest = RECORD_NO_MAXIMUM;
    for (uint32_t i = 0; i < record->maxima_capacity; i++) {
        if (record->maxima[i] == RECORD_NO_MAXIMUM)
            continue;
        if (record->maxima[i] > largest)
            largest = record->maxima[i];
        if (i >= record->maxima_used)
            record->maxima_used = i + 1;
    }
    if (record->max > largest)
        record->maxima[record->maxima_used - 1] = record->max;
    else
        record->max = largest;
}

/* The maxima are copied last: they have what the histogram has, exactly; what they have above it
 * was measured too. */
static void settle_max(struct record *record)
{
    int last = end_bucket(record, RECORD_BUCKETS - 1, -1);
    int64_t most = last < 0 ? -1 : record_bucket_high((uint32_t)last);
    settle_maxima(record);
    if (record->overflow == 0 && record->max > most)
        record_hold(record, record->max);
}

/* Without the times of the worst: one of them came later, or was moved when it was copied. */
static void settle_worst(struct record *record)
{
    bool is_whole = record->worst[0].value_ns == record->max;
    for (uint32_t i = 1; i < record->worst_count; i++)
        is_whole = is_whole && record->worst[i - 1].value_ns >= record->worst[i].value_ns &&
                   record->worst[i - 1].index != record->worst[i].index;
    if (!is_whole)
        record->worst_count = 0;
}

static void make_empty(struct record *record)
{
    record->count = record->underflow = record->overflow = 0;
    record->worst_count = 0;
    memset(record->buckets, 0, sizeof record->buckets);
}

uint64_t record_settle(struct record *record)
{
    uint64_t counted = record->count, held = held_count(record);
    if (counted > held + 1)
        return 0;
    if (counted == 0 || held == 0) {
        make_empty(record);
        return 0;
    }
    record->count = held;
    settle_min(record);
    settle_max(record);
    settle_worst(record);
    record->summed_count = counted;
    return record->count > counted + 1 ? record->count - counted : 0;
}
