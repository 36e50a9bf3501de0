#include "base/posix_source.h"

#include "family/message/kind.h"

#include "base/options.h"
#include "port/port.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

enum { SLOT_ALIGNMENT = 64, PATH_BYTES = SCRATCH_BYTES + IPC_CLEANUP_NAME_BYTES };

const char *const message_kind_names[] = {"mq", "pipe", "fifo", "unix", "sysv", "ring", NULL};

static size_t rounded_up(size_t bytes)
{
    return (bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

size_t message_room_bytes(size_t bytes)
{
    return rounded_up(sizeof(struct message) + bytes + 1);
}

size_t message_ring_bytes(size_t bytes, int depth)
{
    return (size_t)depth * rounded_up(sizeof(size_t) + bytes);
}

/* ---- POSIX queue ---- */

static bool can_create(const char *name, size_t bytes, long depth)
{
    queue_handle queue;
    if (queue_create(&queue, name, bytes, depth) != 0)
        return false;
    queue_unlink(name);
    queue_close(queue);
    return true;
}

/* EINVAL of mq_open stands for both limits. */
static int which_limit(const char *name, int depth)
{
    if (can_create(name, 1, depth))
        return EMSGSIZE;
    return can_create(name, 1, 1) ? ENOBUFS : EINVAL;
}

static int open_queue(struct message_channel *channel, const struct message_plan *plan)
{
    const char *name = plan->place->name;
    int error = queue_create(&channel->queue, name, plan->bytes, plan->depth);
    if (error == 0)
        queue_unlink(name);
    return error == EINVAL || error == EOVERFLOW ? which_limit(name, plan->depth) : error;
}

/* ---- descriptors ---- */

static int keep_ends(struct message_channel *channel, const int ends[2])
{
    channel->in = ends[0];
    channel->out = ends[1];
    return 0;
}

static int open_pipe(struct message_channel *channel)
{
    int ends[2];
    return pipe(ends) == 0 ? keep_ends(channel, ends) : errno;
}

#if HS_HAS_FIFO
/* POSIX leaves O_RDWR of a FIFO open, so each end is opened on its own. */
static int open_ends(struct message_channel *channel, const char *path)
{
    int ends[2] = {open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), -1};
    if (ends[0] < 0)
        return errno;
    ends[1] = open(path, O_WRONLY | O_CLOEXEC);
    if (ends[1] >= 0 && fcntl(ends[0], F_SETFL, 0) == 0)
        return keep_ends(channel, ends);
    int error = errno;
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return error;
}

static int open_fifo(struct message_channel *channel, const struct message_plan *plan)
{
    char path[PATH_BYTES];
    if (plan->folder[0] == '\0')
        return ENOENT;
    snprintf(path, sizeof path, "%s%s", plan->folder, plan->place->name);
    /* The folder is new and empty: its file system cannot hold a FIFO, and NuttX says it so. */
    if (mkfifo(path, 0600) != 0)
        return errno == EEXIST ? ENOTSUP : errno;
    int error = open_ends(channel, path);
    unlink(path);
    return error;
}
#else
static int open_fifo(struct message_channel *channel, const struct message_plan *plan)
{
    (void)channel, (void)plan;
    return ENOSYS;
}
#endif

static bool is_no_socket(int error)
{
    return error == EAFNOSUPPORT || error == EPROTONOSUPPORT || error == EPROTOTYPE;
}

/* One of type SOCK_SEQPACKET keeps the bounds of messages, as SOCK_DGRAM does, and POSIX promises
 * that it neither loses nor reorders any. */
static int open_sockets(struct message_channel *channel)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0)
        return keep_ends(channel, ends);
    return is_no_socket(errno) ? ENOTSUP : errno;
}

/* ---- System V queue ---- */

