#include "base/posix_source.h"

#include "base/console.h"

#include "base/clock.h"
#include "base/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#if HS_HAS_OUTPUT_DRAIN
#include <termios.h>
#endif

#define WAIT_NS INT64_C(30000000000)

/* A frame is "@hs:", the token, a number of 10 digits, type, CRC, four spaces, the payload and the
 * line end. EMPTY_READS: a terminal in line mode answers one read with nothing after Ctrl-D, or
 * after noise that looks like it; a pipe or a line that has ended answers each one so. */
enum { HEAD_BYTES = 4 + CONSOLE_TOKEN + 10 + 1 + 8 + 4, EMPTY_READS = 8 };

void console_open(struct console *console, const char *token, int input, int output)
{
    memset(console, 0, sizeof *console);
    memcpy(console->token, token, CONSOLE_TOKEN);
    console->input = input;
    console->output = output;
    console->wait_ns = WAIT_NS;
}

static void write_all(struct console *console, const char *bytes, size_t length)
{
    static const struct timespec pause = {0, 5000000};
    while (length > 0 && console->error == 0) {
        ssize_t written = write(console->output, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            nanosleep(&pause, NULL); /* a console may be open without waiting */
        } else if (errno != EINTR) {
            console->error = errno;
        }
    }
}

/* One write a frame, so that lines of others come between frames, where the system keeps a write
 * together. */
static void send_frame(struct console *console, char type, const char *payload, size_t length)
{
    char frame[HEAD_BYTES + CONSOLE_PAYLOAD + 2], own[CONSOLE_TOKEN + 16];
    int own_length =
        snprintf(own, sizeof own, "%s %" PRIu32 " %c ", console->token, console->number, type);
    uint32_t crc = emit_crc32_add(UINT32_MAX, own, (size_t)own_length);
    crc = ~emit_crc32_add(crc, payload, length);
    int head = snprintf(frame, sizeof frame, "@hs:%s%08" PRIx32 " ", own, crc);
    memcpy(frame + head, payload, length);
    frame[(size_t)head + length] = '\n';
    if (console->life_s > 0)
        alarm(console->life_s);
    write_all(console, frame, (size_t)head + length + 1);
    console->number++;
}

/* The line end before it: the cursor may be behind an echo. */
void console_begin(struct console *console)
{
    if (console->is_over)
        return;
    console->number = 0;
    console->crc32 = UINT32_MAX;
    console->bytes = 0;
    console->used = 0;
    write_all(console, "\n", 1);
    send_frame(console, '^', "1", 1);
}

static void send_payload(struct console *console, char type)
{
    send_frame(console, type, console->payload, console->used);
    console->used = 0;
}

/* No output has control characters but line ends; if one had, it must not reach the line. */
static void put_byte(struct console *console, char byte)
{
    bool is_end = byte == '\n';
    if (!is_end && ((unsigned char)byte < 0x20 || byte == 0x7f))
        byte = '?';
    console->crc32 = emit_crc32_add(console->crc32, &byte, 1);
    console->bytes++;
    if (!is_end && console->used == CONSOLE_PAYLOAD)
        send_payload(console, '+');
    if (is_end)
        send_payload(console, '.');
    else
        console->payload[console->used++] = byte;
}

int console_put(struct console *console, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && console->error == 0 && !console->is_over; i++)
        put_byte(console, bytes[i]);
    return console->error;
}

/* ---- messages ---- */

void console_message(struct console *console, const char *line)
{
    size_t length = strlen(line), room = CONSOLE_MESSAGE_BYTES - console->message_bytes;
    if (length >= room) {
        console->lost_messages++;
        return;
    }
    memcpy(console->messages + console->message_bytes, line, length);
    console->message_bytes += length;
    console->messages[console->message_bytes++] = '\n';
}

void console_forget_messages(struct console *console)
{
    console->message_bytes = 0;
    console->lost_messages = 0;
}

/* Bytes of the first frame of a line: to a space, or else to the begin of a character. */
static size_t message_part(const char *line, size_t length)
{
    size_t part = CONSOLE_PAYLOAD;
    if (length <= CONSOLE_PAYLOAD)
        return length;
    while (part > 0 && line[part] != ' ')
        part--;
    if (part > 0)
        return part;
    for (part = CONSOLE_PAYLOAD; part > 1 && ((unsigned char)line[part] & 0xc0) == 0x80;)
        part--;
    return part;
}

static void send_message(struct console *console, const char *line, size_t length)
{
    do {
        size_t part = message_part(line, length);
        send_frame(console, '-', line, part);
        part += part < length && line[part] == ' ';
        line += part;
        length -= part;
    } while (length > 0);
}

