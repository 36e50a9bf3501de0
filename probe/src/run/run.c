#include "base/posix_source.h"

#include "run/run.h"

#include "base/console.h"
#include "load/load.h"
#include "load/report.h"
#include "port/tracing.h"
#include "run/life_cycle.h"
#include "run/request.h"
#include "run/scheduling.h"
#include "run/shield_run.h"
#include "run/stream.h"
#include "run/supervise.h"
#include "run/trace_ring.h"
#include "run/variant.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OWN_STEP_BYTES = 1024, ANCHOR_TRIES = 4 };

#define ANCHOR_NS 1000 /* a bracket of readings that nothing interrupted */

void run_init(struct run *run, const struct request *request)
{
    static const int policies[] = {
        [ARGS_FIFO] = SCHED_FIFO, [ARGS_RR] = SCHED_RR, [ARGS_OTHER] = SCHED_OTHER};
    memset(run, 0, sizeof *run);
    run->request = request;
    run->test = request->test;
    run->deadline_ns = request->deadline_ns;
    run->seed = request->seed;
    run->folder = request->folder;
    run->called_as = request->called_as;
    run->asked_policy = policies[request->policy];
    run->asked_priority = request->priority;
    run->load_average_milli = -1;
}

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

struct run_budget run_budget(const struct run *run, int parts)
{
    struct run_budget budget = {run->samples, INT64_MAX};
    if (run->duration_ns > 0)
        budget.end_ns = clock_monotonic_ns() + run->duration_ns / parts;
    return budget;
}

/* What interrupts the two readings would be an error of all moments until the next anchor. */
int64_t run_anchor(struct run *run)
{
    int64_t least_ns = INT64_MAX, now_ns = 0;
    for (int i = 0; i < ANCHOR_TRIES && least_ns > ANCHOR_NS; i++) {
        uint64_t before = clock_begin(&run->clock);
        now_ns = clock_monotonic_ns();
        int64_t bracket_ns = clock_ns(&run->clock, clock_begin(&run->clock) - before);
        if (bracket_ns >= least_ns)
            continue;
        least_ns = bracket_ns;
        run->anchor_ticks = before;
        run->anchor_at_ns = run_at_ns(run, now_ns);
    }
    return now_ns;
}

void run_hold_trace(const struct run *run)
{
    if (run->trace_ring)
        trace_ring_hold(run->trace_ring);
}

static void *touched(size_t bytes)
{
    char *memory = calloc(1, bytes);
    /* calloc's pages are faulted in by the first write; volatile keeps the write */
    for (size_t i = 0; memory && i < bytes; i += OWN_STEP_BYTES)
        ((volatile char *)memory)[i] = 0;
    return memory;
}

void *run_own(struct run *run, size_t bytes)
{
    struct scheduling_visit visit;
    scheduling_visit_cpu(run, &visit);
    run->own = touched(bytes);
    bool is_back = scheduling_leave_cpu(run, &visit) == 0;
    if (!run->own)
        outcome_set_errno(&run->outcome, ENOMEM, "memory for the test", "free memory");
    if (is_back)
        return run->own;
    free(run->own);
    return run->own = NULL;
}

void run_lock_again(const struct run *run)
{
    if (run->is_locked)
        mlockall(MCL_CURRENT | MCL_FUTURE);
}

struct cpus run_measured_cpus(const struct run *run)
{
    struct cpus measured = run->uses_cpu;
    if (!run->is_measured_elsewhere)
        cpus_add(&measured, run->setup.cpu);
    return measured;
}

/* ---- stop requests ---- */

/* Bits of stop_flag; a run is interrupted only by STOP_FROM_OUTSIDE. */
enum { STOP_BY_TEST = 1, STOP_FROM_OUTSIDE = 2 };

/* At file scope for the signal handler; stop_reset clears it for each run. */
static atomic_int stop_flag;

void stop_reset(void)
{
    atomic_store(&stop_flag, 0);
}

bool run_should_stop(void)
{
    return atomic_load_explicit(&stop_flag, memory_order_relaxed) != 0;
}

void run_request_stop(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_BY_TEST, memory_order_relaxed);
}

void stop_from_outside(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_FROM_OUTSIDE, memory_order_relaxed);
}

