/* What becomes text: times, UTF-8, data, statuses, and the lines of a stream. */
#include "base/posix_source.h"

#include "base/data.h"
#include "base/emit.h"
#include "base/status.h"
#include "base/text.h"
#include "tap.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* ---- A point in time as text, against the C library's ---- */

enum { DRAWN = 200000 };

static bool is_right(int64_t seconds)
{
    char ours[UTC_BYTES], theirs[UTC_BYTES];
    struct tm parts;
    time_t time = (time_t)seconds;
    gmtime_r(&time, &parts);
    strftime(theirs, sizeof theirs, "%Y-%m-%d %H:%M:%S UTC", &parts);
    utc_format(seconds * 1000000000, ours);
    return strcmp(ours, theirs) == 0;
}

/* Times that an int64_t of ns holds are those of 1677 to 2262. */
TEST(dates)
{
    static const int64_t days[] = {-25509, -1, 0, 11015, 11016, 19782, 47540, 47541, 106750};
    unsigned short random[3] = {1, 2, 3};
    int wrong = 0;
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++)
        wrong += is_right(days[i] * 86400) && is_right(days[i] * 86400 + 86399) ? 0 : 1;
    for (int i = 0; i < DRAWN; i++)
        wrong += is_right((int64_t)((erand48(random) * 2 - 1) * 9.2e9)) ? 0 : 1;
    CHECK_SAME(wrong, 0);
}

TEST(parts_of_a_second)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{999999999, "1970-01-01 00:00:00 UTC"},
                {-1, "1969-12-31 23:59:59 UTC"},
                {INT64_MAX, "2262-04-11 23:47:16 UTC"}};
    foreach (row, rows, NULL) {
        char text[UTC_BYTES];
        utc_format(row->ns, text);
        CHECK_TEXT(text, row->text);
    }
}

/* ---- Text of others does not steer a terminal ---- */

static void shows(const char *text, const char *wanted)
{
    char copy[200];
    snprintf(copy, sizeof copy, "%s", text);
    utf8_make_printable(copy);
    CHECK_TEXT(copy, wanted);
}

TEST(what_steers_a_terminal_is_replaced)
{
    shows("", "");
    shows("a plain line ~", "a plain line ~");
    shows("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0",
          "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0");
    shows("\x1b[31mred\x07\r\n\t\x7f", "?[31mred?????");
    shows("\xc2\x9b"
          "31m \xc2\x80 \xc2\x9f",
          "?31m ? ?");
    shows("\xe2\x80\xae txt \xe2\x80\xa8 \xe2\x81\xa6 \xef\xbb\xbf", "? txt ? ? ?");
}

/* Cut, overlong, a surrogate, above the last: nothing behind them is lost. */
TEST(broken_sequences)
{
    shows("\xe2\x82", "??");
    shows("\xf0\x9f\x99x", "???x");
    shows("\xc0\x9b", "??");
    shows("\xe0\x80\x9b[m", "???[m");
    shows("\xed\xa0\x80", "???");
    shows("\xf4\x90\x80\x80", "????");
}

/* What `write_it` writes to `descriptor`. */
static void caught(int descriptor, void (*write_it)(void), char *text, size_t bytes)
{
    int ends[2], kept = dup(descriptor);
    CHECK_SAME(pipe(ends), 0);
    dup2(ends[1], descriptor);
    close(ends[1]);
    write_it();
    dup2(kept, descriptor);
    close(kept);
    ssize_t got = read(ends[0], text, bytes - 1);
    text[got > 0 ? got : 0] = '\0';
    close(ends[0]);
}

static void say(void)
{
    message_print("%s: %d", "\x1b]0;t\x07\nnext", 7);
}

static void say_much(void)
{
    static char much[2 * MESSAGE_BYTES];
    memset(much, 0x1b, sizeof much - 1);
    message_print("%s", much);
}

TEST(a_message_is_one_line)
{
    char text[2 * MESSAGE_BYTES];
    caught(STDERR_FILENO, say, text, sizeof text);
    CHECK_TEXT(text, "hardstone-probe: ?]0;t??next: 7\n");
    caught(STDERR_FILENO, say_much, text, sizeof text);
    CHECK(strlen(text) < MESSAGE_BYTES + sizeof "hardstone-probe: ");
    CHECK(strchr(text, 0x1b) == NULL && text[strlen(text) - 1] == '\n');
}

