/* A way for bytes between host and guest. */
#ifndef HS_GUEST_CHANNEL_H
#define HS_GUEST_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct channel {
    int to_poll; /* readable when the host has sent something; -1: it sends only when asked */
    bool (*send)(struct channel *channel, const void *bytes, size_t length);
    /* Waits for at least one byte; 0 or -1: the host is gone. */
    ssize_t (*receive)(struct channel *channel, void *to, size_t bytes);
};

/* The port `path` of a virtio-serial device. NULL with errno. */
struct channel *channel_open_port(const char *path);

/* Memory that host and guest share, in turns: the guest writes, stands still inside one write to a
 * device until the host has answered, and reads. No interrupt comes from the host, so that a guest
 * whose time counts instructions does the same in each run. `memory` and `bell` are the folders of
 * the two PCI devices in /sys. NULL with errno. */
struct channel *channel_open_turns(const char *memory, const char *bell);

#endif
