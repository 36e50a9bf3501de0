/* MSG-P-THR: throughput of messages over windows of 100 ms (Obenland 2000).
 *
 * What: one party sends without end until the channel is full and it blocks, the other receives
 *   until it is empty and it blocks. The value is the bytes received in a window by its length.
 * Begin, end: the receiver with all messages received that were sent; the first such moment at
 *   least window_ns later, so that each window begins and ends in the same state. The clock is read
 *   only at such moments: with mq and ring once in `depth` messages.
 * Threads: two, or two processes, at the run's priority on one CPU; the receiver is the measuring
 *   thread.
 * Wrong if: a message is lost, doubled, swapped, damaged or of another length: the test ends and
 *   fails (event not_handed_over). Number and length of each are compared; whole contents outside
 *   windows: of the first 500 messages, of all in the channel before a window, of its last. Not
 *   seen: damage behind the number inside a window, and of messages of one byte a loss of just 256
 *   in a row. On two CPUs it would be another figure: unsupported where threads cannot be kept on
 *   one. Both parties' memory stays in the cache. The depth of a queue decides how many messages
 *   share a switch: compare like depths; of pipe, FIFO, socket and System V it is the system's.
 */
#include "base/posix_source.h"

#include "family/message/exchange.h"
#include "run/variant.h"

#include <stdio.h>

enum { THROUGHPUT };
enum {
    BODY_KEY = 0,
    FULLEST = 3,    /* windows that a value may take */
    COMPARED = 500, /* messages at the start of a variant */
};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "mq,pipe,fifo,unix,sysv,ring", 0, 0, message_kind_names,
     "kinds of message channel", "kind"},
    MESSAGE_SCOPE_PARAM,
    MESSAGE_SIZE_PARAM("8192"),
    {"depth", PARAM_COUNT, false, "10", 1, MESSAGE_MOST_DEPTH, NULL,
     "messages that a queue (mq) or ring holds", NULL},
    {"window_ns", PARAM_NS, false, "100000000", 1000000, 1000000000, NULL,
     "minimum length of a window", NULL},
    {0},
};

static const struct series_spec series[] = {
    {"throughput",
     "bytes_per_s",
     "kind,scope,size_bytes",
     "bytes received between two moments without a message in transit, divided by the time "
     "between them, which is 100 ms (window_ns) or slightly more",
     NULL,
     NULL,
     {.most = INT64_C(1000000000000)}},
    {0},
};

/* The number of each message differs; the rest was written before. */
static void pour(void *argument)
{
    struct exchange_table *table = argument;
    uint64_t number = 0;
    content_fill(table->others->bytes, table->bytes, number, BODY_KEY);
    while (!atomic_load_explicit(&table->is_over, memory_order_relaxed)) {
        content_number(table->others->bytes, table->bytes, ++number);
        if (!message_send(&table->back, table->others, table->bytes))
            break;
        atomic_store_explicit(&table->sent_count, number, memory_order_relaxed);
    }
    atomic_store(&table->is_done, true);
}

static int refuse_number(struct run *run, uint64_t wanted)
{
    const struct exchange_table *table = ((struct exchange *)run->own)->table;
    char what[ARENA_TEXT_BYTES / 2];
    snprintf(what, sizeof what,
             "message %llu was due and number %llu came: messages are lost, doubled or swapped",
             (unsigned long long)wanted,
             (unsigned long long)content_number_of(table->received->bytes, table->bytes));
    return exchange_refuse(run, what);
}

/* What is wrong with a message that came; NULL: nothing. */
static const char *fault_of(struct exchange_table *table, ssize_t got)
{
    const char *lost = exchange_lost(table);
    return lost || got == (ssize_t)table->bytes ? lost : "a message came with another length";
}

/* Receives until no message is under way; the first receive blocks where none is. Outside windows
 * the content of each is compared. 0, or -1 with the outcome. */
static int receive_all(struct run *run, bool is_outside)
{
    struct exchange *exchange = run->own;
    struct exchange_table *table = exchange->table;
    uint64_t number = exchange->number;
    size_t bytes = table->bytes;
    do {
        ssize_t got = message_receive(&table->back, table->received, bytes);
        const char *fault = fault_of(table, got);
        if (fault)
            return exchange_refuse(run, fault);
        if (content_number_of(table->received->bytes, bytes) != content_part(bytes, ++number))
            return refuse_number(run, number);
        if (is_outside && !content_is(table->received->bytes, bytes, number, BODY_KEY))
            return exchange_refuse(run, "a message came with another content");
    } while (atomic_load_explicit(&table->sent_count, memory_order_relaxed) > number);
    exchange->number = number;
    return 0;
}

/* Before a window: all that is in the channel, and the first messages of a variant. */
static int compare_all(struct run *run)
{
    const struct exchange *exchange = run->own;
    do
        if (receive_all(run, true) != 0)
            return -1;
    while (exchange->number < COMPARED && !run_should_stop());
    return 0;
}

static void record_window(struct run *run, uint64_t count, int64_t ns, uint64_t end)
{
    const struct exchange_table *table = ((struct exchange *)run->own)->table;
    double bytes = (double)count * (double)table->bytes;
    int64_t per_s = (int64_t)(bytes * (double)CLOCK_NS_PER_S / (double)ns + 0.5);
    if (!run->is_warm_up && stops_touch(run->arena, ns, run_at_ticks(run, end)))
        record_count_stopped(run_record(run, THROUGHPUT), 1, per_s);
    else
        run_record_value(run, THROUGHPUT, per_s, end);
}

static int take_window(struct run *run)
{
    struct exchange *exchange = run->own;
    int64_t window_ns = run_number(run, "window_ns"), ns = 0;
    if (compare_all(run) != 0)
        return -1;
    uint64_t first = exchange->number, begin = clock_begin(&run->clock), end = begin;
    while (ns < window_ns && !run_should_stop()) {
        if (receive_all(run, false) != 0)
            return -1;
        end = clock_end(&run->clock);
        ns = clock_ns(&run->clock, end - begin);
    }
    const struct exchange_table *table = exchange->table;
    if (!content_is(table->received->bytes, table->bytes, exchange->number, BODY_KEY))
        return exchange_refuse(run, "a message came with another content");
    if (ns >= window_ns)
        record_window(run, exchange->number - first, ns, end);
    return 0;
}

static int prepare(struct run *run)
{
    return exchange_prepare(run, (int)run_number(run, "depth"));
}

static int measure_variant(struct run *run)
{
    struct exchange_body body = {.is_one_way = true,
                                 .depth = (int)run_number(run, "depth"),
                                 .burst_count = 1,
                                 .ahead_ns = FULLEST * run_number(run, "window_ns"),
                                 .take = take_window,
                                 .work = pour};
    return exchange_measure(run, &body);
}

const struct test msg_p_thr = {
    .id = "MSG-P-THR",
    .title = "Message throughput between two threads or processes",
    .source = "[O] Obenland 2000",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = 10,
    .setup_ns = INT64_C(200000000),
    .sample_ns = 10000000,
    .sample_param = "window_ns",
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = message_require_any,
    .finish = exchange_finish,
};
