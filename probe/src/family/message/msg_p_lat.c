/* MSG-P-LAT: latency of a message (Obenland 2000; HP 1987).
 *
 * What: the first party sends a message and waits for the answer, the second sends it back. latency
 *   = half of that, in whole ns: one send, one receive that blocks, one context switch, and the
 *   message copied in and out. Pipe and FIFO have no bounds: a party reads until it has size_bytes;
 *   mq is a queue of two messages; unix keeps bounds (SOCK_SEQPACKET); ring is slots in memory with
 *   two POSIX semaphores on which the parties block.
 * Begin, end: the first party before it sends and when it has the answer, by fenced reads of the
 *   counter. Content, which follows from the message's number, is written and compared outside.
 * Threads: two, or two processes, at the run's priority on one CPU, with a channel in each
 *   direction; the first party is the measuring thread.
 * Wrong if: the second party did not answer just once, or another length or content came: the test
 *   ends and fails (event not_handed_over); a watch ends the wait for a lost message. On two CPUs
 *   there would be no context switch: unsupported where threads cannot be kept on one. An asymmetry
 *   of the two directions is not seen. The sender has the message in its cache. A pipe whose buffer
 *   is smaller than the message takes more than one switch.
 */
#include "base/posix_source.h"

#include "family/message/exchange.h"

enum { LATENCY };
enum { SAMPLES = 20000, BURST = 64, DEPTH = 2, WARM_UP = 64 };

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "mq,pipe,fifo,unix,sysv,ring", 0, 0, message_kind_names,
     "kinds of message channel", "kind"},
    MESSAGE_SCOPE_PARAM,
    MESSAGE_SIZE_PARAM("1,64,1024,8192"),
    {0},
};

static const struct series_spec series[] = {
    {"latency", "ns", "kind,scope,size_bytes",
     "first party before it sends a message to the second (half of a round trip is the value)",
     "first party when it has received the answer, which is the same message"},
    {0},
};

static void answer(void *argument)
{
    struct exchange_table *table = argument;
    for (;;) {
        ssize_t got = message_receive(&table->there, table->others, table->bytes);
        if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
            break;
        if (got != (ssize_t)table->bytes)
            atomic_store(&table->had_odd_length, true);
        atomic_fetch_add_explicit(&table->answer_count, 1, memory_order_relaxed);
        if (!message_send(&table->back, table->others, table->bytes) || got < 0)
            break;
    }
    atomic_store(&table->is_done, true);
}

/* What is wrong with a round; NULL: nothing. */
static const char *fault_of(struct exchange_table *table, uint64_t answers, ssize_t got,
                            const unsigned char *sent)
{
    const char *lost = exchange_lost(table);
    if (lost)
        return lost;
    if (atomic_load_explicit(&table->answer_count, memory_order_relaxed) != answers + 1)
        return "the second party did not answer exactly once";
    if (atomic_load_explicit(&table->had_odd_length, memory_order_relaxed))
        return "the second party received a message of another length";
    if (got != (ssize_t)table->bytes)
        return "the answer has another length than the message";
    if (memcmp(table->received->bytes, sent, table->bytes) != 0)
        return "the answer has another content than the message";
    return NULL;
}

static int take_round_trip(struct run *run)
{
    struct exchange *exchange = run->own;
    struct exchange_table *table = exchange->table;
    uint64_t number = ++exchange->number;
    content_fill(table->own->bytes, table->bytes, number, number);
    uint64_t answers = atomic_load_explicit(&table->answer_count, memory_order_relaxed);
    uint64_t begin = clock_begin(&run->clock);
    message_send(&table->there, table->own, table->bytes);
    ssize_t got = message_receive(&table->back, table->received, table->bytes);
    uint64_t end = clock_end(&run->clock);
    const char *fault = fault_of(table, answers, got, table->own->bytes);
    if (fault)
        return exchange_refuse(run, fault);
    run_record_value(run, LATENCY, clock_ns(&run->clock, end - begin) / 2, end);
    return 0;
}

static int prepare(struct run *run)
{
    return exchange_prepare(run, DEPTH);
}

static int measure_variant(struct run *run)
{
    static const struct exchange_body body = {
        .depth = DEPTH, .burst_count = BURST, .take = take_round_trip, .work = answer};
    return exchange_measure(run, &body);
}

const struct test msg_p_lat = {
    .id = "MSG-P-LAT",
    .title = "Message latency between two threads or processes",
    .source = "[O] Obenland 2000; [H] Hewlett-Packard 1987",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(200000000),
    .sample_ns = 8000,
    .warm_up_samples = WARM_UP,
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = message_require_any,
    .finish = exchange_finish,
};
