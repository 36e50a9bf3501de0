/* RSP-P-FIX: response (Obenland 2000, response test).
 *
 * Calibration finds once, for each kind, the number of operations that take block_ns when nothing
 * disturbs (by the shortest of several tries). Every block then does that number on the measuring
 * thread, at the run's priority on the run's CPU. begin = the counter before a block's first
 * operation, end = the counter after its last. Interrupts, the kernel, the hypervisor or a slower
 * clock account for all time above the calibrated one.
 *
 * The first timed block of a variant and after each rest has a shorter one before it that is not
 * recorded (1/64 of the real-time budget, at most a block): caches are cold after a rest, and the
 * frequency may be low.
 *
 * How it could be wrong: a frequency that rises after the calibration makes every block shorter,
 * one that falls makes it longer; that moves the median, disturbances do not. The thread rests
 * between blocks to stay within the real-time budget; if throttling or a thread of higher priority
 * takes the CPU all the same, the result fails (event throttled).
 */
#include "base/posix_source.h"

#include "work/fixed_work.h"

#include "realtime/burst.h"
#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 7, SAMPLES = 100, WARM_UP_PARTS = 64 /* of the real-time budget's burst */ };

#define PROBE_NS INT64_C(1000000)

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "add,copy,whetstone", 0, 0, work_names,
     "additions, copies of memory, turns of Whetstone", "kind"},
    {"block_ns", PARAM_NS, false, "10ms", 10000, INT64_C(500000000), NULL,
     "undisturbed time of a block"},
    {0},
};

static const struct series_spec series[] = {
    {"time", "ns", "kind", "counter before the first operation of a block",
     "counter after its last operation"},
    {0},
};
enum { TIME };

struct own {
    struct burst burst;
    struct work_space space;
    int kind;
    uint64_t count, warm_up_count; /* operations of a block, and of a warm-up */
};

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

struct stamps {
    uint64_t begin, end;
};

static struct stamps do_block(struct run *run, uint64_t count)
{
    struct own *own = run->own;
    struct stamps stamps;
    stamps.begin = clock_begin(&run->clock);
    work_do(&own->space, own->kind, count);
    stamps.end = clock_end(&run->clock);
    return stamps;
}

static int64_t least_time(struct run *run, uint64_t count)
{
    struct own *own = run->own;
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < TRIES && !run_should_stop(); i++) {
        struct stamps stamps = do_block(run, count);
        int64_t ns = clock_ns(&run->clock, stamps.end - stamps.begin);
        if (ns < least_ns)
            least_ns = ns;
        burst_plan(&own->burst, ns);
        burst_next(&own->burst);
    }
    return least_ns > 0 && least_ns < INT64_MAX ? least_ns : 1;
}

/* Operations that take block_ns. Doubles the count until it takes PROBE_NS (by the shortest of
 * several tries, since a disturbed one takes longer), then scales it twice in proportion; the
 * second step corrects for the part that does not grow with the count. */
static uint64_t calibrate(struct run *run, int64_t block_ns)
{
    uint64_t count = 1;
    while (least_time(run, count) < PROBE_NS && !run_should_stop())
        count *= 2;
    for (int step = 0; step < 2 && !run_should_stop(); step++) {
        double ns = (double)least_time(run, count);
        count = (uint64_t)((double)count * (double)block_ns / ns + 0.5);
        if (count == 0)
            count = 1;
    }
    return count;
}

/* Takes a block, or a shorter one for warm-up. */
static int take_block(struct run *run)
{
    const struct own *own = run->own;
    struct stamps stamps = do_block(run, run->is_warm_up ? own->warm_up_count : own->count);
    run_take(run, TIME, stamps.begin, stamps.end);
    return 0;
}

/* Reserves budget for a block and its warm-up. */
static void plan_blocks(struct run *run, int64_t block_ns)
{
    struct own *own = run->own;
    int64_t part_ns = run->rt_budget.burst_ns / WARM_UP_PARTS;
    int64_t warm_up_ns = part_ns < block_ns ? part_ns : block_ns;
    own->warm_up_count = (uint64_t)((double)own->count * (double)warm_up_ns / (double)block_ns);
    burst_plan(&own->burst, block_ns + warm_up_ns);
}

static int measure_kind(struct run *run)
{
    struct own *own = run->own;
    int64_t block_ns = run_number(run, "block_ns");
    own->kind = (int)variant_number(run, "kinds");
    own->count = calibrate(run, block_ns);
    if (run_should_stop())
        return 0;
    arena_event(run->arena, "calibrated", -1, "%s: a block is %llu operations",
                work_names[own->kind], (unsigned long long)own->count);
    plan_blocks(run, block_ns);
    return variant_sample(run, &own->burst, TIME, 1, take_block);
}

static int measure(struct run *run)
{
    if (run_number(run, "block_ns") > run->rt_budget.burst_ns)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "ask for a shorter block_ns",
                           "a block is longer than the real-time budget allows: throttling would "
                           "stand in the figures");
    struct own *own = run->own;
    burst_begin(&own->burst, run, 0);
    return variants_measure(run);
}

const struct test rsp_p_fix = {
    .id = "RSP-P-FIX",
    .title = "Response: a fixed block of processing",
    .source = "[O] Obenland 2000, response test",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .setup_ns = 300000000,
    .sample_param = "block_ns",
    .sample_percent = 134,
    .extra_samples = 15,
    .warm_up_samples = 1,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_kind,
};
