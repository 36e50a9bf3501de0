/* Named values that a program reads beside a text for people: the `data` of an event. A key says
 * the unit of its value (`_ns`, `_count`, `_cpu`).
 *
 *     DATA(data_text("element", name), data_integer("missed_count", missed))
 *
 * Packed, they take a fixed room without pointers, so that they outlive the process in a file. */
#ifndef HS_BASE_DATA_H
#define HS_BASE_DATA_H

#include "base/emit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum datum_kind { DATUM_INTEGER, DATUM_NUMBER, DATUM_BOOL, DATUM_TEXT, DATUM_TEXTS };

struct datum {
    const char *key; /* NULL: the end of a list of data */
    enum datum_kind kind;
    union {
        int64_t integer;
        double number;
        bool is_true;
        const char *text;
        const char *const *texts;
    } value;
    int count; /* of texts */
};

/* The data of one event; NO_DATA where it has none. */
#define DATA(...) ((const struct datum[]){__VA_ARGS__, {.key = NULL}})
#define NO_DATA ((const struct datum *)NULL)

static inline struct datum data_integer(const char *key, int64_t value)
{
    return (struct datum){.key = key, .kind = DATUM_INTEGER, .value.integer = value};
}

static inline struct datum data_number(const char *key, double value)
{
    return (struct datum){.key = key, .kind = DATUM_NUMBER, .value.number = value};
}

static inline struct datum data_bool(const char *key, bool value)
{
    return (struct datum){.key = key, .kind = DATUM_BOOL, .value.is_true = value};
}

static inline struct datum data_text(const char *key, const char *text)
{
    return (struct datum){.key = key, .kind = DATUM_TEXT, .value.text = text};
}

/* A datum that is left out, for a value that is only sometimes known. */
static inline struct datum data_none(void)
{
    return (struct datum){.key = "", .kind = DATUM_TEXTS};
}

/* A list of `count` texts, none of them empty. */
static inline struct datum data_texts(const char *key, const char *const *texts, int count)
{
    return (struct datum){.key = key, .kind = DATUM_TEXTS, .value.texts = texts, .count = count};
}

/* Copies `data` into `room`. What does not fit is left out, and counted there. */
void data_pack(char *room, size_t bytes, const struct datum *data);

/* Writes packed data as a JSON object; `data_dropped_count` tells how many did not fit. A damaged
 * room gives what comes before the damage. */
void data_emit(struct emit *emit, const char *room, size_t bytes);

/* What to type: the text `command` of data that are not packed; NULL: none. */
const char *data_command(const struct datum *data);

/* The text with this key in packed data; NULL: there is none. */
const char *data_find_text(const char *room, size_t bytes, const char *key);

#endif
