#include "base/posix_source.h"

#include "record/record.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

enum {
    MAXIMA_LEAST = 64,
    MAXIMA_MOST = 131072,
    TAIL_COUNTERS = 2,
    HALVING_STEPS = 64, /* for each value; a few microseconds from cold memory */
};

_Static_assert(RECORD_SUB_BITS >= 1 && RECORD_SUB_BITS <= 20, "a layout that the toolkit reads");
_Static_assert(RECORD_WORST >= 1, "the list of the worst has a place");

static uint32_t maxima_capacity(int64_t duration_ns)
{
    int64_t seconds = duration_ns / SECOND_NS + 4; /* two stay free: see maxima_most */
    if (seconds < MAXIMA_LEAST)
        return MAXIMA_LEAST;
    return seconds > MAXIMA_MOST ? MAXIMA_MOST
                                 : ((uint32_t)seconds + 1) & ~1u; /* even: see halve */
}

/* As many intervals have a place, an even number; the next place has the maximum of the time during
 * a halving. */
static uint32_t maxima_most(const struct record *record)
{
    return record->maxima_capacity - 2;
}

static uint32_t sub_bits_of(const struct record_shape *shape)
{
    bool is_given = shape && shape->sub_bits > 0 && shape->sub_bits < RECORD_SUB_BITS;
    return is_given ? shape->sub_bits : RECORD_SUB_BITS;
}

static int64_t limit_of(const struct record_shape *shape)
{
    if (!shape || shape->most <= 0 || shape->most > RECORD_LIMIT_NS)
        return RECORD_LIMIT_NS;
    unsigned bits = 64u - (unsigned)__builtin_clzll((uint64_t)shape->most);
    unsigned least = sub_bits_of(shape) + 1;
    return (INT64_C(1) << (bits > least ? bits : least)) - 1;
}

static uint32_t bucket_count_of(const struct record_shape *shape)
{
    return record_bucket((uint64_t)limit_of(shape), sub_bits_of(shape)) + 1;
}

size_t record_size(const struct record_shape *shape, int64_t duration_ns)
{
    return sizeof(struct record) +
           (bucket_count_of(shape) + maxima_capacity(duration_ns) + TAIL_COUNTERS) *
               sizeof(uint64_t);
}

bool record_is_sized(const struct record *record, const struct record_shape *shape,
                     int64_t duration_ns)
{
    return record->bucket_count == bucket_count_of(shape) &&
           record->maxima_capacity == maxima_capacity(duration_ns);
}

bool record_is_sound(const struct record *record)
{
    return record->sub_bits >= 1 && record->sub_bits <= RECORD_SUB_BITS && record->limit >= 1 &&
           record->limit <= RECORD_LIMIT_NS &&
           record_bucket((uint64_t)record->limit, record->sub_bits) < record->bucket_count &&
           record->maxima_used >= 1 && record->maxima_used <= record->maxima_capacity &&
           record->maxima_interval_ns >= 1 &&
           record->maxima_interval_ns <= INT64_MAX / record->maxima_used &&
           record->worst_count <= RECORD_WORST;
}

static _Atomic uint64_t *halvings_begun(struct record *record)
{
    return (_Atomic uint64_t *)&record_maxima(record)[record->maxima_capacity];
}

static _Atomic uint64_t *moves_begun(struct record *record)
{
    return halvings_begun(record) + 1;
}

bool record_is_moving(const struct record *record)
{
    uint64_t begun = (uint64_t)record_maxima_view(record)[record->maxima_capacity + 1];
    return record->moves_done != begun;
}

static uint64_t changes(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire);
}