bool stop_came_from_outside(void)
{
    return (atomic_load_explicit(&stop_flag, memory_order_relaxed) & STOP_FROM_OUTSIDE) != 0;
}

/* ---- idle states ---- */

static int refuse(struct run *run, int32_t us, int error)
{
    char what[STATUS_TEXT_BYTES / 2], command[STATUS_COMMAND_BYTES];
    const char *device = port_hint(PORT_HINT_IDLE_DEVICE);
    bool has_device = device[0] != '\0';
    snprintf(command, sizeof command, "sudo chmod a+rw %s", device);
    snprintf(what, sizeof what, "holding the exit latency of idle states at %ld us%s%s%s", (long)us,
             has_device ? " (" : "", device, has_device ? ")" : "");
    if (error == ENOTSUP)
        return outcome_set_errno(&run->outcome, error, what,
                                 "leave out --dma-latency: this system has no such limit");
    if (!has_device)
        return outcome_set_errno(&run->outcome, error, what, "run as root");
    return outcome_set_errno_remedy(
        &run->outcome, error, what,
        (struct remedy){"run as root, or let all users open it until the next boot", command});
}

static void report_lower(const struct run *run, int32_t us, int32_t in_force_us, bool is_of_shield)
{
    arena_event(run->arena, "dma_latency_lower", -1,
                DATA(data_integer("asked_us", us), data_integer("in_force_us", in_force_us),
                     data_text("holder", is_of_shield ? "shield" : "another program")),
                "%ld us requested, %ld us in force: %s holds the lower bound", (long)us,
                (long)in_force_us,
                is_of_shield ? "the setting dma_latency of the shield" : "another program");
}

int dma_latency_hold(struct run *run)
{
    bool is_of_shield = run->settings & 1u << SHIELD_DMA_LATENCY;
    int32_t us = run->request->dma_latency_us, in_force_us = 0;
    run->dma_latency.is_held = is_of_shield || run->request->has_dma_latency;
    if (!run->request->has_dma_latency)
        return 0; /* a shield holds 0 itself */
    int error = port_hold_dma_latency(us, &run->dma_latency.descriptor, &in_force_us);
    run->dma_latency.is_held = is_of_shield || error == 0;
    if (error)
        return refuse(run, us, error);
    run->dma_latency.is_open = true;
    run->dma_latency.us = in_force_us;
    if (in_force_us < us)
        report_lower(run, us, in_force_us, is_of_shield);
    return 0;
}

void dma_latency_release(struct run *run)
{
    if (run->dma_latency.is_open)
        close(run->dma_latency.descriptor);
    run->dma_latency.is_open = false;
}

/* ---- the load ---- */

/* Allowance to start the load, to wait for it twice (load_patience_ns) and to prepare the test. */
#define START_NS INT64_C(180000000000)

int load_run_place(struct load_setup *setup, enum load_place place, int measured_cpu,
                   struct outcome *outcome)
{
    int allowed = port_allowed_cpus(&setup->cpus);
    if (place == LOAD_OFF_MEASURED)
        cpus_remove(&setup->cpus, measured_cpu);
    if (allowed >= 0 && place == LOAD_ON_MEASURED) {
        cpus_clear(&setup->cpus);
        cpus_add(&setup->cpus, measured_cpu);
    }
    setup->cpu_count = allowed >= 0 ? cpus_count(&setup->cpus) : -1;
    if (setup->cpu_count == 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "allow this process a second CPU, or choose --cpu-config single",
                           "no CPU is left for the load apart from the measured one");
    return 0;
}

/* Each would take interrupts of the other for its own. */
static int refuse_same_device(struct run *run)
{
    const struct load_spec *spec = &run->request->load;
    const struct param_spec *params = run->test->params;
    for (int i = 0; params && params[i].name; i++)
        for (int j = 0; j < spec->count && strcmp(params[i].name, "uio") == 0; j++)
            if (spec->terms[j].degree.has_device &&
                spec->terms[j].degree.uio_number == run->request->params[i].number[0])
                return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                                   "name another device for one of them, or leave one out",
                                   "the test and its load are both to use UIO device %d",
                                   spec->terms[j].degree.uio_number);
    return 0;
}

