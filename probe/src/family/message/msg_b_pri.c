/* MSG-B-PRI: messages are ordered by priority, then age (HP 1987, Obenland 2000).
 *
 * What: order: one thread that never blocks sends and receives 2000 messages in turns that are
 *   drawn, of four priorities and of drawn lengths, through a queue of eight; a model says which
 *   must come (order_check.h). With System V by negative msgtyp, "the lowest type first", and once
 *   more by msgtyp 0, "the oldest". bounds: a caller that does not wait, or until a time. waiters:
 *   six threads wait for a message in an empty queue (receivers) or for room in a full one
 *   (senders): lowest first, highest first, mixed, and three at each of two priorities; 20 rounds.
 * Begin, end: none; who was served first is told by the numbers of messages, not by time.
 * Threads: the waiters, of the caller's process or all of a second one, have higher priorities than
 *   the caller, the measuring thread; all on one CPU.
 * Wrong if: waiters on two CPUs could run at once and would have no order, so the test needs one. A
 *   wait until a time is early only if it is early by CLOCK_REALTIME, which may be set meanwhile,
 *   and by CLOCK_MONOTONIC. POSIX promises no order of waiters in msgsnd and msgrcv: not tried.
 */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/random.h"
#include "family/message/kind.h"
#include "family/message/order_check.h"
#include "family/shared/peer.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUEUE_KINDS = 2, DEPTH = QUEUE_ORDER_DEPTH };

static const char *const kind_names[] = {"mq", "sysv", NULL};
static const enum message_kind kinds[QUEUE_KINDS] = {MESSAGE_MQ, MESSAGE_SYSV};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "mq,sysv", 0, 0, kind_names, "kinds of queue", "kind"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names,
     "where the waiters are: in the caller's process, in a second one", "scope"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"priority_order", "the message of the highest priority comes first (System V: of the lowest "
                       "type, with a negative msgtyp)"},
    {"age_order", "among messages of one priority (System V: type; of all, with msgtyp 0) the "
                  "oldest comes first"},
    {"intact", "each message comes once, with the content, length and priority with which it was "
               "sent"},
    {"nonblocking", "a non-blocking caller gets EAGAIN from an empty and from a full queue "
                    "(msgrcv: ENOMSG from an empty one)"},
    {"timeout", "mq_timedreceive and mq_timedsend fail with ETIMEDOUT, not before their time"},
    {"receivers", "among threads that wait for a message, the one with the highest priority gets "
                  "it, and among equals the one that has waited longest"},
    {"senders", "among threads that wait for room, the one with the highest priority gets it, "
                "and among equals the one that has waited longest"},
    {0},
};

/* ---- bounds: what a queue does that has no message or no room ---- */

enum { QUEUE_BOUNDS_TEXT_BYTES = 160 };

enum { MOST_SYSV = 65536, TRIES = 5 };

#define WAIT_NS INT64_C(10000000)

static bool say(char evidence[QUEUE_BOUNDS_TEXT_BYTES], const char *what, const char *answer)
{
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "%s: %s", what, answer);
    return false;
}

static bool is_refused(int failed, int error)
{
    return failed != 0 && errno == error;
}

static const char *answer(bool was_accepted)
{
    return was_accepted ? "accepted" : strerror(errno);
}

static void take_all(struct message_channel *channel, struct message *room)
{
    while (message_try_receive(channel, room, channel->bytes))
        ;
}

/* ---- without waiting ---- */

static bool refuses_empty(struct message_channel *channel, struct message *room)
{
    if (channel->kind == MESSAGE_SYSV)
        return is_refused(sysv_queue_receive(channel->in, room, channel->bytes, 0, false) < 0,
                          ENOMSG);
    return is_refused(queue_receive(channel->queue, room->bytes, channel->bytes, NULL) < 0, EAGAIN);
}

static bool accepts(struct message_channel *channel, struct message *room)
{
    room->type = 1;
    if (channel->kind == MESSAGE_SYSV)
        return sysv_queue_send(channel->in, room, channel->bytes, false) == 0;
    return queue_send(channel->queue, room->bytes, channel->bytes, 0) == 0;
}