static int open_sysv(struct message_channel *channel, const struct message_plan *plan)
{
    if (plan->place->queue_key == 0)
        return ENOSYS;
    channel->in = sysv_queue_create(plan->place->queue_key);
    if (channel->in < 0)
        return errno;
    /* msgsnd would wait for ever where the queue holds less than the message. */
    bool fits = sysv_queue_bytes(channel->in) >= (int64_t)plan->bytes;
    if (!fits)
        sysv_queue_remove(channel->in);
    return fits ? 0 : EMSGSIZE;
}

/* ---- ring ---- */

static int open_ring(struct message_channel *channel, const struct message_plan *plan)
{
    if (!HS_HAS_UNNAMED_SEMAPHORES) /* its semaphores are part of what is timed */
        return ENOSYS;
    struct message_ring *ring = &channel->ring;
    ring->in = ring->out = 0;
    ring->depth = (unsigned)plan->depth;
    ring->slot_bytes = rounded_up(sizeof(size_t) + plan->bytes);
    ring->slots = plan->memory;
    if (sem_init(&ring->free, plan->is_shared, (unsigned)plan->depth) != 0)
        return errno;
    if (sem_init(&ring->filled, plan->is_shared, 0) == 0)
        return 0;
    int error = errno;
    sem_destroy(&ring->free);
    return error;
}

/* ---- all kinds ---- */

static int open_kind(struct message_channel *channel, const struct message_plan *plan)
{
    switch (plan->kind) {
    case MESSAGE_MQ:
        return open_queue(channel, plan);
    case MESSAGE_PIPE:
        return open_pipe(channel);
    case MESSAGE_FIFO:
        return open_fifo(channel, plan);
    case MESSAGE_UNIX:
        return open_sockets(channel);
    case MESSAGE_SYSV:
        return open_sysv(channel, plan);
    default:
        return open_ring(channel, plan);
    }
}

/* 0, or the errno value with which an empty channel refuses a message of its full length. */
static int try_longest(struct message_channel *channel, const struct message_plan *plan)
{
    plan->trial->type = 1;
    if (!message_try_send(channel, plan->trial, plan->bytes))
        return errno == EINVAL ? EMSGSIZE : errno;
    return message_try_receive(channel, plan->trial, plan->bytes) ? 0 : errno;
}

int message_open(struct message_channel *channel, const struct message_plan *plan)
{
    channel->kind = plan->kind;
    channel->bytes = plan->bytes;
    atomic_store(&channel->error, 0);
    int error = open_kind(channel, plan);
    if (!error && (plan->kind == MESSAGE_UNIX || plan->kind == MESSAGE_SYSV)) {
        error = try_longest(channel, plan);
        if (error)
            message_close(channel);
    }
    return error;
}

void message_close(struct message_channel *channel)
{
    switch (channel->kind) {
    case MESSAGE_MQ:
        queue_close(channel->queue);
        break;
    case MESSAGE_SYSV:
        sysv_queue_remove(channel->in);
        break;
    case MESSAGE_RING:
        sem_destroy(&channel->ring.free);
        sem_destroy(&channel->ring.filled);
        break;
    default:
        close(channel->in);
        close(channel->out);
    }
}

static bool is_ready(int descriptor, short events)
{
    struct pollfd look = {.fd = descriptor, .events = events};
    errno = EAGAIN;
    return poll(&look, 1, 0) == 1 && (look.revents & events) != 0;
}