/* Before memory is locked and before any thread is real-time, so that workers inherit neither. The
 * load's processes wait until load_run_settle, after the calibration. */
static int load_run_start(struct run *run)
{
    static const enum load_place places[] = {[CPU_CONFIG_SHARED] = LOAD_EVERYWHERE,
                                             [CPU_CONFIG_SINGLE] = LOAD_ON_MEASURED,
                                             [CPU_CONFIG_SHIELDED] = LOAD_OFF_MEASURED};
    enum load_place place = places[run->request->cpu_config];
    struct load_setup setup = {.spec = &run->request->load,
                               .called_as = run->called_as,
                               .seed = run->seed,
                               .folder = run->folder};
    setup.limit_ns = clock_monotonic_ns() + supervise_limit_ns(run) + START_NS;
    if (setup.spec->count > 0 && load_run_place(&setup, place, run->setup.cpu, &run->outcome) != 0)
        return -1;
    if (refuse_same_device(run) != 0)
        return -1;
    return load_start(run->load, &setup, &run->outcome);
}

static void report_load(void *context, const char *name, int64_t at_ns, const struct datum *data,
                        const char *text)
{
    const struct run *run = context;
    bool is_inside = at_ns >= run->start_ns && at_ns <= run->arena->ended_ns;
    arena_event(run->arena, name, is_inside ? run_at_ns(run, at_ns) : -1, data, "%s", text);
}

static int load_run_settle(struct run *run)
{
    if (load_settle(run->load, NULL))
        return 0;
    load_unsettled_events(run->load, report_load, run);
    return load_deny(run->load, &run->outcome);
}

static int load_run_stop(struct run *run)
{
    load_stop(run->load);
    if (run->request->load.count > 0)
        load_events(run->load, report_load, run);
    return 0;
}

static void load_run_free(struct run *run)
{
    load_free(run->load);
}

/* ---- skew between CPUs ---- */

static bool uses_one_cpu(const struct run *run)
{
    struct cpus used = run->uses_cpu;
    cpus_add(&used, run->setup.cpu);
    int count = cpus_count(&used);
    return count > 0 ? count == 1 : one_cpu_is_certain(run);
}

/* The run's policy and priority, on the CPU with which the others are compared: the run's, or the
 * first that its thread may use. */
static struct rt_thread_setup first_setup(const struct run *run)
{
    struct rt_thread_setup setup = run->setup;
    if (setup.cpu < 0)
        setup.cpu = cpus_first(&run->uses_cpu);
    return setup;
}

static const char *cause(int error)
{
    switch (error) {
    case ENOTSUP:
        return "this port cannot choose a CPU";
    case ETIMEDOUT:
        return "other threads kept one of the CPUs";
    case ENOSPC:
        return "too many CPUs";
    default:
        return strerror(error);
    }
}

/* Whether the counters of the CPUs in use agree: measures the skew between run->setup.cpu (not
 * bound: the first CPU in run->uses_cpu) and each CPU in run->uses_cpu into run->instrument, with
 * threads of the run's policy and priority. False: `reason` says whether an interval without 0 was
 * measured or the skew could not be measured. */
static bool skew_is_consistent(struct run *run, char *reason, size_t reason_bytes)
{
    struct instrument *instrument = &run->instrument;
    if (uses_one_cpu(run))
        return true;
    instrument->quantum_ns = clock_quantum_ns(&run->clock);
    struct rt_thread_setup first = first_setup(run);
    int error = first.cpu < 0
                    ? ENOTSUP
                    : instrument_measure_skew_of(instrument, &run->clock, &first, &run->uses_cpu);
    for (uint32_t i = 0; i < instrument->skew_count; i++) {
        const struct instrument_skew *skew = &instrument->skew[i];
        if (skew->is_consistent)
            continue;
        snprintf(reason, reason_bytes,
                 "the counters of CPU %d and %d differ by %.0f ns; the measurement explains at "
                 "most %.0f ns",
                 skew->cpu_a, skew->cpu_b, skew->offset_ns, skew->bound_ns);
        return false;
    }
    if (error)
        snprintf(reason, reason_bytes,
                 "the skew between the counters of the CPUs in use could not be measured: %s",
                 cause(error));
    return error == 0;
}

/* ---- the steps of the life cycle, in their order ---- */