/* Fills it; `count`: messages accepted before the first refusal. */
static bool refuses_full(struct message_channel *channel, int most, struct message *room,
                         int *count)
{
    *count = 0;
    while (*count <= most && accepts(channel, room))
        ++*count;
    return *count <= most && errno == EAGAIN;
}

static bool refuses(struct message_channel *channel, int depth, struct message *room,
                    char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool is_posix = channel->kind == MESSAGE_MQ;
    int count;
    if (!refuses_empty(channel, room))
        return say(evidence, "receiving from the empty queue", strerror(errno));
    errno = 0;
    if (!refuses_full(channel, is_posix ? depth : MOST_SYSV, room, &count))
        return say(evidence, "sending to the full queue", answer(errno == 0));
    if (is_posix && count != depth) {
        snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "it holds %d messages instead of %d", count,
                 depth);
        return false;
    }
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES,
             "empty: %s; full at %d messages of %zu bytes: EAGAIN", is_posix ? "EAGAIN" : "ENOMSG",
             count, channel->bytes);
    return true;
}

/* Each judges an open, empty channel of the kind mq or sysv (timeouts: mq), which holds `depth`
 * messages (mq) of channel->bytes, and leaves it empty. `room` is for one. Whether the claim holds;
 * `evidence` says what was seen. */
static bool queue_bounds_refuse(struct message_channel *channel, int depth, struct message *room,
                                char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool is_posix = channel->kind == MESSAGE_MQ;
    if (is_posix && queue_set_nonblocking(channel->queue, true) != 0)
        return say(evidence, "mq_setattr with O_NONBLOCK", strerror(errno));
    bool holds = refuses(channel, depth, room, evidence);
    if (is_posix && queue_set_nonblocking(channel->queue, false) != 0)
        return say(evidence, "mq_setattr without O_NONBLOCK", strerror(errno));
    take_all(channel, room);
    return holds;
}

/* ---- until a time ---- */

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_timespec_ns(&now);
}

/* How much too early the call returned, ns; at most 0: it did not. By two clocks, since
 * CLOCK_REALTIME may be set meanwhile: the end must have been early by both. */
static int64_t early_ns(int64_t end_ns, int64_t began_ns)
{
    int64_t by_clock_ns = end_ns - realtime_ns();
    int64_t by_length_ns = WAIT_NS - (clock_monotonic_ns() - began_ns);
    return by_clock_ns < by_length_ns ? by_clock_ns : by_length_ns;
}

static bool waits(struct message_channel *channel, struct message *room, bool is_sender,
                  char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    const char *what = is_sender ? "sending to the full queue until a time"
                                 : "receiving from the empty queue until a time";
    int64_t began_ns = clock_monotonic_ns(), end_ns = realtime_ns() + WAIT_NS;
    struct timespec end = clock_ns_timespec(end_ns);
    ssize_t got =
        is_sender ? queue_send_until(channel->queue, room->bytes, channel->bytes, 0, &end)
                  : queue_receive_until(channel->queue, room->bytes, channel->bytes, NULL, &end);
    int error = errno;
    int64_t early = early_ns(end_ns, began_ns);
    errno = error;
    if (got >= 0 || error != ETIMEDOUT)
        return say(evidence, what, answer(got >= 0));
    if (early <= 0)
        return true;
    snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES, "%s of 10 ms: returned %lld us too early", what,
             (long long)(early / 1000));
    return false;
}

static bool waits_each_time(struct message_channel *channel, struct message *room, bool is_sender,
                            char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    for (int i = 0; i < TRIES; i++)
        if (!waits(channel, room, is_sender, evidence))
            return false;
    return true;
}

static bool queue_bounds_timeouts(struct message_channel *channel, int depth, struct message *room,
                                  char evidence[QUEUE_BOUNDS_TEXT_BYTES])
{
    bool holds = waits_each_time(channel, room, false, evidence);
    for (int i = 0; holds && i < depth; i++)
        if (!message_try_send(channel, room, channel->bytes))
            holds = say(evidence, "filling the queue", strerror(errno));
    holds = holds && waits_each_time(channel, room, true, evidence);
    take_all(channel, room);
    if (holds)
        snprintf(evidence, QUEUE_BOUNDS_TEXT_BYTES,
                 "%d waits of 10 ms each, to receive and to send: ETIMEDOUT, none early", TRIES);
    return holds;
}

