/* The JSON writer: escapes, bytes that are not UTF-8, long texts, failing outputs. */
#include "base/posix_source.h"

#include "base/emit.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_BYTES = 200000 };

struct sheet {
    struct emit emit;
    FILE *file;
    char text[MOST_BYTES];
};

static struct emit *sheet_begin(struct sheet *sheet)
{
    sheet->file = tmpfile();
    if (!sheet->file)
        abort();
    emit_open(&sheet->emit, fileno(sheet->file));
    return &sheet->emit;
}

/* All that was written. */
static const char *sheet_end(struct sheet *sheet)
{
    CHECK_SAME(emit_flush(&sheet->emit), 0);
    rewind(sheet->file);
    size_t length = fread(sheet->text, 1, sizeof sheet->text - 1, sheet->file);
    sheet->text[length] = '\0';
    fclose(sheet->file);
    return sheet->text;
}

static void check_string(const char *text, const char *wanted)
{
    static struct sheet sheet;
    emit_string(sheet_begin(&sheet), text);
    CHECK_TEXT(sheet_end(&sheet), wanted);
}

static void test_escapes(void)
{
    check_string("", "\"\"");
    check_string("a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\"");
    check_string("\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"");
}

static void test_utf8_passes(void)
{
    static const char *const texts[] = {"\xc3\xa9",         "\xdf\xbf",        "\xe0\xa0\x80",
                                        "\xe2\x82\xac",     "\xed\x9f\xbf",    "\xef\xbf\xbd",
                                        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "\"%s\"", texts[i]);
        check_string(texts[i], wanted);
    }
}

static void test_what_is_not_utf8(void)
{
    check_string("\x80", "\"?\"");
    check_string("\xff\xfe", "\"??\"");
    check_string("\xc0\x80", "\"??\"");           /* too long a form */
    check_string("\xe0\x80\x80", "\"???\"");      /* too long a form */
    check_string("\xed\xa0\x80", "\"???\"");      /* half of a surrogate pair */
    check_string("\xf4\x90\x80\x80", "\"????\""); /* past the last character */
    check_string("\xf0\x8f\xbf\xbf", "\"????\""); /* too long a form */
    check_string("a\xe2\x82", "\"a??\"");         /* cut short */
    check_string("\xc3\"x", "\"?\\\"x\"");        /* the quote after it is still escaped */
    check_string("\xe2\x82\xc3\xa9", "\"??\xc3\xa9\"");
}

static void test_null(void)
{
    static struct sheet sheet;
    struct emit *emit = sheet_begin(&sheet);
    emit_string_or_null(emit, NULL);
    emit_string_or_null(emit, "");
    emit_string_or_null(emit, "x");
    CHECK_TEXT(sheet_end(&sheet), "nullnull\"x\"");
}

static void test_integers(void)
{
    static struct sheet sheet;
    struct emit *emit = sheet_begin(&sheet);
    emit_integer(emit, INT64_MIN);
    emit_raw(emit, " ");
    emit_integer(emit, INT64_MAX);
    CHECK_TEXT(sheet_end(&sheet), "-9223372036854775808 9223372036854775807");
}

static void test_doubles_read_back(void)
{
    static struct sheet sheet;
    uint64_t state = 5;
    for (int i = 0; i < 1000; i++) {
        double value = ldexp((double)tap_random(&state), (int)(tap_random(&state) % 400) - 200);
        emit_double(sheet_begin(&sheet), value);
        CHECK(strtod(sheet_end(&sheet), NULL) == value);
    }
    struct emit *emit = sheet_begin(&sheet);
    emit_double(emit, NAN);
    emit_double(emit, INFINITY);
    emit_double(emit, -INFINITY);
    CHECK_TEXT(sheet_end(&sheet), "nullnullnull");
}

static void test_keys_and_lines(void)
{
    static struct sheet sheet;
    struct emit *emit = sheet_begin(&sheet);
    emit_raw(emit, "{");
    emit_key(emit, "a");
    emit_raw(emit, "1");
    emit_key(emit, "b\"");
    emit_raw(emit, "2}");
    emit_line(emit);
    emit_line(emit);
    CHECK_SAME(emit->line_count, 2);
    CHECK_TEXT(sheet_end(&sheet), "{\"a\":1,\"b\\\"\":2}\n\n");
}

static void test_commas(void)
{
    static struct sheet sheet;
    struct emit *emit = sheet_begin(&sheet);
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
    CHECK_TEXT(sheet_end(&sheet), wanted);
}

static void test_texts_over_the_buffer(void)
{
    static struct sheet sheet;
    static char text[5 * EMIT_BYTES + 7];
    memset(text, 'x', sizeof text - 1);
    struct emit *emit = sheet_begin(&sheet);
    emit_raw(emit, "0123456789");
    emit_raw(emit, text);
    emit_string(emit, text);
    const char *got = sheet_end(&sheet);
    CHECK_SAME(strlen(got), 10 + 2 * strlen(text) + 2);
    CHECK_SAME(strspn(got + 10, "x"), strlen(text));
}

/* Output that says no: the error is kept, and nothing stops for it. */
static void write_much(struct emit *emit)
{
    for (int i = 0; i < 3 * EMIT_BYTES; i++)
        emit_string(emit, "a text");
    emit_line(emit);
}

static void test_full_device(void)
{
    static struct emit emit;
    int file = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        tap_skip("there is no /dev/full");
        return;
    }
    emit_open(&emit, file);
    write_much(&emit);
    CHECK_SAME(emit_flush(&emit), ENOSPC);
    CHECK_SAME(emit_flush(&emit), ENOSPC);
    close(file);
}

static void test_closed_pipe(void)
{
    static struct emit emit;
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) != 0)
        abort();
    close(ends[0]);
    emit_open(&emit, ends[1]);
    write_much(&emit);
    CHECK_SAME(emit_flush(&emit), EPIPE);
    close(ends[1]);
}

static void test_no_descriptor(void)
{
    static struct emit emit;
    emit_open(&emit, -1);
    emit_raw(&emit, "x");
    CHECK_SAME(emit.error, 0); /* nothing was written yet */
    CHECK_SAME(emit_flush(&emit), EBADF);
    CHECK_SAME(emit.used, 0);
}

static void test_checksum(void)
{
    static struct sheet sheet;
    struct emit *emit = sheet_begin(&sheet);
    CHECK_SAME(emit_crc32(emit), 0);
    emit_raw(emit, "1234");
    emit_line(emit);
    emit_raw(emit, "56789");
    CHECK_SAME(emit_crc32(emit), 0xcbf43926); /* the check value of CRC-32 */
    sheet_end(&sheet);
}

TAP_MAIN({"quotes, backslashes and control characters", test_escapes},
         {"UTF-8 passes as it is", test_utf8_passes},
         {"bytes that are no UTF-8 become ?", test_what_is_not_utf8},
         {"no text is null", test_null}, {"integers", test_integers},
         {"doubles read back; what is no number is null", test_doubles_read_back},
         {"keys and lines", test_keys_and_lines}, {"commas", test_commas},
         {"texts longer than the buffer", test_texts_over_the_buffer},
         {"a full device", test_full_device}, {"a closed pipe", test_closed_pipe},
         {"a descriptor that is none", test_no_descriptor},
         {"the checksum leaves line ends out", test_checksum})
