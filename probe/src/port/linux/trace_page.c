#include "base/posix_source.h"

#include "port/linux/trace_page.h"

#include <stdlib.h>
#include <string.h>

/* ---- the text of a format ---- */

enum { MOST = 1 << 20 };

static const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

/* The number behind `key` in a line. */
static bool number_after(const char *line, const char *end, const char *key, size_t *number)
{
    const char *at = strstr(line, key);
    if (!at || at >= end)
        return false;
    char *rest;
    at += strlen(key);
    unsigned long value = strtoul(at, &rest, 10);
    *number = (size_t)value;
    return rest != at && value <= MOST;
}

bool trace_format_id(const char *text, unsigned *id)
{
    size_t number;
    for (const char *line = text; *line; line += *line == '\n') {
        const char *end = line_end(line);
        if (strncmp(line, "ID:", 3) == 0 && number_after(line, end, "ID:", &number)) {
            *id = (unsigned)number;
            return true;
        }
        line = end;
    }
    return false;
}

/* Whether the declaration before the first ';' ends in `name`, also as an array. */
static bool declares(const char *line, const char *end, const char *name)
{
    const char *declaration = strstr(line, "field:");
    if (!declaration || declaration >= end)
        return false;
    const char *stop = declaration + strcspn(declaration, ";[\n");
    size_t length = strlen(name);
    if ((size_t)(stop - declaration) <= length || strncmp(stop - length, name, length) != 0)
        return false;
    char before = stop[-(ptrdiff_t)length - 1];
    return before == ' ' || before == '*';
}

bool trace_format_field(const char *text, const char *name, struct trace_field *field)
{
    bool is_found = false;
    for (const char *line = text; *line; line += *line == '\n') {
        const char *end = line_end(line);
        size_t is_signed = 0;
        struct trace_field here = {0};
        if (declares(line, end, name) && number_after(line, end, "offset:", &here.offset) &&
            number_after(line, end, "size:", &here.bytes)) {
            here.is_signed = number_after(line, end, "signed:", &is_signed) && is_signed == 1;
            *field = here;
            is_found = true;
        }
        line = end;
    }
    return is_found;
}

bool trace_field_number(const struct trace_field *field, const uint8_t *event, size_t bytes,
                        int64_t *number)
{
    if (field->offset > bytes || field->bytes > bytes - field->offset)
        return false;
    const uint8_t *at = event + field->offset;
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    if (field->bytes == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        *number = (int64_t)wide;
    } else if (field->bytes == sizeof word) {
        memcpy(&word, at, sizeof word);
        *number = field->is_signed ? (int32_t)word : (int64_t)word;
    } else if (field->bytes == sizeof half) {
        memcpy(&half, at, sizeof half);
        *number = field->is_signed ? (int16_t)half : (int64_t)half;
    } else if (field->bytes == 1)
        *number = field->is_signed ? (int8_t)*at : (int64_t)*at;
    else
        return false;
    return true;
}

/* ---- pages ---- */

/* Types of the kernel's ring_buffer.h; below TYPE_PADDING the length of the data, in words. */
enum { TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_STAMP = 31, WORD = 4, DELTA_BITS = 27 };

#define COMMIT_MASK ((UINT64_C(1) << DELTA_BITS) - 1)
#define HAS_LOST (UINT64_C(1) << 31)
#define HAS_LOST_COUNT (UINT64_C(1) << 30)
#define STAMP_MASK ((UINT64_C(1) << 59) - 1)

bool trace_layout_parse(const char *text, struct trace_layout *layout)
{
    struct trace_field time, commit, data;
    if (!trace_format_field(text, "timestamp", &time) ||
        !trace_format_field(text, "commit", &commit) || !trace_format_field(text, "data", &data))
        return false;
    *layout = (struct trace_layout){time.offset, commit.offset, commit.bytes, data.offset,
                                    data.offset + data.bytes};
    return time.bytes == sizeof(uint64_t) && (commit.bytes == 4 || commit.bytes == 8) &&
           time.offset + time.bytes <= data.offset && commit.offset + commit.bytes <= data.offset &&
           layout->page_bytes <= TRACE_PAGE_MOST_BYTES;
}

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t number_at(const uint8_t *bytes, size_t count)
{
    uint64_t number;
    if (count == sizeof(uint32_t))
        return word_at(bytes);
    memcpy(&number, bytes, sizeof number);
    return number;
}

