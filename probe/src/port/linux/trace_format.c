#include "port/linux/trace_format.h"

#include <stdlib.h>
#include <string.h>

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