bool message_try_send(struct message_channel *channel, const struct message *message, size_t count)
{
    static const struct timespec past;
    switch (channel->kind) {
    case MESSAGE_MQ:
        return queue_send_until(channel->queue, message->bytes, count, 0, &past) == 0;
    case MESSAGE_UNIX:
        return send(channel->out, message->bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    case MESSAGE_SYSV:
        return sysv_queue_send(channel->in, message, count, false) == 0;
    case MESSAGE_RING:
        if (sem_trywait(&channel->ring.free) != 0)
            return false;
        message_ring_put(&channel->ring, message->bytes, count);
        return true;
    default:
        return is_ready(channel->out, POLLOUT) && message_write(channel, message->bytes, count);
    }
}

bool message_try_receive(struct message_channel *channel, struct message *message, size_t count)
{
    static const struct timespec past;
    size_t room = channel->bytes + 1;
    switch (channel->kind) {
    case MESSAGE_MQ:
        return queue_receive_until(channel->queue, message->bytes, room, NULL, &past) >= 0;
    case MESSAGE_UNIX:
        return recv(channel->in, message->bytes, room, MSG_DONTWAIT) >= 0;
    case MESSAGE_SYSV:
        return sysv_queue_receive(channel->in, message, room, 0, false) >= 0;
    case MESSAGE_RING:
        if (sem_trywait(&channel->ring.filled) != 0)
            return false;
        message_ring_take(&channel->ring, message->bytes);
        return true;
    default:
        return is_ready(channel->in, POLLIN) &&
               message_read(channel, message->bytes, count) == (ssize_t)count;
    }
}

int message_check(struct run *run, const struct message_channel *channel)
{
    int error = atomic_load(&channel->error);
    if (error == 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "find out what removes message queues (ipcrm), then run the test again",
                       "%s: sending or receiving failed while it was measured: %s",
                       message_kind_names[channel->kind], strerror(error));
}

int message_require_any(struct run *run)
{
    if (run->arena->verdict_count > 0)
        return 0;
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other kinds, scopes or sizes",
                       "this system has none of the requested kinds in the requested scopes and "
                       "sizes");
}

/* ---- content ---- */

/* Odd, so that each place and each key gives other bytes. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t word_of(size_t place, uint64_t key)
{
    return (key + 1) * STEP + place * UINT64_C(0x0101010101010101);
}

void content_fill(unsigned char *bytes, size_t count, uint64_t number, uint64_t key)
{
    for (size_t i = sizeof number; i < count; i += sizeof number) {
        uint64_t word = word_of(i, key);
        memcpy(bytes + i, &word, count - i < sizeof word ? count - i : sizeof word);
    }
    content_number(bytes, count, number);
}

bool content_is(const unsigned char *bytes, size_t count, uint64_t number, uint64_t key)
{
    for (size_t i = sizeof number; i < count; i += sizeof number) {
        uint64_t word = word_of(i, key);
        if (memcmp(bytes + i, &word, count - i < sizeof word ? count - i : sizeof word) != 0)
            return false;
    }
    return content_number_of(bytes, count) == content_part(count, number);
}

/* ---- what a kind that cannot be opened is told as ---- */

static const char *queue_remedy(int error)
{
    switch (error) {
    case EMSGSIZE:
        return port_hint(PORT_HINT_MESSAGE_BYTES);
    case ENOBUFS:
        return port_hint(PORT_HINT_QUEUE_MESSAGES);
    case EMFILE:
        return port_hint(PORT_HINT_QUEUE_FILES);
    case ENOSPC:
        return port_hint(PORT_HINT_QUEUES);
    case ENOSYS:
        return "use a kernel with POSIX message queues (Linux: CONFIG_POSIX_MQUEUE)";
    default:
        return NULL;
    }
}

static const char *sysv_remedy(int error)
{
    switch (error) {
    case EMSGSIZE:
        return port_hint(PORT_HINT_SYSV_BYTES);
    case ENOSPC:
        return port_hint(PORT_HINT_SYSV_QUEUES);
    case ENOSYS:
        return "use a kernel with System V IPC (Linux: CONFIG_SYSVIPC)";
    default:
        return NULL;
    }
}

static const char *remedy_of_kind(enum message_kind kind, int error)
{
    if (kind == MESSAGE_MQ)
        return queue_remedy(error);
    if (kind == MESSAGE_SYSV)
        return sysv_remedy(error);
    if (kind == MESSAGE_UNIX && error == EMSGSIZE)
        return port_hint(PORT_HINT_SOCKET_BUFFER);
    if (kind == MESSAGE_UNIX && error == ENOTSUP)
        return "use a system with Unix sockets of type SOCK_SEQPACKET";
    if (kind == MESSAGE_FIFO &&
        (error == ENOENT || error == EACCES || error == EROFS || error == ENOTSUP))
        return "set TMPDIR to a folder in which a FIFO can be made";
    return NULL;
}

