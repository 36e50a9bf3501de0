/* packets: two UDP sockets on 127.0.0.1, connected to each other, so that no other process's
 * packets count. A piece sends BURST packets and then takes all that came. */
#include "base/posix_source.h"

#include "work/flood_way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { BURST = 32, PACKET_BYTES = 64, TRIAL_MS = 1000 };

static int open_end(struct flood *flood, struct sockaddr_in *address)
{
    socklen_t bytes = sizeof *address;
    int end = socket(AF_INET, SOCK_DGRAM, 0);
    if (end < 0)
        return flood_refuse(flood, errno, "no UDP socket");
    flood_keep(flood, end);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* port 0: the kernel chooses */
    if (bind(end, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(end, (struct sockaddr *)address, &bytes) != 0)
        return flood_refuse(flood, errno, "no UDP socket on 127.0.0.1");
    return 0;
}

static int try_once(struct flood *flood)
{
    char packet[PACKET_BYTES] = {0};
    struct pollfd to = {.fd = flood->descriptors[1], .events = POLLIN};
    if (send(flood->descriptors[0], packet, sizeof packet, MSG_NOSIGNAL) != PACKET_BYTES)
        return flood_refuse(flood, errno, "no packet could be sent over 127.0.0.1");
    if (poll(&to, 1, TRIAL_MS) != 1 || recv(to.fd, packet, sizeof packet, MSG_DONTWAIT) < 0)
        return flood_refuse(flood, ETIMEDOUT, "a packet over 127.0.0.1 did not arrive in 1 s");
    return 0;
}

static int prepare(struct flood *flood)
{
    struct sockaddr_in addresses[2];
    for (int i = 0; i < 2; i++) {
        int error = open_end(flood, &addresses[i]);
        if (error)
            return error;
    }
    for (int i = 0; i < 2; i++)
        if (connect(flood->descriptors[i], (struct sockaddr *)&addresses[!i],
                    sizeof addresses[!i]) != 0)
            return flood_refuse(flood, errno, "connecting UDP sockets on 127.0.0.1");
    return try_once(flood);
}

static void step(struct flood *flood)
{
    char packet[PACKET_BYTES] = {0};
    uint64_t failed = 0, received = 0;
    for (int i = 0; i < BURST; i++)
        failed += send(flood->descriptors[0], packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                          PACKET_BYTES
                      ? 0
                      : 1;
    while (received < 2 * BURST &&
           recv(flood->descriptors[1], packet, sizeof packet, MSG_DONTWAIT) >= 0)
        received++;
    flood_count(&flood->failed_count, failed);
    flood_count(&flood->done_count, received);
}

const struct flood_way flood_packets = {.prepare = prepare, .step = step};
