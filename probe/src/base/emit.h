/* The only writer of standard output. */
#ifndef HS_BASE_EMIT_H
#define HS_BASE_EMIT_H

#include "base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMIT_BYTES = HS_EMIT_BYTES };

struct console;

struct emit {
    int descriptor;
    struct console *console; /* gets the bytes instead of `descriptor`; NULL: none */
    int error;               /* errno of the first failed write; later output is dropped */
    size_t used;
    uint64_t line_count;
    uint32_t crc32; /* of all bytes but line ends, which a console may change */
    char last;      /* byte written; decides whether a comma is due */
    int depth;      /* number of open objects and arrays */
    char buffer[EMIT_BYTES];
};

/* Starts output to `descriptor` with an empty buffer. */
void emit_open(struct emit *emit, int descriptor);

/* CRC-32 (IEEE 802.3, as zlib's) of all that was appended so far, line ends left out. */
uint32_t emit_crc32(const struct emit *emit);

/* CRC-32 of more bytes: begins with UINT32_MAX, and the result is inverted at the end. */
uint32_t emit_crc32_add(uint32_t crc, const char *bytes, size_t length);

/* Appends text as is. */
void emit_raw(struct emit *emit, const char *text);

/* Append text for people. Characters that a terminal would act upon (utf8_is_shown), except line
 * ends, become '?'. emit_format truncates the text to 1023 bytes. */
void emit_text(struct emit *emit, const char *text);
void emit_format(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- JSON ----
 * Commas are automatic before keys, and before values inside an object or array that was begun
 * here: none after an opening bracket, after a key, or at the start of a line. */

void emit_begin_object(struct emit *emit);
void emit_end_object(struct emit *emit);
void emit_begin_array(struct emit *emit);
void emit_end_array(struct emit *emit);

/* A string, quoted and escaped; control characters too; invalid UTF-8 bytes become '?'. */
void emit_string(struct emit *emit, const char *text);
/* The same; null for NULL and for an empty text. */
void emit_string_or_null(struct emit *emit, const char *text);
void emit_integer(struct emit *emit, int64_t value);
/* A number that reads back as the same double; null for infinity and NaN. */
void emit_double(struct emit *emit, double value);

void emit_bool(struct emit *emit, bool value);
void emit_null(struct emit *emit);

/* Writes "name": only; the value must follow. */
void emit_key(struct emit *emit, const char *name);

/* Members: a key with its value, or with the start of an object or array. */
void emit_member_text(struct emit *emit, const char *name, const char *text);
void emit_member_text_or_null(struct emit *emit, const char *name, const char *text);
void emit_member_integer(struct emit *emit, const char *name, int64_t value);
void emit_member_double(struct emit *emit, const char *name, double value);
void emit_member_bool(struct emit *emit, const char *name, bool value);
void emit_member_null(struct emit *emit, const char *name);
void emit_member_object(struct emit *emit, const char *name);
void emit_member_array(struct emit *emit, const char *name);

/* Ends a line and counts it. */
void emit_line(struct emit *emit);

/* Writes the buffer: 0, or errno of the first write that failed since emit_open. */
int emit_flush(struct emit *emit);

/* ---- untrusted text: an argument, a damaged file, the name of a folder ---- */

/* Bytes of the character at `text`, which is not at its end; 0 if it is not valid UTF-8. */
size_t utf8_length(const char *text);

/* Whether a terminal only shows this character, of `length` bytes as above: false for invalid
 * bytes, for control characters (C0, DEL, C1), and for what is invisible, ends a line, or changes
 * the direction of the text. */
bool utf8_is_shown(const char *text, size_t length);

/* Replaces in place each invalid byte, and each character that is not shown, by '?'. */
void utf8_make_printable(char *text);

#endif
