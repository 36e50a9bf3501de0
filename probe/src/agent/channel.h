/* A way for bytes between host and target. */
#ifndef HS_AGENT_CHANNEL_H
#define HS_AGENT_CHANNEL_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct channel {
    int to_poll; /* readable when the host has sent something; -1: it sends only when asked */
    bool (*send)(struct channel *channel, const void *bytes, size_t length);
    /* Waits for at least one byte; 0 or -1: the host is gone. */
    ssize_t (*receive)(struct channel *channel, void *to, size_t bytes);
    size_t ahead; /* bytes that `receive` returns without reading `to_poll` */
};

#endif
