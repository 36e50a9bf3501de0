#include "base/posix_source.h"

#include "family/message/queue_bounds.h"

#include "base/clock.h"

#include <limits.h>
#include <stdio.h>

enum { MOST_SYSV = 65536, TRIES = 5 };

#define WAIT_NS INT64_C(10000000)

static bool say(char evidence[QUEUE_BOUNDS_TEXT_BYTES], const char *what, const char *answer)
{
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "%s: %s", what, answer);
    return false;
}

static bool is_refused(int failed, int error)
{
    return failed != 0 && errno == error;
}

static const char *answer(bool was_accepted)
{
    return was_accepted ? "accepted" : strerror(errno);
}

static void take_all(struct message_channel *channel, struct message *room)
{
    while (message_try_receive(channel, room, channel->bytes))
        ;
}

/* ---- without waiting ---- */

static bool refuses_empty(struct message_channel *channel, struct message *room)
{
    if (channel->kind == MESSAGE_SYSV)
        return is_refused(sysv_queue_receive(channel->in, room, channel->bytes, 0, false) < 0,
                          ENOMSG);
    return is_refused(queue_receive(channel->queue, room->bytes, channel->bytes, NULL) < 0, EAGAIN);
}

static bool accepts(struct message_channel *channel, struct message *room)
{
    room->type = 1;
    if (channel->kind == MESSAGE_SYSV)
        return sysv_queue_send(channel->in, room, channel->bytes, false) == 0;
    return queue_send(channel->queue, room->bytes, channel->bytes, 0) == 0;
}

/* Fills it; `count`: messages accepted before the first refusal. */
static bool refuses_full(struct message_channel *channel, int most, struct message *room,
                         int *count)
{
    *count = 0;
    while (*count <= most && accepts(channel, room))
        ++*count;
    return *count <= most && errno == EAGAIN;
}

static bool refuses(struct message_channel *channel, int depth, struct message *room,
                    char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool is_posix = channel->kind == MESSAGE_MQ;
    int count;
    if (!refuses_empty(channel, room))
        return say(evidence, "receiving from the empty queue", strerror(errno));
    errno = 0;
    if (!refuses_full(channel, is_posix ? depth : MOST_SYSV, room, &count))
        return say(evidence, "sending to the full queue", answer(errno == 0));
    if (is_posix && count != depth) {
        snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "it holds %d messages, of %d asked", count,
                 depth);
        return false;
    }
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES,
             "empty: %s; full at %d messages of %zu bytes: EAGAIN", is_posix ? "EAGAIN" : "ENOMSG",
             count, channel->bytes);
    return true;
}

bool queue_bounds_refuse(struct message_channel *channel, int depth, struct message *room,
                         char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool is_posix = channel->kind == MESSAGE_MQ;
    if (is_posix && queue_set_nonblocking(channel->queue, true) != 0)
        return say(evidence, "mq_setattr with O_NONBLOCK", strerror(errno));
    bool holds = refuses(channel, depth, room, evidence);
    if (is_posix && queue_set_nonblocking(channel->queue, false) != 0)
        return say(evidence, "mq_setattr without O_NONBLOCK", strerror(errno));
    take_all(channel, room);
    return holds;
}

/* ---- until a time ---- */

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_timespec_ns(&now);
}

/* How much too early the call returned, ns; at most 0: it did not. By two clocks, since
 * CLOCK_REALTIME may be set meanwhile: the end must have been early by both. */
static int64_t early_ns(int64_t end_ns, int64_t began_ns)
{
    int64_t by_clock_ns = end_ns - realtime_ns();
    int64_t by_length_ns = WAIT_NS - (clock_monotonic_ns() - began_ns);
    return by_clock_ns < by_length_ns ? by_clock_ns : by_length_ns;
}

static bool waits(struct message_channel *channel, struct message *room, bool is_sender,
                  char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    const char *what = is_sender ? "sending to the full queue until a time"
                                 : "receiving from the empty queue until a time";
    int64_t began_ns = clock_monotonic_ns(), end_ns = realtime_ns() + WAIT_NS;
    struct timespec end = clock_ns_timespec(end_ns);
    ssize_t got =
        is_sender ? queue_send_until(channel->queue, room->bytes, channel->bytes, 0, &end)
                  : queue_receive_until(channel->queue, room->bytes, channel->bytes, NULL, &end);
    int error = errno;
    int64_t early = early_ns(end_ns, began_ns);
    errno = error;
    if (got >= 0 || error != ETIMEDOUT)
        return say(evidence, what, answer(got >= 0));
    if (early <= 0)
        return true;
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "%s of 10 ms: returned %lld us too early", what,
             (long long)(early / 1000));
    return false;
}

static bool waits_each_time(struct message_channel *channel, struct message *room, bool is_sender,
                            char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    for (int i = 0; i < TRIES; i++)
        if (!waits(channel, room, is_sender, evidence))
            return false;
    return true;
}

bool queue_bounds_timeouts(struct message_channel *channel, int depth, struct message *room,
                           char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool holds = waits_each_time(channel, room, false, evidence);
    for (int i = 0; holds && i < depth; i++)
        if (!message_try_send(channel, room, channel->bytes))
            holds = say(evidence, "filling the queue", strerror(errno));
    holds = holds && waits_each_time(channel, room, true, evidence);
    take_all(channel, room);
    if (holds)
        snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES,
                 "%d waits of 10 ms each, to receive and to send: ETIMEDOUT, none early", TRIES);
    return holds;
}
