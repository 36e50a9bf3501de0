/* The host that the element network sends to: one with an echo service (RFC 862) over TCP. */
#ifndef HS_LOAD_PEER_H
#define HS_LOAD_PEER_H

#include "load/element.h"

enum { PEER_WHY_BYTES = 320 };

/* Stores the address of the host, which takes a connection and echoes the data: tried for 6 s and a
 * little more. False, with the cause in one line in `why`, of PEER_WHY_BYTES. */
bool peer_find(const struct load_address *to, struct load_peer *peer, char *why, size_t bytes);

/* A connection to it with TCP_NODELAY: descriptor, or -1 with errno. */
int peer_connect(const struct load_peer *peer);

#endif