bool trace_page_open(struct trace_page *page, const struct trace_layout *layout,
                     const uint8_t *bytes, size_t count)
{
    memset(page, 0, sizeof *page);
    if (count < layout->data_at)
        return false;
    uint64_t commit = number_at(bytes + layout->commit_at, layout->commit_bytes);
    uint64_t length = commit & COMMIT_MASK;
    page->bytes = bytes;
    page->at = layout->data_at;
    page->end = layout->data_at;
    page->time_ns = page->first_ns = (int64_t)number_at(bytes + layout->time_at, sizeof(uint64_t));
    page->has_lost = (commit & HAS_LOST) != 0;
    page->is_damaged = length > count - layout->data_at;
    if (page->is_damaged)
        return true;
    page->end += (size_t)length;
    if (commit & HAS_LOST_COUNT && count - page->end >= layout->commit_bytes)
        page->lost_count = number_at(bytes + page->end, layout->commit_bytes);
    return true;
}

struct head {
    unsigned type;
    uint64_t delta;
};

static struct head head_at(const uint8_t *bytes)
{
    uint32_t word = word_at(bytes);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (struct head){word >> DELTA_BITS, word & COMMIT_MASK};
#else
    return (struct head){word & 31u, word >> 5};
#endif
}

static bool fail(struct trace_page *page)
{
    page->is_damaged = true;
    page->at = page->end;
    return false;
}

/* A stamp has 59 bits: the upper ones are those of the time so far. */
static int64_t whole_stamp(uint64_t stamp, int64_t before_ns)
{
    return (int64_t)(((uint64_t)before_ns & ~STAMP_MASK) | (stamp & STAMP_MASK));
}

/* What only carries time, or was discarded. `first` is the word behind the head. */
static bool skip(struct trace_page *page, struct head head, uint32_t first)
{
    size_t bytes = 2 * (size_t)WORD;
    uint64_t far = ((uint64_t)first << DELTA_BITS) + head.delta;
    if (head.type == TYPE_EXTEND)
        page->time_ns = (int64_t)((uint64_t)page->time_ns + far);
    else if (head.type == TYPE_STAMP)
        page->time_ns = whole_stamp(far, page->time_ns);
    else {
        page->time_ns = (int64_t)((uint64_t)page->time_ns + head.delta);
        bytes = (size_t)first + WORD;
    }
    if (bytes < 2 * (size_t)WORD || bytes > page->end - page->at)
        return fail(page);
    page->at += bytes;
    return true;
}

/* Length of the data, in `bytes`, of an event whose data begin `*from` bytes behind its head. */
static bool measure(const struct trace_page *page, struct head head, size_t *from, size_t *bytes)
{
    size_t left = page->end - page->at;
    *from = WORD;
    *bytes = head.type * (size_t)WORD;
    if (head.type == 0) {
        if (left < 2 * (size_t)WORD)
            return false;
        uint32_t length = word_at(page->bytes + page->at + WORD);
        if (length < WORD || length > left)
            return false;
        *from = 2 * (size_t)WORD;
        *bytes = (length - WORD + WORD - 1) / WORD * WORD;
    }
    return *from + *bytes <= left;
}

bool trace_page_next(struct trace_page *page, struct trace_entry *entry)
{
    while (page->end - page->at >= WORD) {
        struct head head = head_at(page->bytes + page->at);
        size_t from, bytes;
        if (head.type == TYPE_PADDING && head.delta == 0)
            break; /* the rest of the page is empty */
        if (head.type >= TYPE_PADDING) {
            if (page->end - page->at < 2 * (size_t)WORD)
                return fail(page);
            if (!skip(page, head, word_at(page->bytes + page->at + WORD)))
                return false;
            continue;
        }
        if (!measure(page, head, &from, &bytes))
            return fail(page);
        page->time_ns = (int64_t)((uint64_t)page->time_ns + head.delta);
        *entry = (struct trace_entry){page->time_ns, page->bytes + page->at + from, bytes};
        page->at += from + bytes;
        return true;
    }
    page->at = page->end;
    return false;
}
