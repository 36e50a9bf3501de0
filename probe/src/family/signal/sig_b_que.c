/* SIG-B-QUE: queued signals are reliable (HP 1987; Obenland 2000).
 *
 * What: bursts of real-time signals that the receiver blocks (queued.h): 4000 of up to eight
 *     numbers in random order; the rest of one number (Linux searches the queue at each delivery
 *     with interrupts off, which among 100,000 took it 8 ms); up to a limit 1000 above what is
 *     queued. It then takes them, by a handler, which blocks all other signals while it runs
 *     (handlers that interrupt each other would reverse the order), or by sigwaitinfo, and checks
 *     each.
 * Begin, end: none; verdicts only. A signal's value is its number and its place among those of its
 *     number.
 * Threads: the measuring thread sends; the receiver is a thread of its process or a second process.
 * Wrong if: the limit (RLIMIT_SIGPENDING) is of the receiving process, and what counts are signals
 *     of all processes of the user: room is made there and undone, else the burst is smaller
 *     (burst_limited). Others take room meanwhile: EAGAIN is no breach if the kernel's own count
 *     has reached the limit (queue_shared); where the system tells no count, one too early is taken
 *     for theirs.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/shared/peer.h"
#include "family/signal/queued.h"
#include "port/limits.h"
#include "port/port.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BURST = 100000,
    MOST_BURST = 1000000,
    EDGE = 1000,      /* how many fit below the limit that is set */
    MIXED = 4000,     /* of random numbers, in a burst of their own */
    BEYOND = 64,      /* tries beyond it */
    LEAVE = 64,       /* room for others */
    LEAST_LIMIT = 32, /* that POSIX allows (_POSIX_SIGQUEUE_MAX) */
    REST_EVERY = 1000,
    RETRIES = 3,
    STANDARD = 3,
    SIGNAL_NS = 3000,
    TEXT_BYTES = 160
};

static const struct param_spec params[] = {
    QUEUED_RECEIVER_PARAM,
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names,
     "where the receiver is: in the sender's process, in a process of its own", "scope"},
    {"burst", PARAM_COUNT, false, "100000", 1, MOST_BURST, NULL,
     "signals queued at a time, as far as the limit allows", NULL},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"blocked", "blocked signals are not delivered"},
    {"pending", "sigpending reports the queued signals"},
    {"none_lost", "below the limit no queued signal is lost or delivered twice"},
    {"lowest_first", "signals with lower numbers are delivered first"},
    {"fifo", "signals of one number are delivered in the order in which they were queued"},
    {"value", "a signal is delivered with its value, SI_QUEUE and its sender"},
    {"limit", "the sender gets EAGAIN at the limit, not before"},
    {"intact", "signals that were queued when the limit was reached are delivered"},
    {0},
};

/* Of all rounds of one variant. */
struct totals {
    struct queue_findings storm, edge;
    uint64_t sent_count, numbers_count; /* numbers: of which some were queued */
    uint64_t round_count, burst_count;
    uint64_t edge_sent_count, edge_count; /* rounds in which the limit was reached, or should be */
    uint64_t refused_count, early_refused_count, other_error_count, never_refused_count;
    int other_error;
    uint64_t standard_sent_count;
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct queue_table *table;
    struct peer peer;
    struct signal_actions actions;
    pid_t receiver;
    int64_t limit;       /* as it was; INT64_MAX: none */
    bool is_limit_known; /* false: `limit` is what POSIX promises */
    bool is_limited_told, is_shared_told;
    struct totals totals;
    struct random random;
};

static int prepare(struct run *run)
{
    struct port_signal_queue queue;
    struct own *own = run_own(run, sizeof *own);
    if (!own || ipc_cleanup_open(&own->ipc_cleanup, run, peer_wants_process(run)) != 0)
        return -1;
    own->table = peer_table(run, sizeof *own->table, &own->ipc_cleanup, "memory for both parties");
    if (!own->table)
        return -1;
    port_signal_queue(&queue);
    own->is_limit_known = queue.limit >= 0;
    own->limit = own->is_limit_known ? queue.limit : LEAST_LIMIT;
    random_start(&own->random, run->seed);
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    peer_memory_free(own->table, sizeof *own->table);
    ipc_cleanup_close(&own->ipc_cleanup);
}

/* ---- sending ---- */

static int64_t used_count(void)
{
    struct port_signal_queue queue;
    port_signal_queue(&queue);
    return queue.used;
}

/* Whether the queue has reached the limit in force, as far as the system tells. */
static bool is_full(int64_t limit)
{
    int64_t used = used_count();
    return used < 0 || used >= limit;
}