/* STACK_BYTES: stack of run_steps and its callees, plus arguments and environment, which may take
 * 128 KiB of the same limit, and the texts of CPU sets of a shield. */
enum { STACK_BYTES = 256 * 1024 + 8 * CPUS_TEXT_BYTES };

static int choose_limits(struct run *run)
{
    const struct request *request = run->request;
    run->samples = request->has_counts ? request->samples : run->test->default_samples;
    if (run->samples == 0 && run->test->counts_rounds)
        run->samples = run->test->default_samples;
    run->duration_ns = request->has_counts ? request->duration_ns : run->test->default_duration_ns;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    run->started_utc_ns = clock_timespec_ns(&now);
    return 0;
}

static int make_records(struct run *run)
{
    static const struct record_shape for_instrument = {INSTRUMENT_MOST_NS, 0};
    bool has_compact = run->plan.slot_count < run->plan.series_count;
    const struct record_shape *shape = has_compact ? NULL : &for_instrument;
    int64_t scratch_ns = has_compact ? arena_room_ns(&run->plan) : 0;
    size_t scratch_bytes = record_size(shape, scratch_ns);
    run->scratch = calloc(1, scratch_bytes);
    if (!run->scratch)
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the instrument", "free memory");
    record_init(run->scratch, shape, scratch_ns);
    run->arena = arena_create(&run->plan, run->request->backing, &run->outcome);
    if (run->arena) {
        port_keep_from_forks(run->scratch, scratch_bytes);
        run->scratch_bytes = scratch_bytes;
        port_keep_from_forks(run->arena, (size_t)run->arena->bytes);
    }
    return run->arena ? 0 : -1;
}

static int check_calls(struct run *run)
{
    bool is_needed = run->test->needs & TEST_NEEDS_UNNAMED_SEMAPHORES;
    return is_needed && !HS_HAS_UNNAMED_SEMAPHORES
               ? outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, LACKS_UNNAMED_SEMAPHORES)
               : 0;
}

static int size_records(struct run *run)
{
    struct scheduling_visit visit;
    if (check_calls(run) != 0)
        return -1;
    if (run->test->check && run->test->check(run) != 0)
        return -1;
    run->plan.duration_ns = variant_expected_ns(run);
    int error = run->test->declare ? run->test->declare(run) : variant_declare(run);
    if (error)
        return -1;
    scheduling_visit_cpu(run, &visit);
    int result = make_records(run);
    return scheduling_leave_cpu(run, &visit) == 0 ? result : -1;
}

static void free_records(struct run *run)
{
    if (run->arena)
        port_give_to_forks(run->arena, (size_t)run->arena->bytes);
    port_give_to_forks(run->scratch, run->scratch_bytes);
    arena_free(run->arena);
    arena_plan_free(&run->plan);
    free(run->scratch);
    free(run->own);
}

static void report_monotonic(struct run *run)
{
    arena_event(run->arena, "counter_not_used", -1,
                DATA(data_text("reason", run->clock.reason), data_text("clock", "monotonic")),
                "%s; CLOCK_MONOTONIC is used instead", run->clock.reason);
}

static int open_clock(struct run *run)
{
    const char *call;
    int error = clock_check_sleep(&call);
    if (error)
        return outcome_set_errno(&run->outcome, error, call, CLOCK_SLEEP_REMEDY);
    if (!clock_advances())
        return outcome_set(&run->outcome, STATUS_FAILED, CLOCK_STANDS_STILL_REMEDY,
                           CLOCK_STANDS_STILL ": no time can be measured");
    clock_open(&run->clock, run->request->want_counter, run->request->counter_hz);
    if (!run->clock.use_counter && run->request->want_counter)
        report_monotonic(run);
    return 0;
}

/* A thread that is not bound may change its CPU between two stamps.
 *
 * Runs before the load starts, which would widen the bounds, and before `prepare`, which may
 * already convert times with the clock. */
static int check_skew(struct run *run)
{
    char reason[CLOCK_REASON_BYTES];
    bool compares = run->test->needs & TEST_COMPARES_CPUS || run->setup.cpu < 0;
    if (!run->clock.use_counter || !compares || skew_is_consistent(run, reason, sizeof reason))
        return 0;
    clock_refuse(&run->clock, reason);
    report_monotonic(run);
    return 0;
}

