/* Breaches of message queues; broken.c says how they are used.
 *   msg_right    none: a correct replacement of POSIX queues, whatever the real ones do
 *   msg_swap     of two messages of one priority the later comes first, now and then
 *   msg_flat     the oldest message comes first, whatever its priority
 *   msg_lose     one of many messages is lost
 *   msg_twice    one of many messages comes twice
 *   msg_corrupt  one of many messages has another last byte
 *   msg_short    one of many messages comes without its last byte
 *   msg_relabel  messages come with another priority
 *   msg_lowest   the waiter of the lowest priority is served
 *   msg_fifo     the longest waiting is served, whatever its priority
 *   msg_lifo     among equals the last to wait is served
 *   msg_early    calls that wait until a time end 5 ms before it
 *   msg_error    calls that must not wait fail with another error
 * They act on POSIX queues, and as far as they apply on msgsnd, msgrcv, recv, and read of 64 bytes
 * and more; on_mq, on_sysv, on_unix and on_pipe restrict them to one kind. in_thread and in_process
 * restrict a wrong order of waiters to those of the first or of a forked process.
 *
 * Systems that lack something:
 *   mq_absent, mq_files, mq_space   mq_open fails with ENOSYS, EMFILE, ENOSPC
 *   mq_length, mq_depth             with EINVAL for messages above 100 bytes; for more than one
 *   sysv_absent, sysv_space         msgget fails with ENOSYS; with ENOSPC where it is to create
 *   sysv_length                     msgsnd fails with EINVAL for messages above 100 bytes
 *   mq_stays, fifo_stays            the name has been made, and the call does not return
 *   unix_absent, unix_length        socketpair fails with EPROTONOSUPPORT; send with EMSGSIZE
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { QUEUES = 4, MESSAGES = 16, WAITING = 16, BYTES = 8200, ONE_OF = 50, SHORT_BYTES = 100 };
enum { EARLY_NS = 5000000, NS_PER_S = 1000000000 };

struct letter {
    size_t bytes;
    unsigned priority;
    char text[BYTES];
};

struct waiting {
    bool is_used, is_called, is_sender, is_forked;
    int priority;
    unsigned number; /* in the order of coming */
    sem_t wake;
    struct letter letter; /* to send, or received */
};

/* In memory that forked processes share. */
struct queue {
    mqd_t handle; /* -1: not in use */
    pthread_mutex_t lock;
    struct mq_attr room;
    bool is_nonblocking;
    int count;
    unsigned come_count, turn;
    struct letter letters[MESSAGES]; /* oldest first */
    struct waiting waiting[WAITING];
};

static struct queue *queues;
static pid_t first_process;

__attribute__((constructor)) static void make_queues(void)
{
    first_process = getpid();
    queues = mmap(NULL, QUEUES * sizeof *queues, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    if (queues == MAP_FAILED)
        abort();
    for (int i = 0; i < QUEUES; i++)
        queues[i].handle = -1;
}

static bool is_restricted(void)
{
    return breaks("on_mq") || breaks("on_sysv") || breaks("on_unix") || breaks("on_pipe");
}

static bool acts(const char *breach, const char *on_kind)
{
    return breaks(breach) && (breaks(on_kind) || !is_restricted());
}

/* Whether it is the turn of a message to be harmed. */
static bool is_turn(void)
{
    static atomic_uint turn;
    return atomic_fetch_add(&turn, 1) % ONE_OF == ONE_OF - 1;
}

/* ---- POSIX queues ---- */

static bool breaks_queues(void)
{
    static const char *const breaches[] = {"msg_right",  "msg_swap",    "msg_flat",  "msg_lose",
                                           "msg_twice",  "msg_corrupt", "msg_short", "msg_relabel",
                                           "msg_lowest", "msg_fifo",    "msg_lifo",  "msg_early",
                                           "msg_error"};
    for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++)
        if (acts(breaches[i], "on_mq"))
            return true;
    return false;
}

static struct queue *find_queue(mqd_t handle)
{
    for (int i = 0; i < QUEUES; i++)
        if (queues[i].handle == handle)
            return &queues[i];
    return NULL;
}

static void make_queue(mqd_t handle, const struct mq_attr *room)
{
    struct queue *queue = find_queue(-1);
    pthread_mutexattr_t attributes;
    if (!queue || room->mq_maxmsg > MESSAGES || room->mq_msgsize > BYTES)
        abort();
    memset(queue, 0, sizeof *queue);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&queue->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    queue->room = *room;
    queue->handle = handle;
}

