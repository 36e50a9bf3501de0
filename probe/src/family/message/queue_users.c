#include "base/posix_source.h"

#include "family/message/queue_users.h"

#include "family/message/content.h"
#include "run/supervise.h"

static void pass_gate(sem_t *gate)
{
    while (sem_wait(gate) != 0 && errno == EINTR)
        ;
}

/* 0 as number: no message, or one without a number. */
static void receive_one(struct queue_user *user)
{
    struct message_channel *channel = &user->table->channel;
    ssize_t got;
    while ((got = queue_receive(channel->queue, user->bytes, sizeof user->bytes, NULL)) < 0 &&
           message_try_again(channel))
        ;
    atomic_store(&user->number,
                 got == QUEUE_USER_BYTES ? content_number_of(user->bytes, QUEUE_USER_BYTES) : 0);
}

static void send_one(struct queue_user *user)
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
            send_one(user);
        else
            receive_one(user);
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

int queue_users_start(struct queue_users *users, struct run *run,
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

void queue_users_ask(struct queue_users_table *table, int i, uint64_t number)
{
    atomic_store(&table->user[i].number, number);
    sem_post(&table->user[i].gate);
}

pid_t queue_users_process(const struct queue_users *users)
{
    return users->peer.scope == PEER_PROCESS ? users->peer.process : 0;
}

int queue_users_end(struct queue_users *users, struct run *run)
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
