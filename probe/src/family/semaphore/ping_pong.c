#include "base/posix_source.h"

#include "family/semaphore/ping_pong.h"

#include "family/semaphore/cell.h"
#include "realtime/one_cpu.h"
#include "run/supervise.h"

#include <errno.h>

enum { WARM_UP = 64 };

static bool has_process(const struct run *run)
{
    const struct param_value *scopes = run_param(run, "scopes");
    for (int i = 0; i < scopes->count; i++)
        if (scopes->number[i] == PARTNER_PROCESS)
            return true;
    return false;
}

int exchange_add_series(struct run *run, int cell, const char *name, const char *formula)
{
    int series =
        run_add_series(run, name, "ns", "kind", semaphore_kind_names[cell_kind(run, cell)]);
    arena_plan_label_text(&run->plan, series, "scope", partner_scope_names[cell_scope(run, cell)]);
    if (formula)
        arena_plan_derived(&run->plan, series, formula);
    return series < 0 ? -1 : 0;
}

int exchange_refuse(struct run *run, int cell, const char *what)
{
    const struct exchange *exchange = run->own;
    const char *kind = semaphore_kind_names[cell_kind(run, cell)];
    if (semaphore_check(run, &exchange->table->there) != 0 ||
        semaphore_check(run, &exchange->table->back) != 0)
        return -1;
    const char *scope = partner_scope_names[cell_scope(run, cell)];
    arena_event(run->arena, "not_handed_over", -1, "%s, %s: %s; the value is left out", kind, scope,
                what);
    return outcome_set(&run->outcome, STATUS_FAILED, "see what SEM-B-LCK says of this kind",
                       "%s, %s: %s, so the two moments of this test are not what they mean", kind,
                       scope, what);
}

int exchange_prepare(struct run *run)
{
    if (one_cpu_require(run) != 0)
        return -1;
    struct exchange *exchange = run_own(run, sizeof *exchange);
    if (!exchange || semaphore_guard(run, &exchange->leftover, has_process(run)) != 0)
        return -1;
    exchange->table = partner_memory(sizeof *exchange->table, &exchange->leftover.places[0]);
    if (!exchange->table)
        return outcome_set_errno(&run->outcome, errno, "memory for both parties",
                                 "make room in shared memory (/dev/shm on Linux)");
    exchange->table->clock = &run->clock;
    return 0;
}

void exchange_finish(struct run *run)
{
    struct exchange *exchange = run->own;
    if (!exchange)
        return;
    partner_memory_free(exchange->table, sizeof *exchange->table);
    leftover_close(&exchange->leftover);
}

/* 0, or an errno value with everything closed. */
static int open_semaphores(struct exchange *exchange, enum semaphore_kind kind, bool is_shared)
{
    struct exchange_table *table = exchange->table;
    const struct leftover_place *places = exchange->leftover.places;
    int error = semaphore_open(&table->there, kind, is_shared, &places[0]);
    if (error)
        return error;
    error = semaphore_open(&table->back, kind, is_shared, &places[1]);
    if (error)
        semaphore_close(&table->there);
    return error;
}

/* The first rounds fault in what the second party uses; they are not recorded. */
static void warm_up(struct exchange_table *table)
{
    for (int i = 0; i < WARM_UP; i++) {
        semaphore_signal(&table->there);
        semaphore_wait(&table->back);
    }
}

static int measure_together(struct run *run, const struct exchange_body *body, int cell)
{
    struct exchange *exchange = run->own;
    struct exchange_table *table = exchange->table;
    atomic_store(&table->is_over, 0);
    int error = partner_start(&exchange->partner, run, &exchange->leftover, cell_scope(run, cell),
                              &run->setup, body->answer, table);
    if (error)
        return partner_not_started(run, error, "second party", NULL);
    supervise_process(run, exchange->partner.process, "second party");
    warm_up(table);
    pace_begin(&exchange->pace, run, exchange->partner.process);
    int result = body->together(run, cell);
    supervise_process(run, 0, NULL);
    atomic_store(&table->is_over, 1);
    semaphore_signal(&table->there);
    if (partner_join(&exchange->partner) != 0)
        return supervise_ended_early(run, "second party");
    return result;
}

static int measure_cell(struct run *run, const struct exchange_body *body, int cell)
{
    struct exchange *exchange = run->own;
    enum semaphore_kind kind = cell_kind(run, cell);
    bool is_shared = cell_scope(run, cell) == PARTNER_PROCESS;
    if (!semaphore_is_here(run, kind, is_shared, &exchange->leftover.places[0]))
        return 0;
    int error = open_semaphores(exchange, kind, is_shared);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    if (body->alone)
        body->alone(run, cell);
    int result = semaphore_check(run, &exchange->table->there);
    if (result == 0)
        result = measure_together(run, body, cell);
    if (result == 0)
        result = semaphore_check(run, &exchange->table->back);
    semaphore_close(&exchange->table->there);
    semaphore_close(&exchange->table->back);
    return result;
}

int exchange_measure(struct run *run, const struct exchange_body *body)
{
    for (int cell = 0; cell < cell_count(run) && !run_should_stop(); cell++)
        if (measure_cell(run, body, cell) != 0)
            return -1;
    return 0;
}