/* ---- users: threads that receive from one POSIX queue, or send to it, on request ---- */

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

static void pass_gate(sem_t *gate)
{
    while (sem_wait(gate) != 0 && errno == EINTR)
        ;
}

/* 0 as number: no message, or one without a number. */
static void receive_as_user(struct queue_user *user)
{
    struct message_channel *channel = &user->table->channel;
    ssize_t got;
    while ((got = queue_receive(channel->queue, user->bytes, sizeof user->bytes, NULL)) < 0 &&
           message_try_again(channel))
        ;
    atomic_store(&user->number,
                 got == QUEUE_USER_BYTES ? content_number_of(user->bytes, QUEUE_USER_BYTES) : 0);
}

static void send_as_user(struct queue_user *user)
{
    struct message_channel *channel = &user->table->channel;
    uint64_t number = atomic_load(&user->number);
    content_fill(user->bytes, QUEUE_USER_BYTES, number, number);
    while (queue_send(channel->queue, user->bytes, QUEUE_USER_BYTES, 0) != 0 &&
           message_try_again(channel))
        ;
}

static void use_when_told(void *argument)
{
    struct queue_user *user = argument;
    struct queue_users_table *table = user->table;
    for (;;) {
        pass_gate(&user->gate);
        if (atomic_load(&table->is_over))
            return;
        if (table->are_senders)
            send_as_user(user);
        else
            receive_as_user(user);
        atomic_fetch_add(&table->passed_count, 1);
    }
}

static void open_all_gates(struct queue_users_table *table)
{
    atomic_store(&table->is_over, 1);
    for (int i = 0; i < table->count; i++)
        sem_post(&table->user[i].gate);
}

/* Runs in the process of the threads. */
static void join_threads(void *argument)
{
    struct queue_users_table *table = argument;
    for (int i = 0; i < table->count; i++)
        rt_thread_join(&table->user[i].rt_thread);
}

static void destroy_gates(struct queue_users_table *table)
{
    for (int i = 0; i < table->count; i++)
        sem_destroy(&table->user[i].gate);
    table->count = 0;
}

static int start_thread(struct queue_users_table *table, int i)
{
    struct queue_user *user = &table->user[i];
    struct rt_thread_setup setup = table->run->setup;
    setup.priority = table->priorities[i];
    user->table = table;
    if (sem_init(&user->gate, table->scope == PEER_PROCESS, 0) != 0)
        return errno;
    int error = rt_thread_start_with_stack(&user->rt_thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           use_when_told, user);
    if (error)
        sem_destroy(&user->gate);
    else
        rt_thread_go(&user->rt_thread);
    return error;
}

static int start_threads(void *argument)
{
    struct queue_users_table *table = argument;
    int error = 0;
    for (table->count = 0; !error && table->count < QUEUE_USERS;) {
        error = start_thread(table, table->count);
        table->count += error ? 0 : 1;
    }
    if (!error)
        return 0;
    open_all_gates(table);
    join_threads(table);
    destroy_gates(table);
    return error;
}

/* Starts the threads, with table->priorities. 0, or an errno value with no thread left. */
static int queue_users_start(struct queue_users *users, struct run *run,
                             const struct ipc_cleanup *ipc_cleanup, enum peer_scope scope,
                             bool are_senders)
{
    struct queue_users_table *table = users->table;
    table->run = run;
    table->scope = users->peer.scope = scope;
    table->are_senders = are_senders;
    atomic_store(&table->is_over, 0);
    atomic_store(&table->passed_count, 0);
    if (scope == PEER_THREAD)
        return start_threads(table);
    return peer_start_process(&users->peer, run, ipc_cleanup, &run->setup, start_threads,
                              join_threads, table);
}

/* Has thread `i` receive a message, or send one of this number. */
static void queue_users_ask(struct queue_users_table *table, int i, uint64_t number)
{
    atomic_store(&table->user[i].number, number);
    sem_post(&table->user[i].gate);
}

static pid_t queue_users_process(const struct queue_users *users)
{
    return users->peer.scope == PEER_PROCESS ? users->peer.process : 0;
}

