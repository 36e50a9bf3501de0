/* The element network, to a host that echoes the data (network.c: over loopback). */
#ifndef HS_LOAD_ELEMENT_NETWORK_HOST_H
#define HS_LOAD_ELEMENT_NETWORK_HOST_H

#include "load/element.h"

enum {
    NETWORK_PACKETS = COUNTER_OWN,
    NETWORK_SENT_BYTES,
    NETWORK_FAILED,
    NETWORK_MESSAGE_BYTES = 256
};

/* Messages later than this are skipped, not caught up. */
#define NETWORK_BEHIND_NS INT64_C(100000000)
#define NETWORK_TICK_NS INT64_C(1000000)

int network_host_prepare(struct worker *worker);
void network_host_work(struct worker *worker);

#endif
