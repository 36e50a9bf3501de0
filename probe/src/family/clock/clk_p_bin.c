/* CLK-P-BIN: maximum kernel blocking time, "bintime" (Obenland 2000).
 *
 * What: the time-of-day clock is called back to back; blocking = maximum - mean.
 * Begin, end: two counter readings in a row (call_batch): one call, one unfenced reading, one
 *     store, and anything that keeps the thread from running. The readings go to an array and
 *     become values between two batches; the event coverage reports the share of the time that the
 *     batches cover.
 * Threads: the measuring thread, at the run's priority on the run's CPU if it has one.
 * Wrong if: a pause comes between two batches: it is in no value. Caches are cold, or the frequency
 *     is low: the first batch of a variant and after each rest is not recorded. Real-time
 *     throttling would look like a blocking of tens of ms: the thread rests before the budget is
 *     used up, and a batch from which that much time was taken fails the result (event throttled;
 *     run.h).
 */
#include "base/posix_source.h"

#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 4096, VIAS = 2 };
enum { VIA_VDSO, VIA_SYSTEM_CALL };

#define VARIANT_NS INT64_C(5000000000)

static const char *const via_names[] = {"vdso", "syscall", NULL};

static const struct param_spec params[] = {
    {"via", PARAM_NAME, true, "vdso,syscall", 0, 0, via_names,
     "libc's clock_gettime (the vDSO if available), or a real system call", "via"},
    {0},
};

static const struct series_spec series[] = {
    {"call", "ns", "via", "counter reading after one call of clock_gettime(CLOCK_REALTIME)",
     "counter reading after the next call, back to back"},
    {"blocking", "ns", "via", "the longest call minus the mean of the calls; one value per run",
     NULL, "max(call) - mean(call)"},
    {0},
};
enum { CALL, BLOCKING };

struct own {
    bool is_system_call;
    uint64_t stamps[BATCH + 1];
    int64_t inside_ns;  /* time that recorded batches cover */
    int64_t warm_up_ns; /* time of warm-up batches */
};

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void call_batch(const struct clock *clock, uint64_t *stamps, bool is_system_call)
{
    struct timespec time;
    if (is_system_call) {
        stamps[0] = clock_ticks(clock);
        for (int i = 1; i <= BATCH; i++) {
            port_clock_system_call(CLOCK_REALTIME, &time);
            stamps[i] = clock_ticks(clock);
        }
        return;
    }
    stamps[0] = clock_ticks(clock);
    for (int i = 1; i <= BATCH; i++) {
        clock_gettime(CLOCK_REALTIME, &time);
        stamps[i] = clock_ticks(clock);
    }
}

/* Values still to take: the last batch may hold more. */
static int values_wanted(const struct run *run, const struct record *call)
{
    uint64_t left = run->samples > 0 ? run->samples - call->count : BATCH;
    return left < BATCH ? (int)left : BATCH;
}

static void record_batch(struct run *run)
{
    struct own *own = run->own;
    struct record *call = run_record(run, CALL);
    int count = values_wanted(run, call);
    int64_t begin_ns = run_at_ticks(run, own->stamps[0]), at_ns = begin_ns;
    for (int i = 1; i <= count; i++) {
        int64_t ns = clock_ns(&run->clock, own->stamps[i] - own->stamps[i - 1]);
        at_ns += ns;
        record_value(call, ns, at_ns);
    }
    own->inside_ns += at_ns - begin_ns;
}

static int take_batch(struct run *run)
{
    struct own *own = run->own;
    call_batch(&run->clock, own->stamps, own->is_system_call);
    if (run->is_warm_up)
        own->warm_up_ns += clock_ns(&run->clock, own->stamps[BATCH] - own->stamps[0]);
    else
        record_batch(run);
    return 0;
}

static void report_coverage(const struct run *run, int64_t awake_ns)
{
    const struct own *own = run->own;
    arena_event(run->arena, "coverage", -1,
                DATA(data_text("via", variant_text(run, "via")),
                     data_number("covered_ratio", (double)own->inside_ns / (double)awake_ns),
                     data_integer("looking_ns", awake_ns)),
                "%s: the timed calls cover %.1f %% of %.2f s", variant_text(run, "via"),
                100.0 * (double)own->inside_ns / (double)awake_ns, (double)awake_ns / 1e9);
}

/* Not if the test failed: the longest call may contain throttling. */
static void record_blocking(struct run *run)
{
    const struct record *call = run_record(run, CALL);
    if (run->outcome.status == STATUS_MEASURED)
        record_value(run_record(run, BLOCKING), call->max - (int64_t)(record_mean(call) + 0.5),
                     call->worst[0].at_ns);
}

static void measure_via(struct run *run)
{
    struct own *own = run->own;
    int64_t from_ns = clock_monotonic_ns(), rested_ns = run->rt_budget.rested_ns;
    own->inside_ns = own->warm_up_ns = 0;
    variant_sample(run, CALL, 1, take_batch);
    rested_ns = run->rt_budget.rested_ns - rested_ns;
    stops_take_out(run->arena, run_record(run, CALL));
    if (run_record(run, CALL)->count == 0)
        return;
    report_coverage(run, clock_monotonic_ns() - from_ns - rested_ns - own->warm_up_ns);
    record_blocking(run);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    struct timespec time;
    own->is_system_call = variant_number(run, "via") == VIA_SYSTEM_CALL;
    if (own->is_system_call && port_clock_system_call(CLOCK_REALTIME, &time) != 0)
        arena_event(run->arena, "via_unsupported", -1,
                    DATA(data_text("via", variant_text(run, "via"))),
                    "this port cannot force a real system call");
    else
        measure_via(run);
    return 0;
}

static int measure(struct run *run)
{
    burst_begin(run, 0);
    return variants_measure(run);
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use -p via=vdso",
                       "this port cannot force a real system call");
}

const struct test clk_p_bin = {
    .id = "CLK-P-BIN",
    .title = "Maximum kernel blocking time (bintime)",
    .source = "[O] Obenland 2000, bintime",
    .params = params,
    .series = series,
    .default_duration_ns = VARIANT_NS * VIAS,
    .setup_ns = 500000000,
    .sample_ns = 250,
    .warm_up_samples = 1,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
};
