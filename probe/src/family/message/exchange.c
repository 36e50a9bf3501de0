#include "base/posix_source.h"

#include "family/message/exchange.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <semaphore.h>
#include <stdio.h>
#include <time.h>

enum { ROOMS = 4, MOST_MEMORY_BYTES = 64 << 20, WAKE_STEP_NS = 1000000 };

int exchange_refuse(struct run *run, const char *what)
{
    const struct exchange *exchange = run->own;
    char variant[ARENA_NAME_BYTES];
    if (message_check(run, &exchange->table->there) != 0 ||
        message_check(run, &exchange->table->back) != 0)
        return -1;
    variant_name(run, variant, sizeof variant);
    arena_event(
        run->arena, "not_handed_over", -1,
        DATA(data_text("variant", variant), data_integer("count", 1), data_text("why", what)),
        "%s: %s; the value is left out", variant, what);
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "run MSG-B-PRI, and see its verdicts about lost and damaged messages",
                       "%s: %s, so the channel does not pass messages correctly", variant, what);
}

/* ---- memory, names ---- */

static size_t longest_bytes(const struct run *run)
{
    const struct param_value *sizes = run_param(run, "sizes_bytes");
    int64_t most = 0;
    for (int i = 0; i < sizes->count; i++)
        most = sizes->number[i] > most ? sizes->number[i] : most;
    return (size_t)most;
}

static bool wants_kind(const struct run *run, enum message_kind kind)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count; i++)
        if (kinds->number[i] == (int64_t)kind)
            return true;
    return false;
}

/* The folder of a FIFO has a name that no load of this process has. */
static int open_cleanup(struct run *run, struct ipc_cleanup *ipc_cleanup)
{
    bool has_names = wants_kind(run, MESSAGE_MQ) || wants_kind(run, MESSAGE_SYSV);
    if (!wants_kind(run, MESSAGE_FIFO))
        return ipc_cleanup_open(ipc_cleanup, run,
                                has_names || (peer_wants_process(run) && port_has_processes()));
    struct scratch scratch = {.folder = ""};
    if (scratch_choose(&scratch, true, run->seed ^ (uint64_t)clock_monotonic_ns()) == 0)
        scratch_sweep(&scratch);
    if (ipc_cleanup_open_with(ipc_cleanup, run, &scratch) != 0)
        return -1;
    if (scratch_make(&ipc_cleanup->scratch) != 0)
        ipc_cleanup->scratch.own[0] = '\0'; /* told as a kind that cannot be opened */
    return 0;
}

static int make_table(struct run *run, struct exchange *exchange, int depth)
{
    size_t head_bytes = message_room_bytes(sizeof(struct exchange_table));
    size_t room_bytes = message_room_bytes(longest_bytes(run));
    exchange->ring_bytes =
        wants_kind(run, MESSAGE_RING) ? message_ring_bytes(longest_bytes(run), depth) : 0;
    exchange->table_bytes = head_bytes + ROOMS * room_bytes + 2 * exchange->ring_bytes;
    if (exchange->table_bytes > MOST_MEMORY_BYTES)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                           "ask for shorter or fewer messages (-p sizes_bytes=..., -p depth=...)",
                           "%zu bytes of locked memory for messages: more than %d",
                           exchange->table_bytes, (int)MOST_MEMORY_BYTES);
    exchange->table =
        peer_table(run, exchange->table_bytes, &exchange->ipc_cleanup, "memory for both parties");
    if (!exchange->table)
        return -1;
    unsigned char *rooms = (unsigned char *)exchange->table + head_bytes;
    exchange->table->own = (struct message *)rooms;
    exchange->table->received = (struct message *)(rooms + room_bytes);
    exchange->table->others = (struct message *)(rooms + 2 * room_bytes);
    exchange->table->watchs = (struct message *)(rooms + 3 * room_bytes);
    exchange->memory = rooms + ROOMS * room_bytes;
    return 0;
}

int exchange_prepare(struct run *run, int depth)
{
    struct exchange *exchange = run_own(run, sizeof *exchange);
    if (!exchange || open_cleanup(run, &exchange->ipc_cleanup) != 0)
        return -1;
    return make_table(run, exchange, depth);
}

void exchange_finish(struct run *run)
{
    struct exchange *exchange = run->own;
    if (!exchange)
        return;
    peer_memory_free(exchange->table, exchange->table_bytes);
    scratch_remove(&exchange->ipc_cleanup.scratch);
    ipc_cleanup_close(&exchange->ipc_cleanup);
}

/* ---- the watch for a lost message ----
 *
 * Ends the wait for a message that was lost: then both parties of an exchange would wait for ever.
 *
 * A thread of the first party's process, one priority below the parties on their CPU, looks once a
 * second whether messages still pass. It runs only while neither party is ready, so a busy machine
 * does not mislead it. */

struct loss_watch {
    struct exchange_table *table;
    struct message *room; /* for a message that ends the wait */
    struct rt_thread rt_thread;
    sem_t end;
    bool is_running;
};

enum { LOOKS = 3 /* without progress, one second each */ };

static uint64_t progress_of(struct exchange_table *table)
{
    return atomic_load(&table->answer_count) + atomic_load(&table->sent_count);
}

/* True when the watch is to end. */
static bool sleep_a_second(struct loss_watch *watch)
{
    struct timespec until;
    int failed;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    while ((failed = sem_timedwait(&watch->end, &until)) != 0 && errno == EINTR)
        ;
    return failed == 0;
}

