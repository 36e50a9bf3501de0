#include "base/posix_source.h"

#include "run/run.h"

#include "realtime/scheduling.h"
#include "run/load_run.h"
#include "run/shield_run.h"
#include "run/stream.h"
#include "run/supervise.h"
#include "run/text_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* STACK_BYTES: what run_steps and all below it use, with the arguments and the environment,
 * for which a system may take 128 KiB of the same limit. */
enum { OWN_STEP_BYTES = 1024, STACK_BYTES = 256 * 1024 };

const struct param_value *run_param(const struct run *run, const char *name)
{
    const struct param_spec *specs = run->test->params;
    int i = 0;
    while (strcmp(specs[i].name, name) != 0)
        i++;
    return &run->request->params[i];
}

int64_t run_number(const struct run *run, const char *name)
{
    return run_param(run, name)->number[0];
}

int64_t run_expected_ns(const struct run *run, int64_t sample_ns)
{
    int64_t by_samples_ns = RUN_LONGEST_NS;
    if (run->samples > 0 && run->samples < (uint64_t)(RUN_LONGEST_NS / sample_ns))
        by_samples_ns = (int64_t)run->samples * sample_ns;
    bool is_by_time = run->duration_ns > 0 && run->duration_ns < by_samples_ns;
    return is_by_time ? run->duration_ns : by_samples_ns;
}

struct run_budget run_budget(const struct run *run, int cells)
{
    struct run_budget budget = {run->samples, INT64_MAX};
    if (run->duration_ns > 0)
        budget.end_ns = clock_monotonic_ns() + run->duration_ns / cells;
    return budget;
}

int run_add_series(struct run *run, const char *name, const char *unit, const char *label,
                   const char *value)
{
    int series = arena_plan_series(&run->plan, name, unit);
    if (series < 0)
        return outcome_set(&run->outcome, STATUS_FAILED, "ask for fewer kinds or periods",
                           "more than %d series", ARENA_SERIES);
    if (label)
        arena_plan_label_text(&run->plan, series, label, value);
    return series;
}

void *run_own(struct run *run, size_t bytes)
{
    run->own = calloc(1, bytes);
    if (!run->own) {
        outcome_set_errno(&run->outcome, ENOMEM, "memory for the test", "free memory");
        return NULL;
    }
    /* through a volatile pointer: calloc's pages are not there before they are written */
    for (size_t i = 0; i < bytes; i += OWN_STEP_BYTES)
        ((volatile char *)run->own)[i] = 0;
    return run->own;
}

/* ---- the steps of the life cycle, in their order ---- */

static int choose_limits(struct run *run)
{
    const struct request *request = run->request;
    run->samples = request->has_counts ? request->samples : run->test->default_samples;
    run->duration_ns = request->has_counts ? request->duration_ns : run->test->default_duration_ns;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    run->started_utc_ns = clock_timespec_ns(&now);
    return 0;
}

static int size_records(struct run *run)
{
    run->plan.duration_ns = run->test->expected_ns(run);
    if (run->test->size && run->test->size(run) != 0)
        return -1;
    run->scratch = calloc(1, record_size(0));
    if (!run->scratch)
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the instrument", "free memory");
    record_init(run->scratch, 0);
    run->arena = arena_create(&run->plan, run->request->backing, &run->outcome);
    return run->arena ? 0 : -1;
}

static void free_records(struct run *run)
{
    arena_free(run->arena);
    free(run->scratch);
    free(run->own);
}

static int open_clock(struct run *run)
{
    clock_open(&run->clock, run->request->want_counter, run->request->counter_hz);
    if (!run->clock.use_counter && run->request->want_counter)
        arena_event(run->arena, "counter_not_used", -1, "%s; CLOCK_MONOTONIC is used instead",
                    run->clock.reason);
    return 0;
}

static int lock_memory(struct run *run)
{
    run->is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!run->is_locked)
        arena_event(run->arena, "memory_not_locked", -1,
                    "memory could not be locked (%s): page faults may add to the figures; raise "
                    "ulimit -l or grant CAP_IPC_LOCK",
                    strerror(errno));
    stream_compose_conditions(run);
    return 0;
}

static void unlock_memory(struct run *run)
{
    if (run->is_locked)
        munlockall();
}

static int prepare(struct run *run)
{
    return run->test->prepare ? run->test->prepare(run) : 0;
}

