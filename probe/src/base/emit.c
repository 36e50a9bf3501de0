#include "base/posix_source.h"

#include "base/emit.h"

#include "base/console.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- UTF-8 ---- */

size_t utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80                    ? 1
                    : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                    : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                    : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0;
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return length;
}

static uint32_t code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

bool utf8_is_shown(const char *text, size_t length)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},     {0x61c, 0x61c},
                  {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                  {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    if (length == 0)
        return false;
    uint32_t code = code_point(text, length);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

void utf8_make_printable(char *text)
{
    char *to = text;
    while (*text) {
        size_t length = utf8_length(text);
        if (utf8_is_shown(text, length)) {
            memmove(to, text, length);
            to += length;
        } else {
            *to++ = '?';
        }
        text += length ? length : 1;
    }
    *to = '\0';
}

/* ---- output ---- */

void emit_open(struct emit *emit, int descriptor)
{
    emit->descriptor = descriptor;
    emit->console = NULL;
    emit->error = 0;
    emit->used = 0;
    emit->line_count = 0;
    emit->crc32 = UINT32_MAX;
    emit->last = '\n';
    emit->depth = 0;
}

int emit_flush(struct emit *emit)
{
    size_t done = 0;
    if (emit->console) {
        emit->error = console_put(emit->console, emit->buffer, emit->used);
        done = emit->used;
    }
    while (done < emit->used && emit->error == 0) {
        ssize_t written = write(emit->descriptor, emit->buffer + done, emit->used - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            emit->error = errno;
    }
    emit->used = 0;
    return emit->error;
}

/* Half a byte at a time: a table of 256 would be most of a small build's constants. */
static uint32_t crc32_of(uint32_t crc, unsigned char byte)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc = table[(crc ^ byte) & 15] ^ crc >> 4;
    return table[(crc ^ byte >> 4) & 15] ^ crc >> 4;
}

uint32_t emit_crc32_add(uint32_t crc, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        crc = crc32_of(crc, (unsigned char)bytes[i]);
    return crc;
}

uint32_t emit_crc32(const struct emit *emit)
{
    return ~emit->crc32;
}

static void put(struct emit *emit, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != '\n')
            emit->crc32 = crc32_of(emit->crc32, (unsigned char)bytes[i]);
    if (length > 0)
        emit->last = bytes[length - 1];
    while (length > 0) {
        if (emit->used == EMIT_BYTES)
            emit_flush(emit);
        size_t part = EMIT_BYTES - emit->used < length ? EMIT_BYTES - emit->used : length;
        memcpy(emit->buffer + emit->used, bytes, part);
        emit->used += part;
        bytes += part;
        length -= part;
    }
}

void emit_raw(struct emit *emit, const char *text)
{
    put(emit, text, strlen(text));
}

void emit_text(struct emit *emit, const char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        if (*text == '\n' || utf8_is_shown(text, length))
            put(emit, text, length);
        else
            put(emit, "?", 1);
        text += length ? length : 1;
    }
}

void emit_format(struct emit *emit, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    emit_text(emit, text);
}

/* No comma after an opening bracket, a separator, or a line end. */
static void comma(struct emit *emit)
{
    if (!strchr("{[:,\n", emit->last))
        put(emit, ",", 1);
}

static void begin_value(struct emit *emit)
{
    if (emit->depth > 0)
        comma(emit);
}

void emit_begin_object(struct emit *emit)
{
    begin_value(emit);
    put(emit, "{", 1);
    emit->depth++;
}

void emit_end_object(struct emit *emit)
{
    put(emit, "}", 1);
    emit->depth--;
}

void emit_begin_array(struct emit *emit)
{
    begin_value(emit);
    put(emit, "[", 1);
    emit->depth++;
}

void emit_end_array(struct emit *emit)
{
    put(emit, "]", 1);
    emit->depth--;
}

/* C0, DEL and C1, whose second byte is their code. */
static bool is_control(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    return length == 1 ? first < 0x20 || first == 0x7f
                       : first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

void emit_string(struct emit *emit, const char *text)
{
    begin_value(emit);
    put(emit, "\"", 1);
    while (*text) {
        size_t length = utf8_length(text);
        if (length == 0)
            put(emit, "?", 1);
        else if (*text == '"' || *text == '\\')
            emit_format(emit, "\\%c", *text);
        else if (is_control(text, length))
            emit_format(emit, "\\u%04x", (unsigned char)text[length - 1]);
        else
            put(emit, text, length);
        text += length ? length : 1;
    }
    put(emit, "\"", 1);
}

void emit_string_or_null(struct emit *emit, const char *text)
{
    if (text && *text)
        emit_string(emit, text);
    else
        emit_null(emit);
}

void emit_integer(struct emit *emit, int64_t value)
{
    begin_value(emit);
    emit_format(emit, "%lld", (long long)value);
}

void emit_double(struct emit *emit, double value)
{
    begin_value(emit);
    if (isfinite(value))
        emit_format(emit, "%.17g", value);
    else
        emit_raw(emit, "null");
}

void emit_bool(struct emit *emit, bool value)
{
    begin_value(emit);
    emit_raw(emit, value ? "true" : "false");
}

void emit_null(struct emit *emit)
{
    begin_value(emit);
    emit_raw(emit, "null");
}

void emit_key(struct emit *emit, const char *name)
{
    comma(emit);
    emit_string(emit, name);
    put(emit, ":", 1);
}

void emit_member_text(struct emit *emit, const char *name, const char *text)
{
    emit_key(emit, name);
    emit_string(emit, text);
}

void emit_member_text_or_null(struct emit *emit, const char *name, const char *text)
{
    emit_key(emit, name);
    emit_string_or_null(emit, text);
}

void emit_member_integer(struct emit *emit, const char *name, int64_t value)
{
    emit_key(emit, name);
    emit_integer(emit, value);
}

void emit_member_double(struct emit *emit, const char *name, double value)
{
    emit_key(emit, name);
    emit_double(emit, value);
}

void emit_member_bool(struct emit *emit, const char *name, bool value)
{
    emit_key(emit, name);
    emit_bool(emit, value);
}

void emit_member_null(struct emit *emit, const char *name)
{
    emit_key(emit, name);
    emit_null(emit);
}

void emit_member_object(struct emit *emit, const char *name)
{
    emit_key(emit, name);
    emit_begin_object(emit);
}

void emit_member_array(struct emit *emit, const char *name)
{
    emit_key(emit, name);
    emit_begin_array(emit);
}

void emit_line(struct emit *emit)
{
    put(emit, "\n", 1);
    emit->line_count++;
}