static int choose_number(struct own *own, uint64_t burst)
{
    int count = own->table->number_count;
    return burst <= MIXED ? (int)random_below(&own->random, count) : count - 1;
}

/* Queues one signal. EAGAIN: the limit is reached; EBUSY: EAGAIN came although it is not. */
static int send_one(struct own *own, int64_t limit, int number)
{
    struct queue_table *table = own->table;
    int error = EAGAIN;
    uint32_t value = queue_value(number, table->sent[number]++);
    for (int i = 0; i < RETRIES && error == EAGAIN; i++) {
        error = queued_send(own->receiver, table->first + number, value);
        if (error == EAGAIN && is_full(limit))
            break;
        if (error == EAGAIN && i == RETRIES - 1)
            error = EBUSY;
    }
    if (error)
        table->sent[number]--;
    return error;
}

/* Queues up to `count` signals; stops at the first that is refused. Returns how many were accepted.
 */
static uint64_t send_burst(struct run *run, int64_t limit, uint64_t count, int *error)
{
    struct own *own = run->own;
    uint64_t done = 0;
    memset(own->table->sent, 0, sizeof own->table->sent);
    for (*error = 0; done < count && !run_should_stop(); done++) {
        if (done % REST_EVERY == 0)
            rt_budget_rest(&run->rt_budget);
        *error = send_one(own, limit, choose_number(own, count));
        if (*error)
            break;
    }
    return done;
}

static void count_refusal(struct totals *totals, int error)
{
    if (error == EAGAIN)
        totals->refused_count++;
    else if (error == EBUSY)
        totals->early_refused_count++;
    else if (error) {
        totals->other_error_count++;
        totals->other_error = error;
    }
}

static void add(struct queue_findings *sum, const struct queue_findings *one)
{
    sum->received_count += one->received_count;
    sum->early_count += one->early_count;
    sum->seen_count += one->seen_count;
    sum->wrong_count += one->wrong_count;
    sum->lower_later_count += one->lower_later_count;
    sum->not_fifo_count += one->not_fifo_count;
    sum->standard_count += one->standard_count;
}

/* The receiver looks at what is pending and takes it. 0, or an errno value. */
static int take(struct run *run, uint64_t sent, struct queue_findings *sum)
{
    struct queue_table *table = ((struct own *)run->own)->table;
    rt_budget_rest_ahead(&run->rt_budget, (int64_t)sent * SIGNAL_NS);
    int error = queue_ask(table, QUEUE_LOOK);
    if (!error)
        error = queue_ask(table, QUEUE_TAKE);
    if (!error)
        add(sum, &table->findings);
    return error;
}

/* ---- a storm below the limit ---- */

/* Once: the room changes with what others queue. */
static void report_limited(struct run *run, int64_t room, int64_t used)
{
    struct own *own = run->own;
    int64_t asked = run_number(run, "burst");
    int64_t enough = asked + LEAVE + (used < 0 ? 0 : used);
    char command[40] = "";
    if (own->is_limited_told)
        return;
    own->is_limited_told = true;
    if (!own->is_limit_known) {
        arena_event(run->arena, "burst_limited", -1,
                    DATA(data_integer("asked_count", asked), data_integer("burst_count", room)),
                    "bursts of %lld signals instead of %lld: this system does not report how many "
                    "it queues, and POSIX promises %d",
                    (long long)room, (long long)asked, LEAST_LIMIT);
        return;
    }
    if (port_hint(PORT_HINT_SIGNALS_COMMAND)[0])
        snprintf(command, sizeof command, "%s %lld", port_hint(PORT_HINT_SIGNALS_COMMAND),
                 (long long)enough);
    arena_event(run->arena, "burst_limited", -1,
                DATA(data_integer("asked_count", asked), data_integer("burst_count", room),
                     data_integer("limit_count", own->table->limit),
                     used < 0 ? data_none() : data_integer("used_count", used),
                     command[0] ? data_text("command", command) : data_none()),
                "bursts of %lld signals instead of %lld: %s is %lld, and %s", (long long)room,
                (long long)asked, port_hint(PORT_HINT_SIGNALS_LIMIT), (long long)own->table->limit,
                port_hint(PORT_HINT_SIGNALS_RIGHT));
}

/* What is left to others of `room`. */
static int64_t leave(int64_t room)
{
    return room > 2 * LEAVE ? LEAVE : room > 0 ? room / 2 : 0;
}

