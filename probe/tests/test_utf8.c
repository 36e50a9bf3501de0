/* Text of others does not steer a terminal. */
#include "base/posix_source.h"

#include "base/emit.h"
#include "base/message.h"
#include "base/utf8.h"
#include "tap.h"

#include <unistd.h>

static void shows(const char *text, const char *wanted)
{
    char copy[200];
    snprintf(copy, sizeof copy, "%s", text);
    utf8_make_printable(copy);
    CHECK_TEXT(copy, wanted);
}

static void test_text_stays(void)
{
    shows("", "");
    shows("a plain line ~", "a plain line ~");
    shows("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0",
          "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0");
}

static void test_what_steers_a_terminal_is_replaced(void)
{
    shows("\x1b[31mred\x07\r\n\t\x7f", "?[31mred?????");
    shows("\xc2\x9b"
          "31m \xc2\x80 \xc2\x9f",
          "?31m ? ?");
    shows("\xe2\x80\xae txt \xe2\x80\xa8 \xe2\x81\xa6 \xef\xbb\xbf", "? txt ? ? ?");
}

static void test_every_byte_alone(void)
{
    for (int byte = 1; byte < 256; byte++) {
        char text[] = {'<', (char)byte, '>', '\0'}, wanted[] = {'<', '?', '>', '\0'};
        if (byte >= 0x20 && byte < 0x7f)
            wanted[1] = (char)byte;
        shows(text, wanted);
    }
}

/* Cut, overlong, a surrogate, above the last: nothing behind them is lost. */
static void test_broken_sequences(void)
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
    message_write("%s: %d", "\x1b]0;t\x07\nnext", 7);
}

static void say_much(void)
{
    static char much[2 * MESSAGE_BYTES];
    memset(much, 0x1b, sizeof much - 1);
    message_write("%s", much);
}

static void test_a_message_is_one_line(void)
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

static void test_output(void)
{
    char text[200];
    fflush(stdout);
    caught(STDOUT_FILENO, emit_it, text, sizeof text);
    CHECK_TEXT(text, "?[m?\n?|\xe2\x82\xac\n\"\\u001b\\u009b\\u007f?\"");
}

TAP_MAIN({"text stays", test_text_stays},
         {"what steers a terminal is replaced", test_what_steers_a_terminal_is_replaced},
         {"every byte alone", test_every_byte_alone}, {"broken sequences", test_broken_sequences},
         {"a message is one line", test_a_message_is_one_line}, {"output", test_output})