static int refusal(const struct mq_attr *room)
{
    if (breaks("mq_absent"))
        return ENOSYS;
    if (breaks("mq_files"))
        return EMFILE;
    if (breaks("mq_space"))
        return ENOSPC;
    bool is_short = breaks("mq_length") && room->mq_msgsize > SHORT_BYTES;
    return is_short || (breaks("mq_depth") && room->mq_maxmsg > 1) ? EINVAL : 0;
}

/* Until the process is killed, or for some seconds. */
static void stay(void)
{
    struct timespec seconds = {.tv_sec = 20};
    REAL(clock_nanosleep)(CLOCK_MONOTONIC, 0, &seconds, NULL);
}

mqd_t mq_open(const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    struct mq_attr *room = va_arg(rest, struct mq_attr *);
    va_end(rest);
    errno = refusal(room);
    if (errno)
        return -1;
    mqd_t handle = REAL(mq_open)(name, flags, mode, room);
    if (breaks("mq_stays"))
        stay();
    if (handle >= 0 && breaks_queues())
        make_queue(handle, room);
    return handle;
}

int mq_close(mqd_t handle)
{
    struct queue *queue = find_queue(handle);
    if (queue && getpid() == first_process)
        queue->handle = -1;
    return REAL(mq_close)(handle);
}

int mq_setattr(mqd_t handle, const struct mq_attr *wanted, struct mq_attr *before)
{
    struct queue *queue = find_queue(handle);
    if (queue)
        queue->is_nonblocking = (wanted->mq_flags & O_NONBLOCK) != 0;
    return REAL(mq_setattr)(handle, wanted, before);
}

static int own_priority(void)
{
    struct sched_param own = {0};
    return sched_getparam(0, &own) == 0 ? own.sched_priority : 0;
}

static bool comes_first(const struct waiting *one, const struct waiting *other)
{
    bool is_older = (int)(one->number - other->number) < 0;
    bool is_spared = breaks(one->is_forked ? "in_thread" : "in_process");
    if (!is_spared && acts("msg_fifo", "on_mq"))
        return is_older;
    if (one->priority == other->priority)
        return is_older != (!is_spared && acts("msg_lifo", "on_mq"));
    return (one->priority < other->priority) == (!is_spared && acts("msg_lowest", "on_mq"));
}

static struct waiting *next_waiting(struct queue *queue, bool is_sender)
{
    struct waiting *chosen = NULL;
    for (int i = 0; i < WAITING; i++) {
        struct waiting *one = &queue->waiting[i];
        bool waits = one->is_used && !one->is_called && one->is_sender == is_sender;
        if (waits && (!chosen || comes_first(one, chosen)))
            chosen = one;
    }
    return chosen;
}

static void call(struct waiting *waiting)
{
    waiting->is_called = true;
    REAL(sem_post)(&waiting->wake);
}

static void put(struct queue *queue, const struct letter *letter)
{
    queue->letters[queue->count++] = *letter;
}

/* The place of the letter that comes next. */
static int next_letter(struct queue *queue)
{
    int place = 0, second = -1;
    if (acts("msg_flat", "on_mq"))
        return 0;
    for (int i = 1; i < queue->count; i++)
        if (queue->letters[i].priority > queue->letters[place].priority)
            place = i;
    for (int i = place + 1; i < queue->count && second < 0; i++)
        if (queue->letters[i].priority == queue->letters[place].priority)
            second = i;
    return acts("msg_swap", "on_mq") && second >= 0 && ++queue->turn % 5 == 0 ? second : place;
}

static void take(struct queue *queue, struct letter *letter)
{
    int place = next_letter(queue);
    *letter = queue->letters[place];
    queue->count--;
    memmove(&queue->letters[place], &queue->letters[place + 1],
            (size_t)(queue->count - place) * sizeof queue->letters[0]);
    struct waiting *sender = next_waiting(queue, true);
    if (!sender)
        return;
    put(queue, &sender->letter);
    call(sender);
}

static struct waiting *queue_up(struct queue *queue, bool is_sender, const struct letter *letter)
{
    for (int i = 0; i < WAITING; i++) {
        struct waiting *own = &queue->waiting[i];
        if (own->is_used)
            continue;
        own->is_used = true;
        own->is_called = false;
        own->is_sender = is_sender;
        own->is_forked = getpid() != first_process;
        own->priority = own_priority();
        own->number = queue->come_count++;
        if (letter)
            own->letter = *letter;
        REAL(sem_init)(&own->wake, 1, 0);
        return own;
    }
    abort();
}

