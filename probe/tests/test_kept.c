/* The compact form of a record: it reads back as written, whatever the room; damaged, cut or
 * forged ones are refused or harmless. */
#include "base/posix_source.h"

#include "record/kept.h"
#include "same_record.h"
#include "tap.h"

enum { ROUNDS = 200, MOST_VALUES = 4000, SHAPES = 7, FORGERIES = 20000 };

#define SECOND_NS INT64_C(1000000000)

static const struct record_shape shapes[SHAPES] = {
    {0, 0}, {0, 5}, {0, 1}, {1023, 4}, {1, 1}, {100000000, 7}, {RECORD_LIMIT_NS, RECORD_SUB_BITS}};

static struct record *new_record(const struct record_shape *shape, int64_t duration_ns)
{
    size_t bytes = record_size(shape, duration_ns);
    struct record *record = memset(tap_memory(bytes), 0xa5, bytes);
    record_init(record, shape, duration_ns);
    return record;
}

/* Of sizes up to 2^(64 - shift), some negative; times with gaps, beyond the duration too. */
static void record_some(struct record *record, int count, uint64_t *state)
{
    unsigned shift = 12 + (unsigned)(tap_random(state) % 48);
    int64_t at_ns = (int64_t)(tap_random(state) % 64) * SECOND_NS;
    uint64_t step_ns = UINT64_C(1) << (16 + tap_random(state) % 16);
    for (int i = 0; i < count; i++) {
        int64_t value = (int64_t)(tap_random(state) >> (shift + tap_random(state) % 4));
        at_ns += (int64_t)(tap_random(state) % step_ns);
        record_value(record, tap_random(state) % 64 ? value : -value, at_ns);
    }
}

static int draw_count(uint64_t *state)
{
    return (int)(tap_random(state) % (tap_random(state) % 2 ? 40 : MOST_VALUES));
}

/* In memory of just its length, so that a sanitizer sees what is written or read behind it. */
static char *new_entry(const struct record *record, uint32_t series, size_t *bytes)
{
    size_t room = KEPT_LEAST_BYTES + record_size(NULL, INT64_MAX) * 2;
    char *wide = malloc(room);
    if (!wide)
        abort();
    *bytes = kept_write(wide, room, record, series);
    char *entry = memcpy(tap_memory(*bytes), wide, *bytes);
    free(wide);
    return entry;
}

/* ---- round trips ---- */

/* Written, read into a record of shape `to`, and both go on. */
static void check_round_trip(const struct record_shape *from, const struct record_shape *to,
                             uint64_t *state)
{
    struct record *record = new_record(from, 50 * SECOND_NS);
    struct record *again = new_record(to, 50 * SECOND_NS);
    size_t bytes;
    uint32_t series = 0;
    record_some(record, draw_count(state), state);
    char *entry = new_entry(record, 7, &bytes);
    CHECK(bytes % 8 == 0);
    CHECK(kept_find(entry, bytes, &series) == bytes && series == 7);
    CHECK(kept_count(entry) == record->count && !kept_is_coarser(entry, record));
    if (CHECK(kept_fits(entry, again)))
        kept_read(entry, again);
    CHECK(is_same_record(record, again));
    CHECK(again->owner == 0 && !record_is_moving(again));
    int64_t end_ns = record->maxima_end_ns;
    for (int i = 0; i < 200; i++) {
        record_value(record, i * 1000, end_ns + i * SECOND_NS);
        record_value(again, i * 1000, end_ns + i * SECOND_NS);
    }
    CHECK(is_same_record(record, again));
}

TEST(round_trips)
{
    uint64_t state = 3;
    for (int i = 0; i < ROUNDS; i++) {
        check_round_trip(&shapes[i % SHAPES], &shapes[i % SHAPES], &state);
        check_round_trip(&shapes[i % SHAPES], NULL, &state);
        tap_free_memory();
    }
}

