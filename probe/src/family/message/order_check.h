/* What a queue must hand out next, beside what it does: the model for MSG-B-PRI. */
#ifndef HS_FAMILY_MESSAGE_ORDER_CHECK_H
#define HS_FAMILY_MESSAGE_ORDER_CHECK_H

#include "base/options.h"
#include "base/posix_source.h"
#include "base/random.h"
#include "family/message/kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ORDER_MOST = 32, ORDER_TEXT_BYTES = 120 };

enum order_claim { ORDER_PRIORITY, ORDER_AGE, ORDER_INTACT, ORDER_CLAIMS };

struct order_sent {
    uint64_t number;
    long priority;
    size_t bytes;
};

struct order_check {
    bool has_types;                      /* of System V: type -priority */
    struct order_sent queue[ORDER_MOST]; /* oldest first */
    int count;
    uint64_t last_number, received_count;
    char fault[ORDER_CLAIMS][ORDER_TEXT_BYTES]; /* the first of each claim; "": none */
    /* A message that came before one that was due, by claim: a fault of order once that one comes,
     * and none if it was lost. 0: none. */
    uint64_t overtaken[ORDER_CLAIMS];
    char suspicion[ORDER_CLAIMS][ORDER_TEXT_BYTES];
};

/* Notes a message that is sent, at most ORDER_MOST at a time; returns its number, which
 * content_fill writes as number and key. The higher priority comes first. */
uint64_t order_note_sent(struct order_check *check, long priority, size_t bytes);

/* Judges a message that was received. */
void order_note_received(struct order_check *check, const unsigned char *bytes, ssize_t got,
                         long priority);

/* Judges that the queue gave no message: a fault where one must be there. */
void order_note_empty(struct order_check *check);

/* Judges that the queue refused the message sent last, though it had room. */
void order_note_refused(struct order_check *check, const char *error);

/* ---- messages through a queue ----
 *
 * Of several priorities, sent and received in random turns by one thread that never blocks. */

enum { QUEUE_ORDER_DEPTH = 8, QUEUE_ORDER_BYTES = 256, QUEUE_ORDER_STEPS = 2000 };

struct queue_order {
    struct order_check check;
    struct random random;
    bool takes_any; /* of System V: the oldest message, whatever its type */
};

/* Passes messages through an open, empty channel of the kind mq or sysv, and judges each. It is
 * empty again afterwards. `room` is for a message of QUEUE_ORDER_BYTES. 0, or an errno value where
 * the queue cannot be used without blocking. */
int queue_order_try(struct queue_order *order, struct message_channel *channel,
                    struct message *room, uint64_t seed);

#endif
