/* Throughput of messages as in MSG-P-THR, without instrumentation: two SCHED_FIFO threads on one
 * CPU, of which one only sends and one only receives, by the plain calls of the C library. The
 * clock is read only before and after the loop. MSG-P-THR is below this by the cost of its numbers,
 * counts and checks.
 *
 * hardstone-message-bench KIND BYTES DEPTH CPU PRIORITY MESSAGES ROUNDS
 * KIND: mq, pipe, unix, sysv. Prints one line per round: bytes per second. Rounds are short and
 * followed by rests, so that none is throttled. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_BYTES = 65536, MOST_MESSAGES = 10000000, MOST_ROUNDS = 100, DEADLINE_S = 60 };

#define REST_NS INT64_C(200000000)

struct kind {
    const char *name;
    int (*open)(int ends[2]); /* 0, or -1 with errno */
    ssize_t (*send)(int end, const void *message, size_t bytes);
    ssize_t (*receive)(int end, void *message, size_t bytes);
};

struct party {
    struct rt_thread rt_thread;
    const struct kind *kind;
    int end;
    size_t bytes;
    long messages;
    bool is_sender, has_failed;
    int64_t begin_ns, end_ns;
    _Alignas(64) char message[sizeof(long) + MOST_BYTES];
};

/* ---- kinds: as in MSG-P-THR, a System V message has its type before the text ---- */

static struct mq_attr room;

static int open_queue(int ends[2])
{
    char name[64];
    snprintf(name, sizeof name, "/hardstone-message-bench-%ld", (long)getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &room);
    if (queue != (mqd_t)-1)
        mq_unlink(name);
    ends[0] = ends[1] = (int)queue;
    return queue == (mqd_t)-1 ? -1 : 0;
}

static ssize_t send_to_queue(int end, const void *message, size_t bytes)
{
    return mq_send((mqd_t)end, message, bytes, 0) == 0 ? (ssize_t)bytes : -1;
}

static ssize_t receive_from_queue(int end, void *message, size_t bytes)
{
    return mq_receive((mqd_t)end, message, bytes, NULL);
}

static int open_sockets(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
}

static ssize_t send_to_socket(int end, const void *message, size_t bytes)
{
    return send(end, message, bytes, MSG_NOSIGNAL);
}

static ssize_t receive_from_socket(int end, void *message, size_t bytes)
{
    return recv(end, message, bytes, 0);
}

static int sysv_queue = -1;

static void remove_sysv(void)
{
    if (sysv_queue >= 0)
        msgctl(sysv_queue, IPC_RMID, NULL);
}

static int open_sysv(int ends[2])
{
    ends[0] = ends[1] = sysv_queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    atexit(remove_sysv);
    return sysv_queue >= 0 ? 0 : -1;
}

static ssize_t send_to_sysv(int end, const void *message, size_t bytes)
{
    return msgsnd(end, message, bytes, 0) == 0 ? (ssize_t)bytes : -1;
}

static ssize_t receive_from_sysv(int end, void *message, size_t bytes)
{
    return msgrcv(end, message, bytes, 0, 0);
}

static const struct kind kinds[] = {
    {"mq", open_queue, send_to_queue, receive_from_queue},
    {"pipe", pipe, write, read},
    {"unix", open_sockets, send_to_socket, receive_from_socket},
    {"sysv", open_sysv, send_to_sysv, receive_from_sysv},
};

/* ---- rounds ---- */

static void pass_all(void *argument)
{
    struct party *party = argument;
    *(long *)(void *)party->message = 1;
    party->begin_ns = clock_monotonic_ns();
    for (long i = 0; i < party->messages && !party->has_failed; i++) {
        ssize_t done = party->is_sender
                           ? party->kind->send(party->end, party->message, party->bytes)
                           : party->kind->receive(party->end, party->message, party->bytes);
        party->has_failed = done != (ssize_t)party->bytes;
    }
    party->end_ns = clock_monotonic_ns();
    if (party->has_failed) /* the other one would wait for ever */
        _exit(1);
}

/* From the first party's start to the end of the receiver. */
static int run_round(struct party parties[2], const struct rt_thread_setup *setup)
{
    int started = 0, error = 0;
    for (; started < 2 && !error; started += error ? 0 : 1)
        error = rt_thread_start(&parties[started].rt_thread, setup, pass_all, &parties[started]);
    for (int i = 0; i < started; i++)
        rt_thread_go(&parties[i].rt_thread);
    for (int i = 0; i < started; i++)
        rt_thread_join(&parties[i].rt_thread);
    return error;
}

static double bytes_per_s(const struct party parties[2])
{
    int64_t begin_ns =
        parties[0].begin_ns < parties[1].begin_ns ? parties[0].begin_ns : parties[1].begin_ns;
    double ns = (double)(parties[0].end_ns - begin_ns);
    return (double)parties[0].bytes * (double)parties[0].messages * 1e9 / ns;
}

static int fail(const char *what, int error)
{
    fprintf(stderr, "hardstone-message-bench: %s: %s\n", what, strerror(error));
    return 1;
}

static int run_rounds(struct party parties[2], const struct rt_thread_setup *setup, int rounds)
{
    struct timespec rest = clock_ns_timespec(REST_NS);
    for (int i = 0; i < rounds; i++) {
        int error = run_round(parties, setup);
        if (error)
            return fail("threads", error);
        printf("%.0f\n", bytes_per_s(parties));
        nanosleep(&rest, NULL);
    }
    return 0;
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

int main(int count, char **words)
{
    static struct party parties[2]; /* the receiver, the sender */
    const struct kind *kind = count == 8 ? find_kind(words[1]) : NULL;
    int ends[2];
    if (!kind) {
        fprintf(stderr, "usage: hardstone-message-bench mq|pipe|unix|sysv BYTES DEPTH CPU PRIORITY "
                        "MESSAGES ROUNDS\n");
        return 2;
    }
    size_t bytes = (size_t)strtol(words[2], NULL, 10);
    long messages = strtol(words[6], NULL, 10);
    int rounds = (int)strtol(words[7], NULL, 10);
    struct rt_thread_setup setup = {SCHED_FIFO, (int)strtol(words[5], NULL, 10),
                                    (int)strtol(words[4], NULL, 10)};
    if (bytes < 1 || bytes > MOST_BYTES || messages < 1 || messages > MOST_MESSAGES || rounds < 1 ||
        rounds > MOST_ROUNDS)
        return fail("numbers", EINVAL);
    alarm(DEADLINE_S);
    room = (struct mq_attr){.mq_maxmsg = strtol(words[3], NULL, 10), .mq_msgsize = (long)bytes};
    if (kind->open(ends) != 0)
        return fail(kind->name, errno);
    for (int i = 0; i < 2; i++) {
        parties[i].kind = kind;
        parties[i].end = ends[i];
        parties[i].bytes = bytes;
        parties[i].messages = messages;
        parties[i].is_sender = i == 1;
    }
    return run_rounds(parties, &setup, rounds);
}