static void check_read_back(const struct record *record)
{
    struct record *again = new_record(NULL, 0);
    size_t bytes;
    char *entry = new_entry(record, 0, &bytes);
    if (CHECK(kept_fits(entry, again)))
        kept_read(entry, again);
    CHECK_SAME(kept_count(entry), record->count);
    CHECK(is_same_record(record, again));
}

TEST(counts_of_any_size)
{
    struct record *record = new_record(NULL, 0);
    check_read_back(record);
    for (unsigned i = 0; i < 64; i++)
        record->buckets[i * 400] = UINT64_MAX >> i;
    record->buckets[record->bucket_count - 1] = UINT64_MAX;
    check_read_back(record);
}

/* An entry of a wider record is not read into a narrower one. */
TEST(another_size)
{
    struct record *record = new_record(NULL, 0), *narrow = new_record(&shapes[3], 0);
    struct record *shorter = new_record(NULL, 0), *longer = new_record(NULL, 1000 * SECOND_NS);
    size_t bytes;
    record_value(record, 1 << 20, 0);
    char *entry = new_entry(record, 0, &bytes);
    CHECK(!kept_fits(entry, narrow));
    CHECK(kept_fits(entry, longer));
    record_value(longer, 1, 500 * SECOND_NS);
    entry = new_entry(longer, 0, &bytes);
    CHECK(!kept_fits(entry, shorter));
}

/* ---- short room ---- */

static void check_coarse_histogram(const struct record *record, const struct record *coarse)
{
    uint64_t *sum = tap_memory(coarse->bucket_count * sizeof *sum);
    for (uint32_t i = 0; i < record->bucket_count; i++) {
        uint64_t low = (uint64_t)record_bucket_low(i, record->sub_bits);
        uint64_t high = (uint64_t)record_bucket_high(i, record->sub_bits);
        uint32_t place = record_bucket(low, coarse->sub_bits);
        CHECK(place == record_bucket(high, coarse->sub_bits)); /* edges are among the fine ones */
        sum[place] += record->buckets[i];
    }
    CHECK(memcmp(sum, coarse->buckets, coarse->bucket_count * sizeof *sum) == 0);
    CHECK(coarse->underflow == record->underflow && coarse->overflow == record->overflow);
    CHECK_SAME(held_by(coarse), record->count);
}

static void check_coarse_maxima(const struct record *record, const struct record *coarse)
{
    uint32_t step = (uint32_t)(coarse->maxima_interval_ns / record->maxima_interval_ns);
    CHECK(coarse->maxima_interval_ns == record->maxima_interval_ns * step);
    CHECK_SAME(coarse->maxima_used, (record->maxima_used + step - 1) / step);
    CHECK_SAME(coarse->maxima_end_ns, coarse->maxima_used * coarse->maxima_interval_ns);
    for (uint32_t i = 0; i < coarse->maxima_capacity; i++) {
        int64_t largest = RECORD_NO_MAXIMUM;
        for (uint32_t j = i * step; j < (i + 1) * step && j < record->maxima_used; j++)
            if (record_maxima_view(record)[j] > largest)
                largest = record_maxima_view(record)[j];
        CHECK_SAME(record_maxima_view(coarse)[i], largest);
    }
}

/* Sub-bucket bits with this room; 0: it was refused. */
static uint32_t check_room(const struct record *record, size_t room, int64_t duration_ns)
{
    struct record *coarse = new_record(NULL, duration_ns);
    char *entry = tap_memory(room);
    uint32_t series, sub_bits = 0;
    size_t bytes = kept_write(entry, room, record, 1);
    CHECK(bytes <= room && (bytes > 0 || room < KEPT_LEAST_BYTES));
    if (bytes > 0 && CHECK(kept_find(entry, bytes, &series) == bytes) &&
        CHECK(kept_fits(entry, coarse))) {
        kept_read(entry, coarse);
        CHECK(has_same_moments(record, coarse) && has_same_worst(record, coarse));
        check_coarse_histogram(record, coarse);
        check_coarse_maxima(record, coarse);
        sub_bits = coarse->sub_bits;
        CHECK(kept_is_coarser(entry, record) ==
              (sub_bits < record->sub_bits ||
               coarse->maxima_interval_ns > record->maxima_interval_ns));
    }
    return sub_bits;
}

