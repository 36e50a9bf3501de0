/* network: TCP over the loopback interface, or to a host that is named (below).
 *
 * Over loopback both ends are in one process, so a transfer costs the kernel's network stack but no
 * context switch. One message is one segment: TCP_NODELAY is set, and the other end reads a message
 * before the next is sent. The directions alternate, so each message carries the acknowledgement of
 * the previous one, and the kernel sends hardly any other segments. */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { NETWORK_MESSAGE_BYTES = 256 };

/* Messages later than this are skipped, not caught up. */
#define NETWORK_BEHIND_NS INT64_C(100000000)
#define NETWORK_TICK_NS INT64_C(1000000)

/* ---- loopback ---- */

struct connection {
    int ends[2];
    bool is_back;
    char message[NETWORK_MESSAGE_BYTES];
};

/* Limits each wait to 1 s; linger 0 avoids TIME_WAIT. */
static int set_options(int end)
{
    int one = 1;
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct timeval patience = {.tv_sec = 1};
    if (setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
        setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
        setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)
        return errno;
    return 0;
}

static int close_with(int descriptor, int error)
{
    close(descriptor);
    return error;
}

static int connect_to(int door, struct connection *own)
{
    struct sockaddr_in address, other, theirs;
    socklen_t bytes = sizeof address, more = sizeof other;
    if (getsockname(door, (struct sockaddr *)&address, &bytes) != 0)
        return errno;
    own->ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (own->ends[0] < 0)
        return errno;
    if (connect(own->ends[0], (struct sockaddr *)&address, sizeof address) != 0)
        return close_with(own->ends[0], errno);
    own->ends[1] = accept(door, (struct sockaddr *)&theirs, &bytes);
    if (own->ends[1] < 0)
        return close_with(own->ends[0], errno);
    /* another local process may have connected first */
    if (getsockname(own->ends[0], (struct sockaddr *)&other, &more) != 0 ||
        other.sin_port != theirs.sin_port) {
        close(own->ends[1]);
        return close_with(own->ends[0], ECONNABORTED);
    }
    int error = set_options(own->ends[0]);
    return error ? error : set_options(own->ends[1]);
}

static int open_connection(struct connection *own)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* port 0: the kernel chooses */
    int door = socket(AF_INET, SOCK_STREAM, 0);
    if (door < 0)
        return errno;
    if (bind(door, (struct sockaddr *)&address, sizeof address) != 0 || listen(door, 1) != 0)
        return close_with(door, errno);
    return close_with(door, connect_to(door, own));
}

static int prepare_loopback(struct worker *worker)
{
    struct connection *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    int error = open_connection(own);
    if (error)
        worker_note(worker, "no TCP connection over 127.0.0.1: %s", strerror(error));
    return error;
}