static void emit_it(void)
{
    struct emit emit;
    emit_open(&emit, STDOUT_FILENO);
    emit_format(&emit, "%s\n", "\x1b[m\xc2\x9b");
    emit_text(&emit, "\xff|\xe2\x82\xac\n");
    emit_string(&emit, "\x1b\xc2\x9b\x7f\xff");
    emit_flush(&emit);
}

TEST(output)
{
    char text[200];
    fflush(stdout);
    caught(STDOUT_FILENO, emit_it, text, sizeof text);
    CHECK_TEXT(text, "?[m?\n?|\xe2\x82\xac\n\"\\u001b\\u009b\\u007f?\"");
}

/* ---- Data of an event: packed, sent as JSON, and read where a file is damaged ---- */

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

TEST(each_kind)
{
    static const char *const names[] = {"cpuset", "timers"};
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_integer("lost_ns", -7), data_number("ratio", 0.5),
                                       data_bool("is_limited", true), data_bool("is_void", false),
                                       data_text("element", "cpu"), data_texts("changed", names, 2),
                                       data_texts("unchanged", names, 0))),
               "{\"lost_ns\":-7,\"ratio\":0.5,\"is_limited\":true,\"is_void\":false,"
               "\"element\":\"cpu\",\"changed\":[\"cpuset\",\"timers\"],\"unchanged\":[]}");
    CHECK_TEXT(packed(ROOM_BYTES, NO_DATA), "{}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_none())), "{}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_none(), data_integer("count", 1))), "{\"count\":1}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_integer("count", 1), data_number("ratio", NAN))),
               "{\"count\":1}");
    CHECK_TEXT(packed(ROOM_BYTES, DATA(data_text("path", "a\"\n\xff"), data_text("empty", ""))),
               "{\"path\":\"a\\\"\\u000a?\",\"empty\":\"\"}");
}

/* Whole or not at all, and what comes after it may still fit. */
TEST(what_does_not_fit_is_counted)
{
    char longer[ROOM_BYTES];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_TEXT(packed(32, DATA(data_text("first", "a"), data_text("second", longer),
                               data_integer("third", 3), data_integer("fourth", 4))),
               "{\"first\":\"a\",\"third\":3,\"data_dropped_count\":2}");
}

/* Each size of room, so that every value ends at each place. */
TEST(rooms_of_every_size)
{
    static const char *const names[] = {"a", "bc"};
    for (size_t bytes = 2; bytes <= ROOM_BYTES; bytes++) {
        char *room = tap_memory(bytes);
        data_pack(room, bytes,
                  DATA(data_texts("names", names, 2), data_text("text", "t"),
                       data_number("number", 1.5), data_bool("truth", true)));
        CHECK(strlen(json_of(room, bytes)) > 2);
    }
}

TEST(damaged_rooms)
{
    static const char *const names[] = {"a", "bc"};
    char good[ROOM_BYTES];
    char *room = tap_memory(sizeof good);
    data_pack(good, sizeof good,
              DATA(data_integer("count", 1), data_text("text", "t"), data_texts("names", names, 2),
                   data_number("number", 1.5)));
    CHECK_TEXT(json_of(good, sizeof good),
               "{\"count\":1,\"text\":\"t\",\"names\":[\"a\",\"bc\"],\"number\":1.5}");
    for (size_t bit = 0; bit < 8 * sizeof good; bit++) {
        memcpy(room, good, sizeof good);
        room[bit / 8] = (char)(room[bit / 8] ^ (1 << bit % 8));
        const char *json = json_of(room, sizeof good);
        CHECK(json[0] == '{' && json[strlen(json) - 1] == '}' && !strstr(json, "null"));
    }
    for (int filler = -1; filler <= 1; filler++) { /* never filled */
        memset(room, filler, sizeof good);
        room[0] = filler == 1 ? 0 : room[0];
        CHECK_TEXT(json_of(room, sizeof good), "{}");
    }
}