/* Makes room for the burst in the receiving process. Returns the size of the burst; 0: no room. */
static int64_t make_room(struct run *run)
{
    struct own *own = run->own;
    int64_t burst = run_number(run, "burst"), used = used_count();
    int64_t taken = used < 0 ? 0 : used + leave(own->limit - used);
    own->table->limit = burst + taken > own->limit ? burst + taken : own->limit;
    if (queue_ask(own->table, QUEUE_LIMIT) != 0)
        own->table->limit = own->limit;
    int64_t room = own->table->limit - taken;
    if (room < burst)
        report_limited(run, room > 0 ? room : 0, used);
    return room < burst ? room : burst;
}

static void report_shared(struct run *run, uint64_t accepted, uint64_t wanted)
{
    struct own *own = run->own;
    if (own->is_shared_told)
        return;
    own->is_shared_told = true;
    arena_event(run->arena, "queue_shared", -1,
                DATA(data_integer("accepted_count", (int64_t)accepted),
                     data_integer("wanted_count", (int64_t)wanted)),
                "a burst ended after %llu of %llu signals: other processes of this user have "
                "queued signals too, and share the limit",
                (unsigned long long)accepted, (unsigned long long)wanted);
}

static uint64_t numbers_count(const struct queue_table *table)
{
    uint64_t count = 0;
    for (int i = 0; i < table->number_count; i++)
        count += table->sent[i] > 0 ? 1 : 0;
    return count;
}

static uint64_t send_standard(struct own *own)
{
    uint64_t sent = 0;
    if (own->table->receiver == QUEUED_HANDLER)
        for (int i = 0; i < STANDARD; i++)
            sent += kill(own->receiver, own->table->standard) == 0 ? 1 : 0;
    return sent;
}

/* Counts what was sent when it was taken: a stop may come in between, which is no loss. */
static int send_and_take(struct run *run, uint64_t burst)
{
    struct own *own = run->own;
    struct totals *totals = &own->totals;
    int refusal, error = queue_ask(own->table, QUEUE_BLOCK);
    if (error)
        return error;
    uint64_t sent = send_burst(run, own->table->limit, burst, &refusal);
    uint64_t standard = send_standard(own);
    if (refusal == EAGAIN)
        report_shared(run, sent, burst);
    if ((error = take(run, sent, &totals->storm)) != 0)
        return error;
    if (refusal != EAGAIN)
        count_refusal(totals, refusal);
    totals->burst_count++;
    totals->sent_count += sent;
    totals->standard_sent_count += standard;
    totals->numbers_count += numbers_count(own->table);
    return 0;
}

static int storm(struct run *run)
{
    int64_t burst = make_room(run);
    if (burst < 1)
        return queued_not_sent(run, EAGAIN);
    int error = burst > MIXED ? send_and_take(run, MIXED) : 0;
    return error || run_should_stop() ? error : send_and_take(run, (uint64_t)burst);
}

/* ---- up to the limit ---- */

/* Sets a limit that is soon reached; else the system's own, if that is no higher than a burst may
 * be. 0: the limit cannot be reached. */
static int64_t set_edge(struct run *run)
{
    struct own *own = run->own;
    int64_t used = used_count();
    own->table->limit = (used < 0 ? 0 : used) + EDGE;
    if (queue_ask(own->table, QUEUE_LIMIT) != 0)
        own->table->limit = own->limit;
    if (own->table->limit != own->limit || (own->is_limit_known && own->limit <= MOST_BURST))
        return own->table->limit;
    if (!own->is_limit_known) {
        arena_event_once(run->arena, "limit_not_reached", DATA(data_none()),
                         "this system does not report its limit on queued signals: it is not known "
                         "whether the sender gets EAGAIN there");
        return 0;
    }
    arena_event_once(
        run->arena, "limit_not_reached",
        DATA(own->limit == INT64_MAX ? data_none() : data_integer("limit_count", own->limit)),
        "this system does not let a process lower its limit on queued signals, and the limit is "
        "too high to be reached: it is not known whether the sender gets EAGAIN there");
    return 0;
}

static int edge(struct run *run)
{
    struct own *own = run->own;
    struct totals *totals = &own->totals;
    int64_t limit = set_edge(run);
    if (limit == 0)
        return 0;
    int refusal, error = queue_ask(own->table, QUEUE_BLOCK);
    if (error)
        return error;
    int64_t used = used_count();
    uint64_t most = (uint64_t)(limit - (used < 0 ? 0 : used) + BEYOND);
    uint64_t sent = send_burst(run, limit, most, &refusal);
    bool is_never_refused = !refusal && !run_should_stop() && is_full(limit);
    if ((error = take(run, sent, &totals->edge)) != 0)
        return error;
    count_refusal(totals, refusal);
    totals->never_refused_count += is_never_refused ? 1 : 0;
    totals->edge_count++;
    totals->edge_sent_count += sent;
    return 0;
}

