#include "base/posix_source.h"

#include "family/message/order_check.h"

#include "base/random.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep(struct order_check *check, enum order_claim claim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void keep(struct order_check *check, enum order_claim claim, const char *format, ...)
{
    va_list arguments;
    if (check->fault[claim][0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(check->fault[claim], ORDER_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

uint64_t order_note_sent(struct order_check *check, long priority, size_t bytes)
{
    struct order_sent sent = {++check->last_number, priority, bytes};
    check->queue[check->count++] = sent;
    return sent.number;
}

static int place_of(const struct order_check *check, uint64_t number)
{
    for (int i = 0; i < check->count; i++)
        if (check->queue[i].number == number)
            return i;
    return -1;
}

static void forget(struct order_check *check, int place)
{
    check->count--;
    memmove(&check->queue[place], &check->queue[place + 1],
            (size_t)(check->count - place) * sizeof check->queue[0]);
}

static const char *word_of(const struct order_check *check)
{
    return check->has_types ? "type" : "priority";
}

static long shown(const struct order_check *check, long priority)
{
    return check->has_types ? -priority : priority;
}

static void suspect(struct order_check *check, enum order_claim claim, uint64_t overtaken,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

static void suspect(struct order_check *check, enum order_claim claim, uint64_t overtaken,
                    const char *format, ...)
{
    va_list arguments;
    if (check->overtaken[claim] != 0)
        return;
    check->overtaken[claim] = overtaken;
    va_start(arguments, format);
    vsnprintf(check->suspicion[claim], ORDER_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static void judge_place(struct order_check *check, int place)
{
    const struct order_sent *taken = &check->queue[place];
    for (int i = 0; i < check->count; i++) {
        const struct order_sent *other = &check->queue[i];
        if (other->priority > taken->priority)
            suspect(check, ORDER_PRIORITY, other->number, "one of %s %ld came before one of %ld",
                    word_of(check), shown(check, taken->priority), shown(check, other->priority));
        if (other->priority == taken->priority && i < place)
            suspect(check, ORDER_AGE, other->number,
                    "of %s %ld, message %llu came before the older %llu", word_of(check),
                    shown(check, taken->priority), (unsigned long long)taken->number,
                    (unsigned long long)other->number);
    }
}

/* The message of this number came, or was lost. */
static void settle(struct order_check *check, uint64_t number, bool has_come)
{
    for (int i = 0; i < ORDER_CLAIMS; i++) {
        if (check->overtaken[i] != number)
            continue;
        if (has_come)
            keep(check, (enum order_claim)i, "%s", check->suspicion[i]);
        check->overtaken[i] = 0;
    }
}

static void judge_content(struct order_check *check, const struct order_sent *sent,
                          const unsigned char *bytes, ssize_t got, long priority)
{
    if (got != (ssize_t)sent->bytes)
        keep(check, ORDER_INTACT, "a message of %zu bytes came with %zd", sent->bytes, got);
    else if (!content_is(bytes, sent->bytes, sent->number, sent->number))
        keep(check, ORDER_INTACT, "message %llu came with wrong content",
             (unsigned long long)sent->number);
    if (priority != sent->priority)
        keep(check, ORDER_INTACT, "a message of %s %ld came with %ld", word_of(check),
             shown(check, sent->priority), shown(check, priority));
}

void order_note_received(struct order_check *check, const unsigned char *bytes, ssize_t got,
                         long priority)
{
    uint64_t number = got < (ssize_t)sizeof number ? 0 : content_number_of(bytes, sizeof number);
    int place = place_of(check, number);
    check->received_count++;
    if (place < 0) {
        keep(check, ORDER_INTACT, "a message came that was not in the queue");
        return;
    }
    settle(check, number, true);
    judge_place(check, place);
    judge_content(check, &check->queue[place], bytes, got, priority);
    forget(check, place);
}

void order_note_empty(struct order_check *check)
{
    if (check->count > 0)
        keep(check, ORDER_INTACT, "message %llu was lost",
             (unsigned long long)check->queue[0].number);
    for (int i = 0; i < check->count; i++)
        settle(check, check->queue[i].number, false);
    check->count = 0;
}

void order_note_refused(struct order_check *check, const char *error)
{
    check->count--;
    keep(check, ORDER_INTACT, "a queue with room refused a message: %s", error);
}

/* ---- messages through a queue ---- */

enum { LEVELS = 4, LEAST_BYTES = 8, LEAST_PRIORITY_COUNT = 32 /* of POSIX */, MOST_TYPE = 32 };

static int draw(struct queue_order *order, int count)
{
    return (int)random_below(&order->random, count);
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
    random_start(&order->random, seed);
    bool is_posix = channel->kind == MESSAGE_MQ;
    if (is_posix && queue_set_nonblocking(channel->queue, true) != 0)
        return errno;
    take_turns(order, channel, room);
    if (is_posix && queue_set_nonblocking(channel->queue, false) != 0)
        return errno;
    empty(order, channel, room);
    return 0;
}
