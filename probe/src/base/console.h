/* A console that others write on too: output as frames, each with a checksum, and letters back.
 *
 * A frame is a line "@hs:TOKEN N T CRC PAYLOAD". N counts from 0. T says what the payload is: '^'
 * the version of this form; '+' a piece of output, '.' one that ends its line; '-' a message to
 * people; '!' exit code, bytes and CRC-32 of the output. CRC is CRC-32 (zlib's) of "TOKEN N T
 * PAYLOAD", in hexadecimal. docs/reference/console.md has the whole of it.
 *
 * A terminal keeps its settings. Echo does no harm, since an echoed letter is no frame. A terminal
 * in line mode delivers a letter with the line end that the host sends after it, and one that makes
 * "\r\n" of a line end changes no payload. So a target needs no termios, and a probe that is killed
 * leaves no shell without echo. Payloads have no control characters, so that XON, XOFF and escape
 * sequences never come from here. */
#ifndef HS_BASE_CONSOLE_H
#define HS_BASE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONSOLE_TOKEN = 4, CONSOLE_PAYLOAD = 120, CONSOLE_MESSAGE_BYTES = 1024 };

struct console {
    int input, output;
    int error; /* errno of the first failed write; nothing is written after it */
    char token[CONSOLE_TOKEN + 1];
    int64_t wait_ns; /* for a letter after a pass */
    unsigned life_s; /* each frame sets alarm() to it; 0: no alarm */
    bool is_over;    /* nobody wants another pass */
    char line;       /* what the line that is read holds: one letter, 0 nothing, ' ' anything */
    int empty_reads; /* in a row */
    bool is_polled;  /* the system cannot wait for `input`: it is read again and again */
    int flags;       /* of `input` before that */
    /* of the pass */
    uint32_t number;
    uint32_t crc32;
    uint64_t bytes;
    size_t used;
    char payload[CONSOLE_PAYLOAD];
    /* messages of the command, each ended by '\n'; sent by console_end, in each pass */
    size_t message_bytes;
    unsigned lost_messages;
    char messages[CONSOLE_MESSAGE_BYTES];
};

/* `token`: CONSOLE_TOKEN characters. */
void console_open(struct console *console, const char *token, int input, int output);

/* Begins a pass: frame 0. */
void console_begin(struct console *console);

/* Output. 0, or errno of the first write that failed. */
int console_put(struct console *console, const char *bytes, size_t length);

/* Keeps a line for people; where there is no room the end of the pass says how many are missing. */
void console_message(struct console *console, const char *line);
void console_forget_messages(struct console *console);

/* Waits until all that was written has left the target, where the system can. */
void console_drain(const struct console *console);

/* Ends a pass: the rest of the output, the messages, and the frame with the sums. */
void console_end(struct console *console, int code);

/* Waits for a letter: true for another pass. False: `q`, the end of the wait or of the input, or an
 * error of the output; then the console is over, and console_begin and console_end do nothing. */
bool console_is_asked_again(struct console *console);

/* Whether input may still come. */
bool console_listens(const struct console *console);

/* Takes the input for ended: waiting for it failed (`error`, an errno value), which a message says.
 */
void console_stop_listening(struct console *console, int error);

/* Reads the input that is there: whether it asks to stop the measurement.
 *
 * The end of the input does not: on a console it is no more than a byte of noise (0x04), and
 * whoever measures over one sends the letter again until it is obeyed. */
bool console_is_asked_to_stop(struct console *console);

#endif
