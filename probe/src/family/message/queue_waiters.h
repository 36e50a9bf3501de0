/* Which of several threads that wait for a message, or for room, is served first. */
#ifndef HS_FAMILY_MESSAGE_QUEUE_WAITERS_H
#define HS_FAMILY_MESSAGE_QUEUE_WAITERS_H

#include "base/posix_source.h"

#include "family/message/queue_users.h"
#include "run/run.h"

enum { QUEUE_WAITERS_TEXT_BYTES = 200 };

struct queue_waiters {
    struct queue_users users;
    struct message *room; /* of QUEUE_USER_BYTES */
    unsigned short random[3];
};

/* Judges the open, empty channel of users.table, which holds `depth` messages. `holds`: whether the
 * claim holds; `evidence` says what was seen, and is "" where the run is to stop. 0, or -1 with the
 * outcome. */
int queue_waiters_judge(struct queue_waiters *waiters, struct run *run,
                        const struct ipc_cleanup *ipc_cleanup, enum peer_scope scope,
                        bool are_senders, int depth, bool *holds,
                        char evidence[QUEUE_WAITERS_TEXT_BYTES]);

#endif