/* volatile: each value is read once, here; not checked for races, since a torn copy is dropped. */
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
__attribute__((no_sanitize("thread")))
#endif
static int
try_to_copy(const struct record *record, struct record_worst worst[RECORD_WORST], uint64_t *owner)
{
    const volatile struct record *from = record;
    const _Atomic uint64_t *moves =
        (const _Atomic uint64_t *)&record_maxima_view(record)[record->maxima_capacity + 1];
    uint64_t moves_done = changes(&record->moves_done), done = changes(&record->worst_done);
    uint64_t count = from->worst_count;
    *owner = from->owner;
    count = count < RECORD_WORST ? count : RECORD_WORST;
    for (uint64_t i = 0; i < count; i++) {
        worst[i].value_ns = from->worst[i].value_ns;
        worst[i].at_ns = from->worst[i].at_ns;
        worst[i].index = from->worst[i].index;
    }
    atomic_thread_fence(memory_order_acquire);
    bool is_whole = changes(moves) == moves_done && changes(&record->worst_begun) == done;
    return is_whole ? (int)count : -1;
}

int record_copy_worst(const struct record *record, struct record_worst worst[RECORD_WORST],
                      uint64_t *owner)
{
    enum { TRIES = 16 };
    int count = -1;
    for (int i = 0; i < TRIES && count < 0; i++)
        count = try_to_copy(record, worst, owner);
    return count;
}

/* volatile, and not checked for races: as try_to_copy. A word after the other, since memcpy may
 * take any order. */
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
__attribute__((no_sanitize("thread")))
#endif
static void
copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *word = to;
    const volatile uint64_t *at = from;
    for (size_t i = 0; i < bytes / sizeof *word; i++)
        word[i] = at[i];
    atomic_thread_fence(memory_order_acquire);
}

void record_copy(struct record *to, const struct record *from)
{
    copy_words(to, from, sizeof *from);
    copy_words(to->buckets, from->buckets, from->bucket_count * sizeof from->buckets[0]);
    copy_words(record_maxima(to), record_maxima_view(from),
               (from->maxima_capacity + TAIL_COUNTERS) * sizeof(uint64_t));
}

#if defined(__SANITIZE_THREAD__) || defined(__clang__)
__attribute__((no_sanitize("thread")))
#endif
bool
record_is_as_copied(const struct record *copy, const struct record *from)
{
    return ((const volatile struct record *)from)->count == copy->count;
}

static void make_empty(struct record *record, const struct record_shape *shape)
{
    record->sub_bits = sub_bits_of(shape);
    record->limit = limit_of(shape);
    record->count = record->underflow = record->overflow = 0;
    record->min = INT64_MAX;
    record->max = INT64_MIN;
    record->shift = 0;
    record->sum = record->sum_of_squares = (struct wide){0, 0};
    record->is_recovered = 0;
    record->maxima_interval_ns = SECOND_NS;
    record->maxima_end_ns = SECOND_NS;
    record->maxima_used = 1;
    record->worst_floor = INT64_MIN;
    record->worst_count = 0;
    record->stopped_count = 0;
    record->stopped_worst = INT64_MIN;
    memset(record->buckets, 0, record->bucket_count * sizeof record->buckets[0]);
    for (uint32_t i = 0; i < record->maxima_capacity; i++)
        record_maxima(record)[i] = RECORD_NO_MAXIMUM;
}

void record_init(struct record *record, const struct record_shape *shape, int64_t duration_ns)
{
    memset(record, 0, sizeof *record);
    record->bucket_count = bucket_count_of(shape);
    record->maxima_capacity = maxima_capacity(duration_ns);
    make_empty(record, shape);
    for (int i = 0; i < TAIL_COUNTERS; i++)
        atomic_store(halvings_begun(record) + i, 0);
}

int64_t record_bucket_low(uint32_t index, uint32_t sub_bits)
{
    uint32_t group = index >> sub_bits;
    if (group < 2)
        return index;
    uint32_t shift = group - 1;
    return (int64_t)(index - (shift << sub_bits)) << shift;
}

/* Seqlock style: `begun` counts up before a change of several steps, `done` after it. */
static void begin_change(_Atomic uint64_t *begun)
{
    atomic_fetch_add(begun, 1);
}

static void end_change(_Atomic uint64_t *done)
{
    atomic_fetch_add(done, 1);
}

void record_move_begin(struct record *record, const struct record_shape *shape)
{
    begin_change(moves_begun(record));
    record->owner = 0;
    make_empty(record, shape);
}