/* Ends all threads, which must be at their gates. 0, or -1 with the outcome if their process had
 * ended early. */
static int queue_users_end(struct queue_users *users, struct run *run)
{
    struct queue_users_table *table = users->table;
    int error = 0;
    open_all_gates(table);
    if (table->scope == PEER_THREAD)
        join_threads(table);
    else
        error = peer_join(&users->peer);
    destroy_gates(table);
    return error ? supervise_ended_early(run, "waiters") : 0;
}

/* ---- waiters: which of several threads that wait for a message, or for room, is served first ----
 */

enum { QUEUE_WAITERS_TEXT_BYTES = 200 };

struct queue_waiters {
    struct queue_users users;
    struct message *room; /* of QUEUE_USER_BYTES */
    struct random random;
};

enum { ROUNDS = 20, EQUALS = 3, LATE_TRIES = 500, ORDER_BYTES = 64 };

enum arrival { ASCENDING, DESCENDING, MIXED, PAIRS, ARRIVALS };

/* ---- orders: of waiters, by their numbers from 0 ---- */

static void choose_arrival(struct queue_waiters *waiters, enum arrival arrival,
                           int arrived[QUEUE_USERS])
{
    for (int i = 0; i < QUEUE_USERS; i++)
        arrived[i] = arrival == DESCENDING ? QUEUE_USERS - 1 - i : i;
    if (arrival != MIXED && arrival != PAIRS)
        return;
    for (int i = QUEUE_USERS - 1; i > 0; i--) {
        int other = (int)random_below(&waiters->random, i + 1), kept = arrived[i];
        arrived[i] = arrived[other];
        arrived[other] = kept;
    }
}

/* By priority; among equals the one that came first. */
static void sort_promised(const int priorities[QUEUE_USERS], const int arrived[QUEUE_USERS],
                          int promised[QUEUE_USERS])
{
    for (int i = 0; i < QUEUE_USERS; i++) {
        int place = i;
        for (; place > 0 && priorities[promised[place - 1]] < priorities[arrived[i]]; place--)
            promised[place] = promised[place - 1];
        promised[place] = arrived[i];
    }
}

/* "95a 95b 94c", -: nobody. */
static void write_order(const int priorities[QUEUE_USERS], const int row[QUEUE_USERS],
                        char text[ORDER_BYTES])
{
    size_t used = 0;
    for (int i = 0; i < QUEUE_USERS && used < ORDER_BYTES; i++) {
        const char *space = i ? " " : "";
        if (row[i] < 0)
            used += (size_t)snprintf(text + used, ORDER_BYTES - used, "%s-", space);
        else
            used += (size_t)snprintf(text + used, ORDER_BYTES - used, "%s%d%c", space,
                                     priorities[row[i]], 'a' + row[i]);
    }
}

/* ---- one round ---- */

static bool give(struct queue_waiters *waiters, uint64_t number)
{
    struct message_channel *channel = &waiters->users.table->channel;
    content_fill(waiters->room->bytes, QUEUE_USER_BYTES, number, number);
    return message_try_send(channel, waiters->room, QUEUE_USER_BYTES);
}

/* The number of the message that was taken; 0: there was none, or it had no number. */
static uint64_t take(struct queue_waiters *waiters)
{
    struct message_channel *channel = &waiters->users.table->channel;
    if (!message_try_receive(channel, waiters->room, QUEUE_USER_BYTES))
        return 0;
    return content_number_of(waiters->room->bytes, QUEUE_USER_BYTES);
}

/* Waits until all calls have returned. False if that takes longer than LATE_TRIES ms: it then ends
 * them with more messages, or more room. */
static bool all_passed(struct queue_waiters *waiters)
{
    struct queue_users_table *table = waiters->users.table;
    struct timespec while_they_run = {.tv_nsec = 1000000};
    bool is_complete = true;
    for (int i = 0; atomic_load(&table->passed_count) < QUEUE_USERS; i++) {
        nanosleep(&while_they_run, NULL);
        if (i < LATE_TRIES)
            continue;
        is_complete = false;
        if (peer_is_gone(&waiters->users.peer))
            break;
        if (table->are_senders)
            (void)take(waiters);
        else
            (void)give(waiters, UINT64_MAX);
    }
    return is_complete;
}

