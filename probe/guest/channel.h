/* The ways for bytes between host and guest. */
#ifndef HS_GUEST_CHANNEL_H
#define HS_GUEST_CHANNEL_H

#include "agent/channel.h"

/* The port `path` of a virtio-serial device. NULL with errno. */
struct channel *channel_open_port(const char *path);

/* Memory that host and guest share, in turns: the guest writes, stands still inside one write to a
 * device until the host has answered, and reads. No interrupt comes from the host, so that a guest
 * whose time counts instructions does the same in each run. `memory` and `bell` are the folders of
 * the two PCI devices in /sys. NULL with errno. */
struct channel *channel_open_turns(const char *memory, const char *bell);

#endif