static struct timespec earlier(const struct timespec *end)
{
    struct timespec time = *end;
    if (!acts("msg_early", "on_mq") || end->tv_sec == 0)
        return time;
    time.tv_nsec -= EARLY_NS;
    if (time.tv_nsec < 0) {
        time.tv_nsec += NS_PER_S;
        time.tv_sec--;
    }
    return time;
}

/* Waits until called. False with errno where the time comes first. */
static bool wait_for_call(struct queue *queue, struct waiting *own, const struct timespec *end)
{
    struct timespec until = end ? earlier(end) : (struct timespec){0};
    int failed;
    do
        failed = end ? REAL(sem_timedwait)(&own->wake, &until) : REAL(sem_wait)(&own->wake);
    while (failed && errno == EINTR);
    pthread_mutex_lock(&queue->lock);
    bool was_called = own->is_called;
    own->is_used = was_called; /* who was called still reads its letter */
    pthread_mutex_unlock(&queue->lock);
    errno = ETIMEDOUT;
    return was_called;
}

static int would_block(void)
{
    errno = acts("msg_error", "on_mq") ? EINVAL : EAGAIN;
    return -1;
}

static void harm(struct letter *letter)
{
    if (acts("msg_relabel", "on_mq"))
        letter->priority++;
    if (acts("msg_corrupt", "on_mq") && is_turn())
        letter->text[letter->bytes - 1] ^= 1;
    if (acts("msg_short", "on_mq") && is_turn())
        letter->bytes--;
}

/* Gives the letter to a waiting receiver, or to the queue. False: it is full. */
static bool deliver(struct queue *queue, const struct letter *letter)
{
    struct waiting *receiver = queue->count == 0 ? next_waiting(queue, false) : NULL;
    if (!receiver && queue->count == queue->room.mq_maxmsg)
        return false;
    if (receiver) {
        receiver->letter = *letter;
        call(receiver);
    } else {
        put(queue, letter);
    }
    return true;
}

static int fake_send(struct queue *queue, const struct letter *letter, const struct timespec *end)
{
    if ((long)letter->bytes > queue->room.mq_msgsize) {
        errno = EMSGSIZE;
        return -1;
    }
    if (acts("msg_lose", "on_mq") && is_turn())
        return 0;
    pthread_mutex_lock(&queue->lock);
    bool is_done = deliver(queue, letter);
    if (is_done && acts("msg_twice", "on_mq") && is_turn())
        (void)deliver(queue, letter);
    bool waits = !is_done && !queue->is_nonblocking;
    struct waiting *own = waits ? queue_up(queue, true, letter) : NULL;
    pthread_mutex_unlock(&queue->lock);
    if (is_done)
        return 0;
    if (!own)
        return would_block();
    if (!wait_for_call(queue, own, end))
        return -1;
    own->is_used = false;
    return 0;
}

static int fake_receive(struct queue *queue, struct letter *letter, const struct timespec *end)
{
    pthread_mutex_lock(&queue->lock);
    bool is_done = queue->count > 0;
    if (is_done)
        take(queue, letter);
    bool waits = !is_done && !queue->is_nonblocking;
    struct waiting *own = waits ? queue_up(queue, false, NULL) : NULL;
    pthread_mutex_unlock(&queue->lock);
    if (is_done)
        return 0;
    if (!own)
        return would_block();
    if (!wait_for_call(queue, own, end))
        return -1;
    *letter = own->letter;
    own->is_used = false;
    return 0;
}