TEST(any_room)
{
    uint64_t state = 8, lowered[RECORD_SUB_BITS + 1] = {0};
    for (int round = 0; round < 30; round++) {
        int64_t duration_ns = round % 3 ? 0 : 300 * SECOND_NS;
        struct record *record = new_record(&shapes[round % SHAPES], duration_ns);
        size_t bytes;
        record_some(record, MOST_VALUES, &state);
        new_entry(record, 0, &bytes);
        CHECK_SAME(check_room(record, bytes, duration_ns), record->sub_bits);
        for (int i = 0; i < 20; i++)
            lowered[check_room(record, (size_t)(tap_random(&state) % bytes), duration_ns)]++;
        lowered[check_room(record, KEPT_LEAST_BYTES, duration_ns)]++;
        tap_free_memory();
    }
    CHECK(lowered[0] > 0 && lowered[RECORD_SUB_BITS - 1] > 0 && lowered[4] > 0);
}

/* Each bucket in use, with counts of the most groups, and a maximum in each of 131072 seconds. */
TEST(the_largest_record_finds_room)
{
    for (int i = 0; i < SHAPES; i++) {
        struct record *record = new_record(&shapes[i], INT64_MAX);
        for (int value = 0; value < RECORD_WORST; value++)
            record_value(record, value, 0);
        for (uint32_t j = 0; j < record->bucket_count; j++)
            record->buckets[j] = (UINT64_MAX >> 1) / record->bucket_count;
        record->buckets[0] = UINT64_C(1) << 63;
        record->maxima_used = record->maxima_capacity - (uint32_t)i;
        for (uint32_t j = 0; j < record->maxima_used; j++)
            record_maxima(record)[j] = j;
        size_t bytes = kept_write(tap_memory(KEPT_LEAST_BYTES), KEPT_LEAST_BYTES, record, 1);
        CHECK(bytes > 0 && bytes <= KEPT_LEAST_BYTES);
    }
}

/* A month and more: intervals that are merged stay below what 64 bits hold. */
TEST(a_long_time)
{
    struct record *record = new_record(NULL, INT64_MAX), *again = new_record(NULL, INT64_MAX);
    const int64_t day_ns = 86400 * SECOND_NS;
    char *entry = tap_memory(KEPT_LEAST_BYTES);
    for (int64_t day = 0; day < 3000; day++)
        record_value(record, day, day * day_ns);
    size_t bytes = kept_write(entry, KEPT_LEAST_BYTES, record, 1);
    if (CHECK(bytes > 0 && kept_is_coarser(entry, record) && kept_fits(entry, again))) {
        kept_read(entry, again);
        CHECK(again->count == 3000 && again->max == 2999);
        CHECK(again->maxima_interval_ns * again->maxima_used > 2999 * day_ns);
    }
}

/* ---- damage ---- */

TEST(flipped_bits)
{
    struct record *record = new_record(NULL, 0);
    uint64_t state = 5;
    uint32_t series;
    size_t bytes;
    record_some(record, 300, &state);
    char *entry = new_entry(record, 3, &bytes);
    for (size_t i = 0; i < bytes * 8; i++) {
        entry[i / 8] = (char)(entry[i / 8] ^ 1 << i % 8);
        CHECK_SAME(kept_find(entry, bytes, &series), 0);
        entry[i / 8] = (char)(entry[i / 8] ^ 1 << i % 8);
    }
    CHECK_SAME(kept_find(entry, bytes, &series), bytes);
}