/* Message i, from 1, for the i-th that is served. */
static bool serve_receivers(struct queue_waiters *waiters, int served[QUEUE_USERS])
{
    struct queue_users_table *table = waiters->users.table;
    bool is_fine = true;
    for (int i = 0; i < QUEUE_USERS; i++)
        is_fine = give(waiters, (uint64_t)i + 1) && is_fine;
    is_fine = all_passed(waiters) && is_fine;
    for (int i = 0; i < QUEUE_USERS; i++) {
        uint64_t number = atomic_load(&table->user[i].number);
        if (number >= 1 && number <= QUEUE_USERS)
            served[number - 1] = i;
    }
    return is_fine;
}

/* Thread i sends message i + 1; those that filled the queue have larger numbers. */
static bool serve_senders(struct queue_waiters *waiters, int depth, int served[QUEUE_USERS])
{
    int place = 0;
    for (int i = 0; i < depth + QUEUE_USERS; i++) {
        uint64_t number = take(waiters);
        if (number >= 1 && number <= QUEUE_USERS && place < QUEUE_USERS)
            served[place++] = (int)number - 1;
    }
    return all_passed(waiters);
}

static bool fill(struct queue_waiters *waiters, int depth)
{
    bool is_fine = true;
    for (int i = 0; i < depth; i++)
        is_fine = give(waiters, UINT64_MAX) && is_fine;
    return is_fine;
}

/* Whether the waiters are served as promised. Each blocks before the next is asked: they have
 * higher priorities than the caller, on its CPU. */
static bool try_round(struct queue_waiters *waiters, int depth, const int arrived[QUEUE_USERS],
                      const int promised[QUEUE_USERS], int served[QUEUE_USERS])
{
    struct queue_users_table *table = waiters->users.table;
    bool is_right = !table->are_senders || fill(waiters, depth);
    atomic_store(&table->passed_count, 0);
    for (int i = 0; i < QUEUE_USERS; i++)
        served[i] = -1;
    for (int i = 0; i < QUEUE_USERS; i++)
        queue_users_ask(table, arrived[i], (uint64_t)arrived[i] + 1);
    is_right = atomic_load(&table->passed_count) == 0 && is_right;
    bool is_fine = table->are_senders ? serve_senders(waiters, depth, served)
                                      : serve_receivers(waiters, served);
    while (message_try_receive(&table->channel, waiters->room, QUEUE_USER_BYTES))
        ;
    return is_fine && is_right && memcmp(served, promised, QUEUE_USERS * sizeof *served) == 0;
}

/* ---- rounds ---- */

static void set_priorities(struct queue_users_table *table, int highest, enum arrival arrival)
{
    for (int i = 0; i < QUEUE_USERS; i++) {
        int below = QUEUE_USERS - 1 - i;
        table->priorities[i] = highest - (arrival == PAIRS ? below / EQUALS : below);
    }
}

static bool try_rounds(struct queue_waiters *waiters, struct run *run, enum arrival arrival,
                       int depth, char evidence[QUEUE_WAITERS_TEXT_BYTES])
{
    const struct queue_users_table *table = waiters->users.table;
    int arrived[QUEUE_USERS], promised[QUEUE_USERS], served[QUEUE_USERS];
    char came[ORDER_BYTES], went[ORDER_BYTES];
    bool is_right = true;
    int round = 0;
    for (; round < ROUNDS && is_right && !run_should_stop(); round++) {
        burst_next(run);
        choose_arrival(waiters, arrival, arrived);
        sort_promised(table->priorities, arrived, promised);
        is_right = try_round(waiters, depth, arrived, promised, served);
    }
    if (round == 0)
        return true;
    write_order(table->priorities, arrived, came);
    write_order(table->priorities, served, went);
    snprintf(evidence, QUEUE_WAITERS_TEXT_BYTES, "%s %d: waited in the order %s, served %s",
             is_right ? "rounds:" : "round", round, came, went);
    return is_right;
}