void record_move_end(struct record *record, uint32_t series)
{
    record->owner = (uint64_t)series + 1;
    end_change(&record->moves_done);
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

/* ---- halving: doubles the interval when the array is full ----
 *
 * Constant memory for any duration. A few steps with each value: all at once they would take as
 * long as a wake-up, and make the next one late. Meanwhile the limit of the current interval lies
 * in the past, so that each value comes here. */

static bool is_halving(const struct record *record)
{
    return record->maxima_used > maxima_most(record);
}

static void begin_halving(struct record *record)
{
    begin_change(halvings_begun(record));
    record->halved = 0;
    record->maxima_used = maxima_most(record) + 1;
    record->maxima_end_ns = INT64_MIN;
}

/* First pairs of maxima become one, then the places behind them become empty. */
static void halve_some(struct record *record, uint32_t steps)
{
    uint32_t most = maxima_most(record), half = most / 2;
    int64_t *maxima = record_maxima(record);
    for (; steps > 0 && record->halved < most; steps--, record->halved++) {
        uint64_t i = record->halved;
        if (i >= half) {
            maxima[i] = RECORD_NO_MAXIMUM;
            continue;
        }
        int64_t first = maxima[2 * i], second = maxima[2 * i + 1];
        maxima[i] = first > second ? first : second;
    }
}

static void end_halving(struct record *record)
{
    uint32_t most = maxima_most(record), half = most / 2;
    int64_t *maxima = record_maxima(record);
    maxima[half] = maxima[most];
    maxima[most] = RECORD_NO_MAXIMUM;
    record->maxima_used = half + 1;
    record->maxima_interval_ns *= 2;
    record->maxima_end_ns = record->maxima_interval_ns * record->maxima_used;
    end_change(&record->halvings_done);
}

void record_settle(struct record *record)
{
    if (!is_halving(record))
        return;
    halve_some(record, UINT32_MAX);
    end_halving(record);
}

static void go_on_halving(struct record *record, int64_t at_ns)
{
    uint32_t most = maxima_most(record);
    int64_t next_ns = record->maxima_interval_ns * (most + 2); /* end of the doubled interval */
    halve_some(record, at_ns < next_ns ? HALVING_STEPS : UINT32_MAX);
    if (record->halved == most)
        end_halving(record);
}

void record_advance_maxima(struct record *record, int64_t at_ns)
{
    if (is_halving(record))
        go_on_halving(record, at_ns);
    while (!is_halving(record) && at_ns >= record->maxima_end_ns) {
        if (record->maxima_used == maxima_most(record)) {
            begin_halving(record);
            go_on_halving(record, at_ns);
            continue;
        }
        record->maxima_used++;
        record->maxima_end_ns += record->maxima_interval_ns;
    }
}

/* ---- values of a stop ---- */

void record_count_stopped(struct record *record, uint64_t count, int64_t worst)
{
    record->stopped_count += count;
    if (count > 0 && worst > record->stopped_worst)
        record->stopped_worst = worst;
}

/* Of what `worst` no longer has, nothing is above worst_floor. */
static int64_t bound_of_rest(const struct record *record)
{
    uint32_t used = record->bucket_count;
    while (used > 0 && record->buckets[used - 1] == 0)
        used--;
    if (used == 0 || record->overflow > 0)
        return record->worst_floor;
    int64_t high = record_bucket_high(used - 1, record->sub_bits);
    return high < record->worst_floor ? high : record->worst_floor;
}

static int64_t least_of_rest(const struct record *record, int64_t bound)
{
    uint32_t i = 0;
    if (record->worst_count == record->count)
        return record->worst[record->worst_count - 1].value_ns;
    while (record->underflow == 0 && i < record->bucket_count && record->buckets[i] == 0)
        i++;
    int64_t low = record_bucket_low(i, record->sub_bits);
    return record->underflow > 0 || low < bound ? bound : low;
}

/* Place of the maximum of a value that was recorded at `at_ns`. */
static uint32_t interval_of(const struct record *record, int64_t at_ns)
{
    int64_t place = at_ns > 0 ? at_ns / record->maxima_interval_ns : 0;
    return place < record->maxima_used ? (uint32_t)place : record->maxima_used - 1;
}

static void take_out_maximum(struct record *record, const struct record_worst *out)
{
    uint32_t place = interval_of(record, out->at_ns), last = record->maxima_used - 1;
    int64_t *maxima = record_maxima(record), largest = RECORD_NO_MAXIMUM;
    if (place < last && maxima[place] != out->value_ns)
        place++; /* recorded a little later */
    if (maxima[place] == out->value_ns) {
        maxima[place] = RECORD_NO_MAXIMUM;
        for (uint64_t i = 0; i < record->worst_count; i++)
            if (interval_of(record, record->worst[i].at_ns) == place &&
                record->worst[i].value_ns > maxima[place])
                maxima[place] = record->worst[i].value_ns;
    }
    for (uint32_t i = 0; i <= last; i++)
        largest = maxima[i] > largest ? maxima[i] : largest;
    if (record->worst_count > 0 || largest == record->max)
        return;
    bool is_in_bucket = largest >= 0 && largest <= record->limit && record->max <= record->limit &&
                        record_bucket((uint64_t)largest, record->sub_bits) ==
                            record_bucket((uint64_t)record->max, record->sub_bits);
    if (is_in_bucket)
        record->max = largest;
    else
        maxima[place] = record->max;
}

static void take_out_moments(struct record *record, int64_t value)
{
    double left = (double)record->count, count = left + 1, mean = record->recovered_mean;
    struct wide square = {0, 0};
    wide_add_square(&square, value - record->shift);
    wide_subtract(&record->sum_of_squares, &square);
    wide_add(&record->sum, record->shift - value);
    if (!record->is_recovered)
        return;
    double squares = record->recovered_stddev * record->recovered_stddev * (count - 1);
    record->recovered_mean = mean + (mean - (double)value) / left;
    squares -= ((double)value - mean) * ((double)value - record->recovered_mean);
    record->recovered_stddev = left > 1 && squares > 0 ? sqrt(squares / (left - 1)) : 0;
    record->is_recovered--;
}

static void take_out_of_histogram(struct record *record, int64_t value)
{
    record->count--;
    if (value < 0)
        record->underflow--;
    else if (value > record->limit)
        record->overflow--;
    else
        record->buckets[record_bucket((uint64_t)value, record->sub_bits)]--;
}

/* With nothing left the next value is the first one again. */
static void take_out_last(struct record *record)
{
    record->min = INT64_MAX;
    record->max = INT64_MIN;
    record->sum = record->sum_of_squares = (struct wide){0, 0};
    record->is_recovered = 0;
    record->worst_floor = INT64_MIN;
    for (uint32_t i = 0; i < record->maxima_used; i++)
        record_maxima(record)[i] = RECORD_NO_MAXIMUM;
}

void record_take_out(struct record *record, uint64_t place)
{
    const struct record_worst out = record->worst[place];
    record_settle(record);
    begin_change(&record->worst_begun);
    record->worst_count--;
    for (uint64_t i = place; i < record->worst_count; i++)
        record->worst[i] = record->worst[i + 1];
    end_change(&record->worst_done);
    take_out_of_histogram(record, out.value_ns);
    record_count_stopped(record, 1, out.value_ns);
    if (record->count == 0) {
        take_out_last(record);
        return;
    }
    take_out_moments(record, out.value_ns);
    record->max = record->worst_count > 0 ? record->worst[0].value_ns : bound_of_rest(record);
    if (out.value_ns == record->min)
        record->min = least_of_rest(record, out.value_ns);
    take_out_maximum(record, &out);
}

double record_mean(const struct record *record)
{
    if (record->count == 0)
        return 0;
    if (record->is_recovered)
        return record->recovered_mean;
    return (double)record->shift + wide_to_double(&record->sum) / (double)record->count;
}

double record_stddev(const struct record *record)
{
    if (record->count < 2)
        return 0;
    if (record->is_recovered)
        return record->recovered_stddev;
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
    for (uint32_t i = 0; i < record->bucket_count; i++) {
        seen += record->buckets[i];
        if (seen < rank)
            continue;
        int64_t high = record_bucket_high(i, record->sub_bits);
        return high < record->max ? high : record->max;
    }
    return record->max;
}
