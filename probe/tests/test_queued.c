/* The receiver of SIG-B-QUE on made-up signals and on real ones: what it counts as lost, changed or
 * out of order, and that the limit is put back. */
#include "base/posix_source.h"

#include "family/signal/queued.h"

#include "port/limits.h"
#include "tap.h"

#include <pthread.h>
#include <unistd.h>

static struct queue_table table;
static struct signal_actions actions;
static pthread_t receiver;

static void *receive(void *argument)
{
    queue_receiver_run(argument);
    return NULL;
}

static bool begin(enum queued_receiver kind)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    memset(&table, 0, sizeof table);
    queue_table_open(&table, getpid());
    table.receiver = kind;
    CHECK_SAME(queue_actions_set(&table, &actions), 0);
    return CHECK_SAME(pthread_create(&receiver, NULL, receive, &table), 0);
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

static void take(int received, int wrong, int not_fifo)
{
    CHECK_SAME(queue_ask(&table, QUEUE_TAKE), 0);
    CHECK_SAME(table.findings.received_count, received);
    CHECK_SAME(table.findings.wrong_count, wrong);
    CHECK_SAME(table.findings.not_fifo_count, not_fifo);
}

static void check_right(void)
{
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    for (int i = 0; i < 12; i++)
        queue_next(2 - i % 3);
    CHECK_SAME(queue_ask(&table, QUEUE_LOOK), 0);
    CHECK_SAME(table.findings.seen_count, 3);
    CHECK_SAME(table.findings.early_count, 0);
    take(12, 0, 0);
    CHECK_SAME(table.findings.lower_later_count, 0);
}

/* One of a place that was never queued, one of another number, two in the wrong order. */
static void check_wrong(void)
{
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    queue_next(0);
    table.sent[1] = 2;
    queue_as(1, queue_value(1, 1));
    queue_as(1, queue_value(1, 0));
    queue_as(2, queue_value(2, 7));
    queue_as(3, queue_value(0, 0));
    table.sent[2] = table.sent[3] = 1;
    take(5, 2, 1);
}

/* With one that is missing the handler is waited for, not for ever; a gap is no disorder. */
static void check_lost(void)
{
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), 0);
    queue_next(0);
    table.sent[0]++;
    queue_next(0);
    take(2, 0, 0);
}

#define QUEUE_TEST(kind, check, what)                                                              \
    TEST_IN(begin(kind), end(), what)                                                              \
    {                                                                                              \
        check();                                                                                   \
    }

QUEUE_TEST(QUEUED_HANDLER, check_right, what_is_right_by_a_handler)
QUEUE_TEST(QUEUED_SIGWAITINFO, check_right, what_is_right_by_sigwaitinfo)
QUEUE_TEST(QUEUED_HANDLER, check_wrong, what_is_wrong_by_a_handler)
QUEUE_TEST(QUEUED_SIGWAITINFO, check_wrong, what_is_wrong_by_sigwaitinfo)
QUEUE_TEST(QUEUED_HANDLER, check_lost, what_is_lost_by_a_handler)
QUEUE_TEST(QUEUED_SIGWAITINFO, check_lost, what_is_lost_by_sigwaitinfo)

TEST(the_limit_is_put_back)
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
TEST_IN(begin(QUEUED_HANDLER), end(), a_stop)
{
    run_request_stop();
    CHECK_SAME(queue_ask(&table, QUEUE_BLOCK), ECANCELED);
}
