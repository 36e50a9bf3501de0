/* What a queue does that has no message or no room: for a caller that must not block, and for one
 * that waits until a time. */
#ifndef HS_FAMILY_MESSAGE_QUEUE_BOUNDS_H
#define HS_FAMILY_MESSAGE_QUEUE_BOUNDS_H

#include "base/posix_source.h"

#include "family/message/kind.h"

enum { QUEUE_BOUNDS_TEXT_BYTES = 160 };

/* Each judges an open, empty channel of the kind mq or sysv (timeouts: mq), which holds `depth`
 * messages (mq) of channel->bytes, and leaves it empty. `room` is for one. Whether the claim holds;
 * `evidence` says what was seen. */
bool queue_bounds_refuse(struct message_channel *channel, int depth, struct message *room,
                         char evidence[QUEUE_BOUNDS_TEXT_BYTES]);
bool queue_bounds_timeouts(struct message_channel *channel, int depth, struct message *room,
                           char evidence[QUEUE_BOUNDS_TEXT_BYTES]);

#endif