const char *message_remedy(enum message_kind kind, int error)
{
    const char *remedy = remedy_of_kind(kind, error);
    return remedy ? remedy : status_limit_remedy(error);
}

/* The largest length that is known of the kind; -1: not known. */
static int64_t most_bytes(enum message_kind kind)
{
    if (kind == MESSAGE_MQ)
        return port_message_limit(PORT_QUEUE_MESSAGE_BYTES);
    return kind == MESSAGE_SYSV ? port_message_limit(PORT_SYSV_MESSAGE_BYTES) : -1;
}

/* A length above the limit has no figures; the others have theirs. */
static void report_limited(struct run *run, const struct message_plan *plan)
{
    const char *kind = message_kind_names[plan->kind];
    int64_t most = most_bytes(plan->kind);
    char limit[64] = "";
    if (most >= 0)
        snprintf(limit, sizeof limit, " (the system's limit: %lld)", (long long)most);
    if (most >= (int64_t)plan->bytes) { /* NuttX: msgrcv takes no smaller room than the limit */
        arena_event_once(
            run->arena, "kind_limited",
            DATA(data_text("kind", kind), data_integer("size_bytes", (int64_t)plan->bytes),
                 data_integer("limit_bytes", most), data_text("remedy", "")),
            "%s: messages of %zu bytes are refused as too long, although the system's limit is "
            "%lld, and have no figures",
            kind, plan->bytes, (long long)most);
        return;
    }
    arena_event_once(run->arena, "kind_limited",
                     DATA(data_text("kind", kind), data_integer("size_bytes", (int64_t)plan->bytes),
                          data_integer("limit_bytes", most),
                          data_text("remedy", message_remedy(plan->kind, EMSGSIZE))),
                     "%s: messages of %zu bytes are too long here%s, and have no figures: %s", kind,
                     plan->bytes, limit, message_remedy(plan->kind, EMSGSIZE));
}

static const char *or_nothing(const char *words)
{
    return words ? words : "";
}

static void report_missing(struct run *run, const struct message_plan *plan, int error)
{
    const char *kind = message_kind_names[plan->kind];
    const char *remedy = or_nothing(message_remedy(plan->kind, error));
    arena_event_once(run->arena, "kind_unsupported",
                     DATA(data_text("kind", kind), data_bool("is_shared", plan->is_shared),
                          data_text("error", strerror(error)), data_text("remedy", remedy)),
                     "%s: %s%s%s", kind, strerror(error), *remedy ? ": " : "", remedy);
}

void message_deny(struct run *run, const struct message_plan *plan, int error)
{
    const char *kind = message_kind_names[plan->kind];
    const char *remedy = or_nothing(message_remedy(plan->kind, error));
    arena_event_once(run->arena, "kind_denied",
                     DATA(data_text("kind", kind), data_bool("is_shared", plan->is_shared),
                          data_text("error", strerror(error)), data_text("remedy", remedy)),
                     "%s: %s%s%s", kind, strerror(error), *remedy ? ": " : "", remedy);
    outcome_set(&run->outcome, STATUS_DENIED, remedy, "opening a channel of the kind %s: %s", kind,
                strerror(error));
}

bool message_is_here(struct run *run, const struct message_plan *plan)
{
    struct message_channel channel;
    int error = message_open(&channel, plan);
    if (error == 0)
        message_close(&channel);
    else if (error == EMSGSIZE)
        report_limited(run, plan);
    else if (status_is_missing(error))
        report_missing(run, plan, error);
    else
        message_deny(run, plan, error);
    return error == 0;
}
