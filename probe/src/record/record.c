#include "base/posix_source.h"

#include "record/record.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

enum { MAXIMA_LEAST = 64, MAXIMA_MOST = 131072 };

static uint32_t maxima_capacity(int64_t duration_ns)
{
    int64_t seconds = duration_ns / SECOND_NS + 2;
    if (seconds < MAXIMA_LEAST)
        return MAXIMA_LEAST;
    return seconds > MAXIMA_MOST ? MAXIMA_MOST
                                 : ((uint32_t)seconds + 1) & ~1u; /* even: see halve */
}

size_t record_size(int64_t duration_ns)
{
    return sizeof(struct record) + (maxima_capacity(duration_ns) + 1) * sizeof(int64_t);
}

void record_init(struct record *record, int64_t duration_ns)
{
    memset(record, 0, sizeof *record);
    record->min = INT64_MAX;
    record->max = INT64_MIN;
    record->worst_floor = INT64_MIN;
    record->maxima_capacity = maxima_capacity(duration_ns);
    record->maxima_interval_ns = SECOND_NS;
    record->maxima_end_ns = SECOND_NS;
    record->maxima_used = 1;
    for (uint32_t i = 0; i < record->maxima_capacity; i++)
        record->maxima[i] = RECORD_NO_MAXIMUM;
    record->maxima[record->maxima_capacity] = 0;
}

int64_t record_bucket_low(uint32_t index)
{
    uint32_t group = index >> RECORD_SUB_BITS;
    if (group < 2)
        return index;
    uint32_t shift = group - 1;
    return (int64_t)(index - (shift << RECORD_SUB_BITS)) << shift;
}

/* Around changes of several steps; nothing of them may be seen outside. */
static void begin_change(_Atomic uint64_t *begun)
{
    atomic_fetch_add(begun, 1);
}

static void end_change(_Atomic uint64_t *done)
{
    atomic_fetch_add(done, 1);
}

void record_keep_worst(struct record *record, int64_t value, int64_t at_ns)
{
    uint64_t place = record->worst_count;
    begin_change(&record->worst_begun);
    if (place < RECORD_WORST)
        record->worst_count++;
    else
        place--;
    while (place > 0 && record->worst[place - 1].value_ns < value) {
        record->worst[place] = record->worst[place - 1];
        place--;
    }
    record->worst[place] = (struct record_worst){value, at_ns, record->count};
    if (record->worst_count == RECORD_WORST)
        record->worst_floor = record->worst[RECORD_WORST - 1].value_ns;
    end_change(&record->worst_done);
}

/* Doubles the interval when the array is full: constant memory for any duration. */
static void maxima_halve(struct record *record)
{
    uint32_t half = record->maxima_capacity / 2;
    _Atomic uint64_t *begun = (_Atomic uint64_t *)&record->maxima[record->maxima_capacity];
    begin_change(begun);
    for (uint32_t i = 0; i < half; i++) {
        int64_t first = record->maxima[2 * i], second = record->maxima[2 * i + 1];
        record->maxima[i] = first > second ? first : second;
    }
    for (uint32_t i = half; i < record->maxima_capacity; i++)
        record->maxima[i] = RECORD_NO_MAXIMUM;
    record->maxima_used = half;
    record->maxima_interval_ns *= 2;
    record->maxima_end_ns = record->maxima_interval_ns * half;
    end_change(&record->halvings_done);
}

void record_advance_maxima(struct record *record, int64_t at_ns)
{
    while (at_ns >= record->maxima_end_ns) {
        if (record->maxima_used == record->maxima_capacity) {
            maxima_halve(record);
            continue;
        }
        record->maxima_used++;
        record->maxima_end_ns += record->maxima_interval_ns;
    }
}

double record_mean(const struct record *record)
{
    if (record->count == 0)
        return 0;
    if (record->is_settled)
        return record->settled_mean;
    return (double)record->shift + wide_to_double(&record->sum) / (double)record->count;
}

double record_stddev(const struct record *record)
{
    if (record->count < 2)
        return 0;
    if (record->is_settled)
        return record->settled_stddev;
    double count = (double)record->count;
    double sum = wide_to_double(&record->sum);
    double squares = wide_to_double(&record->sum_of_squares) - sum * (sum / count);
    return squares > 0 ? sqrt(squares / (count - 1)) : 0;
}

int64_t record_quantile(const struct record *record, double q)
{
    uint64_t rank = (uint64_t)ceil(q * (double)record->count);
    uint64_t seen = record->underflow;
    if (seen >= rank)
        return record->min;
    for (uint32_t i = 0; i < RECORD_BUCKETS; i++) {
        seen += record->buckets[i];
        if (seen < rank)
            continue;
        int64_t high = record_bucket_high(i);
        return high < record->max ? high : record->max;
    }
    return record->max;
}
