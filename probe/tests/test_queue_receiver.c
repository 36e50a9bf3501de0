/* The receiver of SIG-B-QUE on made-up signals and on real ones: what it counts as lost, changed or
 * out of order, and that the limit is put back. */
#include "base/posix_source.h"

#include "family/signal/queue_receiver.h"

#include "port/signal_queue.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct queue_table table;
static struct signal_actions actions;
static pthread_t receiver;

static void *receive(void *argument)
{
    queue_receiver_run(argument);
    return NULL;
}

static void begin(enum queued_receiver kind)
{
    memset(&table, 0, sizeof table);
    queue_table_open(&table, getpid());
    table.receiver = kind;
    CHECK_SAME(queue_actions_set(&table, &actions), 0);
    CHECK_SAME(pthread_create(&receiver, NULL, receive, &table), 0);
}

static void end(void)
{
    CHECK_SAME(queue_ask(&table, QUEUE_END), 0);
    pthread_join(receiver, NULL);
    signal_actions_put_back(&actions);
}

/* Queues a signal with a value of the caller's. */
static void queue_as(int number, uint32_t value)
{
    CHECK_SAME(queued_send(getpid(), table.first + number, value), 0);
}

static void queue_next(int number)
{
    queue_as(number, queue_value(number, table.sent[number]++));
}

static void check_right(enum queued_receiver kind)
{
    begin(kind);
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    for (int i = 0; i < 12; i++)
        queue_next(2 - i % 3);
    CHECK_SAME(queue_ask(&table, QUEUE_LOOK), 0);
    CHECK_SAME(table.findings.seen_count, 3);
    CHECK_SAME(table.findings.early_count, 0);
    CHECK_SAME(queue_ask(&table, QUEUE_TAKE), 0);
    CHECK_SAME(table.findings.received_count, 12);
    CHECK_SAME(table.findings.wrong_count, 0);
    CHECK_SAME(table.findings.lower_later_count, 0);
    CHECK_SAME(table.findings.not_fifo_count, 0);
    end();
}

/* One of a place that was never queued, one of another number, two in the wrong order. */
static void check_wrong(enum queued_receiver kind)
{
    begin(kind);
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    queue_next(0);
    table.sent[1] = 2;
    queue_as(1, queue_value(1, 1));
    queue_as(1, queue_value(1, 0));
    queue_as(2, queue_value(2, 7));
    queue_as(3, queue_value(0, 0));
    table.sent[2] = table.sent[3] = 1;
    CHECK_SAME(queue_ask(&table, QUEUE_TAKE), 0);
    CHECK_SAME(table.findings.received_count, 5);
    CHECK_SAME(table.findings.wrong_count, 2);
    CHECK_SAME(table.findings.not_fifo_count, 1);
    end();
}

/* With one that is missing the handler is waited for, not for ever; a gap is no disorder. */
static void check_lost(enum queued_receiver kind)
{
    begin(kind);
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    queue_next(0);
    table.sent[0]++;
    queue_next(0);
    CHECK_SAME(queue_ask(&table, QUEUE_TAKE), 0);
    CHECK_SAME(table.findings.received_count, 2);
    CHECK_SAME(table.findings.not_fifo_count, 0);
    CHECK_SAME(table.findings.wrong_count, 0);
    end();
}

static void check_limit(void)
{
    struct port_signal_queue before, within, after;
    port_signal_queue(&before);
    begin(QUEUED_SIGWAITINFO);
    table.limit = before.used + 10;
    int error = queue_ask(&table, QUEUE_LIMIT);
    port_signal_queue(&within);
    end();
    port_signal_queue(&after);
    CHECK_SAME(after.limit, before.limit);
    if (error != ENOTSUP)
        CHECK_SAME(within.limit, before.used + 10);
}

/* Once a stop is requested no command is waited for but the last. */
static void check_stop(void)
{
    begin(QUEUED_HANDLER);
    run_request_stop();
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), ECANCELED);
    end();
}

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    alarm(30);
}

TEST(what_is_right)
{
    block_all();
    check_right(QUEUED_HANDLER);
    check_right(QUEUED_SIGWAITINFO);
}

TEST(what_is_changed_or_out_of_order)
{
    block_all();
    check_wrong(QUEUED_HANDLER);
    check_wrong(QUEUED_SIGWAITINFO);
}

TEST(what_is_lost)
{
    block_all();
    check_lost(QUEUED_HANDLER);
    check_lost(QUEUED_SIGWAITINFO);
}

TEST(the_limit_is_put_back)
{
    block_all();
    check_limit();
}

TEST(a_stop)
{
    block_all();
    check_stop();
}
