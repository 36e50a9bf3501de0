/* What host and guest say to each other: frames of a type, a length and that many bytes.
 *
 *   host to guest                               guest to host
 *   R  run: words, each ended by a 0 byte       H  ready: version of this list, one byte
 *   I  bytes for its standard input             O  bytes of its standard output
 *   Z  end of its standard input                E  bytes of its standard error
 *   S  a signal for its process group, a byte   T  its input is taken: the next may come
 *   C  what does the clock say?                 X  its end: exit code, or 128 + signal; errno where
 *                                                  it did not start: two bytes
 *                                               C  CLOCK_MONOTONIC in ns: eight bytes
 *
 * Numbers are little-endian. One command runs at a time. T is sent when no input waits any more;
 * FRAME_MOST_BYTES may wait. The agent on a board knows more types (agent.h). */
#ifndef HS_AGENT_FRAME_H
#define HS_AGENT_FRAME_H

#include "agent/channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_VERSION = 2,
    FRAME_HEAD_BYTES = 5,
    FRAME_MOST_BYTES = 1 << 16,
    FRAME_MOST_WORDS = 512,

    FRAME_RUN = 'R',
    FRAME_INPUT = 'I',
    FRAME_INPUT_END = 'Z',
    FRAME_SIGNAL = 'S',
    FRAME_CLOCK = 'C',
    FRAME_READY = 'H',
    FRAME_OUTPUT = 'O',
    FRAME_ERROR = 'E',
    FRAME_TAKEN = 'T',
    FRAME_EXIT = 'X',
};

struct frame {
    char type;
    uint32_t length;
    unsigned char bytes[FRAME_MOST_BYTES + 1]; /* a 0 byte follows the last */
};

/* False where the other side is gone. */
bool frame_send(struct channel *channel, char type, const void *bytes, size_t length);

/* Waits for the next frame. False where the other side is gone, or sent what is no frame: then
 * `length` is above FRAME_MOST_BYTES. */
bool frame_receive(struct channel *channel, struct frame *frame);

/* Points `words` to the words of a frame, with a NULL after them; returns how many. -1: there are
 * more than FRAME_MOST_WORDS, or no 0 byte ends the last. */
int frame_words(struct frame *frame, char *words[FRAME_MOST_WORDS + 1]);

/* Appends a word. False, with the frame unchanged, where it has no room. */
bool frame_add(struct frame *frame, const char *word);

#endif
