/* MSG-B-PRI: messages are ordered by priority, then age (HP 1987, Obenland 2000).
 *
 * All on one CPU. Order: one thread that never blocks sends and receives 2000 messages in turns
 * that are drawn, of four priorities up to the highest that there is and of drawn lengths, through
 * a queue of eight; a model of the queue says which message must come. With System V the messages
 * have types, and are received with a negative msgtyp, which stands for "the lowest type first",
 * and once more with msgtyp 0, "the oldest".
 *
 * Waiters: six threads of higher priorities than the caller, of its process or all of a second one,
 * wait for a message in an empty queue (receivers) or for room in a full one (senders), in the
 * orders of SEM-B-REL: lowest first, highest first, mixed, and three at each of two priorities; 20
 * rounds each. The caller then sends or receives. Who was served first is told by the numbers of
 * the messages, and not by time.
 *
 * Verdicts are claims about what POSIX promises, of msgrcv too. It promises no order of waiters in
 * msgsnd and msgrcv, which are not tried.
 *
 * How it could be wrong: waiters on two CPUs could run at once and would have no order, so the test
 * needs one CPU. A wait until a time is early only if it is early by CLOCK_REALTIME, which may be
 * set meanwhile, and by CLOCK_MONOTONIC.
 */
#include "base/posix_source.h"

#include "family/message/queue_bounds.h"
#include "family/message/queue_order.h"
#include "family/message/queue_waiters.h"
#include "run/scheduling.h"
#include "run/variant.h"

#include <stdio.h>

enum { QUEUE_KINDS = 2, DEPTH = QUEUE_ORDER_DEPTH };

static const char *const kind_names[] = {"mq", "sysv", NULL};
static const enum message_kind kinds[QUEUE_KINDS] = {MESSAGE_MQ, MESSAGE_SYSV};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "mq,sysv", 0, 0, kind_names, "kinds of queue", "kind"},
    {"scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names,
     "waiters of the caller's process, waiters of a second one", "scope"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"priority_order", "the message of the highest priority comes first (System V: of the lowest "
                       "type, with a negative msgtyp)"},
    {"age_order", "among messages of one priority (System V: type; of all, with msgtyp 0) the "
                  "oldest comes first"},
    {"intact", "each message comes once, with the content, length and priority with which it was "
               "sent"},
    {"nonblocking", "a caller that does not wait gets EAGAIN from an empty and from a full queue "
                    "(msgrcv: ENOMSG from an empty one)"},
    {"timeout", "mq_timedreceive and mq_timedsend fail with ETIMEDOUT, and not before their time"},
    {"receivers", "of several threads that wait for a message the one of the highest priority gets "
                  "it, and among equals the one that has waited longest"},
    {"senders", "of several threads that wait for room the one of the highest priority gets it, "
                "and among equals the one that has waited longest"},
    {0},
};

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
    own->waiters.random[0] = 0x330e;
    own->waiters.random[1] = (unsigned short)run->seed;
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

static void tell(struct run *run, bool holds, const char *claim, const char *evidence)
{
    char name[ARENA_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", claim, variant_text(run, "kinds"));
    arena_verdict(run->arena, holds, 1, name, "%s", evidence);
}

static void tell_order(struct run *run, const struct order_check *first,
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
        tell(run, fault[0] == '\0', verdicts[i].name, fault[0] == '\0' ? fine : fault);
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
    tell_order(run, &by_priority, channel->kind == MESSAGE_SYSV ? &own->order.check : NULL);
    return 0;
}

static void judge_bounds(struct run *run, struct message_channel *channel)
{
    struct own *own = run->own;
    char evidence[QUEUE_BOUNDS_TEXT_BYTES];
    bool holds = queue_bounds_refuse(channel, DEPTH, own->room, evidence);
    tell(run, holds, "nonblocking", evidence);
    if (channel->kind != MESSAGE_MQ)
        return;
    holds = queue_bounds_timeouts(channel, DEPTH, own->room, evidence);
    tell(run, holds, "timeout", evidence);
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

/* ---- waiters ---- */

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