/* Before memory is locked: the ring is read into memory of its own. */
static int open_trace(struct run *run)
{
    struct cpus measured = run_measured_cpus(run);
    if (!run->request->trace)
        return 0;
    run->trace_ring = trace_ring_open(&measured, &run->outcome);
    if (!run->trace_ring)
        return -1;
    arena_event(run->arena, "traced", -1, NO_DATA,
                "the kernel recorded events on the measured CPUs: the figures are those of a "
                "traced system");
    return 0;
}

static void close_trace(struct run *run)
{
    if (run->trace_ring)
        trace_ring_close(run->trace_ring);
    run->trace_ring = NULL;
}

static int lock_memory(struct run *run)
{
    struct scheduling_visit visit;
    struct port_refusal refusal;
    scheduling_visit_cpu(run, &visit);
    run->is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    int error = errno;
    if (!run->is_locked) {
        port_lock_refusal(error, &refusal);
        arena_event(run->arena, "memory_not_locked", -1,
                    DATA(data_text("error", strerror(error)), data_text("cause", refusal.cause),
                         data_text("remedy", refusal.remedy)),
                    "memory could not be locked (%s), so page faults may add to the figures; %s",
                    refusal.reason, refusal.remedy);
    }
    stream_compose_conditions(run);
    return scheduling_leave_cpu(run, &visit);
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

/* ---- nothing observed ---- */

static bool may_be_empty(const struct test *test, const char *series)
{
    for (int i = 0; test->series && test->series[i].name; i++)
        if (strcmp(test->series[i].name, series) == 0)
            return test->series[i].may_be_empty;
    return false;
}

/* Series that must have a value and have none; `first`: one of them. Those whose label stayed open
 * were never begun. */
static int without_value(const struct run *run, int *all, const struct arena_series **first)
{
    int count = 0;
    *all = 0;
    for (uint32_t i = 0; i < run->arena->series_count; i++) {
        const struct arena_series *series = &run->arena->series[i];
        if (may_be_empty(run->test, series->name) || !arena_is_named(run->arena, i))
            continue;
        (*all)++;
        if (arena_count(run->arena, i) > 0)
            continue;
        if (count++ == 0)
            *first = series;
    }
    return count;
}

static bool has_failed_verdict(const struct run *run)
{
    for (uint32_t i = 0; i < run->arena->verdict_count; i++)
        if (!run->arena->verdicts[i].pass)
            return true;
    return false;
}

static bool has_used_length(const struct run *run)
{
    return run->duration_ns > 0 &&
           run->arena->ended_ns - run->arena->started_ns >= run->duration_ns;
}

/* A test with figures has measured nothing where all of them are empty, though it may have
 * verdicts; one without figures, where it has no verdict. */
static bool has_observed(const struct run *run)
{
    const struct arena_series *first;
    int all, count = without_value(run, &all, &first);
    if (all == 0)
        return run->arena->verdict_count > 0 || run->observed_count > 0 ||
               arena_has_values(run->arena);
    return count < all || has_failed_verdict(run);
}

/* "1 ns", "300 ms" */
static const char *length_text(int64_t ns, char text[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double amount = (double)ns;
    int unit = 0;
    for (; amount >= 1000 && unit < 3; unit++)
        amount /= 1000;
    snprintf(text, 32, "%.9g %s", amount, units[unit]);
    return text;
}

/* An estimate has two digits, rounded up. */
static int64_t two_digits(int64_t ns)
{
    int64_t step = 1;
    while (ns / step >= 100)
        step *= 10;
    return (ns + step - 1) / step * step;
}

/* What to do about a length that was over too early; how long is enough, where the test knows. */
static const char *longer_text(const struct run *run, char text[160])
{
    char least[32];
    int64_t least_ns = variant_least_ns(run);
    bool is_known = least_ns > run->duration_ns;
    snprintf(text, 160, "measure longer (-D%s%s), or for a number of values (--samples)",
             is_known ? "; the first values take about " : "",
             is_known ? length_text(two_digits(least_ns), least) : "");
    return text;
}

/* The length is the cause where it was used up: a longer one may show another. */
static void report_nothing(struct run *run)
{
    char length[32], longer[160];
    if (has_used_length(run))
        outcome_set(&run->outcome, STATUS_SKIPPED, longer_text(run, longer),
                    "nothing was measured: the %s were over before the first value",
                    length_text(run->duration_ns, length));
    else
        outcome_set(&run->outcome, STATUS_FAILED, "the events say what happened instead",
                    "nothing was measured: the test ended without a value or a verdict");
}

/* Before the test judges, which would take another cause for it. */
static void check_length(struct run *run)
{
    char length[32], longer[160];
    const struct arena_series *first = NULL;
    int all, count = without_value(run, &all, &first);
    if (count == 0 || !has_used_length(run))
        return;
    if (!has_observed(run))
        report_nothing(run);
    else
        arena_event(
            run->arena, "no_values", -1,
            DATA(data_integer("series_count", count), data_integer("of_count", all),
                 data_text("first", first->name), data_integer("length_ns", run->duration_ns)),
            "%d of %d series have no value (the first is %s): the %s were over before; %s", count,
            all, first->name, length_text(run->duration_ns, length), longer_text(run, longer));
}

/* Records in the result that the test ended early on request. */
static void report_interruption(struct run *run)
{
    if (!has_observed(run))
        outcome_set(&run->outcome, STATUS_SKIPPED, NULL, "stopped before anything was measured");
    else if (run->outcome.reason[0] == '\0')
        snprintf(run->outcome.reason, sizeof run->outcome.reason,
                 "stopped early, after %.1f s; results so far are kept",
                 (double)(run->arena->ended_ns - run->arena->started_ns) / 1e9);
}

/* The load's processes are there and wait: their start would disturb. */
static int calibrate(struct run *run)
{
    if (!run->test->calibrate)
        return 0;
    load_wait_ready(run->load);
    if (supervise_calibrate(run) != 0)
        return -1;
    if (run->is_interrupted)
        report_interruption(run);
    return run->outcome.status == STATUS_MEASURED ? 0 : -1;
}

/* A party that is late, an order that changed: the stop may be why. */
static void report_stopped(struct run *run)
{
    char reason[STATUS_TEXT_BYTES];
    struct outcome *outcome = &run->outcome;
    bool is_doubtful = outcome->status == STATUS_FAILED || outcome->status == STATUS_TIMEOUT;
    arena_withhold_failures(run->arena);
    if (run->arena->stop_count == 0 || !is_doubtful)
        return;
    memcpy(reason, outcome->reason, sizeof reason);
    snprintf(outcome->reason, sizeof outcome->reason,
             "the program was stopped while it measured, which may be the reason: %.240s", reason);
    snprintf(outcome->remedy, sizeof outcome->remedy, "run the test again without a stop");
    outcome->command[0] = '\0';
}

static void judge_measured(struct run *run)
{
    if (run->is_interrupted)
        report_interruption(run);
    if (run->outcome.status != STATUS_MEASURED || run->is_interrupted)
        return;
    check_length(run);
    if (run->test->judge)
        run->test->judge(run);
    if (!has_observed(run))
        report_nothing(run);
}

static int judge(struct run *run)
{
    arena_settle(run->arena);
    arena_report_stops(run->arena);
    judge_measured(run);
    report_stopped(run);
    return 0;
}

static int check_clock(struct run *run)
{
    clock_check_drift(&run->clock);
    return 0;
}

/* Runs before the results are sent, so that they can report what was not restored. */
static int release(struct run *run)
{
    dma_latency_release(run);
    shield_run_release(run);
    return 0;
}

/* The same after a failed step. Stops the load first, so that it never runs on a CPU that the
 * shield reserves. */
static void release_early(struct run *run)
{
    load_stop(run->load);
    dma_latency_release(run);
    shield_run_release(run);
}

struct step {
    int (*act)(struct run *run);
    void (*undo)(struct run *run);
};

static const struct step steps[] = {
    {choose_limits, NULL},
    {shield_run_look, shield_run_forget},
    {scheduling_choose_cpu, NULL},
    {size_records, free_records},
    {open_clock, NULL},
    {scheduling_choose, NULL},
    {check_skew, NULL},
    {shield_run_reserve, shield_run_release},
    {shield_run_switch_preemption, shield_run_release},
    {open_trace, close_trace},
    {outside_look_start, outside_look_stop},
    {load_run_start, load_run_free},
    {shield_run_enter, NULL},
    {dma_latency_hold, dma_latency_release}, /* after processes that would share the descriptor */
    {lock_memory, unlock_memory},
    {prepare, finish},
    {calibrate, supervise_end},
    {load_run_settle, NULL},
    {supervise_measure, supervise_end},
    {load_run_stop, NULL},
    {judge, NULL},
    {check_clock, NULL},
    {shield_run_check_preemption, NULL},
    {release, NULL},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* On a console the header comes with the rest: a line that still sends while a test measures has
 * interrupts. */
static int send_header(struct run *run, struct emit *emit)
{
    stream_compose_header(run);
    if (run->request->console)
        console_drain(run->request->console);
    if (run->request->console || !run->request->json)
        return 0;
    stream_header(emit, run->arena);
    return emit_flush(emit);
}

static int send_rest(const struct run *run, struct emit *emit, bool has_header)
{
    if (has_header && run->request->console && run->request->json)
        stream_header(emit, run->arena);
    if (!run->request->json)
        text_report(emit, run);
    else if (run->arena)
        stream_rest(emit, run);
    else
        stream_without_arena(emit, run);
    return emit_flush(emit);
}

static void open_output(const struct request *request, struct emit *emit)
{
    emit_open(emit, STDOUT_FILENO);
    emit->console = request->console;
}

static int exit_code(const struct run *run, bool has_failed)
{
    return has_failed ? EXIT_INTERNAL : status_exit_code(run->outcome.status);
}

/* The console's line loses bytes: the same lines out of the same memory, as often as they are asked
 * for. A slow line may take minutes, for which no deadline of the run is meant. */
static void send_passes(const struct run *run, struct emit *emit, bool has_header, int code)
{
    struct console *console = run->request->console;
    console_end(console, code);
    while (console_is_asked_again(console)) {
        console_begin(console);
        open_output(run->request, emit);
        send_rest(run, emit, has_header);
        console_end(console, code);
    }
}

static __attribute__((noinline)) int run_steps(const struct request *request)
{
    struct run run;
    struct load load;
    struct emit emit;
    int done = 0, error = 0;
    run_init(&run, request);
    memset(&load, 0, sizeof load);
    run.load = &load;
    stop_reset();
    port_tracing_remove_left(); /* of a run that was killed with its guard */
    bool has_header = false;
    open_output(request, &emit);
    for (; done < STEPS && steps[done].act(&run) == 0; done++)
        if (steps[done].act == size_records) {
            error = send_header(&run, &emit);
            has_header = true;
        }
    if (done < STEPS && !run.is_stuck)
        release_early(&run);
    if (done < STEPS && !run.is_stuck)
        placement_explain(&run);
    if (request->console)
        supervise_stand_down(&run);
    int sent = send_rest(&run, &emit, has_header), code = exit_code(&run, error || sent);
    if (request->console)
        send_passes(&run, &emit, has_header, code);
    if (run.is_stuck)
        _exit(code);
    for (int i = done < STEPS ? done : STEPS - 1; i >= 0; i--)
        if (steps[i].undo)
            steps[i].undo(&run);
    return code;
}

/* Allocates on the heap: a `struct run` alone may exceed this stack. */
static int deny_stack(const struct request *request, int64_t bytes)
{
    struct run *run = calloc(1, sizeof *run);
    struct emit *emit = malloc(sizeof *emit);
    int code = EXIT_INTERNAL;
    if (run && emit) {
        run_init(run, request);
        choose_limits(run);
        run->setup.cpu = -1;
        outcome_set(&run->outcome, STATUS_DENIED, "raise ulimit -s",
                    "the stack is limited to %lld bytes; measuring takes %d", (long long)bytes,
                    STACK_BYTES);
        open_output(request, emit);
        code = exit_code(run, send_rest(run, emit, false) != 0);
    }
    free(emit);
    free(run);
    return code;
}

int run_test(const struct request *request)
{
    int64_t stack_bytes = port_stack_bytes();
    if (stack_bytes >= 0 && stack_bytes < STACK_BYTES)
        return deny_stack(request, stack_bytes);
    return run_steps(request);
}
