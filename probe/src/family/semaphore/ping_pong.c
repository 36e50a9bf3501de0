#include "base/posix_source.h"

#include "family/semaphore/ping_pong.h"

#include "run/supervise.h"

#include <errno.h>

int ping_pong_refuse(struct run *run, const char *what)
{
    const struct ping_pong *ping_pong = run->own;
    char variant[ARENA_NAME_BYTES];
    if (semaphore_check(run, &ping_pong->table->there) != 0 ||
        semaphore_check(run, &ping_pong->table->back) != 0)
        return -1;
    variant_name(run, variant, sizeof variant);
    arena_event(
        run->arena, "not_handed_over", -1,
        DATA(data_text("variant", variant), data_integer("count", 1), data_text("why", what)),
        "%s: %s; the value is left out", variant, what);
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "run SEM-B-LCK for this kind and see its verdicts",
                       "%s: %s, so the measured interval is not the hand-over", variant, what);
}

int ping_pong_prepare(struct run *run)
{
    struct ping_pong *ping_pong = run_own(run, sizeof *ping_pong);
    if (!ping_pong || semaphore_guard(run, &ping_pong->ipc_cleanup, peer_wants_process(run)) != 0)
        return -1;
    ping_pong->table = peer_table(run, sizeof *ping_pong->table, &ping_pong->ipc_cleanup,
                                  "memory for both parties");
    if (!ping_pong->table)
        return -1;
    ping_pong->table->clock = &run->clock;
    ping_pong->second_cpu = run->setup.cpu;
    return 0;
}

void ping_pong_finish(struct run *run)
{
    struct ping_pong *ping_pong = run->own;
    if (!ping_pong)
        return;
    peer_memory_free(ping_pong->table, sizeof *ping_pong->table);
    ipc_cleanup_close(&ping_pong->ipc_cleanup);
}

/* 0, or an errno value with nothing left open. */
static int open_semaphores(struct ping_pong *ping_pong, enum semaphore_kind kind, bool is_shared)
{
    struct ping_pong_table *table = ping_pong->table;
    const struct ipc_cleanup_place *places = ping_pong->ipc_cleanup.places;
    int error = semaphore_open(&table->there, kind, is_shared, &places[0]);
    if (error)
        return error;
    error = semaphore_open(&table->back, kind, is_shared, &places[1]);
    if (error)
        semaphore_close(&table->there);
    return error;
}

static int measure_together(struct run *run, const struct ping_pong_body *body)
{
    struct ping_pong *ping_pong = run->own;
    struct ping_pong_table *table = ping_pong->table;
    struct rt_thread_setup setup = run->setup;
    enum semaphore_kind kind = table->there.kind;
    setup.cpu = ping_pong->second_cpu;
    atomic_store(&table->is_over, 0);
    int error = peer_start(&ping_pong->peer, run, &ping_pong->ipc_cleanup, peer_scope_of(run),
                           &setup, body->answers[kind], table);
    if (error)
        return peer_not_started(run, error, "second party", NULL);
    supervise_process(run, ping_pong->peer.process, "second party");
    burst_begin(run, ping_pong->peer.process);
    int result = variant_sample(run, body->series, body->burst_count, body->takes[kind]);
    supervise_process(run, 0, NULL);
    atomic_store(&table->is_over, 1);
    semaphore_signal(&table->there);
    if (peer_join(&ping_pong->peer) == 0)
        return result;
    semaphore_abandon(&table->there);
    semaphore_abandon(&table->back);
    return supervise_ended_early(run, "second party");
}

static int measure_open(struct run *run, const struct ping_pong_body *body)
{
    const struct ping_pong_table *table = ((struct ping_pong *)run->own)->table;
    int result = measure_together(run, body);
    if (result == 0)
        result = semaphore_check(run, &table->back);
    return result;
}

int ping_pong_measure(struct run *run, const struct ping_pong_body *body)
{
    struct ping_pong *ping_pong = run->own;
    enum semaphore_kind kind = semaphore_between_two(semaphore_kind_of(run));
    bool is_shared = peer_scope_of(run) == PEER_PROCESS;
    if (!peer_has_scope(&ping_pong->ipc_cleanup, ping_pong->table, peer_scope_of(run)) ||
        !semaphore_is_here(run, kind, is_shared, &ping_pong->ipc_cleanup.places[0]))
        return 0;
    if (body->alone && body->alone(run) != 0)
        return -1;
    int error = open_semaphores(ping_pong, kind, is_shared);
    if (status_is_missing(error))
        return semaphore_report_missing(run, kind, is_shared, error);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_name(kind), NULL);
    int result = measure_open(run, body);
    semaphore_close(&ping_pong->table->there);
    semaphore_close(&ping_pong->table->back);
    return result;
}
