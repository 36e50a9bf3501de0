#include "base/posix_source.h"

#include "record/kept.h"

#include <string.h>

#define MAGIC UINT64_C(0x6864737472657469)
#define COPY_BEGIN offsetof(struct record, sub_bits)

enum { GROUP_BITS = 7 };

struct head {
    uint64_t magic, bytes, checksum;
    uint32_t series, maxima_first, maxima_count, bucket_count;
};

_Static_assert(sizeof(struct head) == KEPT_HEAD_BYTES, "the head of an entry has its room");
_Static_assert(KEPT_COPY_BYTES % 8 == 0, "entries are made of whole words");
_Static_assert(KEPT_LOWEST_BUCKETS <= 0x80, "at the lowest resolution a distance is one group");

/* ---- writing ---- */

/* Leaves out what does not fit, but counts its bytes. */
struct writer {
    unsigned char *to;
    size_t used, room;
};

static void put(struct writer *writer, const void *from, size_t bytes)
{
    if (writer->used <= writer->room && bytes <= writer->room - writer->used)
        memcpy(writer->to + writer->used, from, bytes);
    writer->used += bytes;
}

static void put_number(struct writer *writer, uint64_t number)
{
    unsigned char groups[10];
    size_t count = 0;
    do {
        groups[count] = (unsigned char)(number & 0x7f);
        number >>= GROUP_BITS;
        groups[count++] |= number ? 0x80 : 0;
    } while (number);
    put(writer, groups, count);
}

/* FNV-1a over whole words: an entry is a multiple of 8 long. */
static uint64_t add_to_checksum(uint64_t sum, const unsigned char *at, size_t bytes)
{
    uint64_t word;
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 32;
    }
    return sum;
}

/* Of the entry at `at`, with a checksum of 0 in its head. */
static uint64_t checksum(struct head head, const void *at)
{
    head.checksum = 0;
    uint64_t sum = add_to_checksum(UINT64_C(0xcbf29ce484222325), (const void *)&head, sizeof head);
    return add_to_checksum(sum, (const unsigned char *)at + sizeof head,
                           (size_t)head.bytes - sizeof head);
}

/* Resolution of an entry: sub-bucket bits, and the number of record intervals in one interval of
 * the entry. */
struct grain {
    uint32_t sub_bits, step;
};

static uint32_t coarse_bucket(const struct record *record, uint32_t index, uint32_t sub_bits)
{
    if (sub_bits == record->sub_bits)
        return index;
    return record_bucket((uint64_t)record_bucket_low(index, record->sub_bits), sub_bits);
}

/* Returns how many are in use. */
static uint32_t put_buckets(struct writer *writer, const struct record *record, uint32_t sub_bits)
{
    uint32_t used = 0, before = 0;
    for (uint32_t i = 0; i < record->bucket_count;) {
        if (record->buckets[i] == 0) {
            i++;
            continue;
        }
        uint32_t place = coarse_bucket(record, i, sub_bits);
        uint64_t count = 0;
        for (; i < record->bucket_count && coarse_bucket(record, i, sub_bits) == place; i++)
            count += record->buckets[i];
        put_number(writer, place - before);
        put_number(writer, count);
        before = place;
        used++;
    }
    return used;
}

static uint32_t put_maxima(struct writer *writer, const struct record *record, uint32_t first,
                           uint32_t step)
{
    const int64_t *maxima = record_maxima_view(record);
    uint32_t count = 0;
    for (uint32_t i = first; i < record->maxima_used; i += step, count++) {
        int64_t largest = RECORD_NO_MAXIMUM;
        for (uint32_t j = i; j < i + step && j < record->maxima_used; j++)
            largest = maxima[j] > largest ? maxima[j] : largest;
        put(writer, &largest, sizeof largest);
    }
    return count;
}