/* ---- verdicts ---- */

static void judge_one(struct run *run, const char *claim, bool is_right, const char *evidence)
{
    char name[ARENA_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s/%s", claim, variant_text(run, "receivers"),
             variant_text(run, "scopes"));
    arena_verdict(run->arena, is_right, ((struct own *)run->own)->totals.round_count, name, "%s",
                  evidence);
}

#define JUDGE(claim, is_right, ...)                                                                \
    do {                                                                                           \
        snprintf(text, sizeof text, __VA_ARGS__);                                                  \
        judge_one(run, claim, is_right, text);                                                     \
    } while (0)

typedef unsigned long long count;

/* One signal, or one of each number, has no order, and no signal is not intact. */
static void report_too_few(struct run *run, const char *claim)
{
    arena_event_once(run->arena, "not_seen",
                     DATA(data_text("verdict", claim), data_text("reason", "not_tried")),
                     "%s: no verdict, because too few signals could be queued at once", claim);
}

/* What never came was in no order, and it is not known whether blocking kept it away. */
static void report_too_few_delivered(struct run *run, const char *claim)
{
    arena_event_once(run->arena, "not_seen",
                     DATA(data_text("verdict", claim), data_text("reason", "not_delivered")),
                     "%s: no verdict, because too few of the queued signals were delivered", claim);
}

static void judge_order(struct run *run, const struct queue_findings *storm)
{
    const struct totals *totals = &((struct own *)run->own)->totals;
    char text[TEXT_BYTES];
    count received = storm->received_count;
    bool has_order = received > totals->burst_count; /* two of one burst, at least */
    if (totals->numbers_count == totals->burst_count && storm->lower_later_count == 0)
        report_too_few(run, "lowest_first");
    else if (!has_order && storm->lower_later_count == 0)
        report_too_few_delivered(run, "lowest_first");
    else
        JUDGE("lowest_first", storm->lower_later_count == 0,
              "%llu of %llu came after a higher number", (count)storm->lower_later_count, received);
    if (totals->sent_count == totals->numbers_count && storm->not_fifo_count == 0)
        report_too_few(run, "fifo");
    else if (!has_order && storm->not_fifo_count == 0)
        report_too_few_delivered(run, "fifo");
    else
        JUDGE("fifo", storm->not_fifo_count == 0,
              "%llu of %llu came after a later one of the same number",
              (count)storm->not_fifo_count, received);
    if (received == 0)
        report_too_few_delivered(run, "value");
    else
        JUDGE("value", storm->wrong_count == 0,
              "%llu of %llu with a wrong value, si_code or sender", (count)storm->wrong_count,
              received);
}

static void judge_storm(struct run *run)
{
    const struct totals *totals = &((struct own *)run->own)->totals;
    const struct queue_findings *storm = &totals->storm;
    char text[TEXT_BYTES];
    count sent = totals->sent_count, received = storm->received_count;
    if (sent == 0 && received == 0) {
        report_too_few(run, "none_lost");
        return;
    }
    if (sent == 0)
        report_too_few(run, "blocked");
    else if (received == 0 && storm->early_count == 0)
        report_too_few_delivered(run, "blocked");
    else
        JUDGE("blocked", storm->early_count == 0, "%llu of %llu delivered while blocked",
              (count)storm->early_count, sent);
    if (totals->numbers_count == 0)
        report_too_few(run, "pending");
    else
        JUDGE("pending", storm->seen_count == totals->numbers_count,
              "sigpending reported %llu of %llu signal numbers, in %llu bursts",
              (count)storm->seen_count, (count)totals->numbers_count, (count)totals->burst_count);
    JUDGE("none_lost", received == sent, "%llu queued, %llu delivered, in %llu bursts", sent,
          received, (count)totals->burst_count);
    judge_order(run, storm);
}

static bool is_limit_kept(const struct totals *totals)
{
    return totals->early_refused_count == 0 && totals->other_error_count == 0 &&
           totals->never_refused_count == 0;
}

/* Where others' signals have left the queue meanwhile, the limit was not met. */
static void report_not_met(struct run *run)
{
    arena_event_once(run->arena, "limit_not_reached",
                     DATA(data_text("receiver", variant_text(run, "receivers")),
                          data_text("scope", variant_text(run, "scopes"))),
                     "%s, %s: no burst reached the limit, because signals of others left the "
                     "queue meanwhile: it is not known whether the sender gets EAGAIN there",
                     variant_text(run, "receivers"), variant_text(run, "scopes"));
}

