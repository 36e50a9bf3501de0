/* RSP-P-FIX: response (Obenland 2000, response test).
 *
 * What: blocks of a fixed number of operations. Calibration finds, for each kind, the number that
 *     takes block_ns when nothing disturbs: the shortest of several tries, before the load works.
 *     KIND_operations gives a number instead, that of another load or CPU configuration, so that
 *     all do the same work. The result states it either way.
 * Begin, end: the counter before a block's first operation, and after its last (do_block).
 *     Interrupts, the kernel, the hypervisor or a slower clock account for all time above the
 *     calibrated one.
 * Threads: the measuring thread, at the run's priority, on its CPU if it has one; also for
 *     calibration.
 * Wrong if: the frequency changes after the calibration: that moves the median, disturbances do
 *     not. A given number was found on another CPU, or for another block_ns: all values move. The
 *     first block after a rest is cold: a shorter one before it is not recorded. The thread rests
 *     between blocks; if throttling or a higher priority takes the CPU all the same, the result
 *     fails (event throttled).
 */
#include "base/posix_source.h"

#include "work/fixed_work.h"

#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 7, SAMPLES = 100, WARM_UP_PARTS = 64 /* in one burst of the real-time budget */ };

#define PROBE_NS INT64_C(1000000)
#define RAISE_NS INT64_C(100000000) /* time for the CPU to raise its frequency */

/* Most operations that may be given: ten times those of the longest block on a CPU of 2026. A block
 * cannot be stopped. */
#define MOST_ADDITIONS INT64_C(20000000000)
#define MOST_COPIES INT64_C(30000000)
#define MOST_TURNS INT64_C(400000)

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "add,copy,whetstone", 0, 0, work_names,
     "additions, copies of memory, turns of Whetstone", "kind"},
    {"block_ns", PARAM_NS, false, "10ms", 10000, INT64_C(500000000), NULL,
     "undisturbed time of a block"},
    {"add_operations", PARAM_COUNT, false, "0", 0, MOST_ADDITIONS, NULL,
     "additions of a block; 0: calibrated"},
    {"copy_operations", PARAM_COUNT, false, "0", 0, MOST_COPIES, NULL,
     "copies of a block; 0: calibrated"},
    {"whetstone_operations", PARAM_COUNT, false, "0", 0, MOST_TURNS, NULL,
     "turns of a block; 0: calibrated"},
    {0},
};

static const char *const count_params[WORK_KINDS] = {"add_operations", "copy_operations",
                                                     "whetstone_operations"};

static const struct series_spec series[] = {
    {"time", "ns", "kind", "counter before the first operation of a block",
     "counter after its last operation"},
    {0},
};
enum { TIME };

struct own {
    struct work_space space;
    int kind;
    uint64_t counts[WORK_KINDS]; /* operations of a block of each kind */
    uint64_t warm_up_count;      /* of a warm-up */
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
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < TRIES && !run_should_stop(); i++) {
        struct stamps stamps = do_block(run, count);
        int64_t ns = clock_ns(&run->clock, stamps.end - stamps.begin);
        if (ns < least_ns)
            least_ns = ns;
        burst_plan(run, ns);
        burst_next(run);
    }
    return least_ns > 0 && least_ns < INT64_MAX ? least_ns : 1;
}

/* Operations that take PROBE_NS or somewhat more, by the shortest of several tries, since a
 * disturbed one takes longer. */
static uint64_t find_order(struct run *run)
{
    uint64_t count = 1;
    while (least_time(run, count) < PROBE_NS && !run_should_stop())
        count *= 2;
    return count;
}

static void raise_frequency(struct run *run, uint64_t count)
{
    int64_t until_ns = clock_monotonic_ns() + RAISE_NS;
    while (clock_monotonic_ns() < until_ns && !run_should_stop())
        least_time(run, count);
}

/* Operations that take block_ns. Scales twice in proportion: the second step corrects for the part
 * that does not grow with the count. */
static uint64_t find_count(struct run *run, int64_t block_ns)
{
    uint64_t count = find_order(run);
    raise_frequency(run, count);
    for (int step = 0; step < 2 && !run_should_stop(); step++) {
        double ns = (double)least_time(run, count);
        count = (uint64_t)((double)count * (double)block_ns / ns + 0.5);
        if (count == 0)
            count = 1;
    }
    return count;
}

static int check_block(struct run *run)
{
    if (run_number(run, "block_ns") <= run->rt_budget.burst_ns)
        return 0;
    return outcome_set(
        &run->outcome, STATUS_UNSUPPORTED, "ask for a shorter block_ns",
        "a block is longer than the real-time budget allows: the figures would include throttling");
}

/* Store a count only when its calibration is complete: a stop drops the unfinished one. */
static void calibrate_kind(struct run *run, int kind)
{
    struct own *own = run->own;
    own->kind = kind;
    own->counts[kind] = (uint64_t)run_number(run, count_params[kind]);
    if (own->counts[kind] == 0)
        own->counts[kind] = find_count(run, run_number(run, "block_ns"));
    if (!run_should_stop())
        arena_calibrated(run->arena, count_params[kind], (int64_t)own->counts[kind]);
}

static int calibrate(struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds");
    if (check_block(run) != 0)
        return -1;
    burst_begin(run, 0);
    for (int i = 0; i < kinds->count && !run_should_stop(); i++)
        calibrate_kind(run, (int)kinds->number[i]);
    return 0;
}

/* Takes a block, or a shorter one for warm-up. */
static int take_block(struct run *run)
{
    const struct own *own = run->own;
    struct stamps stamps =
        do_block(run, run->is_warm_up ? own->warm_up_count : own->counts[own->kind]);
    run_take(run, TIME, stamps.begin, stamps.end);
    return 0;
}

/* Reserves budget for a block and its warm-up. */
static void plan_blocks(struct run *run, int64_t block_ns)
{
    struct own *own = run->own;
    int64_t part_ns = run->rt_budget.burst_ns / WARM_UP_PARTS;
    int64_t warm_up_ns = part_ns < block_ns ? part_ns : block_ns;
    own->warm_up_count =
        (uint64_t)((double)own->counts[own->kind] * (double)warm_up_ns / (double)block_ns);
    burst_plan(run, block_ns + warm_up_ns);
}

static int measure_kind(struct run *run)
{
    struct own *own = run->own;
    own->kind = (int)variant_number(run, "kinds");
    plan_blocks(run, run_number(run, "block_ns"));
    return variant_sample(run, TIME, 1, take_block);
}

static int measure(struct run *run)
{
    burst_begin(run, 0);
    return variants_measure(run);
}

const struct test rsp_p_fix = {
    .id = "RSP-P-FIX",
    .title = "Response time of a fixed block of processing",
    .source = "[O] Obenland 2000, response test",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .setup_ns = 900000000,
    .sample_param = "block_ns",
    .sample_percent = 134,
    .extra_samples = 15,
    .warm_up_samples = 1,
    .prepare = prepare,
    .calibrate = calibrate,
    .measure = measure,
    .measure_variant = measure_kind,
};