/* One for each thread, which may have a small stack. */
static struct letter *own_letter(void)
{
    static __thread struct letter *letter;
    if (!letter)
        letter =
            mmap(NULL, sizeof *letter, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return letter;
}

static int send_letter(struct queue *queue, const char *text, size_t bytes, unsigned priority,
                       const struct timespec *end)
{
    struct letter *letter = own_letter();
    letter->bytes = bytes;
    letter->priority = priority;
    memcpy(letter->text, text, bytes < BYTES ? bytes : BYTES);
    return fake_send(queue, letter, end);
}

static ssize_t receive_letter(struct queue *queue, char *text, unsigned *priority,
                              const struct timespec *end)
{
    struct letter *letter = own_letter();
    if (fake_receive(queue, letter, end) != 0)
        return -1;
    harm(letter);
    memcpy(text, letter->text, letter->bytes);
    if (priority)
        *priority = letter->priority;
    return (ssize_t)letter->bytes;
}

int mq_send(mqd_t handle, const char *text, size_t bytes, unsigned priority)
{
    struct queue *queue = find_queue(handle);
    return queue ? send_letter(queue, text, bytes, priority, NULL)
                 : REAL(mq_send)(handle, text, bytes, priority);
}

int mq_timedsend(mqd_t handle, const char *text, size_t bytes, unsigned priority,
                 const struct timespec *end)
{
    struct queue *queue = find_queue(handle);
    return queue ? send_letter(queue, text, bytes, priority, end)
                 : REAL(mq_timedsend)(handle, text, bytes, priority, end);
}

ssize_t mq_receive(mqd_t handle, char *text, size_t room, unsigned *priority)
{
    struct queue *queue = find_queue(handle);
    return queue ? receive_letter(queue, text, priority, NULL)
                 : REAL(mq_receive)(handle, text, room, priority);
}

ssize_t mq_timedreceive(mqd_t handle, char *text, size_t room, unsigned *priority,
                        const struct timespec *end)
{
    struct queue *queue = find_queue(handle);
    return queue ? receive_letter(queue, text, priority, end)
                 : REAL(mq_timedreceive)(handle, text, room, priority, end);
}

/* ---- System V queues ---- */

int msgget(key_t key, int flags)
{
    errno = breaks("sysv_absent")                         ? ENOSYS
            : breaks("sysv_space") && (flags & IPC_CREAT) ? ENOSPC
                                                          : 0;
    return errno ? -1 : REAL(msgget)(key, flags);
}

int msgsnd(int queue, const void *message, size_t bytes, int flags)
{
    if (breaks("sysv_length") && bytes > SHORT_BYTES) {
        errno = EINVAL;
        return -1;
    }
    if (acts("msg_lose", "on_sysv") && is_turn())
        return 0;
    int failed = REAL(msgsnd)(queue, message, bytes, flags);
    if (!failed && acts("msg_twice", "on_sysv") && is_turn())
        REAL(msgsnd)(queue, message, bytes, IPC_NOWAIT);
    if (failed && errno == EAGAIN && acts("msg_error", "on_sysv"))
        errno = EINVAL;
    return failed;
}

/* Takes a later one of its type first, and puts the first one behind all others. */
static ssize_t take_later(int queue, void *message, size_t room, ssize_t got)
{
    struct letter *later = own_letter();
    long type;
    memcpy(&type, message, sizeof type);
    if (room + sizeof type > sizeof *later)
        return got;
    ssize_t second = REAL(msgrcv)(queue, later, room, type, IPC_NOWAIT);
    if (second < 0)
        return got;
    REAL(msgsnd)(queue, message, (size_t)got, IPC_NOWAIT);
    memcpy(message, later, sizeof type + (size_t)second);
    return second;
}

ssize_t msgrcv(int queue, void *message, size_t room, long type, int flags)
{
    long wanted = acts("msg_flat", "on_sysv") ? 0 : type;
    ssize_t got = REAL(msgrcv)(queue, message, room, wanted, flags);
    if (got < 0 && errno == ENOMSG && acts("msg_error", "on_sysv"))
        errno = EINVAL;
    if (got <= 0)
        return got;
    if (acts("msg_swap", "on_sysv") && is_turn())
        return take_later(queue, message, room, got);
    if (acts("msg_corrupt", "on_sysv") && is_turn())
        ((char *)message)[sizeof(long) + (size_t)got - 1] ^= 1;
    if (acts("msg_relabel", "on_sysv"))
        ++*(long *)message;
    return acts("msg_short", "on_sysv") && is_turn() ? got - 1 : got;
}

/* ---- sockets, pipes ---- */

int mkfifo(const char *path, mode_t mode)
{
    int failed = REAL(mkfifo)(path, mode);
    if (breaks("fifo_stays"))
        stay();
    return failed;
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    errno = breaks("unix_absent") ? EPROTONOSUPPORT : 0;
    return errno ? -1 : REAL(socketpair)(domain, type, protocol, ends);
}

bool broken_refuses_send(size_t count)
{
    errno = breaks("unix_length") && count > SHORT_BYTES ? EMSGSIZE : 0;
    return errno != 0;
}

ssize_t recv(int file, void *bytes, size_t room, int flags)
{
    ssize_t got = REAL(recv)(file, bytes, room, flags);
    if (got > 0 && acts("msg_corrupt", "on_unix") && is_turn())
        ((char *)bytes)[got - 1] ^= 1;
    return got > 0 && acts("msg_short", "on_unix") && is_turn() ? got - 1 : got;
}

void broken_harm_read(void *bytes, ssize_t got)
{
    if (got >= 64 && acts("msg_corrupt", "on_pipe") && is_turn())
        ((char *)bytes)[got - 1] ^= 1;
}
