/* messages: groups of processes that pass small messages, as hackbench does. In a group every
 * sender writes to every receiver, so one that runs makes many others ready, on all CPUs of the
 * load: run queues are long, and the scheduler wakes, queues and moves tasks all the time.
 *
 * A receiver has one channel, into which all senders of its group write: a Unix socket for one half
 * of them, a pipe for the other. A sender that finds a channel full blocks until its receiver has
 * read, and a receiver blocks until a message comes. Nobody rests otherwise.
 *
 * One group is the default. On two CPUs, beside other work, it passed 400 000 to 600 000 messages a
 * second with 20 to 30 of its processes ready at a time (mean): no CPU was free. Ten groups, as
 * hackbench has, passed a quarter to two thirds more with 160 to 220 ready. Behind so many the
 * other elements of a load get next to no CPU.
 *
 * The process of the load is the head of its group. It forks the members, closes all channels, and
 * looks after the members a few times a second. A member keeps only its own ends, and ends when
 * the head is gone, when the load ends, or when the other ends of its channels are closed: one that
 * is blocked is freed by those that run. If a member is gone, the head ends the others and makes
 * a new group. Members count for their head, in its slot, once for many messages. */
#include "base/posix_source.h"

#include "load/element.h"
#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 100, AT_ONCE = 20 }; /* messages that are counted together */
enum { RECEIVERS = LOAD_GROUP_MEMBERS / 2, SENDERS = LOAD_GROUP_MEMBERS - RECEIVERS };
enum { REST_NS = 10000000, FIRST_LOOK_NS = 2000000, LOOK_NS = 100000000 };
enum { READS, WRITES };

#define OTHERS_NS INT64_C(8000000000)

struct group {
    int channels[RECEIVERS][2];        /* [READS] and [WRITES]; -1: closed */
    pid_t members[LOAD_GROUP_MEMBERS]; /* receivers first; 0: none */
    int stopped;                       /* members that are stopped (SIGSTOP) */
};

/* A member, as it sees itself. */
struct member {
    struct worker *worker;
    pid_t head;
    int64_t cpu_ns; /* already counted */
};

/* ---- channels ---- */

static bool is_socket(int receiver)
{
    return receiver < RECEIVERS / 2;
}

static void close_channel(struct group *group, int receiver, int end)
{
    if (group->channels[receiver][end] >= 0)
        close(group->channels[receiver][end]);
    group->channels[receiver][end] = -1;
}

static void close_channels(struct group *group)
{
    for (int i = 0; i < RECEIVERS; i++) {
        close_channel(group, i, READS);
        close_channel(group, i, WRITES);
    }
}

/* 0, or an errno value; then all are closed. */
static int open_channels(struct group *group)
{
    memset(group->channels, -1, sizeof group->channels);
    for (int i = 0; i < RECEIVERS; i++) {
        int *channel = group->channels[i];
        if ((is_socket(i) ? socketpair(AF_UNIX, SOCK_STREAM, 0, channel) : pipe(channel)) == 0)
            continue;
        int error = errno;
        channel[READS] = channel[WRITES] = -1;
        close_channels(group);
        return error;
    }
    return 0;
}

/* ---- members ---- */

static bool should_end(const struct member *member)
{
    return atomic_load_explicit(&member->worker->map->stop, memory_order_relaxed) != 0 ||
           getppid() != member->head;
}

/* Its CPU time so far counts as that of a child of the head. */
static void count_time(struct member *member)
{
    int64_t cpu_ns = worker_cpu_ns();
    if (cpu_ns > member->cpu_ns)
        worker_count(member->worker, COUNTER_CHILDREN, (uint64_t)(cpu_ns - member->cpu_ns));
    member->cpu_ns = cpu_ns;
}

/* One whole message; false: the other end is closed. */
static bool receive(int channel, char *message)
{
    for (size_t got = 0; got < MESSAGE_BYTES;) {
        ssize_t more = read(channel, message + got, MESSAGE_BYTES - got);
        if (more == 0 || (more < 0 && errno != EINTR))
            return false;
        got += more > 0 ? (size_t)more : 0;
    }
    return true;
}

static bool transmit(int channel, const char *message)
{
    for (size_t done = 0; done < MESSAGE_BYTES;) {
        ssize_t more = write(channel, message + done, MESSAGE_BYTES - done);
        if (more < 0 && errno != EINTR)
            return false;
        done += more > 0 ? (size_t)more : 0;
    }
    return true;
}

static void receive_all(struct member *member, const struct group *group, int receiver)
{
    char message[MESSAGE_BYTES];
    while (!should_end(member)) {
        for (int i = 0; i < AT_ONCE; i++)
            if (!receive(group->channels[receiver][READS], message))
                return;
        worker_count(member->worker, is_socket(receiver) ? MESSAGES_BY_SOCKET : MESSAGES_BY_PIPE,
                     AT_ONCE);
        worker_count(member->worker, MESSAGES_BYTES, AT_ONCE * MESSAGE_BYTES);
        count_time(member);
    }
}

static void send_to_all(struct member *member, const struct group *group)
{
    char message[MESSAGE_BYTES];
    memset(message, 'm', sizeof message);
    while (!should_end(member)) {
        for (int i = 0; i < RECEIVERS; i++)
            if (!transmit(group->channels[i][WRITES], message))
                return;
        count_time(member);
    }
}

static void be_receiver(struct member *member, struct group *group, int receiver)
{
    for (int i = 0; i < RECEIVERS; i++) {
        close_channel(group, i, WRITES);
        if (i != receiver)
            close_channel(group, i, READS);
    }
    receive_all(member, group, receiver);
}

static void be_sender(struct member *member, struct group *group)
{
    for (int i = 0; i < RECEIVERS; i++)
        close_channel(group, i, READS);
    send_to_all(member, group);
}

