#include "guest/frame.h"

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
    if (!receive_all(channel, head, sizeof head))
        return false;
    frame->type = (char)head[0];
    frame->length = 0;
    for (int i = 0; i < 4; i++)
        frame->length |= (uint32_t)head[1 + i] << (8 * i);
    if (frame->length > FRAME_MOST_BYTES)
        return false;
    frame->bytes[frame->length] = 0;
    return receive_all(channel, frame->bytes, frame->length);
}
