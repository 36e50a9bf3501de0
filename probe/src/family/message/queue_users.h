/* Threads that receive from one POSIX queue, or send to it, on request: waiters of several
 * priorities. They are threads of the caller's process, or all of one second process. */
#ifndef HS_FAMILY_MESSAGE_QUEUE_USERS_H
#define HS_FAMILY_MESSAGE_QUEUE_USERS_H

#include "base/posix_source.h"

#include "family/message/kind.h"
#include "family/shared/peer.h"

enum { QUEUE_USERS = 6, QUEUE_USER_BYTES = 64 };

struct queue_users_table;

struct queue_user {
    struct queue_users_table *table;
    struct rt_thread rt_thread; /* valid in the process that runs it */
    sem_t gate;
    _Atomic uint64_t number; /* of the message that it received, or is to send */
    unsigned char bytes[QUEUE_USER_BYTES + 1];
};

/* In shared memory. */
struct queue_users_table {
    struct message_channel channel; /* of QUEUE_USER_BYTES and the kind mq; the caller's */
    const struct run *run;
    enum peer_scope scope;
    bool are_senders;
    int priorities[QUEUE_USERS];
    atomic_int is_over;
    atomic_int passed_count; /* calls that have returned */
    int count;               /* threads */
    struct queue_user user[QUEUE_USERS];
};

struct queue_users {
    struct queue_users_table *table;
    struct peer peer; /* used if the scope is a process */
};

/* Starts the threads, with table->priorities. 0, or an errno value with no thread left. */
int queue_users_start(struct queue_users *users, struct run *run,
                      const struct ipc_cleanup *ipc_cleanup, enum peer_scope scope,
                      bool are_senders);

/* Has thread `i` receive a message, or send one of this number. */
void queue_users_ask(struct queue_users_table *table, int i, uint64_t number);

pid_t queue_users_process(const struct queue_users *users);

/* Ends all threads, which must be at their gates. 0, or -1 with the outcome if their process had
 * ended early. */
int queue_users_end(struct queue_users *users, struct run *run);

#endif