static int judge_arrival(struct queue_waiters *waiters, struct run *run,
                         const struct ipc_cleanup *ipc_cleanup, enum peer_scope scope,
                         enum arrival arrival, bool are_senders, int depth, bool *holds,
                         char evidence[QUEUE_WAITERS_TEXT_BYTES])
{
    struct queue_users *users = &waiters->users;
    set_priorities(users->table, run->setup.priority, arrival);
    int error = queue_users_start(users, run, ipc_cleanup, scope, are_senders);
    if (error)
        return peer_not_started(run, error, "waiters", NULL);
    bool is_lower = scheduling_step_down(run, QUEUE_USERS) == 0;
    burst_begin(run, queue_users_process(users));
    *holds = is_lower && try_rounds(waiters, run, arrival, depth, evidence);
    bool is_back = scheduling_step_up(run) == 0;
    if (queue_users_end(users, run) != 0 || message_check(run, &users->table->channel) != 0)
        return -1;
    return is_lower && is_back ? 0 : -1;
}

/* Judges the open, empty channel of users.table, which holds `depth` messages. `holds`: whether the
 * claim holds; `evidence` says what was seen, and is "" where the run is to stop. 0, or -1 with the
 * outcome. */
static int queue_waiters_judge(struct queue_waiters *waiters, struct run *run,
                               const struct ipc_cleanup *ipc_cleanup, enum peer_scope scope,
                               bool are_senders, int depth, bool *holds,
                               char evidence[QUEUE_WAITERS_TEXT_BYTES])
{
    int result = 0;
    *holds = true;
    evidence[0] = '\0';
    for (int i = 0; i < ARRIVALS && result == 0 && *holds && !run_should_stop(); i++)
        result = judge_arrival(waiters, run, ipc_cleanup, scope, (enum arrival)i, are_senders,
                               depth, holds, evidence);
    if (run_should_stop() && *holds)
        evidence[0] = '\0';
    return result;
}

/* ---- the test ---- */

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct queue_waiters waiters;
    struct queue_order order;
    struct message *room;
};

/* The type and room for a message of QUEUE_ORDER_BYTES. */
enum { ROOM_BYTES = 64 + QUEUE_ORDER_BYTES };

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, QUEUE_USERS + 1) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own + ROOM_BYTES);
    if (!own || ipc_cleanup_open(&own->ipc_cleanup, run, true) != 0)
        return -1;
    own->room = own->waiters.room = (struct message *)(own + 1);
    random_start(&own->waiters.random, run->seed);
    own->waiters.users.table = peer_table(run, sizeof *own->waiters.users.table, &own->ipc_cleanup,
                                          "memory for all waiters");
    return own->waiters.users.table ? 0 : -1;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    peer_memory_free(own->waiters.users.table, sizeof *own->waiters.users.table);
    ipc_cleanup_close(&own->ipc_cleanup);
}

/* A kind without waiters has one variant, with the first of the scopes. */
static bool has_variant(const struct run *run, struct variant *variant)
{
    enum message_kind kind = kinds[variant->number[variant_place(run, "kinds")]];
    int64_t scope = variant->number[variant_place(run, "scopes")];
    return kind == MESSAGE_MQ ? peer_has_variant(run, variant)
                              : scope == run_param(run, "scopes")->number[0];
}

static enum message_kind kind_of(const struct run *run)
{
    return kinds[variant_number(run, "kinds")];
}

static struct message_plan plan_of(const struct run *run, size_t bytes)
{
    const struct own *own = run->own;
    return (struct message_plan){.kind = kind_of(run),
                                 .is_shared = true,
                                 .bytes = bytes,
                                 .depth = DEPTH,
                                 .place = &own->ipc_cleanup.places[0],
                                 .folder = "",
                                 .trial = own->room};
}

static int open_queue(struct run *run, struct message_channel *channel, size_t bytes)
{
    struct message_plan plan = plan_of(run, bytes);
    int error = message_open(channel, &plan);
    return error ? outcome_set(&run->outcome, STATUS_FAILED, message_remedy(plan.kind, error),
                               "opening a queue (%s): %s", message_kind_names[plan.kind],
                               strerror(error))
                 : 0;
}

/* ---- claims that no waiters are needed for: once per kind ---- */