static void judge_edge(struct run *run)
{
    const struct totals *totals = &((struct own *)run->own)->totals;
    const struct queue_findings *edge = &totals->edge;
    char text[TEXT_BYTES];
    int used = 0;
    used += snprintf(text, sizeof text, "EAGAIN at the limit in %llu of %llu bursts",
                     (count)totals->refused_count, (count)totals->edge_count);
    if (totals->early_refused_count > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, ", before it in %llu",
                         (count)totals->early_refused_count);
    if (totals->never_refused_count > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, ", never in %llu",
                         (count)totals->never_refused_count);
    if (totals->other_error_count > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", errno %d in %llu", totals->other_error,
                 (count)totals->other_error_count);
    if (totals->refused_count == 0 && is_limit_kept(totals))
        report_not_met(run);
    else
        judge_one(run, "limit", is_limit_kept(totals), text);
    if (totals->edge_sent_count == 0 && edge->received_count == 0) {
        report_too_few(run, "intact");
        return;
    }
    uint64_t bad = edge->wrong_count + edge->lower_later_count + edge->not_fifo_count;
    JUDGE("intact", edge->received_count == totals->edge_sent_count && bad == 0,
          "%llu queued when the limit was reached, %llu delivered, %llu of them changed or out of "
          "order",
          (count)totals->edge_sent_count, (count)edge->received_count, (count)bad);
}

static void report_standard(struct run *run)
{
    const struct totals *totals = &((struct own *)run->own)->totals;
    if (totals->standard_sent_count > 0)
        arena_event(run->arena, "standard_signals", -1,
                    DATA(data_text("scope", variant_text(run, "scopes")),
                         data_integer("sent_count", (int64_t)totals->standard_sent_count),
                         data_integer("delivered_count", (int64_t)totals->storm.standard_count)),
                    "%s: a standard signal (SIGUSR1) was sent %llu times while blocked and "
                    "delivered %llu times; these do not have to be queued",
                    variant_text(run, "scopes"), (count)totals->standard_sent_count,
                    (count)totals->storm.standard_count);
}

/* ---- life cycle ---- */

static int rounds(struct run *run)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, variant_count(run));
    int error = 0;
    while (!error && run_budget_left(&budget, own->totals.round_count, run_anchor(run))) {
        error = storm(run);
        if (!error)
            error = edge(run);
        if (!error)
            own->totals.round_count++;
    }
    return error;
}

static int end_rounds(struct run *run, int error)
{
    struct own *own = run->own;
    supervise_process(run, 0, NULL);
    if (!peer_is_gone(&own->peer))
        queue_ask(own->table, QUEUE_END);
    if (peer_join(&own->peer) != 0)
        return supervise_ended_early(run, "receiver");
    if (error > 0 && error != ECANCELED)
        return outcome_set_errno(&run->outcome, error, "the receiver of the signals", NULL);
    return error < 0 ? -1 : 0;
}

static int measure_together(struct run *run)
{
    struct own *own = run->own;
    int error = peer_start(&own->peer, run, &own->ipc_cleanup, peer_scope_of(run), &run->setup,
                           queue_receiver_run, own->table);
    if (error)
        return peer_not_started(run, error, "receiver", NULL);
    own->receiver = own->peer.process > 0 ? own->peer.process : getpid();
    supervise_process(run, own->peer.process, "receiver");
    return end_rounds(run, rounds(run));
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    if (!peer_has_scope(&own->ipc_cleanup, own->table, peer_scope_of(run)))
        return 0;
    memset(&own->totals, 0, sizeof own->totals);
    memset(own->table, 0, sizeof *own->table);
    queue_table_open(own->table, getpid());
    own->table->receiver = (enum queued_receiver)variant_number(run, "receivers");
    int error = queue_actions_set(own->table, &own->actions);
    int result =
        error ? outcome_set_errno(&run->outcome, error, "sigaction", NULL) : measure_together(run);
    signal_actions_put_back(&own->actions);
    if (result != 0 || own->totals.round_count == 0)
        return result;
    judge_storm(run);
    if (own->totals.edge_count > 0)
        judge_edge(run);
    report_standard(run);
    return 0;
}

const struct test sig_b_que = {
    .id = "SIG-B-QUE",
    .title = "Queued signals are reliable",
    .source = "[H] Hewlett-Packard 1987, [O] Obenland 2000",
    .params = params,
    .verdicts = verdicts,
    .default_samples = 1,
    .setup_ns = INT64_C(200000000),
    .sample_ns = INT64_C(350000000),
    .check = queued_check,
    .has_variant = peer_has_variant,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .finish = finish,
};