/* Cut short, or left where it was written so far, over zeros or over another entry. */
TEST(parts)
{
    struct record *record = new_record(NULL, 0);
    uint64_t state = 6;
    uint32_t series;
    size_t bytes, other_bytes;
    record_some(record, 300, &state);
    char *entry = new_entry(record, 3, &bytes);
    record_some(record, 300, &state);
    char *other = new_entry(record, 4, &other_bytes);
    CHECK(other_bytes >= bytes);
    size_t end = bytes; /* what is behind it is padding, of zeros as the memory is */
    while (entry[end - 1] == 0)
        end--;
    for (size_t i = 1; i < end; i++) {
        char *part = memcpy(tap_memory(i + 1), entry, i), *mixed = tap_memory(bytes);
        CHECK_SAME(kept_find(part, i, &series), 0);
        memcpy(mixed, entry, i);
        CHECK_SAME(kept_find(mixed, bytes, &series), 0);
        memcpy(mixed, other, bytes);
        memcpy(mixed, entry, i);
        CHECK(kept_find(mixed, bytes, &series) == 0 || memcmp(mixed, entry, bytes) == 0);
    }
}

TEST(no_entries)
{
    static char zeros[4096];
    uint32_t series;
    CHECK_SAME(kept_find(zeros, sizeof zeros, &series), 0);
    CHECK_SAME(kept_find(zeros, 0, &series), 0);
    memset(zeros, 0xff, sizeof zeros);
    CHECK_SAME(kept_find(zeros, sizeof zeros, &series), 0);
}

/* ---- forgery: a right checksum over any content ---- */

/* As kept.c does it: places in words, and the checksum is the third of them. */
static void seal(char *entry, size_t bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325), word = 0;
    memcpy(entry + 16, &word, sizeof word);
    for (size_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, entry + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 32;
    }
    memcpy(entry + 16, &sum, sizeof sum);
}

/* A byte, or a word of a value that is often on an edge; seldom among the first three words. */
static void forge(char *entry, size_t bytes, uint64_t *state)
{
    static const uint64_t odd[] = {0,          1,          UINT32_MAX, UINT64_MAX,
                                   INT64_MAX,  1u << 31,   0x20000001, UINT64_C(1) << 61,
                                   0xffffff7f, 0x80808080, 131072,     28672};
    size_t most = tap_random(state) % 2 ? bytes : KEPT_HEAD_BYTES + KEPT_COPY_BYTES;
    size_t at = 24 + (size_t)(tap_random(state) % (most - 32));
    uint64_t word = odd[tap_random(state) % (sizeof odd / sizeof odd[0])];
    switch (tap_random(state) % 3) {
    case 0:
        entry[at] = (char)tap_random(state);
        break;
    case 1:
        memcpy(entry + at / 4 * 4, &word, 4);
        break;
    default:
        memcpy(entry + at / 8 * 8, &word, 8);
    }
}

TEST(forged_entries)
{
    uint64_t state = 31;
    uint32_t series;
    int passed = 0, refused = 0;
    size_t bytes;
    struct record *record = new_record(&shapes[1], 0), *again = new_record(&shapes[1], 0);
    record_some(record, 500, &state);
    char *entry = new_entry(record, 3, &bytes), *forged = tap_memory(bytes);
    memcpy(forged, entry, bytes);
    seal(forged, bytes);
    CHECK(memcmp(forged, entry, bytes) == 0); /* it is the checksum */
    for (int i = 0; i < FORGERIES; i++) {
        memcpy(forged, entry, bytes);
        for (uint64_t j = tap_random(&state) % 3 + 1; j > 0; j--)
            forge(forged, bytes, &state);
        seal(forged, bytes);
        CHECK_SAME(kept_find(forged, bytes, &series), bytes);
        record_init(again, &shapes[1], 0);
        if (!kept_fits(forged, again)) {
            refused++;
            continue;
        }
        passed++;
        kept_read(forged, again);
        record_quantile(again, 0.5);
        (void)record_mean(again);
        CHECK(record_is_sound(again));
    }
    CHECK(passed > 100 && refused > 100);
}

/* More pairs than there are bytes: refused at once, not after counting to 2^32. */
TEST(more_pairs_than_bytes)
{
    struct record *record = new_record(NULL, 0);
    uint32_t many = UINT32_MAX;
    size_t bytes;
    record_value(record, 1, 0);
    char *entry = new_entry(record, 3, &bytes);
    memcpy(entry + 36, &many, sizeof many);
    seal(entry, bytes);
    CHECK(!kept_fits(entry, record));
}
