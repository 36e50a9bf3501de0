#include "base/posix_source.h"

#include "base/data.h"

#include <math.h>
#include <string.h>

/* A room begins with the number of data that were dropped. Then comes, for each datum, a byte for
 * its kind, its key and its value: 8 bytes, one byte, or a text; of a list one text after another,
 * up to an empty one. A zero byte ends them. */
enum { NO_MORE, FIRST_KIND };

struct packing {
    char *room;
    size_t used, bytes;
    bool is_full;
};

/* Keeps one byte for the end. */
static void put(struct packing *packing, const void *from, size_t length)
{
    packing->is_full = packing->is_full || length + 1 > packing->bytes - packing->used;
    if (packing->is_full)
        return;
    memcpy(packing->room + packing->used, from, length);
    packing->used += length;
}

static void put_text(struct packing *packing, const char *text)
{
    put(packing, text, strlen(text) + 1);
}

static void put_value(struct packing *packing, const struct datum *datum)
{
    char is_true = datum->kind == DATUM_BOOL && datum->value.is_true ? 1 : 0;
    switch (datum->kind) {
    case DATUM_INTEGER:
        put(packing, &datum->value.integer, sizeof datum->value.integer);
        break;
    case DATUM_NUMBER:
        put(packing, &datum->value.number, sizeof datum->value.number);
        break;
    case DATUM_BOOL:
        put(packing, &is_true, 1);
        break;
    case DATUM_TEXT:
        put_text(packing, datum->value.text);
        break;
    case DATUM_TEXTS:
        for (int i = 0; i < datum->count; i++)
            put_text(packing, datum->value.texts[i]);
        put_text(packing, "");
        break;
    }
}

void data_pack(char *room, size_t bytes, const struct datum *data)
{
    struct packing packing = {.room = room, .used = 1, .bytes = bytes};
    int dropped = 0;
    for (; data && data->key; data++) {
        if (!data->key[0])
            continue;
        char kind = (char)(FIRST_KIND + (int)data->kind);
        size_t before = packing.used;
        put(&packing, &kind, 1);
        put_text(&packing, data->key);
        put_value(&packing, data);
        if (packing.is_full) {
            packing.used = before;
            packing.is_full = false;
            dropped += dropped < INT8_MAX ? 1 : 0;
        }
    }
    room[0] = (char)dropped;
    memset(room + packing.used, NO_MORE, bytes - packing.used);
}

const char *data_command(const struct datum *data)
{
    for (; data && data->key; data++)
        if (data->kind == DATUM_TEXT && strcmp(data->key, "command") == 0)
            return data->value.text;
    return NULL;
}

/* ---- reading ---- */

struct reading {
    const char *at, *end;
};

/* The next text; NULL if the room ends within it. */
static const char *take_text(struct reading *reading)
{
    const char *text = reading->at;
    const char *end = memchr(text, '\0', (size_t)(reading->end - text));
    reading->at = end ? end + 1 : reading->end;
    return end ? text : NULL;
}

static bool take(struct reading *reading, void *to, size_t length)
{
    if ((size_t)(reading->end - reading->at) < length)
        return false;
    memcpy(to, reading->at, length);
    reading->at += length;
    return true;
}

/* Finds the end of a list; false: it has none. `datum` gets the number of its texts. */
static bool take_texts(struct reading *reading, struct datum *datum)
{
    const char *text;
    for (datum->count = 0; (text = take_text(reading)) && text[0]; datum->count++)
        ;
    return text != NULL;
}

static bool take_value(struct reading *reading, struct datum *datum)
{
    char is_true = 0;
    bool is_whole = false;
    switch (datum->kind) {
    case DATUM_INTEGER:
        return take(reading, &datum->value.integer, sizeof datum->value.integer);
    case DATUM_NUMBER:
        is_whole = take(reading, &datum->value.number, sizeof datum->value.number);
        return is_whole && isfinite(datum->value.number);
    case DATUM_BOOL:
        is_whole = take(reading, &is_true, 1);
        datum->value.is_true = is_true != 0;
        return is_whole;
    case DATUM_TEXT:
        return (datum->value.text = take_text(reading)) != NULL;
    case DATUM_TEXTS:
        datum->value.text = reading->at; /* of the first; the others follow it */
        return take_texts(reading, datum);
    }
    return false;
}

/* The next datum; false at the end, and where the room is damaged. */
static bool take_datum(struct reading *reading, struct datum *datum)
{
    char kind = NO_MORE;
    if (!take(reading, &kind, 1) || kind < FIRST_KIND || kind > FIRST_KIND + (int)DATUM_TEXTS)
        return false;
    datum->kind = (enum datum_kind)(kind - FIRST_KIND);
    datum->key = take_text(reading);
    return datum->key && take_value(reading, datum);
}

static struct reading begin_reading(const char *room, size_t bytes)
{
    return (struct reading){.at = room + 1, .end = room + bytes};
}

static void emit_datum(struct emit *emit, const struct datum *datum)
{
    emit_key(emit, datum->key);
    switch (datum->kind) {
    case DATUM_INTEGER:
        emit_integer(emit, datum->value.integer);
        break;
    case DATUM_NUMBER:
        emit_double(emit, datum->value.number);
        break;
    case DATUM_BOOL:
        emit_bool(emit, datum->value.is_true);
        break;
    case DATUM_TEXT:
        emit_string(emit, datum->value.text);
        break;
    case DATUM_TEXTS:
        emit_begin_array(emit);
        for (const char *text = datum->value.text; text[0]; text += strlen(text) + 1)
            emit_string(emit, text);
        emit_end_array(emit);
        break;
    }
}

void data_emit(struct emit *emit, const char *room, size_t bytes)
{
    struct reading reading = begin_reading(room, bytes);
    struct datum datum;
    emit_begin_object(emit);
    while (take_datum(&reading, &datum))
        emit_datum(emit, &datum);
    if (room[0] > 0)
        emit_member_integer(emit, "data_dropped_count", room[0]);
    emit_end_object(emit);
}

const char *data_find_text(const char *room, size_t bytes, const char *key)
{
    struct reading reading = begin_reading(room, bytes);
    struct datum datum;
    while (take_datum(&reading, &datum))
        if (datum.kind == DATUM_TEXT && strcmp(datum.key, key) == 0)
            return datum.value.text;
    return NULL;
}
