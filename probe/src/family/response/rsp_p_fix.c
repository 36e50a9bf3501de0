/* RSP-P-FIX: response (Obenland 2000, response test).
 *
 * A block of processing is calibrated once: the number of operations that takes
 * block_ns when nothing disturbs (the least of several tries). Then always that number
 * is done, and a value is the time one block took, from the counter before its first to
 * the counter after its last operation, on a thread of top priority. What is above the
 * calibrated time was taken by something else: interrupts, the kernel, the hypervisor,
 * a slower clock.
 *
 * How it could be wrong: a frequency that rises after the calibration makes every block
 * shorter, one that falls makes it longer; the median tells that apart from
 * disturbances. The thread rests between blocks so that throttling does not cut in.
 */
#include "base/posix_source.h"

#include "work/fixed_work.h"

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 7, SAMPLES = 100 };

#define PROBE_NS INT64_C(1000000)

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "add,copy,whetstone", 0, 0, work_names,
     "additions, copies of memory, turns of Whetstone"},
    {"block_ns", PARAM_NS, false, "10ms", 10000, INT64_C(500000000), NULL,
     "undisturbed time of a block"},
    {0},
};

static const struct series_spec series[] = {
    {"time", "ns", "kind", "counter before the first operation of a block",
     "counter after its last operation"},
    {0},
};

static int64_t expected_ns(const struct run *run)
{
    int64_t kinds = run_param(run, "kinds")->count, block_ns = run_number(run, "block_ns");
    int64_t calibration_ns = 3 * TRIES * block_ns * kinds;
    return (run_expected_ns(run, block_ns * kinds) + calibration_ns) * 2; /* and the rests */
}

static int size(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count; i++)
        if (run_add_series(run, "time", "ns", "kind", work_names[kinds->number[i]]) < 0)
            return -1;
    return 0;
}

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct work_space)) ? 0 : -1;
}

static int64_t time_block(struct run *run, int kind, uint64_t count)
{
    uint64_t begin = clock_begin(&run->clock);
    work_do(run->own, kind, count);
    return clock_ns(&run->clock, clock_end(&run->clock) - begin);
}

static int64_t least_time(struct run *run, int kind, uint64_t count)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < TRIES && !run_should_stop(); i++) {
        int64_t ns = time_block(run, kind, count);
        if (ns < least_ns)
            least_ns = ns;
        breathe_ahead(&run->breath, ns);
    }
    return least_ns > 0 && least_ns < INT64_MAX ? least_ns : 1;
}

/* Operations that take block_ns: first a count long enough to be timed (by the least of
 * several tries: one that was disturbed looks long enough), then two steps that set it right
 * in proportion; the second takes out what does not grow with the count. */
static uint64_t calibrate(struct run *run, int kind, int64_t block_ns)
{
    uint64_t count = 1;
    while (least_time(run, kind, count) < PROBE_NS && !run_should_stop())
        count *= 2;
    for (int step = 0; step < 2; step++) {
        double ns = (double)least_time(run, kind, count);
        count = (uint64_t)((double)count * (double)block_ns / ns + 0.5);
        if (count == 0)
            count = 1;
    }
    return count;
}

static void measure_kind(struct run *run, int place, int kind)
{
    struct record *time = arena_record(run->arena, place);
    int64_t block_ns = run_number(run, "block_ns");
    uint64_t count = calibrate(run, kind, block_ns);
    arena_event(run->arena, "calibrated", -1, "%s: a block is %llu operations", work_names[kind],
                (unsigned long long)count);
    struct run_budget budget = run_budget(run, run_param(run, "kinds")->count);
    int64_t now_ns = breathe_ahead(&run->breath, block_ns);
    while (run_budget_left(&budget, time->count, now_ns)) {
        int64_t ns = time_block(run, kind, count);
        record_value(time, ns, run_at_ns(run, clock_monotonic_ns()));
        now_ns = breathe_ahead(&run->breath, block_ns);
    }
}

static int measure(struct run *run)
{
    if (run_number(run, "block_ns") > run->breath.burst_ns)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "ask for a shorter block_ns",
                           "a block is longer than the real-time budget allows: throttling would "
                           "stand in the figures");
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++)
        measure_kind(run, i, (int)kinds->number[i]);
    return 0;
}

const struct test rsp_p_fix = {
    .id = "RSP-P-FIX",
    .title = "Response: a fixed block of processing",
    .source = "[O] Obenland 2000, response test",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
};