static void report(struct run *run, bool holds, const char *claim, const char *evidence)
{
    char name[ARENA_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", claim, variant_text(run, "kinds"));
    arena_verdict(run->arena, holds, 1, name, "%s", evidence);
}

static void report_order(struct run *run, const struct order_check *first,
                         const struct order_check *second)
{
    char fine[ORDER_TEXT_BYTES];
    uint64_t count = first->received_count + (second ? second->received_count : 0);
    snprintf(fine, sizeof fine, "%llu messages through a queue of %d", (unsigned long long)count,
             (int)DEPTH);
    for (int i = 0; i < ORDER_CLAIMS; i++) {
        const char *fault = first->fault[i];
        if (fault[0] == '\0' && second)
            fault = second->fault[i];
        report(run, fault[0] == '\0', verdicts[i].name, fault[0] == '\0' ? fine : fault);
    }
}

static int judge_order(struct run *run, struct message_channel *channel)
{
    struct own *own = run->own;
    uint64_t seed = run->seed;
    own->order.takes_any = false;
    int error = queue_order_try(&own->order, channel, own->room, seed);
    if (error)
        return outcome_set_errno(&run->outcome, error, "mq_setattr", NULL);
    struct order_check by_priority = own->order.check;
    if (channel->kind == MESSAGE_SYSV) {
        own->order.takes_any = true;
        queue_order_try(&own->order, channel, own->room, seed);
    }
    report_order(run, &by_priority, channel->kind == MESSAGE_SYSV ? &own->order.check : NULL);
    return 0;
}

static void judge_bounds(struct run *run, struct message_channel *channel)
{
    struct own *own = run->own;
    char evidence[QUEUE_BOUNDS_TEXT_BYTES];
    bool holds = queue_bounds_refuse(channel, DEPTH, own->room, evidence);
    report(run, holds, "nonblocking", evidence);
    if (channel->kind != MESSAGE_MQ)
        return;
    holds = queue_bounds_timeouts(channel, DEPTH, own->room, evidence);
    report(run, holds, "timeout", evidence);
}

static int judge_alone(struct run *run)
{
    struct message_channel channel;
    if (open_queue(run, &channel, QUEUE_ORDER_BYTES) != 0)
        return -1;
    int result = judge_order(run, &channel);
    if (result == 0 && !run_should_stop())
        judge_bounds(run, &channel);
    message_close(&channel);
    return result;
}

/* ---- claims about waiters ---- */

static int judge_waiters(struct run *run, bool are_senders)
{
    struct own *own = run->own;
    char name[ARENA_NAME_BYTES], evidence[QUEUE_WAITERS_TEXT_BYTES];
    bool holds;
    if (open_queue(run, &own->waiters.users.table->channel, QUEUE_USER_BYTES) != 0)
        return -1;
    int result = queue_waiters_judge(&own->waiters, run, &own->ipc_cleanup, peer_scope_of(run),
                                     are_senders, DEPTH, &holds, evidence);
    message_close(&own->waiters.users.table->channel);
    if (result != 0 || evidence[0] == '\0')
        return result;
    snprintf(name, sizeof name, "%s/mq/%s", are_senders ? "senders" : "receivers",
             variant_text(run, "scopes"));
    arena_verdict(run->arena, holds, 1, name, "%s", evidence);
    return 0;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    struct message_plan plan = plan_of(run, QUEUE_ORDER_BYTES);
    bool is_first = peer_scope_of(run) == (enum peer_scope)run_param(run, "scopes")->number[0];
    if (!message_is_here(run, &plan))
        return 0;
    if (is_first && judge_alone(run) != 0)
        return -1;
    if (kind_of(run) != MESSAGE_MQ || run_should_stop() ||
        !peer_has_scope(&own->ipc_cleanup, own->waiters.users.table, peer_scope_of(run)))
        return 0;
    int result = judge_waiters(run, false);
    return result == 0 && !run_should_stop() ? judge_waiters(run, true) : result;
}

const struct test msg_b_pri = {
    .id = "MSG-B-PRI",
    .title = "Messages are ordered by priority, then age",
    .source = "[H] Hewlett-Packard 1987; [O] Obenland 2000",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(500000000),
    .sample_ns = 1,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = message_require_any,
    .finish = finish,
};