/* The first interval of the entry that has a maximum. */
static uint32_t first_maximum(const struct record *record, uint32_t step)
{
    uint32_t first = 0;
    while (first + 1 < record->maxima_used &&
           record_maxima_view(record)[first] == RECORD_NO_MAXIMUM)
        first++;
    return first / step;
}

/* The record's members at the resolution of the grain. */
static void put_copy(struct writer *writer, const struct record *record, const struct grain *grain)
{
    struct record copy;
    memcpy((char *)&copy + COPY_BEGIN, (const char *)record + COPY_BEGIN, KEPT_COPY_BYTES);
    copy.sub_bits = grain->sub_bits;
    copy.maxima_used = (record->maxima_used + grain->step - 1) / grain->step;
    copy.maxima_interval_ns = record->maxima_interval_ns * grain->step;
    copy.maxima_end_ns = copy.maxima_interval_ns * copy.maxima_used;
    put(writer, (const char *)&copy + COPY_BEGIN, KEPT_COPY_BYTES);
}

/* Writes as much as fits. Returns the head, with the length of the complete entry. */
static struct head put_all(void *to, size_t room, const struct record *record, uint32_t series,
                           const struct grain *grain)
{
    static const unsigned char padding[8] = {0};
    struct head head = {.magic = MAGIC, .series = series};
    struct writer writer = {to, sizeof head, room};
    put_copy(&writer, record, grain);
    put(&writer, record->worst, record->worst_count * sizeof record->worst[0]);
    head.maxima_first = first_maximum(record, grain->step);
    head.maxima_count = put_maxima(&writer, record, head.maxima_first * grain->step, grain->step);
    head.bucket_count = put_buckets(&writer, record, grain->sub_bits);
    put(&writer, padding, (size_t)-writer.used & 7);
    head.bytes = writer.used;
    return head;
}

/* Chooses the next coarser grain: reduces the part that takes more room. False after the coarsest.
 */
static bool lower(struct grain *grain, const struct head *tried, const struct record *record)
{
    size_t maxima_bytes = tried->maxima_count * sizeof(int64_t);
    size_t fixed = sizeof *tried + KEPT_COPY_BYTES + record->worst_count * sizeof record->worst[0];
    bool has_bits = grain->sub_bits > KEPT_LOWEST_BITS;
    if (tried->maxima_count > KEPT_FEW_MAXIMA &&
        (!has_bits || maxima_bytes > (size_t)tried->bytes - fixed - maxima_bytes))
        grain->step *= 2;
    else if (has_bits)
        grain->sub_bits--;
    else
        return false;
    return true;
}

size_t kept_write(void *to, size_t room, const struct record *record, uint32_t series)
{
    struct grain grain = {record->sub_bits, 1};
    struct head head = put_all(to, room, record, series, &grain);
    while (head.bytes > room) {
        if (!lower(&grain, &head, record))
            return 0;
        head = put_all(to, room, record, series, &grain);
    }
    head.checksum = checksum(head, to);
    memcpy(to, &head, sizeof head);
    return (size_t)head.bytes;
}

/* ---- reading ---- */

static struct head head_of(const void *at)
{
    struct head head;
    memcpy(&head, at, sizeof head);
    return head;
}

static struct record copy_of(const void *at)
{
    struct record copy;
    memset(&copy, 0, sizeof copy);
    memcpy((char *)&copy + COPY_BEGIN, (const char *)at + sizeof(struct head), KEPT_COPY_BYTES);
    return copy;
}

size_t kept_find(const void *at, size_t room, uint32_t *series)
{
    if (room < sizeof(struct head))
        return 0;
    struct head head = head_of(at);
    if (head.magic != MAGIC || head.bytes > room || head.bytes % 8 != 0 ||
        head.bytes < sizeof head + KEPT_COPY_BYTES || head.checksum != checksum(head, at))
        return 0;
    *series = head.series;
    return (size_t)head.bytes;
}

uint64_t kept_count(const void *at)
{
    return copy_of(at).count;
}

