/* Messages of several priorities through one queue, sent and received in random turns by one thread
 * that never blocks. */
#ifndef HS_FAMILY_MESSAGE_QUEUE_ORDER_H
#define HS_FAMILY_MESSAGE_QUEUE_ORDER_H

#include "base/posix_source.h"

#include "family/message/kind.h"
#include "family/message/order_check.h"

enum { QUEUE_ORDER_DEPTH = 8, QUEUE_ORDER_BYTES = 256, QUEUE_ORDER_STEPS = 2000 };

struct queue_order {
    struct order_check check;
    unsigned short random[3];
    bool takes_any; /* of System V: the oldest message, whatever its type */
};

/* Passes messages through an open, empty channel of the kind mq or sysv, and judges each. It is
 * empty again afterwards. `room` is for a message of QUEUE_ORDER_BYTES. 0, or an errno value where
 * the queue cannot be used without blocking. */
int queue_order_try(struct queue_order *order, struct message_channel *channel,
                    struct message *room, uint64_t seed);

#endif
