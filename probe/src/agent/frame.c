#include "base/posix_source.h"

#include "agent/frame.h"

#include <string.h>

static bool receive_all(struct channel *channel, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        ssize_t got = channel->receive(channel, to, bytes);
        if (got <= 0)
            return false;
        to += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool frame_send(struct channel *channel, char type, const void *bytes, size_t length)
{
    unsigned char head[FRAME_HEAD_BYTES] = {(unsigned char)type};
    for (int i = 0; i < 4; i++)
        head[1 + i] = (unsigned char)(length >> (8 * i));
    return channel->send(channel, head, sizeof head) && channel->send(channel, bytes, length);
}

bool frame_receive(struct channel *channel, struct frame *frame)
{
    unsigned char head[FRAME_HEAD_BYTES];
    frame->length = 0;
    if (!receive_all(channel, head, sizeof head))
        return false;
    frame->type = (char)head[0];
    for (int i = 0; i < 4; i++)
        frame->length |= (uint32_t)head[1 + i] << (8 * i);
    if (frame->length > FRAME_MOST_BYTES)
        return false;
    frame->bytes[frame->length] = 0;
    return receive_all(channel, frame->bytes, frame->length);
}

int frame_words(struct frame *frame, char *words[FRAME_MOST_WORDS + 1])
{
    int count = 0;
    if (frame->length > 0 && frame->bytes[frame->length - 1] != 0)
        return -1;
    for (uint32_t at = 0; at < frame->length; at += (uint32_t)strlen(words[count++]) + 1) {
        if (count == FRAME_MOST_WORDS)
            return -1;
        words[count] = (char *)frame->bytes + at;
    }
    words[count] = NULL;
    return count;
}

bool frame_add(struct frame *frame, const char *word)
{
    size_t bytes = strlen(word) + 1;
    if (bytes > FRAME_MOST_BYTES - frame->length)
        return false;
    memcpy(frame->bytes + frame->length, word, bytes);
    frame->length += (uint32_t)bytes;
    return true;
}
