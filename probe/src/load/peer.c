#include "base/posix_source.h"

#include "load/peer.h"

#include "load/element.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(3000000000) /* for the echo */

enum { PATIENCE_FOR_ONE_S = 3 }; /* for one call */

static bool read_ipv4(const char *host, in_port_t port, struct load_peer *peer)
{
    struct sockaddr_in *address = (struct sockaddr_in *)&peer->address;
    address->sin_family = AF_INET;
    address->sin_port = port;
    peer->bytes = sizeof *address;
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

/* In fe80::1%eth0 the part after '%' is the link. */
static bool read_ipv6(const char *host, in_port_t port, struct load_peer *peer)
{
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)&peer->address;
    char number[LOAD_HOST_BYTES];
    size_t length = strcspn(host, "%");
    snprintf(number, sizeof number, "%.*s", (int)length, host);
    address->sin6_family = AF_INET6;
    address->sin6_port = port;
    address->sin6_scope_id = host[length] ? if_nametoindex(host + length + 1) : 0;
    peer->bytes = sizeof *address;
    return inet_pton(AF_INET6, number, &address->sin6_addr) == 1 &&
           (host[length] == '\0' || address->sin6_scope_id != 0);
}

static bool read_address(const char *host, const char *port, struct load_peer *peer)
{
    in_port_t number = htons((uint16_t)strtol(port, NULL, 10));
    memset(peer, 0, sizeof *peer);
    return read_ipv4(host, number, peer) || read_ipv6(host, number, peer);
}

/* Each wait ends after 3 s. Linger 0 avoids TIME_WAIT. */
static int set_options(int end)
{
    int one = 1;
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct timeval patience = {.tv_sec = PATIENCE_FOR_ONE_S};
    return setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0
               ? -1
               : 0;
}

/* Only Linux bounds connect by SO_SNDTIMEO. */
static int connect_in_time(int end, const struct load_peer *peer)
{
    int flags = fcntl(end, F_GETFL), error = 0;
    socklen_t bytes = sizeof error;
    struct pollfd wanted = {.fd = end, .events = POLLOUT};
    if (flags < 0 || fcntl(end, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    if (connect(end, (const struct sockaddr *)&peer->address, peer->bytes) != 0) {
        if (errno != EINPROGRESS)
            return -1;
        int ready = poll(&wanted, 1, PATIENCE_FOR_ONE_S * 1000);
        if (ready == 0)
            errno = ETIMEDOUT;
        if (ready <= 0 || getsockopt(end, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
            return -1;
    }
    errno = error;
    return error ? -1 : fcntl(end, F_SETFL, flags);
}

int peer_connect(const struct load_peer *peer)
{
    int end = socket(peer->address.ss_family, SOCK_STREAM, 0);
    if (end < 0)
        return -1;
    if (set_options(end) == 0 && connect_in_time(end, peer) == 0)
        return end;
    int error = errno;
    close(end);
    errno = error;
    return -1;
}

static bool echoes(int end)
{
    static const char sent[] = "hardstone";
    char got[sizeof sent];
    size_t count = 0;
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    ssize_t more = send(end, sent, sizeof sent, MSG_NOSIGNAL);
    while (more > 0 && count < sizeof sent && clock_monotonic_ns() < until_ns) {
        more = recv(end, got + count, sizeof got - count, 0);
        count += more > 0 ? (size_t)more : 0;
    }
    return count == sizeof sent && memcmp(sent, got, sizeof sent) == 0;
}

bool peer_find(const struct load_address *to, struct load_peer *peer, char *why, size_t bytes)
{
    int length = snprintf(why, bytes, "network: %.100s port %s: ", to->host, to->port);
    char *rest = why + length;
    size_t left = bytes - (size_t)length;
    if (!read_address(to->host, to->port, peer)) {
        snprintf(rest, left, "there is no such link");
        return false;
    }
    int end = peer_connect(peer);
    if (end < 0) {
        snprintf(rest, left, "no connection: %s", strerror(errno));
        return false;
    }
    bool is_found = echoes(end);
    close(end);
    if (!is_found)
        snprintf(rest, left, "it does not echo the data");
    return is_found;
}