static void look(void *argument)
{
    struct loss_watch *watch = argument;
    struct exchange_table *table = watch->table;
    uint64_t before = progress_of(table);
    int looks = 0;
    while (!sleep_a_second(watch)) {
        uint64_t now = progress_of(table);
        looks = now == before ? looks + 1 : 0;
        before = now;
        if (looks < LOOKS)
            continue;
        atomic_store(&table->is_lost, true);
        (void)message_try_send(&table->back, watch->room, table->bytes);
    }
}

/* Starts it for the open channels of `table`. Without a lower priority or a thread there is no
 * watch: a loss then ends at the test's deadline. */
static void loss_watch_start(struct loss_watch *watch, struct exchange_table *table,
                             struct message *room, const struct rt_thread_setup *parties)
{
    struct rt_thread_setup setup = *parties;
    watch->table = table;
    watch->room = room;
    watch->is_running = false;
    if (--setup.priority < sched_get_priority_min(setup.policy) || sem_init(&watch->end, 0, 0) != 0)
        return;
    watch->is_running = rt_thread_start_with_stack(&watch->rt_thread, &setup,
                                                   RT_THREAD_SMALL_STACK_BYTES, look, watch) == 0;
    if (watch->is_running)
        rt_thread_go(&watch->rt_thread);
    else
        sem_destroy(&watch->end);
}

static void loss_watch_end(struct loss_watch *watch)
{
    if (!watch->is_running)
        return;
    sem_post(&watch->end);
    rt_thread_join(&watch->rt_thread);
    sem_destroy(&watch->end);
}

/* ---- one variant ---- */

static struct message_plan plan_of(const struct run *run, int depth, int place)
{
    const struct exchange *exchange = run->own;
    return (struct message_plan){
        .kind = (enum message_kind)variant_number(run, "kinds"),
        .is_shared = peer_scope_of(run) == PEER_PROCESS,
        .bytes = (size_t)variant_number(run, "sizes_bytes"),
        .depth = depth,
        .place = &exchange->ipc_cleanup.places[place],
        .folder = exchange->ipc_cleanup.scratch.own,
        .memory = exchange->memory + (size_t)place * exchange->ring_bytes,
        .trial = exchange->table->own,
    };
}

static void clear(struct exchange *exchange, size_t bytes)
{
    struct exchange_table *table = exchange->table;
    exchange->number = 0;
    table->bytes = bytes;
    atomic_store(&table->is_over, false);
    atomic_store(&table->is_done, false);
    atomic_store(&table->is_lost, false);
    atomic_store(&table->had_odd_length, false);
    atomic_store(&table->answer_count, 0);
    atomic_store(&table->sent_count, 0);
    table->own->type = table->received->type = table->others->type = table->watchs->type = 1;
}

/* Sleeps, so that a second party that is ready runs. */
static void let_run(void)
{
    struct timespec step = {.tv_nsec = WAKE_STEP_NS};
    nanosleep(&step, NULL);
}

/* Whatever became of the messages: wakes a party that waits for one or for room, until it ends. */
static void end_second_party(struct exchange *exchange, const struct exchange_body *body)
{
    struct exchange_table *table = exchange->table;
    atomic_store(&table->is_over, true);
    while (!atomic_load(&table->is_done) && !peer_is_gone(&exchange->peer)) {
        if (!body->is_one_way)
            (void)message_try_send(&table->there, table->own, table->bytes);
        while (message_try_receive(&table->back, table->received, table->bytes))
            ;
        let_run();
    }
}

static int measure_together(struct run *run, const struct exchange_body *body)
{
    struct exchange *exchange = run->own;
    clear(exchange, (size_t)variant_number(run, "sizes_bytes"));
    int error = peer_start(&exchange->peer, run, &exchange->ipc_cleanup, peer_scope_of(run),
                           &run->setup, body->work, exchange->table);
    if (error)
        return peer_not_started(run, error, "second party", NULL);
    struct loss_watch watch;
    supervise_process(run, exchange->peer.process, "second party");
    loss_watch_start(&watch, exchange->table, exchange->table->watchs, &run->setup);
    burst_begin(run, exchange->peer.process);
    burst_plan(run, body->ahead_ns);
    int result = variant_sample(run, 0, body->burst_count, body->take);
    loss_watch_end(&watch);
    supervise_process(run, 0, NULL);
    end_second_party(exchange, body);
    return peer_join(&exchange->peer) == 0 ? result : supervise_ended_early(run, "second party");
}

/* Opens one after the other: 0, or an errno value with nothing left open. */
static int open_channels(struct run *run, const struct exchange_body *body)
{
    struct exchange_table *table = ((struct exchange *)run->own)->table;
    struct message_plan back = plan_of(run, body->depth, 0), there = plan_of(run, body->depth, 1);
    atomic_store(&table->there.error, 0);
    int error = message_open(&table->back, &back);
    if (error || body->is_one_way)
        return error;
    error = message_open(&table->there, &there);
    if (error)
        message_close(&table->back);
    return error;
}

int exchange_measure(struct run *run, const struct exchange_body *body)
{
    struct exchange *exchange = run->own;
    struct exchange_table *table = exchange->table;
    struct message_plan plan = plan_of(run, body->depth, 0);
    if (!peer_has_scope(&exchange->ipc_cleanup, table, peer_scope_of(run)) ||
        !message_is_here(run, &plan))
        return 0;
    int error = open_channels(run, body);
    if (error) {
        message_deny(run, &plan, error); /* one was there, but not two */
        return 0;
    }
    int result = measure_together(run, body);
    if (result == 0)
        result = message_check(run, &table->back);
    if (result == 0)
        result = message_check(run, &table->there);
    message_close(&table->back);
    if (!body->is_one_way)
        message_close(&table->there);
    return result;
}