int kept_worst(const void *at, struct record_worst worst[RECORD_WORST])
{
    uint64_t room = head_of(at).bytes - sizeof(struct head) - KEPT_COPY_BYTES;
    uint64_t count = copy_of(at).worst_count;
    count = count < RECORD_WORST ? count : RECORD_WORST;
    if (count * sizeof worst[0] > room)
        return 0;
    memcpy(worst, (const char *)at + sizeof(struct head) + KEPT_COPY_BYTES,
           (size_t)count * sizeof worst[0]);
    return (int)count;
}

bool kept_is_coarser(const void *at, const struct record *record)
{
    struct record copy = copy_of(at);
    return copy.sub_bits < record->sub_bits || copy.maxima_interval_ns > record->maxima_interval_ns;
}

/* False if no number ends before `end`. */
static bool take_number(const unsigned char **at, const unsigned char *end, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += GROUP_BITS) {
        unsigned char group = *(*at)++;
        *number |= (uint64_t)(group & 0x7f) << shift;
        if (!(group & 0x80))
            return true;
    }
    return false;
}

/* Reads the pairs from `at` on into `buckets`, of which there are `room`. NULL: only checks that
 * they fit. */
static bool take_buckets(const struct head *head, const unsigned char *at, const unsigned char *end,
                         uint64_t *buckets, uint32_t room)
{
    uint64_t place = 0, distance, count;
    for (uint32_t i = 0; i < head->bucket_count; i++) {
        if (!take_number(&at, end, &distance) || !take_number(&at, end, &count) ||
            distance >= room - place)
            return false;
        place += distance;
        if (buckets)
            buckets[place] = count;
    }
    return true;
}

/* Offsets of the worst values, the maxima and the buckets of an entry. */
struct parts {
    const unsigned char *worst, *maxima, *buckets, *end;
};

static struct parts parts_of(const void *entry, const struct head *head, const struct record *copy)
{
    struct parts parts;
    parts.worst = (const unsigned char *)entry + sizeof *head + KEPT_COPY_BYTES;
    parts.maxima = parts.worst + copy->worst_count * sizeof copy->worst[0];
    parts.buckets = parts.maxima + head->maxima_count * sizeof(int64_t);
    parts.end = (const unsigned char *)entry + head->bytes;
    return parts;
}

/* is_sound has checked all of `copy` except the contents of its head. */
static bool has_parts(const struct head *head, const struct record *copy)
{
    uint64_t least = sizeof *head + KEPT_COPY_BYTES + copy->worst_count * sizeof copy->worst[0] +
                     (uint64_t)head->maxima_count * sizeof(int64_t);
    return (uint64_t)head->maxima_first + head->maxima_count <= copy->maxima_used &&
           head->bytes >= least;
}

bool kept_fits(const void *entry, const struct record *record)
{
    struct head head = head_of(entry);
    struct record copy = copy_of(entry);
    copy.bucket_count = record->bucket_count;
    copy.maxima_capacity = record->maxima_capacity;
    if (!record_is_sound(&copy) || !has_parts(&head, &copy))
        return false;
    struct parts parts = parts_of(entry, &head, &copy);
    uint32_t most = record_bucket(RECORD_LIMIT_NS, copy.sub_bits) + 1; /* it may be coarser */
    uint32_t room = most < record->bucket_count ? most : record->bucket_count;
    return take_buckets(&head, parts.buckets, parts.end, NULL, room);
}

void kept_read(const void *entry, struct record *record)
{
    struct head head = head_of(entry);
    memcpy((char *)record + COPY_BEGIN, (const char *)entry + sizeof head, KEPT_COPY_BYTES);
    struct parts parts = parts_of(entry, &head, record);
    memcpy(record->worst, parts.worst, record->worst_count * sizeof record->worst[0]);
    memcpy(record_maxima(record) + head.maxima_first, parts.maxima,
           head.maxima_count * sizeof(int64_t));
    take_buckets(&head, parts.buckets, parts.end, record->buckets, record->bucket_count);
}
