/* Data of an event: packed, sent as JSON, and read where a file is damaged. */
#include "base/posix_source.h"

#include "base/data.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_BYTES = 128 };

/* The JSON of a room; the next call overwrites it. */
static const char *json_of(const char *room, size_t bytes)
{
    static struct emit emit;
    static char text[EMIT_BYTES];
    emit_open(&emit, -1);
    data_emit(&emit, room, bytes);
    CHECK_SAME(emit.error, 0);
    memcpy(text, emit.buffer, emit.used);
    text[emit.used] = '\0';
    return text;
}

static const char *packed(size_t bytes, const struct datum *data)
{
    static char room[ROOM_BYTES];
    data_pack(room, bytes, data);
    return json_of(room, bytes);
}

static void test_each_kind(void)
{
    static const char *const names[] = {"cpuset", "timers"};
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_integer("lost_ns", -7), data_number("ratio", 0.5),
                                       data_bool("is_limited", true), data_bool("is_void", false),
                                       data_text("element", "cpu"), data_texts("changed", names, 2),
                                       data_texts("unchanged", names, 0))),
               "{\"lost_ns\":-7,\"ratio\":0.5,\"is_limited\":true,\"is_void\":false,"
               "\"element\":\"cpu\",\"changed\":[\"cpuset\",\"timers\"],\"unchanged\":[]}");
}

static void test_nothing(void)
{
    CHECK_TEXT(packed(ROOM_BYTES, NO_DATA), "{}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_none())), "{}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_none(), data_integer("count", 1))), "{\"count\":1}");
}

static void test_texts_are_escaped(void)
{
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_text("path", "a\"\n\xff"), data_text("empty", ""))),
               "{\"path\":\"a\\\"\\u000a?\",\"empty\":\"\"}");
}

/* Whole or not at all, and what comes after it may still fit. */
static void test_what_does_not_fit_is_counted(void)
{
    char longer[ROOM_BYTES];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_TEXT(packed(32, DATA(data_text("first", "a"), data_text("second", longer),
                               data_integer("third", 3), data_integer("fourth", 4))),
               "{\"first\":\"a\",\"third\":3,\"data_dropped_count\":2}");
}

/* Each size of room, so that every value ends at each place. */
static void test_rooms_of_every_size(void)
{
    static const char *const names[] = {"a", "bc"};
    for (size_t bytes = 2; bytes <= ROOM_BYTES; bytes++) {
        char *room = malloc(bytes); /* of its own, for the sanitizers */
        if (!room)
            abort();
        data_pack(room, bytes,
                  DATA(data_texts("names", names, 2), data_text("text", "t"),
                       data_number("number", 1.5), data_bool("truth", true)));
        size_t length = strlen(json_of(room, bytes));
        CHECK(length > 2);
        free(room);
    }
}

static void test_damaged_rooms(void)
{
    static const char *const names[] = {"a", "bc"};
    char good[ROOM_BYTES];
    data_pack(good, sizeof good,
              DATA(data_integer("count", 1), data_text("text", "t"), data_texts("names", names, 2),
                   data_number("number", 1.5)));
    CHECK_TEXT(json_of(good, sizeof good),
               "{\"count\":1,\"text\":\"t\",\"names\":[\"a\",\"bc\"],\"number\":1.5}");
    for (size_t byte = 0; byte < sizeof good; byte++)
        for (int bit = 0; bit < 8; bit++) {
            char *room = malloc(sizeof good);
            if (!room)
                abort();
            memcpy(room, good, sizeof good);
            room[byte] = (char)(room[byte] ^ (1 << bit));
            const char *json = json_of(room, sizeof good);
            CHECK(json[0] == '{' && json[strlen(json) - 1] == '}' && !strstr(json, "null"));
            free(room);
        }
}

static void test_a_room_that_was_never_filled(void)
{
    char room[ROOM_BYTES];
    memset(room, 0, sizeof room);
    CHECK_TEXT(json_of(room, sizeof room), "{}");
    memset(room, 0xff, sizeof room);
    CHECK_TEXT(json_of(room, sizeof room), "{}");
    memset(room, 1, sizeof room);
    room[0] = 0;
    CHECK_TEXT(json_of(room, sizeof room), "{}");
}

static void test_not_a_number(void)
{
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_integer("count", 1), data_number("ratio", NAN))),
               "{\"count\":1}");
}

static void test_commands(void)
{
    char room[ROOM_BYTES];
    const struct datum *data = DATA(data_integer("command", 1), data_text("text", "t"),
                                    data_text("command", "hardstone doctor"));
    CHECK_TEXT(data_command(data), "hardstone doctor");
    data_pack(room, sizeof room, data);
    CHECK_TEXT(data_find_text(room, sizeof room, "command"), "hardstone doctor");
    CHECK_TEXT(data_find_text(room, sizeof room, "text"), "t");
    CHECK(data_find_text(room, sizeof room, "other") == NULL);
    CHECK(data_command(DATA(data_text("text", "t"))) == NULL);
    CHECK(data_command(NO_DATA) == NULL);
}

TAP_MAIN({"each kind of value", test_each_kind}, {"no data", test_nothing},
         {"texts are escaped", test_texts_are_escaped},
         {"what does not fit is counted", test_what_does_not_fit_is_counted},
         {"rooms of every size", test_rooms_of_every_size}, {"damaged rooms", test_damaged_rooms},
         {"a room that was never filled", test_a_room_that_was_never_filled},
         {"not a number", test_not_a_number}, {"what to type", test_commands})
