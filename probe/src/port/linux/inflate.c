/* Inflate (RFC 1951), for /proc/config.gz: the probe links only libc. Canonical codes are decoded
 * bit by bit; for 50 KB once per run no tables are needed. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <string.h>

enum { LONGEST = 15, SYMBOLS = 288, DISTANCES = 30, LENGTH_CODES = 19 };

struct bits {
    const unsigned char *from;
    size_t bytes, at;
    unsigned held, count;
    bool is_over; /* read past the end */
};

struct code {
    uint16_t count[LONGEST + 1];
    uint16_t symbol[SYMBOLS];
};

struct output {
    unsigned char *to;
    size_t bytes, used;
};

static unsigned take(struct bits *bits, unsigned count)
{
    while (bits->count < count) {
        bits->is_over |= bits->at >= bits->bytes;
        unsigned next = bits->is_over ? 0 : bits->from[bits->at++];
        bits->held |= next << bits->count;
        bits->count += 8;
    }
    unsigned value = bits->held & ((1u << count) - 1);
    bits->held >>= count;
    bits->count -= count;
    return value;
}

/* False: the code lengths are over-subscribed. */
static bool build(struct code *code, const unsigned char *lengths, int symbols)
{
    uint16_t place[LONGEST + 1] = {0};
    int left = 1;
    memset(code, 0, sizeof *code);
    for (int i = 0; i < symbols; i++)
        code->count[lengths[i]]++;
    code->count[0] = 0;
    for (int length = 1; length <= LONGEST; length++) {
        left = (left << 1) - code->count[length];
        if (left < 0)
            return false;
        if (length < LONGEST)
            place[length + 1] = (uint16_t)(place[length] + code->count[length]);
    }
    for (int i = 0; i < symbols; i++)
        if (lengths[i])
            code->symbol[place[lengths[i]]++] = (uint16_t)i;
    return true;
}

static int decode(struct bits *bits, const struct code *code)
{
    int value = 0, first = 0, index = 0;
    for (int length = 1; length <= LONGEST && !bits->is_over; length++) {
        value |= (int)take(bits, 1);
        int count = code->count[length];
        if (value - count < first)
            return code->symbol[index + value - first];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    return -1;
}

static bool put(struct output *output, unsigned char byte)
{
    if (output->used >= output->bytes)
        return false;
    output->to[output->used++] = byte;
    return true;
}

/* Copies a match. Base lengths and distances are sums over the extra bits of the codes below. */
static bool copy(struct bits *bits, struct output *output, int symbol, const struct code *distances)
{
    static const unsigned char length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                  2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    unsigned length = 3, distance = 1;
    if (symbol >= 29)
        return false;
    for (int i = 0; i < symbol; i++)
        length += 1u << length_bits[i];
    length = symbol == 28 ? 258 : length + take(bits, length_bits[symbol]);
    int far = decode(bits, distances);
    if (far < 0 || far >= DISTANCES)
        return false;
    for (int i = 0; i < far; i++)
        distance += 1u << (i < 2 ? 0 : i / 2 - 1);
    distance += take(bits, (unsigned)(far < 2 ? 0 : far / 2 - 1));
    if (distance > output->used)
        return false;
    for (unsigned i = 0; i < length; i++)
        if (!put(output, output->to[output->used - distance]))
            return false;
    return true;
}

static bool coded(struct bits *bits, struct output *output, const struct code *literals,
                  const struct code *distances)
{
    for (;;) {
        int symbol = decode(bits, literals);
        if (symbol == 256)
            return true;
        if (symbol < 0 || bits->is_over)
            return false;
        bool is_done = symbol < 256 ? put(output, (unsigned char)symbol)
                                    : copy(bits, output, symbol - 257, distances);
        if (!is_done)
            return false;
    }
}

static bool fixed(struct bits *bits, struct output *output)
{
    unsigned char lengths[SYMBOLS];
    struct code literals, distances;
    for (int i = 0; i < SYMBOLS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    build(&literals, lengths, SYMBOLS);
    memset(lengths, 5, DISTANCES);
    build(&distances, lengths, DISTANCES);
    return coded(bits, output, &literals, &distances);
}

/* Code lengths, run-length coded: 16 repeats the last one, 17 and 18 repeat 0. */
static bool read_lengths(struct bits *bits, const struct code *code, unsigned char *lengths,
                         int wanted)
{
    int at = 0;
    while (at < wanted) {
        int symbol = decode(bits, code);
        if (symbol < 0 || (symbol == 16 && at == 0))
            return false;
        if (symbol < 16) {
            lengths[at++] = (unsigned char)symbol;
            continue;
        }
        unsigned char value = symbol == 16 ? lengths[at - 1] : 0;
        int repeats = symbol == 16   ? 3 + (int)take(bits, 2)
                      : symbol == 17 ? 3 + (int)take(bits, 3)
                                     : 11 + (int)take(bits, 7);
        if (at + repeats > wanted)
            return false;
        while (repeats--)
            lengths[at++] = value;
    }
    return true;
}

static bool dynamic(struct bits *bits, struct output *output)
{
    static const unsigned char order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char lengths[SYMBOLS + 32] = {0};
    struct code code, distances;
    int literal_count = (int)take(bits, 5) + 257, distance_count = (int)take(bits, 5) + 1;
    int order_count = (int)take(bits, 4) + 4;
    if (literal_count > 286)
        return false;
    for (int i = 0; i < order_count; i++)
        lengths[order[i]] = (unsigned char)take(bits, 3);
    if (!build(&code, lengths, LENGTH_CODES) ||
        !read_lengths(bits, &code, lengths, literal_count + distance_count))
        return false;
    return build(&code, lengths, literal_count) &&
           build(&distances, lengths + literal_count, distance_count) &&
           coded(bits, output, &code, &distances);
}

static bool stored(struct bits *bits, struct output *output)
{
    bits->held = bits->count = 0;
    unsigned length = take(bits, 8);
    length |= take(bits, 8) << 8;
    unsigned check = take(bits, 8);
    check |= take(bits, 8) << 8;
    if ((length ^ check) != 0xffff)
        return false;
    while (length--)
        if (!put(output, (unsigned char)take(bits, 8)))
            return false;
    return !bits->is_over;
}

long linux_inflate(const unsigned char *from, size_t from_bytes, unsigned char *to, size_t to_bytes)
{
    struct bits bits = {from, from_bytes, 0, 0, 0, false};
    struct output output = {to, to_bytes, 0};
    bool is_last = false;
    while (!is_last) {
        is_last = take(&bits, 1);
        unsigned kind = take(&bits, 2);
        bool is_done = kind == 0   ? stored(&bits, &output)
                       : kind == 1 ? fixed(&bits, &output)
                       : kind == 2 ? dynamic(&bits, &output)
                                   : false;
        if (!is_done || bits.is_over)
            return -1;
    }
    return (long)output.used;
}
