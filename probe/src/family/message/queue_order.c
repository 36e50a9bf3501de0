#include "base/posix_source.h"

#include "family/message/queue_order.h"

#include "family/message/content.h"

#include <stdlib.h>

enum { LEVELS = 4, LEAST_BYTES = 8, LEAST_PRIORITY_COUNT = 32 /* of POSIX */, MOST_TYPE = 32 };

static int draw(struct queue_order *order, int count)
{
    return (int)(erand48(order->random) * count);
}

/* From the lowest to the highest that there is; of System V the highest is type 1. */
static long draw_priority(struct queue_order *order, bool has_types)
{
    static const long types[LEVELS] = {1, 2, 8, MOST_TYPE};
    long most = sysconf(_SC_MQ_PRIO_MAX);
    long levels[LEVELS] = {0, 1, 7, most > 0 ? most - 1 : LEAST_PRIORITY_COUNT - 1};
    int level = draw(order, LEVELS);
    return has_types ? -types[level] : levels[level];
}

static bool has_sent(struct message_channel *channel, struct message *room, size_t bytes,
                     long priority)
{
    if (channel->kind == MESSAGE_MQ)
        return queue_send(channel->queue, room->bytes, bytes, (unsigned)priority) == 0;
    room->type = -priority;
    return sysv_queue_send(channel->in, room, bytes, false) == 0;
}

static void send_one(struct queue_order *order, struct message_channel *channel,
                     struct message *room)
{
    struct order_check *check = &order->check;
    long priority = draw_priority(order, channel->kind == MESSAGE_SYSV);
    size_t bytes = LEAST_BYTES + (size_t)draw(order, QUEUE_ORDER_BYTES - LEAST_BYTES + 1);
    uint64_t number = order_note_sent(check, order->takes_any ? 0 : priority, bytes);
    content_fill(room->bytes, bytes, number, number);
    if (!has_sent(channel, room, bytes, priority))
        order_note_refused(check, strerror(errno));
}

static void receive_one(struct queue_order *order, struct message_channel *channel,
                        struct message *room)
{
    unsigned priority = 0;
    ssize_t got;
    if (channel->kind == MESSAGE_MQ)
        got = queue_receive(channel->queue, room->bytes, QUEUE_ORDER_BYTES + 1, &priority);
    else
        got = sysv_queue_receive(channel->in, room, QUEUE_ORDER_BYTES + 1,
                                 order->takes_any ? 0 : -MOST_TYPE, false);
    long as_sent = channel->kind == MESSAGE_MQ ? (long)priority : -room->type;
    if (got < 0)
        order_note_empty(&order->check);
    else
        order_note_received(&order->check, room->bytes, got, order->takes_any ? 0 : as_sent);
}

/* Sends and receives in turns that are drawn, up to a full and down to an empty queue. */
static void take_turns(struct queue_order *order, struct message_channel *channel,
                       struct message *room)
{
    for (int i = 0; i < QUEUE_ORDER_STEPS; i++) {
        bool is_full = order->check.count == QUEUE_ORDER_DEPTH;
        if (!is_full && (order->check.count == 0 || draw(order, 2) == 0))
            send_one(order, channel, room);
        else
            receive_one(order, channel, room);
    }
    while (order->check.count > 0)
        receive_one(order, channel, room);
}

/* What a queue still has was sent twice. */
static void empty(struct queue_order *order, struct message_channel *channel, struct message *room)
{
    for (int i = 0; i < ORDER_MOST && message_try_receive(channel, room, QUEUE_ORDER_BYTES); i++)
        order_note_received(&order->check, room->bytes, 0, 0);
}

int queue_order_try(struct queue_order *order, struct message_channel *channel,
                    struct message *room, uint64_t seed)
{
    memset(&order->check, 0, sizeof order->check);
    order->check.has_types = channel->kind == MESSAGE_SYSV && !order->takes_any;
    order->random[0] = 0x330e;
    order->random[1] = (unsigned short)seed;
    order->random[2] = (unsigned short)(seed >> 16);
    bool is_posix = channel->kind == MESSAGE_MQ;
    if (is_posix && queue_set_nonblocking(channel->queue, true) != 0)
        return errno;
    take_turns(order, channel, room);
    if (is_posix && queue_set_nonblocking(channel->queue, false) != 0)
        return errno;
    empty(order, channel, room);
    return 0;
}
