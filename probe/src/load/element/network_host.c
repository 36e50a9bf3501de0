/* Messages to a host with an echo service. They are sent at the rate without waiting for those
 * before, since an answer may take longer than the time between two; a message counts when all of
 * it has come back. At most WINDOW_BYTES are under way: what is due then is skipped. A connection
 * that breaks, or is silent for SILENCE_NS, is counted, said and made again. */
#include "base/posix_source.h"

#include "load/element/network_host.h"

#include "load/duty.h"
#include "load/peer.h"
#include "load/rate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    own->heard_ns = duty_now_ns();
    return own->end >= 0;
}

int network_host_prepare(struct worker *worker)
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
        own->heard_ns = duty_now_ns();
    own->sent += (uint64_t)went;
    worker_count(worker, NETWORK_SENT_BYTES, (uint64_t)went);
    return own->sent % NETWORK_MESSAGE_BYTES == 0;
}

static void send_what_is_due(struct worker *worker, struct stream *own, struct rate *rate)
{
    if (own->sent % NETWORK_MESSAGE_BYTES != 0 && !send_message(worker, own))
        return;
    while (!own->broken && rate_next_ns(rate) <= duty_now_ns() &&
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

static void receive(struct worker *worker, struct stream *own)
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
        own->heard_ns = duty_now_ns();
        worker_count(worker, NETWORK_PACKETS, own->back / NETWORK_MESSAGE_BYTES - before);
        if (own->back >= NETWORK_MESSAGE_BYTES)
            worker_works(worker);
    }
    if (!own->broken && got == 0)
        own->broken = "closed by the host";
    else if (own->sent > own->back && duty_now_ns() - own->heard_ns > SILENCE_NS)
        own->broken = "nothing came back for 5 s";
}

static void connect_again(struct worker *worker, struct stream *own)
{
    worker_note(worker, "the connection to %.60s broke: %.40s", worker->degree->to.host,
                own->broken);
    worker_count(worker, NETWORK_FAILED, 1);
    close(own->end);
    while (!worker_should_stop(worker) && !is_connected(worker, own))
        duty_sleep_until(duty_now_ns() + AGAIN_NS);
}

void network_host_work(struct worker *worker)
{
    struct stream *own = worker->own;
    struct rate rate;
    rate_start(&rate, worker->degree->number, duty_now_ns());
    while (!worker_should_stop(worker)) {
        int64_t now_ns = duty_now_ns(), next_ns = rate_next_ns(&rate);
        bool is_idle = own->sent == own->back && next_ns > now_ns + NETWORK_TICK_NS;
        duty_sleep_until(is_idle ? next_ns : now_ns + NETWORK_TICK_NS);
        rate_skip(&rate, duty_now_ns(), NETWORK_BEHIND_NS);
        send_what_is_due(worker, own, &rate);
        receive(worker, own);
        if (own->broken)
            connect_again(worker, own);
    }
}
