/* Calls of POSIX and System V for semaphores, shared memory and message queues, which a small
 * system may lack (base/options.h). There each one fails with ENOSYS; those that only undo
 * something do nothing. */
#ifndef HS_FAMILY_SHARED_IPC_CALLS_H
#define HS_FAMILY_SHARED_IPC_CALLS_H

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* ---- semaphores of POSIX ---- */

/* What the system has, named or unnamed. */
#if HS_HAS_UNNAMED_SEMAPHORES
#define system_sem_t sem_t
#define system_sem_post sem_post
#define system_sem_wait sem_wait
#endif

static inline int ipc_posix_post(system_sem_t *semaphore)
{
#if HS_HAS_NAMED_SEMAPHORES || HS_HAS_UNNAMED_SEMAPHORES
    return system_sem_post(semaphore);
#else
    (void)semaphore;
    errno = ENOSYS;
    return -1;
#endif
}

static inline int ipc_posix_wait(system_sem_t *semaphore)
{
#if HS_HAS_NAMED_SEMAPHORES || HS_HAS_UNNAMED_SEMAPHORES
    return system_sem_wait(semaphore);
#else
    (void)semaphore;
    errno = ENOSYS;
    return -1;
#endif
}

/* Creates a semaphore of value 0 under a new name. NULL with errno (EEXIST: the name is in use). */
static inline system_sem_t *ipc_named_create(const char *name, mode_t mode)
{
#if HS_HAS_NAMED_SEMAPHORES
    system_sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, mode, 0);
    return semaphore == (void *)SEM_FAILED ? NULL : semaphore;
#else
    (void)name, (void)mode;
    errno = ENOSYS;
    return NULL;
#endif
}

static inline void ipc_named_close(system_sem_t *semaphore)
{
#if HS_HAS_NAMED_SEMAPHORES
    sem_close(semaphore);
#else
    (void)semaphore;
#endif
}

static inline void ipc_named_unlink(const char *name)
{
#if HS_HAS_NAMED_SEMAPHORES
    sem_unlink(name);
#else
    (void)name;
#endif
}

/* ---- System V sets of one semaphore ---- */

#if HS_HAS_SYSV_SEMAPHORES
#include <sys/ipc.h>
#include <sys/sem.h>

typedef key_t ipc_key;

/* POSIX leaves this declaration to the program. */
union ipc_set_argument {
    int value;
    struct semid_ds *facts;
    unsigned short *values;
};

/* Creates a set of value 0 under a new key: its handle, or -1 with errno. POSIX leaves the value of
 * a new set open, so this sets it. */
static inline int ipc_set_create(ipc_key key)
{
    union ipc_set_argument zero = {.value = 0};
    int set = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    return set >= 0 && semctl(set, 0, SETVAL, zero) == 0 ? set : -1;
}

static inline int ipc_set_step(int set, short step)
{
    struct sembuf operation = {.sem_num = 0, .sem_op = step, .sem_flg = 0};
    return semop(set, &operation, 1);
}

static inline void ipc_set_remove(int set)
{
    semctl(set, 0, IPC_RMID);
}

#else

typedef int ipc_key;

static inline int ipc_set_create(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return -1;
}

static inline int ipc_set_step(int set, short step)
{
    (void)set, (void)step;
    errno = ENOSYS;
    return -1;
}

static inline void ipc_set_remove(int set)
{
    (void)set;
}

#endif

/* ---- POSIX queues ---- */

#if HS_HAS_MESSAGE_QUEUES
#include <mqueue.h>

typedef mqd_t queue_handle;

/* Creates a queue under a new name, for `depth` messages of up to `bytes`. 0, or an errno value
 * (EEXIST: the name is in use). */
static inline int queue_create(queue_handle *queue, const char *name, size_t bytes, long depth)
{
    struct mq_attr room = {.mq_maxmsg = depth, .mq_msgsize = (long)bytes};
    if (HS_QUEUE_BYTES > 0 && bytes > HS_QUEUE_BYTES)
        return EINVAL;
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

/* Creates a queue under a new key: its handle, or -1 with errno. */
static inline int sysv_queue_create(ipc_key key)
{
    return msgget(key, IPC_CREAT | IPC_EXCL | 0600);
}

static inline void sysv_queue_remove(int queue)
{
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
