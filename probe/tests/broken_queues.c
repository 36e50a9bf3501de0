/* Breaches of semaphores and of message queues: a correct replacement of the real ones, which then
 * breaks one promise.
 *
 * Semaphores, between threads and between processes; the gates of the tests are not affected:
 *   sem_right    none
 *   sem_zero     P passes at value 0, sem_forked: only in a forked process; also on futexes
 *   sem_lost     V at value 0 without a waiter does nothing
 *   sem_later    V with a waiter wakes it some milliseconds later
 *   sem_lowest, sem_fifo   V wakes the waiter of the lowest priority; the longest waiting
 *   sem_lifo     V wakes the last to wait among those of the highest priority
 *   sem_first    V wakes the highest of six waiters, and the lowest of fewer
 * on_unnamed, on_named, on_sysv, on_eventfd and on_futex restrict them to one kind.
 *
 * Messages, of POSIX queues and as far as they apply of msgsnd, msgrcv, recv, and read of 64 bytes
 * and more; on_mq, on_sysv, on_unix and on_pipe restrict them to one kind:
 *   msg_right    none
 *   msg_swap     of two messages of one priority the later comes first, now and then
 *   msg_flat     the oldest message comes first, whatever its priority
 *   msg_lose, msg_twice    one of many messages is lost, comes twice
 *   msg_corrupt, msg_short it has another last byte, comes without that
 *   msg_relabel  messages come with another priority
 *   msg_lowest, msg_fifo, msg_lifo   orders of waiters, as those of semaphores
 *   msg_early    calls that wait until a time end 5 ms before it
 *   msg_error    calls that must not wait fail with another error
 *
 * in_thread and in_process restrict a wrong order of waiters to those of the first or of a forked
 * process; others are served in the right order. */
#define _GNU_SOURCE
#include "shim.h"

#include "family/semaphore/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#define SEM_BREACHES                                                                               \
    "sem_right,sem_zero,sem_forked,sem_lost,sem_later,sem_lowest,sem_fifo,sem_lifo,sem_first"
#define SYSV_BREACHES                                                                              \
    "msg_swap,msg_flat,msg_lose,msg_twice,msg_corrupt,msg_short,msg_relabel,msg_error"

enum { WAITING = 64, FAKES = 16, QUEUES = 4, MESSAGES = 16, BYTES = 8200 };
#define MS INT64_C(1000000)

#define MSG_BREACHES                                                                               \
    "msg_right,msg_swap,msg_flat,msg_lose,msg_twice,msg_corrupt,msg_short,msg_relabel,msg_lowest," \
    "msg_fifo,msg_lifo,msg_early,msg_error"
#define MQ_BREACHES MSG_BREACHES ",mq_length,mq_depth"

/* ---- a line of waiters, in memory that forked processes share ---- */

struct waiting {
    bool is_used, is_called; /* the place is freed by who waited there */
    bool is_forked, is_sender;
    int priority;
    unsigned number; /* in the order of coming */
    sem_t wake;
};

struct line {
    pthread_mutex_t lock;
    unsigned come_count;
    struct waiting waiting[WAITING];
};

/* Promises that are broken. */
struct order {
    bool is_fifo, is_lifo, is_lowest;
    int highest_of; /* the highest comes first where so many wait, else the lowest; 0: always */
};

