/* Message queues of POSIX and System V, which a small system may lack (posix_optional.h). There
 * each call fails with ENOSYS; those that only undo something do nothing. */
#ifndef HS_FAMILY_SHARED_QUEUE_CALLS_H
#define HS_FAMILY_SHARED_QUEUE_CALLS_H

#include "family/shared/ipc_calls.h"

#include <stdint.h>

/* ---- POSIX queues ---- */

#if HS_HAS_MESSAGE_QUEUES
#include <mqueue.h>

typedef mqd_t queue_handle;

/* Creates a queue under a new name, for `depth` messages of up to `bytes`. 0, or an errno value
 * (EEXIST: the name is in use). */
static inline int queue_create(queue_handle *queue, const char *name, size_t bytes, long depth)
{
    struct mq_attr room = {.mq_maxmsg = depth, .mq_msgsize = (long)bytes};
    *queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &room);
    return *queue != (mqd_t)-1 ? 0 : errno;
}

static inline void queue_close(queue_handle queue)
{
    mq_close(queue);
}

static inline void queue_unlink(const char *name)
{
    mq_unlink(name);
}

static inline int queue_send(queue_handle queue, const void *bytes, size_t count, unsigned priority)
{
    return mq_send(queue, bytes, count, priority);
}

/* Length of the message, or -1 with errno; `priority` may be NULL. */
static inline ssize_t queue_receive(queue_handle queue, void *bytes, size_t room,
                                    unsigned *priority)
{
    return mq_receive(queue, bytes, room, priority);
}

/* The same until a time of CLOCK_REALTIME (ETIMEDOUT). */
static inline int queue_send_until(queue_handle queue, const void *bytes, size_t count,
                                   unsigned priority, const struct timespec *end)
{
    return mq_timedsend(queue, bytes, count, priority, end);
}

static inline ssize_t queue_receive_until(queue_handle queue, void *bytes, size_t room,
                                          unsigned *priority, const struct timespec *end)
{
    return mq_timedreceive(queue, bytes, room, priority, end);
}

/* Whether calls that would block fail with EAGAIN. 0, or -1 with errno. */
static inline int queue_set_nonblocking(queue_handle queue, bool is_nonblocking)
{
    struct mq_attr flags = {.mq_flags = is_nonblocking ? O_NONBLOCK : 0};
    return mq_setattr(queue, &flags, NULL);
}

#else

typedef int queue_handle;

static inline int queue_create(queue_handle *queue, const char *name, size_t bytes, long depth)
{
    (void)name, (void)bytes, (void)depth;
    *queue = -1;
    return ENOSYS;
}

static inline void queue_close(queue_handle queue)
{
    (void)queue;
}

static inline void queue_unlink(const char *name)
{
    (void)name;
}

static inline int queue_send(queue_handle queue, const void *bytes, size_t count, unsigned priority)
{
    (void)queue, (void)bytes, (void)count, (void)priority;
    errno = ENOSYS;
    return -1;
}

static inline ssize_t queue_receive(queue_handle queue, void *bytes, size_t room,
                                    unsigned *priority)
{
    (void)queue, (void)bytes, (void)room, (void)priority;
    errno = ENOSYS;
    return -1;
}

static inline int queue_send_until(queue_handle queue, const void *bytes, size_t count,
                                   unsigned priority, const struct timespec *end)
{
    (void)end;
    return queue_send(queue, bytes, count, priority);
}

static inline ssize_t queue_receive_until(queue_handle queue, void *bytes, size_t room,
                                          unsigned *priority, const struct timespec *end)
{
    (void)end;
    return queue_receive(queue, bytes, room, priority);
}

static inline int queue_set_nonblocking(queue_handle queue, bool is_nonblocking)
{
    (void)queue, (void)is_nonblocking;
    errno = ENOSYS;
    return -1;
}

#endif

/* ---- System V queues: each message begins with a long, its type (1 or more) ---- */

#if HS_HAS_SYSV_MESSAGES
#include <sys/ipc.h>
#include <sys/msg.h>

/* Whether no queue has `key`. False with errno 0 if one has it or `key` is IPC_PRIVATE, otherwise
 * with the error. */
static inline bool sysv_queue_is_free(ipc_key key)
{
    errno = 0;
    return key != IPC_PRIVATE && msgget(key, 0) < 0 && errno == ENOENT;
}

/* Creates a queue under a new key: its handle, or -1 with errno. */
static inline int sysv_queue_create(ipc_key key)
{
    return msgget(key, IPC_CREAT | IPC_EXCL | 0600);
}

static inline void sysv_queue_remove(int queue)
{
    msgctl(queue, IPC_RMID, NULL);
}

/* Removes the queue of `key` if this user created it and it changed at or after `since`. */
static inline void sysv_queue_remove_own(ipc_key key, time_t since)
{
    struct msqid_ds facts;
    int queue = msgget(key, 0);
    if (queue < 0 || msgctl(queue, IPC_STAT, &facts) != 0)
        return;
    if (facts.msg_perm.cuid == geteuid() && facts.msg_ctime >= since)
        msgctl(queue, IPC_RMID, NULL);
}

/* Bytes that all messages in the queue may have together; -1 with errno. */
static inline int64_t sysv_queue_bytes(int queue)
{
    struct msqid_ds facts;
    return msgctl(queue, IPC_STAT, &facts) == 0 ? (int64_t)facts.msg_qbytes : -1;
}

/* `count`: of the bytes behind the type. can_block false: fails with EAGAIN where it would block.
 */
static inline int sysv_queue_send(int queue, const void *message, size_t count, bool can_block)
{
    return msgsnd(queue, message, count, can_block ? 0 : IPC_NOWAIT);
}

/* type 0: the oldest; above 0: the oldest of this type; below: the oldest of the lowest type up to
 * -type. Bytes behind the type, or -1 with errno (ENOMSG: it would block). */
static inline ssize_t sysv_queue_receive(int queue, void *message, size_t room, long type,
                                         bool can_block)
{
    return msgrcv(queue, message, room, type, can_block ? 0 : IPC_NOWAIT);
}

#else

static inline bool sysv_queue_is_free(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return false;
}

static inline int sysv_queue_create(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return -1;
}

static inline void sysv_queue_remove(int queue)
{
    (void)queue;
}

static inline void sysv_queue_remove_own(ipc_key key, time_t since)
{
    (void)key, (void)since;
}

static inline int64_t sysv_queue_bytes(int queue)
{
    (void)queue;
    errno = ENOSYS;
    return -1;
}

static inline int sysv_queue_send(int queue, const void *message, size_t count, bool can_block)
{
    (void)queue, (void)message, (void)count, (void)can_block;
    errno = ENOSYS;
    return -1;
}

static inline ssize_t sysv_queue_receive(int queue, void *message, size_t room, long type,
                                         bool can_block)
{
    (void)queue, (void)message, (void)room, (void)type, (void)can_block;
    errno = ENOSYS;
    return -1;
}

#endif

#endif