static bool receive_all(int end, char *bytes, size_t left)
{
    while (left > 0) {
        ssize_t got = recv(end, bytes, left, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        left -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool transfer(struct connection *own)
{
    int from = own->ends[own->is_back], to = own->ends[!own->is_back];
    own->is_back = !own->is_back;
    return send(from, own->message, NETWORK_MESSAGE_BYTES, MSG_NOSIGNAL) == NETWORK_MESSAGE_BYTES &&
           receive_all(to, own->message, NETWORK_MESSAGE_BYTES);
}

static bool send_what_is_due(struct worker *worker, struct rate *rate)
{
    while (rate_next_ns(rate) <= clock_monotonic_ns() && !worker_should_stop(worker)) {
        rate_step(rate);
        if (!transfer(worker->own)) {
            worker_note(worker, "the connection over 127.0.0.1 broke: %s", strerror(errno));
            worker_count(worker, NETWORK_FAILED, 1);
            return false;
        }
        worker_count(worker, NETWORK_PACKETS, 1);
        worker_count(worker, NETWORK_SENT_BYTES, NETWORK_MESSAGE_BYTES);
        worker_works(worker);
    }
    return true;
}

static void work_over_loopback(struct worker *worker)
{
    struct connection *own = worker->own;
    struct rate rate;
    rate_start(&rate, worker->degree->number, clock_monotonic_ns());
    while (!worker_should_stop(worker)) {
        int64_t now_ns = clock_monotonic_ns(), next_ns = rate_next_ns(&rate);
        (void)clock_sleep_until(next_ns > now_ns + NETWORK_TICK_NS ? next_ns
                                                                   : now_ns + NETWORK_TICK_NS);
        rate_skip(&rate, clock_monotonic_ns(), NETWORK_BEHIND_NS);
        if (send_what_is_due(worker, &rate))
            continue;
        close(own->ends[0]);
        close(own->ends[1]);
        if (open_connection(own) != 0)
            return;
    }
}

/* ---- a host that echoes ----
 *
 * Messages to a host with an echo service. They are sent at the rate without waiting for those
 * before, since an answer may take longer than the time between two; a message counts when all of
 * it has come back. At most WINDOW_BYTES are under way: what is due then is skipped. A connection
 * that breaks, or is silent for SILENCE_NS, is counted, said and made again. */

enum { WINDOW_BYTES = 256 * NETWORK_MESSAGE_BYTES, PART_BYTES = 4096 };

#define SILENCE_NS INT64_C(5000000000)
#define AGAIN_NS INT64_C(1000000000)

struct stream {
    int end;             /* -1: not connected */
    uint64_t sent, back; /* bytes on this connection */
    int64_t heard_ns;    /* time of the last echo, or when no message was under way */
    const char *broken;  /* reason; NULL: not broken */
    unsigned char message[NETWORK_MESSAGE_BYTES];
};

static bool is_connected(struct worker *worker, struct stream *own)
{
    own->end = peer_connect(&worker->map->peer);
    own->sent = own->back = 0;
    own->broken = NULL;
    own->heard_ns = clock_monotonic_ns();
    return own->end >= 0;
}

static int prepare_host(struct worker *worker)
{
    struct stream *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    for (int i = 0; i < NETWORK_MESSAGE_BYTES; i++)
        own->message[i] = (unsigned char)i;
    if (is_connected(worker, own))
        return 0;
    worker_note(worker, "no connection to %.60s: %s", worker->degree->to.host, strerror(errno));
    return errno;
}

static bool is_passing(ssize_t answer)
{
    return answer < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Sends the rest of the message at hand: true when all of it went. */
static bool send_message(struct worker *worker, struct stream *own)
{
    size_t at = own->sent % NETWORK_MESSAGE_BYTES;
    ssize_t went =
        send(own->end, own->message + at, NETWORK_MESSAGE_BYTES - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (went < 0 && !is_passing(went))
        own->broken = strerror(errno);
    if (went <= 0)
        return false;
    if (own->sent == own->back)
        own->heard_ns = clock_monotonic_ns();
    own->sent += (uint64_t)went;
    worker_count(worker, NETWORK_SENT_BYTES, (uint64_t)went);
    return own->sent % NETWORK_MESSAGE_BYTES == 0;
}

static void send_due_messages(struct worker *worker, struct stream *own, struct rate *rate)
{
    if (own->sent % NETWORK_MESSAGE_BYTES != 0 && !send_message(worker, own))
        return;
    while (!own->broken && rate_next_ns(rate) <= clock_monotonic_ns() &&
           own->sent - own->back < WINDOW_BYTES && !worker_should_stop(worker)) {
        rate_step(rate);
        if (!send_message(worker, own))
            return;
    }
}

/* Whether `bytes` are what was sent: byte n of the stream has the value n modulo 256. */
static bool is_echo(const struct stream *own, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != (unsigned char)(own->back + i))
            return false;
    return own->back + count <= own->sent;
}

static void take_echoes(struct worker *worker, struct stream *own)
{
    unsigned char part[PART_BYTES];
    ssize_t got = -1;
    while (!own->broken && (got = recv(own->end, part, sizeof part, MSG_DONTWAIT)) != 0) {
        if (is_passing(got))
            break;
        if (got < 0 || !is_echo(own, part, (size_t)got)) {
            own->broken = got < 0 ? strerror(errno) : "it does not echo the data";
            return;
        }
        uint64_t before = own->back / NETWORK_MESSAGE_BYTES;
        own->back += (uint64_t)got;
        own->heard_ns = clock_monotonic_ns();
        worker_count(worker, NETWORK_PACKETS, own->back / NETWORK_MESSAGE_BYTES - before);
        if (own->back >= NETWORK_MESSAGE_BYTES)
            worker_works(worker);
    }
    if (!own->broken && got == 0)
        own->broken = "closed by the host";
    else if (own->sent > own->back && clock_monotonic_ns() - own->heard_ns > SILENCE_NS)
        own->broken = "nothing came back for 5 s";
}

static void connect_again(struct worker *worker, struct stream *own)
{
    worker_note(worker, "the connection to %.60s broke: %.40s", worker->degree->to.host,
                own->broken);
    worker_count(worker, NETWORK_FAILED, 1);
    close(own->end);
    while (!worker_should_stop(worker) && !is_connected(worker, own))
        (void)clock_sleep_until(clock_monotonic_ns() + AGAIN_NS);
}

static void work_with_host(struct worker *worker)
{
    struct stream *own = worker->own;
    struct rate rate;
    rate_start(&rate, worker->degree->number, clock_monotonic_ns());
    while (!worker_should_stop(worker)) {
        int64_t now_ns = clock_monotonic_ns(), next_ns = rate_next_ns(&rate);
        bool is_idle = own->sent == own->back && next_ns > now_ns + NETWORK_TICK_NS;
        (void)clock_sleep_until(is_idle ? next_ns : now_ns + NETWORK_TICK_NS);
        rate_skip(&rate, clock_monotonic_ns(), NETWORK_BEHIND_NS);
        send_due_messages(worker, own, &rate);
        take_echoes(worker, own);
        if (own->broken)
            connect_again(worker, own);
    }
}

/* ---- both ---- */

static bool has_host(const struct worker *worker)
{
    return worker->degree->to.host[0] != '\0';
}

static int prepare(struct worker *worker)
{
    return has_host(worker) ? prepare_host(worker) : prepare_loopback(worker);
}

static void work(struct worker *worker)
{
    if (has_host(worker))
        work_with_host(worker);
    else
        work_over_loopback(worker);
}

const struct load_element load_network = {
    .name = "network",
    .title = "TCP packets over the loopback interface, or to the host after @",
    .takes_host = true,
    .kind = LOAD_RATE,
    .default_degree = "4000/s",
    .counters = {NULL, "cpu_ns", NULL, NULL, "packets_count", "sent_bytes", "failed_count"},
    .prepare = prepare,
    .work = work,
};