TEST(commands)
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

/* ---- The outcome of a test: the first one counts; what to type is apart from the words ---- */

static void check_outcome(const struct outcome *outcome, enum status status, const char *remedy,
                          const char *command, const char *one_line)
{
    char text[200];
    CHECK_SAME(outcome->status, status);
    CHECK_HOLDS(outcome->remedy, remedy);
    CHECK_TEXT(outcome->command, command);
    CHECK_HOLDS(outcome_remedy_text(outcome, text, sizeof text), one_line);
}

TEST(outcomes)
{
    static const struct remedy install = {"install it", "sudo apt install x"};
    struct outcome set = {0}, first = {0}, limit = {0}, other = {0}, none = {0};
    outcome_set_remedy(&set, STATUS_DENIED, install, "%s is not there", "x");
    CHECK_TEXT(set.reason, "x is not there");
    check_outcome(&set, STATUS_DENIED, "install it", "sudo apt install x",
                  "install it: sudo apt install x");
    outcome_set(&first, STATUS_FAILED, "look at it", "first");
    outcome_set_remedy(&first, STATUS_DENIED, install, "second");
    CHECK_TEXT(first.reason, "first");
    check_outcome(&first, STATUS_FAILED, "look at it", "", "look at it");
    /* an error that names its limit has its own remedy: the caller's command would not help */
    outcome_set_errno_remedy(&limit, EMFILE, "a pipe", install);
    check_outcome(&limit, limit.status, "ulimit -n", "", "ulimit -n");
    outcome_set_errno_remedy(&other, EPERM, "a pipe", install);
    check_outcome(&other, STATUS_DENIED, "install it", "sudo apt install x", "install it: sudo");
    outcome_set_errno(&none, EIO, "a pipe", NULL);
    CHECK_TEXT(none.remedy, "");
    check_outcome(&none, STATUS_FAILED, "", "", "");
}

/* ---- The JSON writer: escapes, bytes that are not UTF-8, long texts, failing outputs ---- */

enum { MOST_BYTES = 200000 };

static struct emit sheet;
static FILE *sheet_file;

static struct emit *sheet_begin(void)
{
    sheet_file = tmpfile();
    if (!sheet_file)
        abort();
    emit_open(&sheet, fileno(sheet_file));
    return &sheet;
}

/* All that was written. */
static const char *sheet_end(void)
{
    static char text[MOST_BYTES];
    CHECK_SAME(emit_flush(&sheet), 0);
    rewind(sheet_file);
    size_t length = fread(text, 1, sizeof text - 1, sheet_file);
    text[length] = '\0';
    fclose(sheet_file);
    return text;
}

TEST(strings)
{
    static const char *const rows[][2] = {
        {"", "\"\""},
        {"a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9|\xdf\xbf|\xe0\xa0\x80|\xe2\x82\xac|\xed\x9f\xbf|\xef\xbf\xbd",
         "\"\xc3\xa9|\xdf\xbf|\xe0\xa0\x80|\xe2\x82\xac|\xed\x9f\xbf|\xef\xbf\xbd\""},
        {"\xf0\x90\x80\x80|\xf4\x8f\xbf\xbf", "\"\xf0\x90\x80\x80|\xf4\x8f\xbf\xbf\""},
        {"\x80", "\"?\""},
        {"\xff\xfe", "\"??\""},
        {"\xc0\x80", "\"??\""},           /* too long a form */
        {"\xe0\x80\x80", "\"???\""},      /* too long a form */
        {"\xed\xa0\x80", "\"???\""},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "\"????\""}, /* past the last character */
        {"\xf0\x8f\xbf\xbf", "\"????\""}, /* too long a form */
        {"a\xe2\x82", "\"a??\""},         /* cut short */
        {"\xc3\"x", "\"?\\\"x\""},        /* the quote after it is still escaped */
        {"\xe2\x82\xc3\xa9", "\"??\xc3\xa9\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        emit_string(sheet_begin(), rows[i][0]);
        CHECK_TEXT(sheet_end(), rows[i][1]);
    }
}