static void finish(struct run *run)
{
    if (run->test->finish && !run->is_stuck)
        run->test->finish(run);
}

static bool has_samples(const struct run *run)
{
    for (uint32_t i = 0; i < run->arena->series_count; i++)
        if (arena_record_view(run->arena, i)->count > 0)
            return true;
    return false;
}

/* An early end that was asked for leaves a result that says so. */
static void tell_interruption(struct run *run)
{
    if (!has_samples(run) && run->arena->verdict_count == 0)
        outcome_set(&run->outcome, STATUS_SKIPPED, NULL, "stopped before anything was measured");
    else if (run->outcome.reason[0] == '\0')
        snprintf(run->outcome.reason, sizeof run->outcome.reason,
                 "stopped early, after %.1f s; what was measured is kept",
                 (double)(run->arena->ended_ns - run->arena->started_ns) / 1e9);
}

static int judge(struct run *run)
{
    if (run->is_interrupted)
        tell_interruption(run);
    if (run->outcome.status == STATUS_MEASURED && !run->is_interrupted && run->test->judge)
        run->test->judge(run);
    return 0;
}

static int check_clock(struct run *run)
{
    clock_check_drift(&run->clock);
    return 0;
}

/* Before the results are sent, so that they can tell what was not put back. */
static int release(struct run *run)
{
    shield_run_release(run);
    return 0;
}

/* The same where a step failed. The load goes first: what a shield reserves is kept from it. */
static void release_early(struct run *run)
{
    load_stop(&run->load);
    shield_run_release(run);
}

struct step {
    int (*act)(struct run *run);
    void (*undo)(struct run *run);
};

static const struct step steps[] = {
    {choose_limits, NULL},
    {scheduling_choose_cpu, NULL},
    {size_records, free_records},
    {open_clock, NULL},
    {scheduling_choose, NULL},
    {shield_run_reserve, shield_run_release},
    {load_run_start, load_run_free},
    {shield_run_enter, NULL},
    {lock_memory, unlock_memory},
    {prepare, finish},
    {supervise_measure, NULL},
    {load_run_stop, NULL},
    {judge, NULL},
    {check_clock, NULL},
    {release, NULL},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

static int send_header(struct run *run, struct emit *emit)
{
    stream_compose_header(run);
    if (!run->request->json)
        return 0;
    stream_header(emit, run->arena);
    return emit_flush(emit);
}

static int send_rest(struct run *run, struct emit *emit)
{
    if (!run->request->json)
        plain_result(emit, run);
    else if (run->arena)
        stream_rest(emit, run);
    else
        stream_without_arena(emit, run);
    return emit_flush(emit);
}

static __attribute__((noinline)) int run_steps(const struct request *request)
{
    struct run run;
    struct emit emit;
    int done = 0, error = 0;
    memset(&run, 0, sizeof run);
    run.request = request;
    run.test = request->test;
    run.load_average_milli = -1;
    emit_open(&emit, STDOUT_FILENO);
    for (; done < STEPS && steps[done].act(&run) == 0; done++)
        if (steps[done].act == size_records)
            error = send_header(&run, &emit);
    if (done < STEPS && !run.is_stuck)
        release_early(&run);
    int sent = send_rest(&run, &emit);
    if (run.is_stuck)
        _exit(error || sent ? 70 : 0);
    for (int i = done < STEPS ? done : STEPS - 1; i >= 0; i--)
        if (steps[i].undo)
            steps[i].undo(&run);
    return error || sent ? 70 : 0;
}

/* Through the heap: a `struct run` alone may be more than this stack. */
static int deny_stack(const struct request *request, rlim_t bytes)
{
    struct run *run = calloc(1, sizeof *run);
    struct emit *emit = malloc(sizeof *emit);
    int error = !run || !emit;
    if (!error) {
        run->request = request;
        run->test = request->test;
        choose_limits(run);
        run->setup.cpu = -1;
        outcome_set(&run->outcome, STATUS_DENIED, "raise ulimit -s",
                    "the stack is limited to %llu bytes; measuring takes %d",
                    (unsigned long long)bytes, STACK_BYTES);
        emit_open(emit, STDOUT_FILENO);
        error = send_rest(run, emit);
    }
    free(emit);
    free(run);
    return error ? 70 : 0;
}

int run_test(const struct request *request)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_BYTES)
        return deny_stack(request, stack.rlim_cur);
    return run_steps(request);
}
