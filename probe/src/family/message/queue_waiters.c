#include "base/posix_source.h"

#include "family/message/queue_waiters.h"

#include "family/message/content.h"
#include "run/scheduling.h"

#include <stdio.h>
#include <stdlib.h>

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
        int other = (int)(erand48(waiters->random) * (i + 1)), kept = arrived[i];
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

int queue_waiters_judge(struct queue_waiters *waiters, struct run *run,
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