static void open_line(struct line *line)
{
    pthread_mutexattr_t attributes;
    memset(line, 0, sizeof *line);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&line->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static struct waiting *queue_up(struct line *line, bool is_sender)
{
    struct waiting *own = line->waiting;
    while (own->is_used)
        if (++own == line->waiting + WAITING)
            abort();
    own->is_used = true;
    own->is_called = false;
    own->is_sender = is_sender;
    own->is_forked = is_child();
    own->priority = own_priority();
    own->number = line->come_count++;
    REAL(sem_init)(&own->wake, 1, 0);
    return own;
}

/* Whether `one` is to be served before `other`, of `count` that wait. */
static bool comes_first(const struct waiting *one, const struct waiting *other, int count,
                        const struct order *order)
{
    bool is_older = (int)(one->number - other->number) < 0;
    bool is_spared = breaks(one->is_forked ? "in_thread" : "in_process");
    if (!is_spared && order->is_fifo)
        return is_older;
    if (one->priority == other->priority)
        return is_older != (!is_spared && order->is_lifo);
    bool is_lowest = !is_spared && (order->is_lowest || count < order->highest_of);
    return (one->priority < other->priority) == is_lowest;
}

static struct waiting *next_waiting(struct line *line, bool is_sender, const struct order *order)
{
    struct waiting *chosen = NULL, *waiting[WAITING];
    int count = 0;
    for (struct waiting *one = line->waiting; one < line->waiting + WAITING; one++)
        if (one->is_used && !one->is_called && one->is_sender == is_sender)
            waiting[count++] = one;
    for (int i = 0; i < count; i++)
        if (!chosen || comes_first(waiting[i], chosen, count, order))
            chosen = waiting[i];
    if (chosen)
        chosen->is_called = true;
    return chosen;
}

/* ---- semaphores ---- */

struct fake {
    atomic_bool is_used;
    enum semaphore_kind kind; /* SEMAPHORE_UNNAMED: of POSIX */
    long key;                 /* an address, an identifier, a descriptor */
    sem_t handle;             /* what the program holds of a named one; never used as one */
    int value;
    struct line line;
};

struct letter {
    size_t bytes;
    unsigned priority;
    char text[BYTES];
};

struct queue {
    mqd_t handle; /* -1: not in use */
    struct mq_attr room;
    bool is_nonblocking;
    int count;
    unsigned turn;
    struct line line;
    struct letter letters[MESSAGES]; /* oldest first */
    struct letter carried[WAITING];  /* of who waits: to send, or received */
};

static struct fake *fakes;
static struct queue *queues;

__attribute__((constructor)) static void share(void)
{
    fakes = shared_memory(FAKES * sizeof *fakes);
    if (!breaks(MQ_BREACHES))
        return;
    queues = shared_memory(QUEUES * sizeof *queues);
    for (int i = 0; i < QUEUES; i++)
        queues[i].handle = -1;
}

/* Whether the kind is one of those that are broken. */
static bool is_broken(enum semaphore_kind kind)
{
    static const char *const kinds[] = {"on_unnamed", "on_named", "on_sysv", "on_eventfd",
                                        "on_futex"};
    return breaks(kinds[kind]) || !breaks("on_unnamed,on_named,on_sysv,on_eventfd,on_futex");
}

static struct fake *find_fake(enum semaphore_kind kind, long key)
{
    for (int i = 0; i < FAKES; i++)
        if (atomic_load(&fakes[i].is_used) && fakes[i].kind == kind && fakes[i].key == key)
            return &fakes[i];
    return NULL;
}

static struct fake *make_fake(enum semaphore_kind kind, long key)
{
    struct fake *fake = fakes;
    while (atomic_exchange(&fake->is_used, true))
        if (++fake == fakes + FAKES)
            abort();
    fake->kind = kind;
    fake->key = key;
    fake->value = 0;
    open_line(&fake->line);
    return fake;
}

static bool drop_fake(enum semaphore_kind kind, long key)
{
    struct fake *fake = find_fake(kind, key);
    if (fake)
        atomic_store(&fake->is_used, false);
    return fake != NULL;
}

static bool passes_at_zero(void)
{
    return breaks("sem_zero") || (breaks("sem_forked") && is_child());
}

static void fake_wait(struct fake *fake)
{
    struct waiting *own = NULL;
    pthread_mutex_lock(&fake->line.lock);
    if (fake->value > 0)
        fake->value--;
    else if (!passes_at_zero())
        own = queue_up(&fake->line, false);
    pthread_mutex_unlock(&fake->line.lock);
    while (own && REAL(sem_wait)(&own->wake) != 0)
        ;
    if (own)
        own->is_used = false;
}

static void *wake_later(void *argument)
{
    sleep_ns(3 * MS);
    REAL(sem_post)(argument);
    return NULL;
}

static void fake_post(struct fake *fake)
{
    pthread_t helper;
    const struct order order = {breaks("sem_fifo"), breaks("sem_lifo"), breaks("sem_lowest"),
                                breaks("sem_first") ? 6 : 0};
    pthread_mutex_lock(&fake->line.lock);
    struct waiting *waiter = next_waiting(&fake->line, false, &order);
    if (!waiter && !breaks("sem_lost"))
        fake->value++;
    pthread_mutex_unlock(&fake->line.lock);
    if (waiter && breaks("sem_later") &&
        REAL(pthread_create)(&helper, NULL, wake_later, &waiter->wake) == 0)
        pthread_detach(helper);
    else if (waiter)
        REAL(sem_post)(&waiter->wake);
}

static long use(struct call *call, enum semaphore_kind kind, bool is_post, long answer)
{
    struct fake *fake =
        find_fake(kind, kind == SEMAPHORE_UNNAMED ? call->word[0] : int_at(call, 0));
    if (!fake)
        return pass(call);
    if (is_post)
        fake_post(fake);
    else
        fake_wait(fake);
    return answer;
}

/* What the probe tests lies in a struct that points to it; a gate does not. */
static bool is_tested(const sem_t *semaphore)
{
    const char *place = (const char *)semaphore - offsetof(struct semaphore, unnamed);
    return is_broken(SEMAPHORE_UNNAMED) &&
           (const void *)((const struct semaphore *)place)->posix == semaphore;
}

BREACH_IF(SEM_BREACHES, "sem_init", is_tested(at(call, 0)),
          (make_fake(SEMAPHORE_UNNAMED, call->word[0]), 0));

static long make_named(void)
{
    struct fake *fake = make_fake(SEMAPHORE_UNNAMED, 0);
    return fake->key = (long)&fake->handle;
}

BREACH_IF(SEM_BREACHES, "sem_open", is_broken(SEMAPHORE_NAMED), make_named());
BREACH_IF(SEM_BREACHES, "sem_destroy,sem_close", drop_fake(SEMAPHORE_UNNAMED, call->word[0]), 0);
BREACH_IF(SEM_BREACHES, "sem_post,sem_wait", true,
          use(call, SEMAPHORE_UNNAMED, call->id == CALL_sem_post, 0));

BREACH_AFTER(SEM_BREACHES, "semget", (int)answer >= 0 && is_broken(SEMAPHORE_SYSV),
             make_fake(SEMAPHORE_SYSV, (int)answer));
BREACH_BEFORE(SEM_BREACHES, "semctl", int_at(call, 2) == IPC_RMID,
              drop_fake(SEMAPHORE_SYSV, int_at(call, 0)));
BREACH_IF(SEM_BREACHES, "semop", true,
          use(call, SEMAPHORE_SYSV, ((const struct sembuf *)at(call, 1))->sem_op > 0, 0));

BREACH_AFTER(SEM_BREACHES, "eventfd", (int)answer >= 0 && is_broken(SEMAPHORE_EVENTFD),
             make_fake(SEMAPHORE_EVENTFD, (int)answer));
BREACH_BEFORE(SEM_BREACHES, "close", !is_child(), drop_fake(SEMAPHORE_EVENTFD, int_at(call, 0)));
BREACH_IF(SEM_BREACHES, "read,write", true,
          use(call, SEMAPHORE_EVENTFD, call->id == CALL_write, call->word[2]));

/* Who waits on a word at zero finds that it is one. */
static bool waits_in_vain(const struct call *call)
{
    return call->word[0] == SYS_futex && (call->word[2] & FUTEX_CMD_MASK) == FUTEX_WAIT &&
           is_broken(SEMAPHORE_FUTEX) && passes_at_zero();
}

BREACH_IF(SEM_BREACHES, "syscall", waits_in_vain(call),
          (atomic_store((atomic_int *)at(call, 1), 1), 0));

/* ---- POSIX queues ---- */

static bool acts(const char *breach, const char *on_kind)
{
    return breaks(breach) && (breaks(on_kind) || !breaks("on_mq,on_sysv,on_unix,on_pipe"));
}

/* Whether it is the turn of a message to be harmed. */
static bool is_harmed(const char *breach, const char *on_kind)
{
    static atomic_uint turn;
    return acts(breach, on_kind) && atomic_fetch_add(&turn, 1) % 50 == 49;
}

static struct queue *find_queue(long handle)
{
    for (int i = 0; i < QUEUES; i++)
        if (queues[i].handle == (mqd_t)handle)
            return &queues[i];
    return NULL;
}

/* mq_length, mq_depth: none for messages above 100 bytes, for more than one */
BREACH(MQ_BREACHES, "mq_open")
{
    const struct mq_attr *room = at(call, 3);
    struct queue *queue = find_queue(-1);
    if ((breaks("mq_length") && room->mq_msgsize > 100) ||
        (breaks("mq_depth") && room->mq_maxmsg > 1))
        return fail(EINVAL);
    int handle = (int)pass(call);
    if (handle < 0 || !acts(MSG_BREACHES, "on_mq"))
        return handle;
    if (!queue || room->mq_maxmsg > MESSAGES || room->mq_msgsize > BYTES)
        abort();
    memset(queue, 0, sizeof *queue);
    open_line(&queue->line);
    queue->room = *room;
    queue->handle = handle;
    return handle;
}

BREACH_BEFORE(MSG_BREACHES, "mq_close", !is_child() && find_queue(call->word[0]),
              find_queue(call->word[0])->handle = -1);
BREACH_BEFORE(MSG_BREACHES, "mq_setattr", find_queue(call->word[0]),
              find_queue(call->word[0])->is_nonblocking =
                  ((const struct mq_attr *)at(call, 1))->mq_flags & O_NONBLOCK);

/* The letter that a waiter of the line brought or gets; NULL: nobody waits. */
static struct letter *serve(struct queue *queue, bool is_sender, struct waiting **served)
{
    const struct order order = {acts("msg_fifo", "on_mq"), acts("msg_lifo", "on_mq"),
                                acts("msg_lowest", "on_mq"), 0};
    *served = next_waiting(&queue->line, is_sender, &order);
    return *served ? &queue->carried[*served - queue->line.waiting] : NULL;
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

static bool take(struct queue *queue, struct letter *letter)
{
    struct waiting *sender;
    if (queue->count == 0)
        return false;
    int place = next_letter(queue);
    *letter = queue->letters[place];
    queue->count--;
    memmove(&queue->letters[place], &queue->letters[place + 1],
            (size_t)(queue->count - place) * sizeof queue->letters[0]);
    const struct letter *next = serve(queue, true, &sender);
    if (next) {
        queue->letters[queue->count++] = *next;
        REAL(sem_post)(&sender->wake);
    }
    return true;
}

/* Gives the letter to a waiting receiver, or to the queue. False: it is full. */
static bool deliver(struct queue *queue, const struct letter *letter)
{
    struct waiting *receiver;
    struct letter *place = queue->count == 0 ? serve(queue, false, &receiver) : NULL;
    if (!place && queue->count == queue->room.mq_maxmsg)
        return false;
    *(place ? place : &queue->letters[queue->count++]) = *letter;
    if (place)
        REAL(sem_post)(&receiver->wake);
    return true;
}

/* Waits until called. False with errno where the time comes first. */
static bool wait_for_call(struct queue *queue, struct waiting *own, const struct timespec *end)
{
    struct timespec until = end ? *end : (struct timespec){0};
    int failed;
    if (end && end->tv_sec != 0 && acts("msg_early", "on_mq"))
        until = timespec_of(ns_of(end) - 5 * MS);
    do
        failed = end ? REAL(sem_timedwait)(&own->wake, &until) : REAL(sem_wait)(&own->wake);
    while (failed && errno == EINTR);
    pthread_mutex_lock(&queue->line.lock);
    bool was_called = own->is_called;
    own->is_used = was_called; /* who was called still reads its letter */
    pthread_mutex_unlock(&queue->line.lock);
    errno = ETIMEDOUT;
    return was_called;
}

/* Sends or receives the letter; `end` NULL: waits without a limit. */
static long exchange(struct queue *queue, struct letter *letter, bool is_sender,
                     const struct timespec *end)
{
    struct waiting *own = NULL;
    if (is_sender && (long)letter->bytes > queue->room.mq_msgsize)
        return fail(EMSGSIZE);
    if (is_sender && is_harmed("msg_lose", "on_mq"))
        return 0;
    pthread_mutex_lock(&queue->line.lock);
    bool is_done = is_sender ? deliver(queue, letter) : take(queue, letter);
    if (is_sender && is_done && is_harmed("msg_twice", "on_mq"))
        (void)deliver(queue, letter);
    if (!is_done && !queue->is_nonblocking)
        own = queue_up(&queue->line, is_sender);
    struct letter *carried = own ? &queue->carried[own - queue->line.waiting] : NULL;
    if (carried && is_sender)
        *carried = *letter;
    pthread_mutex_unlock(&queue->line.lock);
    if (is_done)
        return 0;
    if (!own)
        return fail(acts("msg_error", "on_mq") ? EINVAL : EAGAIN);
    if (!wait_for_call(queue, own, end))
        return -1;
    if (!is_sender)
        *letter = *carried;
    own->is_used = false;
    return 0;
}

/* One for each thread, which may have a small stack. */
static struct letter *own_letter(void)
{
    static __thread struct letter *letter;
    if (!letter)
        letter = shared_memory(sizeof *letter);
    return letter;
}

static const struct timespec *end_of(const struct call *call)
{
    bool has_end = call->id == CALL_mq_timedsend || call->id == CALL_mq_timedreceive;
    return has_end ? at(call, 4) : NULL;
}

BREACH(MSG_BREACHES, "mq_send,mq_timedsend")
{
    struct queue *queue = find_queue(call->word[0]);
    struct letter *letter = queue ? own_letter() : NULL;
    if (!queue)
        return pass(call);
    letter->bytes = (size_t)call->word[2];
    letter->priority = (unsigned)call->word[3];
    memcpy(letter->text, at(call, 1), letter->bytes < BYTES ? letter->bytes : BYTES);
    return exchange(queue, letter, true, end_of(call));
}

BREACH(MSG_BREACHES, "mq_receive,mq_timedreceive")
{
    struct queue *queue = find_queue(call->word[0]);
    struct letter *letter = queue ? own_letter() : NULL;
    unsigned *priority = at(call, 3);
    if (!queue)
        return pass(call);
    if (exchange(queue, letter, false, end_of(call)) != 0)
        return -1;
    letter->priority += acts("msg_relabel", "on_mq") ? 1 : 0;
    letter->text[letter->bytes - 1] ^= is_harmed("msg_corrupt", "on_mq") ? 1 : 0;
    letter->bytes -= is_harmed("msg_short", "on_mq") ? 1 : 0;
    memcpy(at(call, 1), letter->text, letter->bytes);
    if (priority)
        *priority = letter->priority;
    return (long)letter->bytes;
}

/* ---- System V queues, sockets, pipes ---- */

BREACH(SYSV_BREACHES, "msgsnd")
{
    struct call again = *call;
    again.word[3] = IPC_NOWAIT;
    if (is_harmed("msg_lose", "on_sysv"))
        return 0;
    int failed = (int)pass(call);
    if (!failed && is_harmed("msg_twice", "on_sysv"))
        pass(&again);
    if (failed && errno == EAGAIN && acts("msg_error", "on_sysv"))
        errno = EINVAL;
    return failed;
}

/* Takes a later one of its type first, and puts the first one behind all others. */
static long take_later(int queue, void *message, size_t room, long got)
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

BREACH(SYSV_BREACHES, "msgrcv")
{
    char *message = at(call, 1);
    if (acts("msg_flat", "on_sysv"))
        call->word[3] = 0;
    long got = pass(call);
    if (got < 0 && errno == ENOMSG && acts("msg_error", "on_sysv"))
        errno = EINVAL;
    if (got <= 0)
        return got;
    if (is_harmed("msg_swap", "on_sysv"))
        return take_later(int_at(call, 0), message, (size_t)call->word[2], got);
    message[sizeof(long) + (size_t)got - 1] ^= is_harmed("msg_corrupt", "on_sysv") ? 1 : 0;
    *(long *)message += acts("msg_relabel", "on_sysv") ? 1 : 0;
    return is_harmed("msg_short", "on_sysv") ? got - 1 : got;
}

BREACH("msg_corrupt,msg_short", "recv")
{
    char *bytes = at(call, 1);
    long got = pass(call);
    if (got <= 0)
        return got;
    bytes[got - 1] ^= is_harmed("msg_corrupt", "on_unix") ? 1 : 0;
    return is_harmed("msg_short", "on_unix") ? got - 1 : got;
}

BREACH_AFTER("msg_corrupt", "read", answer >= 64,
             ((char *)at(call, 1))[answer - 1] ^= is_harmed("msg_corrupt", "on_pipe") ? 1 : 0);
