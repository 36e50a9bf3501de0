#include "guest/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static bool port_send(struct channel *channel, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t done = write(channel->to_poll, from, length);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        }
    }
    return true;
}

/* A port whose host side is not open yet reads as ended: the host opens it before the guest boots,
 * so an end is the host's. */
static ssize_t port_receive(struct channel *channel, void *to, size_t bytes)
{
    ssize_t got;
    do
        got = read(channel->to_poll, to, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

struct channel *channel_open_port(const char *path)
{
    static struct channel port = {-1, port_send, port_receive, 0};
    port.to_poll = open(path, O_RDWR | O_CLOEXEC);
    return port.to_poll < 0 ? NULL : &port;
}