TEST(doubles_read_back)
{
    uint64_t state = 5;
    for (int i = 0; i < 1000; i++) {
        double value = ldexp((double)tap_random(&state), (int)(tap_random(&state) % 400) - 200);
        emit_double(sheet_begin(), value);
        CHECK(strtod(sheet_end(), NULL) == value);
    }
}

TEST(single_values)
{
    struct emit *emit = sheet_begin();
    emit_double(emit, NAN);
    emit_double(emit, INFINITY);
    emit_double(emit, -INFINITY);
    emit_string_or_null(emit, NULL);
    emit_string_or_null(emit, "");
    emit_string_or_null(emit, "x");
    emit_integer(emit, INT64_MIN);
    emit_raw(emit, " ");
    emit_integer(emit, INT64_MAX);
    emit_raw(emit, "{");
    emit_key(emit, "a");
    emit_raw(emit, "1");
    emit_key(emit, "b\"");
    emit_raw(emit, "2}");
    emit_line(emit);
    emit_line(emit);
    CHECK_SAME(emit->line_count, 2);
    CHECK_TEXT(sheet_end(), "nullnullnullnullnull\"x\"-9223372036854775808 9223372036854775807"
                            "{\"a\":1,\"b\\\"\":2}\n\n");
}

TEST(commas)
{
    struct emit *emit = sheet_begin();
    for (int i = 0; i < 2; i++) {
        emit_begin_object(emit);
        emit_member_text(emit, "text", "ends with {");
        emit_member_text_or_null(emit, "empty", "");
        emit_member_array(emit, "list");
        emit_integer(emit, 1);
        emit_string(emit, "two:");
        emit_double(emit, 3);
        emit_bool(emit, false);
        emit_null(emit);
        emit_begin_object(emit);
        emit_end_object(emit);
        emit_begin_array(emit);
        emit_end_array(emit);
        emit_end_array(emit);
        emit_member_object(emit, "inner");
        emit_member_integer(emit, "a", -1);
        emit_member_double(emit, "b", 0.5);
        emit_end_object(emit);
        emit_member_bool(emit, "truth", true);
        emit_member_null(emit, "none");
        emit_end_object(emit);
        emit_line(emit);
    }
    static const char line[] =
        "{\"text\":\"ends with {\",\"empty\":null,\"list\":[1,\"two:\",3,false,"
        "null,{},[]],\"inner\":{\"a\":-1,\"b\":0.5},\"truth\":true,\"none\":null}\n";
    char wanted[2 * sizeof line];
    snprintf(wanted, sizeof wanted, "%s%s", line, line);
    CHECK_TEXT(sheet_end(), wanted);
}

TEST(texts_over_the_buffer)
{
    static char text[5 * EMIT_BYTES + 7];
    memset(text, 'x', sizeof text - 1);
    struct emit *emit = sheet_begin();
    emit_raw(emit, "0123456789");
    emit_raw(emit, text);
    emit_string(emit, text);
    const char *got = sheet_end();
    CHECK_SAME(strlen(got), 10 + 2 * strlen(text) + 2);
    CHECK_SAME(strspn(got + 10, "x"), strlen(text));
}

/* Output that says no: the error is kept, and nothing stops for it. */
static void check_output(int descriptor, int error)
{
    static struct emit emit;
    emit_open(&emit, descriptor);
    for (int i = 0; i < 3 * EMIT_BYTES; i++)
        emit_string(&emit, "a text");
    emit_line(&emit);
    CHECK_SAME(emit_flush(&emit), error);
    CHECK_SAME(emit_flush(&emit), error);
    close(descriptor);
}

TEST(failing_outputs)
{
    int ends[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) != 0)
        abort();
    close(ends[0]);
    check_output(ends[1], EPIPE);
    if (full >= 0)
        check_output(full, ENOSPC);
    else
        tap_skip("there is no /dev/full");
}

TEST(checksum)
{
    struct emit *emit = sheet_begin();
    CHECK_SAME(emit_crc32(emit), 0);
    emit_raw(emit, "1234");
    emit_line(emit);
    emit_raw(emit, "56789");
    CHECK_SAME(emit_crc32(emit), 0xcbf43926); /* the check value of CRC-32 */
    sheet_end();
}
