/* The only writer of standard output. */
#ifndef HS_EMIT_H
#define HS_EMIT_H

#include <stddef.h>
#include <stdint.h>

enum { EMIT_BYTES = 16384 };

struct emit {
    int descriptor;
    int error; /* errno of the first write that failed; what follows is dropped */
    size_t used;
    uint64_t line_count;
    char buffer[EMIT_BYTES];
};

void emit_open(struct emit *emit, int descriptor);

/* Appends text as it is. */
void emit_raw(struct emit *emit, const char *text);
void emit_format(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string: quoted, escaped; bytes that are not UTF-8 become '?'. */
void emit_string(struct emit *emit, const char *text);
/* The same, or null for NULL and for an empty text. */
void emit_string_or_null(struct emit *emit, const char *text);
void emit_integer(struct emit *emit, int64_t value);
/* A JSON number that reads back as the same double; null for what JSON has no word for. */
void emit_double(struct emit *emit, double value);

/* "name": with the comma that belongs before it; `is_first` without. */
void emit_key(struct emit *emit, const char *name, int is_first);

/* Ends a line and counts it. */
void emit_line(struct emit *emit);

/* Writes out what is buffered: 0 or errno. */
int emit_flush(struct emit *emit);

#endif
