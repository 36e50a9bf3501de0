/* SEM-P-RTP: round trip between two, "sync test 2" (Obenland 2000).
 *
 * Two threads of equal priority on one CPU. The first posts `there` and waits on
 * `back`; the second waits on `there` and posts `back`. One round trip is two signals,
 * two waits that block and two switches: begin = the first thread before its post,
 * end = the first thread after its wait.
 *
 * context_switch = round trip / 2 - mean of signal and wait without a switch, which is
 * measured right before in the same run, as SEM-P-SIG does it.
 *
 * How it could be wrong: on a machine where the two threads ran on two CPUs, no switch
 * would be in the figure; both are bound to the CPU under test, and where the port
 * cannot bind, the test says so.
 */
#include "../posix_source.h"

#include "semaphore_kind.h"

#include "../run.h"

#include <stdatomic.h>

enum { SAMPLES = 50000, SIGNAL_SAMPLES = 20000, BURST = 64, SERIES_PER_KIND = 3 };

#define SAMPLE_NS 10000 /* generous, for the expected time */

static const char *const scope_names[] = {"thread", NULL};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "unnamed", 0, 0, semaphore_kind_names, "kinds of semaphore"},
    {"scopes", PARAM_NAME, true, "thread", 0, 0, scope_names, "between two threads"},
    {0},
};

static const struct series_spec series[] = {
    {"round_trip", "ns", "kind,scope", "first thread before it signals the second",
     "first thread after its wait for the answer"},
    {"context_switch", "ns", "kind,scope", "round trip / 2 - mean(signal_wait)", NULL},
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

struct own {
    struct semaphore there, back;
    atomic_int is_over;
    struct actor partner;
};

static int64_t expected_ns(const struct run *run)
{
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(100000000000)) * SAMPLE_NS;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return (is_by_time ? run->duration_ns : by_samples_ns) + SIGNAL_SAMPLES * SAMPLE_NS / 10;
}

static int add_series(struct run *run, const char *name, const char *kind, const char *formula)
{
    int index = run_add_series(run, name, "ns", "kind", kind);
    arena_plan_label_text(&run->plan, index, "scope", scope_names[0]);
    if (formula)
        arena_plan_derived(&run->plan, index, formula);
    return index < 0 ? -1 : 0;
}

static int size(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count; i++) {
        const char *kind = semaphore_kind_names[kinds->number[i]];
        if (add_series(run, "round_trip", kind, NULL) != 0 ||
            add_series(run, "context_switch", kind, "round_trip / 2 - mean(signal_wait)") != 0 ||
            add_series(run, "signal_wait", kind, NULL) != 0)
            return -1;
    }
    return 0;
}

static int prepare(struct run *run)
{
    if (run->setup.cpu < 0)
        arena_event(run->arena, "threads_not_bound", -1,
                    "this port cannot bind threads to a CPU: on a machine with several, the round "
                    "trip may hold no switch");
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void answer(void *argument)
{
    struct own *own = argument;
    for (;;) {
        semaphore_wait(&own->there);
        if (atomic_load_explicit(&own->is_over, memory_order_relaxed))
            return;
        semaphore_signal(&own->back);
    }
}

static int64_t measure_signal_wait(struct run *run, struct record *record)
{
    struct own *own = run->own;
    for (int i = 0; i < SIGNAL_SAMPLES && !run_should_stop(); i++) {
        uint64_t begin = clock_begin(&run->clock);
        semaphore_signal(&own->there);
        semaphore_wait(&own->there);
        uint64_t end = clock_end(&run->clock);
        record_value(record, clock_ns(&run->clock, end - begin), 0);
    }
    return (int64_t)(record_mean(record) + 0.5);
}

static void measure_round_trips(struct run *run, int place, int64_t signal_wait_ns)
{
    struct own *own = run->own;
    struct record *round_trip = arena_record(run->arena, place);
    struct record *context_switch = arena_record(run->arena, place + 1);
    struct run_budget budget = run_budget(run, run_param(run, "kinds")->count);
    int64_t now_ns = breathe(&run->breath);
    while (run_budget_left(&budget, round_trip->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || round_trip->count < budget.samples);
             i++) {
            uint64_t begin = clock_begin(&run->clock);
            semaphore_signal(&own->there);
            semaphore_wait(&own->back);
            uint64_t end = clock_end(&run->clock);
            int64_t ns = clock_ns(&run->clock, end - begin);
            record_value(round_trip, ns, run_at_ns(run, now_ns));
            record_value(context_switch, ns / 2 - signal_wait_ns, run_at_ns(run, now_ns));
        }
        now_ns = breathe(&run->breath);
    }
}

static int measure_kind(struct run *run, int place, enum semaphore_kind kind)
{
    struct own *own = run->own;
    int error = semaphore_open(&own->there, kind);
    if (!error)
        error = semaphore_open(&own->back, kind);
    if (error)
        return outcome_set_errno(&run->outcome, error, semaphore_kind_names[kind], NULL);
    int64_t signal_wait_ns = measure_signal_wait(run, arena_record(run->arena, place + 2));
    atomic_store(&own->is_over, 0);
    error = actor_start(&own->partner, &run->setup, answer, own);
    if (error) {
        outcome_set_errno(&run->outcome, error, "starting the second thread",
                          "raise ulimit -u and -l");
    } else {
        actor_go(&own->partner);
        measure_round_trips(run, place, signal_wait_ns);
        atomic_store(&own->is_over, 1);
        semaphore_signal(&own->there);
        actor_join(&own->partner);
    }
    semaphore_close(&own->there);
    semaphore_close(&own->back);
    return error ? -1 : 0;
}

static int measure(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++)
        if (measure_kind(run, i * SERIES_PER_KIND, (enum semaphore_kind)kinds->number[i]) != 0)
            return -1;
    return 0;
}

const struct test sem_p_rtp = {
    .id = "SEM-P-RTP",
    .title = "Round trip between two (sync test 2)",
    .source = "[O] Obenland 2000, synchronization test 2",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
};