static void send_messages(struct console *console)
{
    char lost[64];
    for (size_t from = 0, to; from < console->message_bytes; from = to + 1) {
        for (to = from; console->messages[to] != '\n';)
            to++;
        send_message(console, console->messages + from, to - from);
    }
    if (console->lost_messages == 0)
        return;
    int length =
        snprintf(lost, sizeof lost, "%u more messages did not fit", console->lost_messages);
    send_message(console, lost, (size_t)length);
}

/* ---- the end of a pass ---- */

void console_drain(const struct console *console)
{
#if HS_HAS_OUTPUT_DRAIN
    while (tcdrain(console->output) != 0 && errno == EINTR)
        ;
#else
    (void)console;
#endif
}

void console_end(struct console *console, int code)
{
    char sums[64];
    if (console->is_over)
        return;
    if (console->used > 0)
        send_payload(console, '+');
    send_messages(console);
    int length = snprintf(sums, sizeof sums, "%d %" PRIu64 " %08" PRIx32, code, console->bytes,
                          ~console->crc32);
    send_frame(console, '!', sums, (size_t)length);
    if (console->life_s > 0)
        alarm(0);
}

/* ---- letters ---- */

bool console_listens(const struct console *console)
{
    return console->empty_reads < EMPTY_READS;
}

/* A letter counts only if its line holds nothing else, but may be repeated there: noise, and a
 * command line that the host sends again, hold all of the letters. */
static char end_of_line(struct console *console, const char *known)
{
    char letter = console->line;
    console->line = 0;
    return letter && strchr(known, letter) ? letter : 0;
}

static void add_to_line(struct console *console, char byte)
{
    bool is_same = console->line == 0 || console->line == byte;
    console->line = is_same && byte ? byte : ' ';
}

/* Reads once. The last letter of `known` in it, or 0. */
static char read_letter(struct console *console, const char *known)
{
    char bytes[64], found = 0;
    ssize_t got = read(console->input, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    console->empty_reads = got > 0 ? 0 : console->empty_reads + 1;
    for (ssize_t i = 0; i < got; i++) {
        bool is_end = bytes[i] == '\n' || bytes[i] == '\r';
        char letter = is_end ? end_of_line(console, known) : 0;
        found = letter ? letter : found;
        if (!is_end)
            add_to_line(console, bytes[i]);
    }
    return found;
}

bool console_is_asked_to_stop(struct console *console)
{
    return read_letter(console, "s") != 0;
}

void console_stop_listening(struct console *console, int error)
{
    char line[160];
    console->empty_reads = EMPTY_READS;
    snprintf(line, sizeof line,
             "hardstone-probe: standard input cannot be watched (%s): no letter stops a run",
             strerror(error));
    console_message(console, line);
}

/* Some systems cannot wait for a console (RTEMS), or only for sockets. */
static void poll_from_now_on(struct console *console)
{
    console->flags = fcntl(console->input, F_GETFL);
    console->is_polled =
        console->flags >= 0 && fcntl(console->input, F_SETFL, console->flags | O_NONBLOCK) == 0;
}

/* Waits for input, for `left_ns` at most. 1: there may be some; 0: not yet; -1: it cannot wait. */
static int wait_for_input(struct console *console, int64_t left_ns)
{
    static const struct timespec turn = {0, 50000000};
    struct timespec left = clock_ns_timespec(left_ns);
    fd_set readers;
    FD_ZERO(&readers);
    FD_SET(console->input, &readers);
    int ready =
        console->is_polled ? -1 : pselect(console->input + 1, &readers, NULL, NULL, &left, NULL);
    if (ready >= 0)
        return ready > 0;
    if (!console->is_polled && errno == EINTR)
        return 0;
    if (!console->is_polled)
        poll_from_now_on(console);
    nanosleep(&turn, NULL);
    return console->is_polled ? 1 : -1;
}

bool console_is_asked_again(struct console *console)
{
    int64_t until_ns = clock_monotonic_ns() + console->wait_ns, left_ns = console->wait_ns;
    char letter = console->is_over ? 'q' : 0;
    while (!letter && left_ns > 0 && console->error == 0 && console_listens(console)) {
        int ready = wait_for_input(console, left_ns);
        if (ready < 0)
            break;
        if (ready > 0)
            letter = read_letter(console, "aq");
        left_ns = until_ns - clock_monotonic_ns();
    }
    console->is_over = letter != 'a';
    if (console->is_over && console->is_polled)
        fcntl(console->input, F_SETFL, console->flags);
    return !console->is_over;
}