static void be_member(struct worker *worker, struct group *group, int place, pid_t head)
{
    struct member member = {worker, head, 0};
    int error = port_kill_with_parent(head);
    if (error != 0 && error != ENOTSUP)
        _exit(1);
    if (place < RECEIVERS)
        be_receiver(&member, group, place);
    else
        be_sender(&member, group);
    count_time(&member);
    _exit(0);
}

/* ---- the head ---- */

static void set_whole(struct worker *worker, bool is_whole)
{
    worker_set(worker, MESSAGES_WHOLE, is_whole ? 1 : 0);
}

/* Waits for the end of all members; those that were killed are not waited for in vain. */
static void end_members(struct worker *worker, struct group *group)
{
    set_whole(worker, false);
    for (int i = 0; i < LOAD_GROUP_MEMBERS; i++)
        if (group->members[i] > 0)
            kill(group->members[i], SIGKILL);
    for (int i = 0; i < LOAD_GROUP_MEMBERS; i++) {
        while (group->members[i] > 0 && waitpid(group->members[i], NULL, 0) < 0 && errno == EINTR)
            ;
        group->members[i] = 0;
    }
}

/* 0, or the errno value of fork; then some members may run. */
static int fork_members(struct worker *worker, struct group *group)
{
    pid_t head = getpid();
    for (int i = 0; i < LOAD_GROUP_MEMBERS; i++) {
        pid_t child = port_fork();
        if (child == 0)
            be_member(worker, group, i, head);
        if (child < 0)
            return errno;
        group->members[i] = child;
    }
    return 0;
}

/* True when a whole group runs. */
static bool start_group(struct worker *worker, struct group *group)
{
    int error = open_channels(group);
    if (error) {
        worker_note(worker, "no channels for the messages of a group: %s", strerror(error));
        return false;
    }
    error = fork_members(worker, group);
    close_channels(group);
    group->stopped = 0;
    if (error)
        worker_note(worker, "a process of a group could not be started: %s", strerror(error));
    else
        set_whole(worker, true);
    return error == 0;
}

static void note_end(struct worker *worker, struct group *group, pid_t member, int status)
{
    for (int i = 0; i < LOAD_GROUP_MEMBERS; i++)
        if (group->members[i] == member)
            group->members[i] = 0;
    if (worker_should_stop(worker))
        return;
    if (WIFSIGNALED(status))
        worker_note(worker, "a process of a group was killed by signal %d; the group was restarted",
                    WTERMSIG(status));
    else
        worker_note(worker, "a process of a group ended; the group was restarted");
}

/* True while all members are there. One that is stopped is there, but the group is not whole. */
static bool look_after(struct worker *worker, struct group *group)
{
    int status;
    pid_t member;
    while ((member = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            note_end(worker, group, member, status);
            return false;
        }
        group->stopped += WIFSTOPPED(status) ? 1 : -1;
        set_whole(worker, group->stopped <= 0);
        if (WIFSTOPPED(status))
            worker_note(worker, "a process of a group was stopped by signal %d", WSTOPSIG(status));
    }
    return true;
}

static bool has_passed_messages(const struct worker *worker)
{
    return atomic_load_explicit(&worker->slot->counters[MESSAGES_BYTES], memory_order_relaxed) > 0;
}

static void pass(long ns)
{
    struct timespec span = {.tv_nsec = ns};
    nanosleep(&span, NULL);
}

/* The group works once a message came. Where it cannot be started the load need not wait for it:
 * what it reached says so. */
static void run_group(struct worker *worker, struct group *group)
{
    bool is_started = start_group(worker, group);
    while (is_started && !worker_should_stop(worker) && look_after(worker, group)) {
        bool is_working = has_passed_messages(worker);
        if (is_working)
            worker_works(worker);
        pass(is_working ? LOOK_NS : FIRST_LOOK_NS);
    }
    end_members(worker, group);
    if (worker_should_stop(worker))
        return;
    worker_count(worker, MESSAGES_FAILED, 1);
    worker_works(worker);
    pass(REST_NS);
}

static bool others_work(const struct worker *worker)
{
    const struct load_map *map = worker->map;
    for (int i = 0; i < map->slot_count; i++)
        if (map->slots[i].term != worker->slot->term &&
            atomic_load_explicit(&map->slots[i].state, memory_order_relaxed) < WORKER_WORKS)
            return false;
    return true;
}

/* Beside hundreds of ready processes the first piece of work of each other one would take long, and
 * load_settle waits for all of them. */
static void wait_for_others(const struct worker *worker)
{
    int64_t until_ns = clock_monotonic_ns() + OTHERS_NS;
    while (!others_work(worker) && !worker_should_stop(worker) && clock_monotonic_ns() < until_ns)
        pass(FIRST_LOOK_NS);
}

/* Tried before the load begins, so that a limit on descriptors is reported then. */
static int prepare(struct worker *worker)
{
    struct group *group = calloc(1, sizeof *group);
    if (!group)
        return ENOMEM;
    worker->own = group;
    int error = open_channels(group);
    if (error)
        worker_note(worker, "no channels for the messages of a group: %s", strerror(error));
    else
        close_channels(group);
    return error;
}

static void work(struct worker *worker)
{
    wait_for_others(worker);
    while (!worker_should_stop(worker))
        run_group(worker, worker->own);
}

const struct load_element load_messages = {
    .name = "messages",
    .title = "N groups of 20 senders and 20 receivers: small messages through sockets and pipes",
    .kind = LOAD_GROUPS,
    .default_degree = "1",
    .counters = {NULL, "cpu_ns", NULL, NULL, "socket_messages_count", "pipe_messages_count",
                 "received_bytes", "failed_count"},
    .prepare = prepare,
    .work = work,
};
