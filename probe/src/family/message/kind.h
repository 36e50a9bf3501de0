/* The kinds of message channel behind one interface. A channel has one direction, one sender and
 * one receiver. */
#ifndef HS_FAMILY_MESSAGE_KIND_H
#define HS_FAMILY_MESSAGE_KIND_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "run/run.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum message_kind {
    MESSAGE_MQ, /* POSIX message queue */
    MESSAGE_PIPE,
    MESSAGE_FIFO,
    MESSAGE_UNIX, /* pair of Unix sockets, SOCK_SEQPACKET */
    MESSAGE_SYSV, /* System V message queue */
    MESSAGE_RING, /* ring in memory, with two POSIX semaphores */
    MESSAGE_KINDS
};

extern const char *const message_kind_names[]; /* for parameters, NULL-terminated */

#define MESSAGE_MOST_BYTES 1048576
#define MESSAGE_MOST_DEPTH 1024

/* Parameters of a test. */
#define MESSAGE_SCOPE_PARAM                                                                        \
    {                                                                                              \
        "scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names,                      \
            "between two threads, between two processes", "scope"                                  \
    }
#define MESSAGE_SIZE_PARAM(sizes)                                                                  \
    {                                                                                              \
        "sizes_bytes", PARAM_BYTES, true, sizes, 1, MESSAGE_MOST_BYTES, NULL,                      \
            "length of each message", "size_bytes"                                                 \
    }

/* Room for a message. The type is that of System V; other kinds send the bytes alone. */
struct message {
    long type;
    unsigned char bytes[];
};

/* A slot holds the length of its message, and the bytes. */
struct message_ring {
    sem_t free, filled;
    unsigned in, out; /* of the sender, of the receiver */
    unsigned depth;
    size_t slot_bytes;
    unsigned char *slots;
};

struct message_plan {
    enum message_kind kind;
    bool is_shared; /* between processes */
    size_t bytes;   /* of the longest message */
    int depth;      /* messages that a queue or ring holds; the other kinds have bounds in bytes */
    const struct ipc_cleanup_place *place;
    const char *folder;    /* for a FIFO; "": none */
    void *memory;          /* for a ring: message_ring_bytes, and shared as the parties need it */
    struct message *trial; /* room for a message, to find whether the kind takes this length */
};

/* In memory that both parties share. */
struct message_channel {
    enum message_kind kind;
    size_t bytes;
    queue_handle queue;
    int in, out; /* descriptors: of the receiver, of the sender; in: of a System V queue too */
    struct message_ring ring;
    atomic_int error; /* errno of the first call that failed; 0: none */
};

/* Memory of a struct message for messages of up to `bytes`: one byte more has room, so that a
 * message that is too long is seen. */
size_t message_room_bytes(size_t bytes);

/* Memory of a ring's slots. */
size_t message_ring_bytes(size_t bytes, int depth);

/* Opens a channel of plan->kind, empty; what it has of names is removed before this returns, but
 * for a System V queue, which has a key until message_close. 0, or an errno value: EMSGSIZE: the
 * messages are too long for this kind here; ENOBUFS: the queue may not hold so many. */
int message_open(struct message_channel *channel, const struct message_plan *plan);
void message_close(struct message_channel *channel);

/* Whether a channel with this plan can be opened. If not, an event says why (kind_unsupported,
 * kind_limited, kind_denied), and the result becomes `denied` if a limit or right is the reason; a
 * size or kind that is not there leaves the outcome as it is. */
bool message_is_here(struct run *run, const struct message_plan *plan);

/* The other kinds are still measured; the result says that this one exists but was denied. */
void message_deny(struct run *run, const struct message_plan *plan, int error);

/* What of a limit or right keeps the kind from being opened, and what to raise; NULL: nothing. */
const char *message_remedy(enum message_kind kind, int error);

/* 0, or -1 with the outcome if a call failed, for instance because the queue was removed. */
int message_check(struct run *run, const struct message_channel *channel);

/* For a test's `judge`: 0, or -1 with STATUS_UNSUPPORTED if there is no value and no verdict. */
int message_require_any(struct run *run);

/* After a failed call: true for EINTR (retry). Other errors are kept. */
static inline bool message_try_again(struct message_channel *channel)
{
    int none = 0, error = errno;
    if (error != EINTR)
        atomic_compare_exchange_strong(&channel->error, &none, error);
    return error == EINTR;
}

/* ---- content ----
 *
 * By it a lost, doubled, swapped or damaged message is known. The first eight bytes
 * are the message's number, of shorter ones as many as fit; the rest follows from a key. */

/* Writes number and rest of a message of `count` bytes. */
void content_fill(unsigned char *bytes, size_t count, uint64_t number, uint64_t key);

/* Whether the message holds just that. */
bool content_is(const unsigned char *bytes, size_t count, uint64_t number, uint64_t key);

/* The part of a number that fits. */
static inline uint64_t content_part(size_t count, uint64_t number)
{
    return count < sizeof number ? number & ((UINT64_C(1) << (8 * count)) - 1) : number;
}

/* Writes the number alone, lowest byte first. */
static inline void content_number(unsigned char *bytes, size_t count, uint64_t number)
{
    for (size_t i = 0; i < sizeof number && i < count; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

/* The number that a message holds, as far as it fits. */
static inline uint64_t content_number_of(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number && i < count; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

/* ---- ring ---- */

static inline unsigned char *message_slot(const struct message_ring *ring, unsigned at)
{
    return ring->slots + (size_t)(at % ring->depth) * ring->slot_bytes;
}

static inline void message_ring_put(struct message_ring *ring, const unsigned char *bytes,
                                    size_t count)
{
    unsigned char *slot = message_slot(ring, ring->in++);
    memcpy(slot, &count, sizeof count);
    memcpy(slot + sizeof count, bytes, count);
    sem_post(&ring->filled);
}

static inline ssize_t message_ring_take(struct message_ring *ring, unsigned char *bytes)
{
    size_t count;
    const unsigned char *slot = message_slot(ring, ring->out++);
    memcpy(&count, slot, sizeof count);
    memcpy(bytes, slot + sizeof count, count);
    sem_post(&ring->free);
    return (ssize_t)count;
}

static inline bool message_ring_wait(struct message_channel *channel, sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        if (!message_try_again(channel))
            return false;
    return true;
}

/* ---- streams of bytes: pipe and FIFO ---- */

static inline bool message_write(struct message_channel *channel, const unsigned char *bytes,
                                 size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t written = write(channel->out, bytes + done, count - done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || !message_try_again(channel))
            return false;
    }
    return true;
}

static inline ssize_t message_read(struct message_channel *channel, unsigned char *bytes,
                                   size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = read(channel->in, bytes + done, count - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0)
            return (ssize_t)done;
        else if (!message_try_again(channel))
            return -1;
    }
    return (ssize_t)count;
}

/* ---- all kinds ---- */

/* Sends a message of `count` bytes, at most channel->bytes; blocks while there is no room. It
 * retries after EINTR; false after any other error, which is kept. */
static inline bool message_send(struct message_channel *channel, const struct message *message,
                                size_t count)
{
    int failed;
    switch (channel->kind) {
    case MESSAGE_MQ:
        while ((failed = queue_send(channel->queue, message->bytes, count, 0)) != 0 &&
               message_try_again(channel))
            ;
        return failed == 0;
    case MESSAGE_UNIX:
        while ((failed = send(channel->out, message->bytes, count, MSG_NOSIGNAL) < 0) != 0 &&
               message_try_again(channel))
            ;
        return failed == 0;
    case MESSAGE_SYSV:
        while ((failed = sysv_queue_send(channel->in, message, count, true)) != 0 &&
               message_try_again(channel))
            ;
        return failed == 0;
    case MESSAGE_RING:
        if (!message_ring_wait(channel, &channel->ring.free))
            return false;
        message_ring_put(&channel->ring, message->bytes, count);
        return true;
    default:
        return message_write(channel, message->bytes, count);
    }
}

/* Receives the next message, of which `count` bytes are expected: a stream of bytes gives no more.
 * Its length, or -1 after an error other than EINTR, which is kept. */
static inline ssize_t message_receive(struct message_channel *channel, struct message *message,
                                      size_t count)
{
    ssize_t got;
    size_t room = channel->bytes + 1;
    switch (channel->kind) {
    case MESSAGE_MQ:
        while ((got = queue_receive(channel->queue, message->bytes, room, NULL)) < 0 &&
               message_try_again(channel))
            ;
        return got;
    case MESSAGE_UNIX:
        while ((got = recv(channel->in, message->bytes, room, 0)) < 0 && message_try_again(channel))
            ;
        return got;
    case MESSAGE_SYSV:
        while ((got = sysv_queue_receive(channel->in, message, room, 0, true)) < 0 &&
               message_try_again(channel))
            ;
        return got;
    case MESSAGE_RING:
        return message_ring_wait(channel, &channel->ring.filled)
                   ? message_ring_take(&channel->ring, message->bytes)
                   : -1;
    default:
        return message_read(channel, message->bytes, count);
    }
}

/* The same without waiting, to end a party that may be blocked: whether a message was sent or
 * received. Not for measuring. */
bool message_try_send(struct message_channel *channel, const struct message *message, size_t count);
bool message_try_receive(struct message_channel *channel, struct message *message, size_t count);

#endif
